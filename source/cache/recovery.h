// Recovers the stripes that a shard owns of a cache, kAtOnce at a time, while requests are
// answered: from what has been found already, or from the origin.
#pragma once

#include <cstdint>
#include <vector>

#include "source/cache/stripe.h"
#include "source/rt/task_group.h"
#include "source/rt/wait.h"

namespace cache {

class Recovery {
 public:
  static constexpr uint32_t kAtOnce = 4;

  // `events` may be null: nobody is told.
  Recovery(rt::Reactor& reactor, store::DiskEvents* events, uint16_t disk);

  // Begins. The stripes outlive stop().
  void start(std::vector<Stripe*> stripes);
  // Until every stripe has been tried once, or the deadline.
  rt::Task<void> wait(base::MonoTime deadline);
  rt::Task<void> stop();

 private:
  rt::Task<void> recoverSome();

  rt::Reactor& reactor_;
  store::DiskEvents* events_;
  uint16_t disk_;
  rt::TaskGroup tasks_;
  rt::WaitQueue ended_;
  std::vector<Stripe*> stripes_;
  size_t next_ = 0;
  uint32_t tried_ = 0;
  uint32_t recovered_ = 0;
  store::RecoveryReport sum_;
  base::MonoTime begun_{0};
};

}  // namespace cache
