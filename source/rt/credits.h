// A counting budget (bytes or slots) with waiters served first come, first served, so that a large
// request is not starved by small ones.
#pragma once

#include <cstdint>

#include "source/base/result.h"
#include "source/rt/wait.h"

namespace rt {

class Credits {
 public:
  explicit Credits(uint64_t limit) : limit_(limit), available_(limit) {}
  ~Credits() { CHECK(available_ == limit_); }

  // Takes n if nobody waits and n are there.
  bool tryAcquire(uint64_t n) {
    if (n > available_ || !waiting_.empty()) {
      return false;
    }
    available_ -= n;
    return true;
  }
  // Waits for n. More than the limit is refused with no_capacity.
  Task<base::Status> acquire(uint64_t n, CancelScope& scope,
                             base::MonoTime deadline = base::kNever);
  // Gives n back and hands what is there to the waiters whose turn it is.
  void release(uint64_t n);

  uint64_t limit() const { return limit_; }
  uint64_t available() const { return available_; }

 private:
  struct Wait : WaitQueue::Wait {
    Wait(Credits& credits, uint64_t wanted, CancelScope& scope, base::MonoTime deadline)
        : WaitQueue::Wait(credits.waiting_, scope, deadline), n(wanted) {}
    uint64_t n;
  };
  void grant();

  uint64_t limit_;
  uint64_t available_;
  WaitQueue waiting_;
};

}  // namespace rt
