// What the ready queue holds: a suspended coroutine and its place in the queue.
#pragma once

#include <coroutine>

namespace rt {

class Reactor;

// Lives in a coroutine's promise. It is in at most one queue: a coroutine waits for one thing at a
// time.
struct Runnable {
  Runnable* next = nullptr;
  std::coroutine_handle<> handle;
};

// First in, first out; intrusive.
class ReadyQueue {
 public:
  bool empty() const { return head_ == nullptr; }
  void push(Runnable* runnable) {
    runnable->next = nullptr;
    (tail_ == nullptr ? head_ : tail_->next) = runnable;
    tail_ = runnable;
  }
  Runnable* pop() {
    Runnable* first = head_;
    if (first != nullptr) {
      head_ = first->next;
      tail_ = head_ == nullptr ? nullptr : tail_;
      first->next = nullptr;
    }
    return first;
  }

 private:
  Runnable* head_ = nullptr;
  Runnable* tail_ = nullptr;
};

}  // namespace rt
