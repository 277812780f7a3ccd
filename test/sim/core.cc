#include "test/sim/core.h"

#include <algorithm>
#include <utility>

namespace sim {

void Core::schedule(uint64_t at_ns, std::function<void()> action) {
  events_.push_back(Event{std::max(at_ns, now_ns_), sequence_++, std::move(action)});
  std::push_heap(events_.begin(), events_.end(), later);
}

bool Core::runOneDue() {
  if (events_.empty() || events_.front().at_ns > now_ns_) {
    return false;
  }
  std::pop_heap(events_.begin(), events_.end(), later);
  const std::function<void()> action = std::move(events_.back().action);
  events_.pop_back();
  action();
  return true;
}

void Core::trace(Trace what, uint64_t a, uint64_t b, uint64_t c) {
  const TraceEntry entry{now_ns_, a, b, c, what};
  for (const uint64_t word : {entry.at_ns, a, b, c, static_cast<uint64_t>(what)}) {
    hash_ = (hash_ ^ word) * 0x100000001b3ULL;
    hash_ ^= hash_ >> 29;
  }
  if (recent_.size() < kRecent) {
    recent_.push_back(entry);
  } else {
    recent_[steps_ % kRecent] = entry;
  }
  steps_++;
}

std::vector<TraceEntry> Core::recent() const {
  std::vector<TraceEntry> entries = recent_;
  if (entries.size() == kRecent) {
    std::rotate(entries.begin(), entries.begin() + static_cast<std::ptrdiff_t>(steps_ % kRecent),
                entries.end());
  }
  return entries;
}

}  // namespace sim
