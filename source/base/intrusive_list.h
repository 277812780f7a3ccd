// A doubly linked list whose links live in the elements. The list owns nothing; an element leaves
// its list in O(1) without knowing it, and leaves by itself when it is destroyed.
#pragma once

#include "source/base/check.h"

namespace base {

template <class T>
class IntrusiveList;

class ListHook {
 public:
  ListHook() = default;
  ListHook(const ListHook&) = delete;
  ListHook& operator=(const ListHook&) = delete;
  ~ListHook() { unlink(); }

  bool linked() const { return next_ != nullptr; }
  void unlink() {
    if (next_ != nullptr) {
      next_->previous_ = previous_;
      previous_->next_ = next_;
      next_ = previous_ = nullptr;
    }
  }

 private:
  template <class T>
  friend class IntrusiveList;
  ListHook* next_ = nullptr;
  ListHook* previous_ = nullptr;
};

// T derives from ListHook.
template <class T>
class IntrusiveList {
 public:
  IntrusiveList() { head_.next_ = head_.previous_ = &head_; }
  ~IntrusiveList() {
    CHECK(empty());
    head_.next_ = head_.previous_ = nullptr;
  }
  IntrusiveList(const IntrusiveList&) = delete;
  IntrusiveList& operator=(const IntrusiveList&) = delete;

  bool empty() const { return head_.next_ == &head_; }
  T* front() { return empty() ? nullptr : static_cast<T*>(head_.next_); }
  T* next(T* element) {
    ListHook* n = static_cast<ListHook*>(element)->next_;
    return n == &head_ ? nullptr : static_cast<T*>(n);
  }
  void pushBack(T* element) { insertBefore(&head_, element); }
  void pushFront(T* element) { insertBefore(head_.next_, element); }
  T* popFront() {
    T* element = front();
    if (element != nullptr) {
      static_cast<ListHook*>(element)->unlink();
    }
    return element;
  }

 private:
  static void insertBefore(ListHook* at, T* element) {
    ListHook* hook = element;
    CHECK(!hook->linked());
    hook->next_ = at;
    hook->previous_ = at->previous_;
    at->previous_->next_ = hook;
    at->previous_ = hook;
  }
  ListHook head_;
};

}  // namespace base
