#include "source/rt/credits.h"

namespace rt {

Task<base::Status> Credits::acquire(uint64_t n, CancelScope& scope, base::MonoTime deadline) {
  if (tryAcquire(n)) {
    co_return base::Unit{};
  }
  if (n > limit_) {
    co_return base::Error{base::Code::no_capacity};
  }
  Wait wait(*this, n, scope, deadline);
  const WaitQueue::Woken how = co_await wait;
  if (how == WaitQueue::Woken::by_wake) {
    co_return base::Unit{};  // release() has already taken the credits for this waiter
  }
  grant();  // a smaller request may have stood behind this one
  co_return base::Error{how == WaitQueue::Woken::cancelled ? base::Code::cancelled
                                                           : base::Code::timeout};
}

void Credits::release(uint64_t n) {
  available_ += n;
  CHECK(available_ <= limit_);
  grant();
}

void Credits::grant() {
  while (!waiting_.empty()) {
    const uint64_t wanted = static_cast<Wait*>(waiting_.front())->n;
    if (wanted > available_) {
      return;
    }
    available_ -= wanted;
    waiting_.wakeOne();
  }
}

}  // namespace rt
