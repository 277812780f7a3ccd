// Task<T>: a lazy coroutine with exactly one parent. Awaiting it starts it at once on the parent's
// stack; if it finishes without suspending, the parent simply goes on. If it suspends, its end
// pushes the parent onto the shard's ready queue. So stacks stay flat whatever the compiler does
// about tail calls, and one queue decides every order, which is what the simulator replays.
// (Symmetric transfer was rejected: it overflows the stack where it is not compiled to a tail
// call.)
#pragma once

#include <coroutine>
#include <cstdlib>
#include <optional>
#include <utility>

#include "source/base/check.h"
#include "source/rt/frame_pool.h"
#include "source/rt/runnable.h"

namespace rt {

class TaskGroup;

// Pushes a runnable onto its reactor's ready queue (reactor.cc).
void makeReady(Reactor& reactor, Runnable& runnable);
// Tells a group that one of its tasks has ended and is destroyed (task_group.cc).
void taskEnded(TaskGroup& group);

struct PromiseBase : Runnable {
  Reactor* reactor = nullptr;  // inherited from the parent when the task is started
  Runnable* parent = nullptr;  // set only when the parent had to suspend
  TaskGroup* group = nullptr;  // set for a spawned task: it owns its own frame
  bool finished = false;

  static void* operator new(size_t bytes) { return allocateFrame(bytes); }
  static void operator delete(void* frame, size_t bytes) { freeFrame(frame, bytes); }

  std::suspend_always initial_suspend() noexcept { return {}; }

  struct Final {
    bool await_ready() const noexcept { return false; }
    template <class P>
    void await_suspend(std::coroutine_handle<P> handle) const noexcept {
      PromiseBase& promise = handle.promise();
      promise.finished = true;
      if (promise.group != nullptr) {
        TaskGroup& group = *promise.group;
        handle.destroy();
        taskEnded(group);
      } else if (promise.parent != nullptr) {
        makeReady(*promise.reactor, *promise.parent);
      }
    }
    void await_resume() const noexcept {}
  };
  Final final_suspend() noexcept { return {}; }
  [[noreturn]] void unhandled_exception() noexcept { std::abort(); }
};

template <class T>
class [[nodiscard]] Task {
 public:
  struct promise_type : PromiseBase {
    std::optional<T> value;
    Task get_return_object() {
      auto h = std::coroutine_handle<promise_type>::from_promise(*this);
      handle = h;
      return Task(h);
    }
    template <class U>
    void return_value(U&& v) {
      value.emplace(std::forward<U>(v));
    }
  };

  Task(Task&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Task& operator=(Task&&) = delete;
  ~Task() {
    if (handle_) {
      handle_.destroy();
    }
  }

  bool await_ready() const noexcept { return false; }
  template <class P>
  bool await_suspend(std::coroutine_handle<P> parent) {
    promise_type& promise = handle_.promise();
    promise.reactor = parent.promise().reactor;
    handle_.resume();
    if (promise.finished) {
      return false;
    }
    promise.parent = &parent.promise();
    return true;
  }
  T await_resume() { return std::move(*handle_.promise().value); }

 private:
  explicit Task(std::coroutine_handle<promise_type> handle) : handle_(handle) {}
  std::coroutine_handle<promise_type> handle_;
};

template <>
class [[nodiscard]] Task<void> {
 public:
  struct promise_type : PromiseBase {
    Task get_return_object() {
      auto h = std::coroutine_handle<promise_type>::from_promise(*this);
      handle = h;
      return Task(h);
    }
    void return_void() {}
  };

  Task(Task&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Task& operator=(Task&&) = delete;
  ~Task() {
    if (handle_) {
      handle_.destroy();
    }
  }

  bool await_ready() const noexcept { return false; }
  template <class P>
  bool await_suspend(std::coroutine_handle<P> parent) {
    promise_type& promise = handle_.promise();
    promise.reactor = parent.promise().reactor;
    handle_.resume();
    if (promise.finished) {
      return false;
    }
    promise.parent = &parent.promise();
    return true;
  }
  void await_resume() {}

 private:
  friend class TaskGroup;
  explicit Task(std::coroutine_handle<promise_type> handle) : handle_(handle) {}
  std::coroutine_handle<promise_type> release() { return std::exchange(handle_, nullptr); }
  std::coroutine_handle<promise_type> handle_;
};

// The reactor that the awaiting coroutine runs on: `Reactor& r = co_await rt::currentReactor();`
struct currentReactor {
  bool await_ready() const noexcept { return false; }
  template <class P>
  bool await_suspend(std::coroutine_handle<P> handle) {
    reactor = handle.promise().reactor;
    return false;
  }
  Reactor& await_resume() const noexcept { return *reactor; }
  Reactor* reactor = nullptr;
};

}  // namespace rt
