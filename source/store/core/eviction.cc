#include "source/store/core/eviction.h"

#include <algorithm>

namespace store {
namespace {

constexpr uint32_t kRunShare = 15;  // a run frees one in so many segments
constexpr uint32_t kMaxRunFrees = 6;
constexpr uint32_t kSmallLeft = 2;  // segments that a run leaves of `small` however few there are
constexpr uint64_t kMainTimes = 5;  // how much more of the savings main may spend at once

uint64_t logBytes(const EvictionOptions& options) {
  return uint64_t{options.segment_bytes} * options.segment_count;
}

}  // namespace

Eviction::Eviction(const EvictionOptions& options)
    : options_(options), ghost_(options.ghost_entries, logBytes(options)) {
  setSegmentCount(options.segment_count);
}

void Eviction::setSegmentCount(uint32_t segment_count) {
  options_.segment_count = segment_count;
  max_savings_bytes_ = logBytes(options_) / kSavingShare;
  savings_bytes_ = std::min(savings_bytes_, max_savings_bytes_);
  small_left_ = std::max(kSmallLeft, segment_count * kSmallLeftPercent / 100);
  run_frees_ = std::clamp(segment_count / kRunShare, 1u, kMaxRunFrees);
}

uint8_t Eviction::welcome(base::Hash128 hash) {
  return ghost_.take(hash.lo, logBytes(options_)) ? 1 : 0;
}

void Eviction::earn(uint64_t bytes) {
  savings_bytes_ = std::min(max_savings_bytes_, savings_bytes_ + bytes * kEarnPercent / 100);
}

SegmentQueue Eviction::queueToOpen(const SegmentAllocator& allocator) const {
  // Opening takes one of the free segments.
  return allocator.freeCount() <= kCleanAhead ? SegmentQueue::main : SegmentQueue::small;
}

bool Eviction::mainIsLong(const SegmentAllocator& allocator) const {
  const uint32_t small = allocator.sealedCount(SegmentQueue::small);
  const uint32_t all = small + allocator.sealedCount(SegmentQueue::main);
  return small * 100 < all * kSmallPercent;
}

// Bytes that the run's segment can take.
uint64_t Eviction::roomOf(const SegmentAllocator& allocator) const {
  if (allocator.position().sequence > run_sequence_) {
    return 0;
  }
  const uint64_t used = allocator.hasOpen()
                            ? uint64_t{allocator.usedUnits()} * kUnitBytes +
                                  footerBytes(allocator.entries(), allocator.labels())
                            : kSegmentHeaderBytes;
  // One page for pads, and one for the footer's lines that are still to come.
  const uint64_t taken = used + 2 * kPageBytes;
  return options_.segment_bytes > taken ? options_.segment_bytes - taken : 0;
}

uint64_t Eviction::roomFor(SegmentQueue queue) const {
  const uint32_t percent = queue == SegmentQueue::main ? kMainRoomPercent : kSmallRoomPercent;
  return uint64_t{options_.segment_bytes} * percent / 100;
}

bool Eviction::runIsOver(const SegmentAllocator& allocator, SegmentQueue next) const {
  if (allocator.freeCount() < kCleanAhead) {
    return false;
  }
  // With none open, as after a start, nothing waits to be filled.
  const bool filled = !allocator.hasOpen() || roomOf(allocator) < roomFor(next);
  const bool nothing_due = next == SegmentQueue::main && !mainIsLong(allocator);
  return filled || nothing_due || allocator.freeCount() >= kCleanAhead + run_frees_;
}

std::optional<OpenedSegment> Eviction::choose(const SegmentAllocator& allocator) const {
  const std::optional<OpenedSegment> main = allocator.nextVictim(SegmentQueue::main);
  const std::optional<OpenedSegment> small = allocator.nextVictim(SegmentQueue::small);
  if (!main.has_value() || !small.has_value()) {
    return main.has_value() ? main : small;
  }
  // A run that is about to begin has room for all of a segment.
  const bool room = !running_ || roomOf(allocator) > roomFor(SegmentQueue::main);
  const bool take_main =
      allocator.sealedCount(SegmentQueue::small) <= small_left_ || (room && mainIsLong(allocator));
  return take_main ? main : small;
}

std::optional<ReclaimInput> Eviction::next(const SegmentAllocator& allocator, uint32_t now_s) {
  if (!running_) {
    if (!allocator.needsReclaim()) {
      return std::nullopt;
    }
    run_sequence_ = allocator.hasOpen() ? allocator.opened().sequence : allocator.nextSequence();
  }
  const std::optional<OpenedSegment> victim = choose(allocator);
  running_ = victim.has_value() && !runIsOver(allocator, allocator.queueOf(victim->segment));
  if (!running_) {
    return std::nullopt;
  }
  ReclaimInput input;
  input.segment = victim->segment;
  input.sequence = victim->sequence;
  input.queue = allocator.queueOf(victim->segment);
  const uint64_t times = input.queue == SegmentQueue::small ? 1 : kMainTimes;
  const uint64_t part = savings_bytes_ / options_.segment_count * kSavingShare;
  const uint64_t allowed = std::min<uint64_t>(options_.segment_bytes, part * times);
  // With no free segment left, the log comes first and nothing is written again.
  input.budget_bytes =
      allocator.freeCount() == 0 ? 0 : std::min({allowed, savings_bytes_, roomOf(allocator)});
  input.now_s = now_s;
  return input;
}

void Eviction::dropped(base::Hash128 hash, const Entry& entry, uint64_t bytes,
                       const ReclaimInput& from) {
  if (from.queue == SegmentQueue::small || entry.frequency() > 0) {
    ghost_.insert(hash.lo, bytes);
  }
}

}  // namespace store
