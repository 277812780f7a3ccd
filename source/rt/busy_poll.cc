#include "source/rt/busy_poll.h"

#include <algorithm>

namespace rt {

uint64_t BusyPoll::decide(base::MonoTime now) {
  if (options_.budget_percent == 0) {
    return options_.longest_ns;
  }
  // No more than fills the savings is looked at, so nothing overflows.
  const uint64_t passed_ns = std::min(now.ns - std::min(filled_.ns, now.ns), 100 * kSaved_ns);
  saved_ns_ = std::min(saved_ns_ + passed_ns * options_.budget_percent / 100, kSaved_ns);
  filled_ = now;
  if (average_ns_ > options_.longest_ns) {
    return 0;
  }
  return std::min({options_.longest_ns, 2 * average_ns_, saved_ns_});
}

void BusyPoll::note(uint64_t waited_ns, uint64_t polled_ns) {
  // One long pause says little about the next wait: it counts for what is known to be too long.
  const uint64_t counted_ns = std::min(waited_ns, 4 * options_.longest_ns);
  average_ns_ = (average_ns_ * (kWeight - 1) + counted_ns) / kWeight;
  saved_ns_ -= std::min(saved_ns_, polled_ns);
}

}  // namespace rt
