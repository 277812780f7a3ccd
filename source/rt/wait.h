// Waiting for time, for a turn, or for another coroutine.
#pragma once

#include <cstdint>

#include "source/base/intrusive_list.h"
#include "source/base/types.h"
#include "source/rt/cancel.h"
#include "source/rt/reactor.h"
#include "source/rt/task.h"

namespace rt {

// Waits until `at`, or until the scope is cancelled (false).
class Sleep {
 public:
  Sleep(base::MonoTime at, CancelScope& scope) : scope_(scope) { timer_.at = at; }
  bool await_ready() const noexcept { return scope_.requested(); }
  template <class P>
  void await_suspend(std::coroutine_handle<P> handle) {
    reactor_ = handle.promise().reactor;
    waiter_ = &handle.promise();
    hook_.self = timer_.self = this;
    hook_.cancel = [](CancelHook& h) { static_cast<Hook&>(h).self->wake(); };
    timer_.fire = [](Timer& t) { static_cast<TimeOut&>(t).self->wake(); };
    scope_.add(hook_);
    reactor_->startTimer(timer_);
  }
  bool await_resume() const { return !scope_.requested(); }

 private:
  struct Hook : CancelHook {
    Sleep* self = nullptr;
  };
  struct TimeOut : Timer {
    Sleep* self = nullptr;
  };
  void wake() {
    hook_.unlink();
    timer_.unlink();
    reactor_->ready(*waiter_);
  }

  CancelScope& scope_;
  Reactor* reactor_ = nullptr;
  Runnable* waiter_ = nullptr;
  Hook hook_;
  TimeOut timer_;
};

// Lets everything else that is ready run first.
struct Yield {
  bool await_ready() const noexcept { return false; }
  template <class P>
  void await_suspend(std::coroutine_handle<P> handle) {
    handle.promise().reactor->ready(handle.promise());
  }
  void await_resume() {}
};

// Lets a whole turn pass: what is ready runs, and I/O is handed over and collected. For long walks,
// since a coroutine that only yields runs again in the same turn.
struct NextTurn {
  bool await_ready() const noexcept { return false; }
  template <class P>
  void await_suspend(std::coroutine_handle<P> handle) {
    handle.promise().reactor->readyNextTurn(handle.promise());
  }
  void await_resume() {}
};

// Coroutines that wait, first come first served, until somebody wakes them.
class WaitQueue {
 public:
  enum class Woken : uint8_t { by_wake, cancelled, timed_out };

  class Wait : public base::ListHook {
   public:
    Wait(WaitQueue& queue, CancelScope& scope, base::MonoTime deadline)
        : queue_(queue), scope_(scope) {
      timer_.at = deadline;
    }
    bool await_ready() const noexcept { return scope_.requested(); }
    template <class P>
    void await_suspend(std::coroutine_handle<P> handle) {
      reactor_ = handle.promise().reactor;
      waiter_ = &handle.promise();
      hook_.self = timer_.self = this;
      hook_.cancel = [](CancelHook& h) { static_cast<Hook&>(h).self->wake(Woken::cancelled); };
      timer_.fire = [](Timer& t) { static_cast<TimeOut&>(t).self->wake(Woken::timed_out); };
      scope_.add(hook_);
      if (timer_.at != base::kNever) {
        reactor_->startTimer(timer_);
      }
      queue_.waits_.pushBack(this);
    }
    Woken await_resume() const { return waiter_ == nullptr ? Woken::cancelled : how_; }

   private:
    friend class WaitQueue;
    struct Hook : CancelHook {
      Wait* self = nullptr;
    };
    struct TimeOut : Timer {
      Wait* self = nullptr;
    };
    void wake(Woken how) {
      how_ = how;
      unlink();
      hook_.unlink();
      timer_.unlink();
      reactor_->ready(*waiter_);
    }

    WaitQueue& queue_;
    CancelScope& scope_;
    Reactor* reactor_ = nullptr;
    Runnable* waiter_ = nullptr;
    Hook hook_;
    TimeOut timer_;
    Woken how_ = Woken::by_wake;
  };

  Wait wait(CancelScope& scope, base::MonoTime deadline = base::kNever) {
    return Wait(*this, scope, deadline);
  }
  bool empty() const { return waits_.empty(); }
  Wait* front() { return waits_.front(); }
  // Wakes the first waiter; false when there is none.
  bool wakeOne() {
    Wait* first = waits_.front();
    if (first != nullptr) {
      first->wake(Woken::by_wake);
    }
    return first != nullptr;
  }
  void wakeAll() {
    while (wakeOne()) {
    }
  }

 private:
  base::IntrusiveList<Wait> waits_;
};

}  // namespace rt
