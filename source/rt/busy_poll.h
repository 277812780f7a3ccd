// How long a shard that has nothing to do looks for work before it sleeps. Being woken costs the
// kernel tens of microseconds; looking costs the shard's CPU. Pure: times come in, a time goes out.
//
// Fixed: always the longest time. Adaptive: not at all where the waits of late were longer than
// that on average, and else twice their average; and within a share of the time that has passed,
// which may be saved up for kSaved_ns.
#pragma once

#include <cstdint>

#include "source/base/types.h"

namespace rt {

struct BusyPollOptions {
  uint64_t longest_ns = 0;      // 0: never
  uint32_t budget_percent = 0;  // 0: fixed
};

class BusyPoll {
 public:
  static constexpr uint64_t kSaved_ns = 10 * base::kMillisecond_ns;  // most polling in one go

  explicit BusyPoll(const BusyPollOptions& options) : options_(options) {}

  bool enabled() const { return options_.longest_ns > 0; }
  // For how long to look, of a wait that begins at `now`.
  uint64_t decide(base::MonoTime now);
  // That wait ended after waited_ns, of which polled_ns were spent looking.
  void note(uint64_t waited_ns, uint64_t polled_ns);

 private:
  static constexpr uint64_t kWeight = 8;  // the average is of about so many waits

  BusyPollOptions options_;
  base::MonoTime filled_{0};  // when saved_ns_ was last brought up to date
  uint64_t saved_ns_ = 0;
  uint64_t average_ns_ = 0;  // of waits
};

}  // namespace rt
