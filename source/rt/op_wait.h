// Waiting for an operation that outlives the wait.
#pragma once

#include <cerrno>
#include <utility>

#include "source/rt/io.h"

namespace rt {

// Hands over `op`, which its owner has filled in, and waits for it. Unlike with the awaiters above
// the wait ends at the deadline or at the cancellation even if the operation does not: a disk may
// keep one for as long as it likes. `op` is then not done, and it and its memory must stay until an
// OpEnd has been awaited.
class OpWait {
 public:
  OpWait(Op& op, CancelScope& scope, base::MonoTime deadline) : op_(op), scope_(scope) {
    timer_.at = deadline;
  }
  OpWait(const OpWait&) = delete;
  OpWait& operator=(const OpWait&) = delete;

  bool await_ready() const noexcept { return false; }
  template <class P>
  bool await_suspend(std::coroutine_handle<P> handle) {
    if (scope_.requested()) {
      op_.result = -ECANCELED;
      op_.state = Op::State::done;
      ended_ = Ended::cancelled;
      return false;
    }
    PromiseBase& promise = handle.promise();
    reactor_ = promise.reactor;
    op_.waiter = &promise;
    hook_.self = timer_.self = this;
    hook_.cancel = [](CancelHook& h) { static_cast<Hook&>(h).self->leave(Ended::cancelled); };
    scope_.add(hook_);
    if (timer_.at != base::kNever) {
      timer_.fire = [](Timer& t) { static_cast<TimeOut&>(t).self->leave(Ended::timed_out); };
      reactor_->startTimer(timer_);
    }
    reactor_->submit(op_);
    return true;
  }
  IoResult await_resume() {
    hook_.unlink();
    timer_.unlink();
    if (ended_ == Ended::by_itself) {
      return IoResult{op_.result, ended_, op_.buffer_id};
    }
    return IoResult{ended_ == Ended::cancelled ? -ECANCELED : -ETIMEDOUT, ended_, 0};
  }

 private:
  struct Hook : CancelHook {
    OpWait* self = nullptr;
  };
  struct TimeOut : Timer {
    OpWait* self = nullptr;
  };
  void leave(Ended why) {
    if (ended_ != Ended::by_itself || op_.state == Op::State::done) {
      return;
    }
    ended_ = why;
    reactor_->engine().cancel(op_);
    reactor_->ready(*std::exchange(op_.waiter, nullptr));
  }

  Op& op_;
  CancelScope& scope_;
  Reactor* reactor_ = nullptr;
  Hook hook_;
  TimeOut timer_;
  Ended ended_ = Ended::by_itself;
};

// Waits for the end of an operation that an OpWait has left.
class OpEnd {
 public:
  explicit OpEnd(Op& op) : op_(op) {}
  bool await_ready() const noexcept { return op_.state == Op::State::done; }
  template <class P>
  void await_suspend(std::coroutine_handle<P> handle) {
    op_.waiter = &handle.promise();
  }
  void await_resume() {}

 private:
  Op& op_;
};

}  // namespace rt
