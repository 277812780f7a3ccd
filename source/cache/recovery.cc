#include "source/cache/recovery.h"

#include <algorithm>
#include <utility>

namespace cache {

Recovery::Recovery(rt::Reactor& reactor, store::DiskEvents* events, uint16_t disk)
    : reactor_(reactor), events_(events), disk_(disk), tasks_(reactor, kAtOnce) {}

void Recovery::start(std::vector<Stripe*> stripes) {
  stripes_ = std::move(stripes);
  begun_ = reactor_.now();
  for (size_t i = 0; i < std::min<size_t>(kAtOnce, stripes_.size()); i++) {
    const bool spawned = tasks_.spawn(recoverSome());
    CHECK(spawned);
  }
}

rt::Task<void> Recovery::recoverSome() {
  rt::CancelScope& scope = tasks_.scope();
  while (next_ < stripes_.size() && !scope.requested()) {
    Stripe& stripe = *stripes_[next_++];
    base::Result<store::RecoveryReport> report = co_await stripe.start(scope);
    tried_++;
    if (report.ok()) {
      recovered_++;
      store::addTo(sum_, report.value());
    } else if (events_ != nullptr && !scope.requested()) {
      events_->notRecovered(disk_, stripe.store().shared().files.superblock.stripe, report.error());
    }
  }
  if (tried_ == stripes_.size() && next_ != SIZE_MAX) {
    next_ = SIZE_MAX;  // said once
    if (events_ != nullptr && recovered_ > 0) {
      events_->recovered(disk_, recovered_, sum_, reactor_.now().ns - begun_.ns);
    }
    ended_.wakeAll();
  }
}

rt::Task<void> Recovery::wait(base::MonoTime deadline) {
  rt::CancelScope never;
  auto how = rt::WaitQueue::Woken::by_wake;
  while (tried_ < stripes_.size() && how == rt::WaitQueue::Woken::by_wake) {
    how = co_await ended_.wait(never, deadline);
  }
}

rt::Task<void> Recovery::stop() {
  tasks_.cancelAll();
  co_await tasks_.join();
}

}  // namespace cache
