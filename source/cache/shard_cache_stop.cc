// How a cache ends on a shard: its disks all at once, and without waiting for one that hangs.
#include <algorithm>
#include <vector>

#include "source/cache/shard_cache.h"

namespace cache {

void ShardCache::beginStop() {
  if (stopping_ != nullptr) {
    return;
  }
  stopping_ = std::make_unique<rt::TaskGroup>(*services_.reactor, kMaxStripes);
  std::vector<bool> recovered(stripes_.size());
  for (const DiskRecovery& disk : recoveries_) {
    std::fill_n(recovered.begin() + disk.range.first, disk.range.count, true);
    const bool spawned = stopping_->spawn(stopDisk(&disk));
    CHECK(spawned);
  }
  for (size_t i = 0; i < stripes_.size(); i++) {
    if (stripes_[i] != nullptr && !recovered[i]) {
      const bool spawned = stopping_->spawn(stopStripe(stripes_[i].get()));
      CHECK(spawned);
    }
  }
}

// A disk that hangs is in no other disk's way, and a stripe's in no other stripe's.
rt::Task<void> ShardCache::stopDisk(const DiskRecovery* disk) {
  co_await disk->recovery->stop();
  rt::TaskGroup stripes(*services_.reactor, disk->range.count);
  for (uint16_t i = 0; i < disk->range.count; i++) {
    if (Stripe* stripe = stripes_[disk->range.first + i].get()) {
      const bool spawned = stripes.spawn(stopStripe(stripe));
      CHECK(spawned);
    }
  }
  co_await stripes.join();
}

rt::Task<void> ShardCache::stopStripe(Stripe* stripe) {
  co_await stripe->stop();
  stripe_stopped_.wakeAll();
}

rt::Task<uint32_t> ShardCache::stop(base::MonoTime deadline) {
  beginStop();
  const auto running = [](const std::unique_ptr<Stripe>& stripe) {
    return stripe != nullptr && !stripe->stopped();
  };
  rt::CancelScope never;
  auto how = rt::WaitQueue::Woken::by_wake;
  while (std::ranges::any_of(stripes_, running) && how == rt::WaitQueue::Woken::by_wake) {
    how = co_await stripe_stopped_.wait(never, deadline);
  }
  const auto hung = static_cast<uint32_t>(std::ranges::count_if(stripes_, running));
  for (const DiskRecovery& disk : recoveries_) {
    const auto first = stripes_.begin() + disk.range.first;
    const auto count = std::count_if(first, first + disk.range.count, running);
    if (count > 0 && services_.disk_events != nullptr) {
      services_.disk_events->notStopped(disk.disk, static_cast<uint32_t>(count));
    }
  }
  if (hung == 0) {
    co_await stopping_->join();
  }
  co_return hung;
}

uint64_t ShardCache::invalidationsLost() const {
  uint64_t lost = 0;
  for (const std::unique_ptr<Stripe>& stripe : stripes_) {
    if (stripe != nullptr) {
      lost += stripe->stopped() ? stripe->stats().invalidations_lost : stripe->notDurable();
    }
  }
  return lost;
}

}  // namespace cache
