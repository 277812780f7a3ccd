// Goal: what is reclaimed comes from the right queue, never costs more writing than was earned, and
// nothing stays for ever. Method: a log without records, whose segments are opened, sealed and
// reclaimed as StripeLog does it, with a share of each written again.
#include "source/store/core/eviction.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

namespace store {
namespace {

constexpr uint32_t kSegments = 100;

EvictionOptions optionsFor(uint32_t segments) {
  EvictionOptions options;
  options.segment_bytes = kMinSegmentBytes;
  options.segment_count = segments;
  options.ghost_entries = 1000;
  return options;
}

AllocatorOptions segmentsOfOneMebibyte() {
  AllocatorOptions options;
  options.segment_bytes = kMinSegmentBytes;
  return options;
}

base::Hash128 hashOf(uint64_t key) {
  return base::Hash128{mix64(key + 1), mix64(key + 0x51ed270b7f4a7c15ULL)};
}

// Of the bytes of a segment, what is worth keeping.
struct HitPercent {
  uint32_t small = 0;
  uint32_t main = 0;
};

// Fills whole segments, and reclaims them.
class Log {
 public:
  explicit Log(uint32_t segments)
      : table_(segments),
        allocator_(segmentsOfOneMebibyte(), table_),
        eviction_(optionsFor(segments)) {}

  void append(uint32_t hit_percent) { append(HitPercent{hit_percent, hit_percent}); }
  void append(HitPercent hit_percent) {
    constexpr uint32_t kRecord = 64 << 10;
    write(kRecord);
    fresh_bytes_ += kRecord;
    fresh_in_main_ += writesTo(SegmentQueue::main) ? kRecord : 0;
    eviction_.earn(kRecord);
    run(hit_percent);
  }
  void run(HitPercent hit_percent) {
    while (const std::optional<ReclaimInput> input = eviction_.next(allocator_, 0)) {
      ASSERT_EQ(allocator_.state(input->segment), SegmentState::sealed);
      ASSERT_EQ(table_.sequence(input->segment), input->sequence);
      ASSERT_EQ(allocator_.nextVictim(input->queue)->segment, input->segment);
      ASSERT_LE(input->budget_bytes, kMinSegmentBytes);
      // No more than the segment that the run fills has room for.
      const uint64_t used = uint64_t{allocator_.usedUnits()} * kUnitBytes;
      ASSERT_LE(input->budget_bytes + (allocator_.hasOpen() ? used : 0), kMinSegmentBytes);
      oldest_age_ = std::max(oldest_age_, allocator_.nextSequence() - input->sequence);
      reclaimed_[input->queue]++;
      const bool from_main = input->queue == SegmentQueue::main;
      const uint64_t worth =
          uint64_t{kMinSegmentBytes} * (from_main ? hit_percent.main : hit_percent.small) / 100;
      const uint64_t again = std::min(worth, input->budget_bytes) / kUnitBytes * kUnitBytes;
      for (uint64_t done = 0; done < again;) {
        const uint64_t piece = std::min<uint64_t>(again - done, 64 << 10);
        if (!write(static_cast<uint32_t>(piece))) {
          break;
        }
        again_bytes_ += piece;
        again_in_small_ += writesTo(SegmentQueue::small) ? piece : 0;
        eviction_.spend(piece);
        done += piece;
      }
      allocator_.beginReclaim(input->segment);
      allocator_.finishReclaim(input->segment);
    }
    ASSERT_TRUE(allocator_.freeCount() >= kCleanAhead || !allocator_.hasOpen());
  }
  bool writesTo(SegmentQueue queue) const {
    return allocator_.hasOpen() && allocator_.queueOf(allocator_.opened().segment) == queue;
  }
  bool write(uint32_t bytes) {
    while (true) {
      if (!allocator_.hasOpen() && !allocator_.open(eviction_.queueToOpen(allocator_))) {
        return false;
      }
      if (allocator_.reserve(bytes, 0)) {
        return true;
      }
      allocator_.sealed(allocator_.seal().segment);
    }
  }

  SegmentTable table_;
  SegmentAllocator allocator_;
  Eviction eviction_;
  uint64_t fresh_bytes_ = 0;
  uint64_t fresh_in_main_ = 0;
  uint64_t again_bytes_ = 0;
  uint64_t again_in_small_ = 0;
  uint64_t oldest_age_ = 0;
  std::map<SegmentQueue, uint64_t> reclaimed_;
};

TEST(Eviction, WhatIsWrittenAgainIsEarned) {
  for (const uint32_t hit_percent : {0u, 10u, 50u, 90u, 100u}) {
    for (const uint32_t segments : {kMinSegments, 12u, kSegments}) {
      Log log(segments);
      for (int i = 0; i < 100'000; i++) {
        log.append(hit_percent);
        ASSERT_FALSE(HasFatalFailure()) << hit_percent << " of " << segments;
      }
      EXPECT_LE(log.again_bytes_, log.fresh_bytes_ * Eviction::kEarnPercent / 100);
      EXPECT_EQ(log.again_bytes_ > 0, hit_percent > 0) << segments;
    }
  }
}

// What was kept is in main, and hardly anything else: what is new would stay for a round unproven.
TEST(Eviction, MainHoldsWhatWasKept) {
  for (const HitPercent hit_percent : {HitPercent{8, 70}, HitPercent{10, 50}, HitPercent{20, 60}}) {
    Log log(kSegments);
    for (int i = 0; i < 100'000; i++) {
      log.append(hit_percent);
      ASSERT_FALSE(HasFatalFailure()) << hit_percent.main;
    }
    EXPECT_GT(log.again_bytes_, log.fresh_bytes_ / 5) << hit_percent.main;
    EXPECT_EQ(log.again_in_small_, 0u) << hit_percent.main;
    EXPECT_LT(log.fresh_in_main_ * 10, log.again_bytes_) << hit_percent.main;
  }
}

// With nothing hit in it, only the small queue turns over, but for the oldest segments of main.
TEST(Eviction, WhatIsNewGoesFirst) {
  Log log(kSegments);
  for (int i = 0; i < 50'000; i++) {
    log.append(30);
  }
  const uint64_t main_before = log.reclaimed_[SegmentQueue::main];
  const uint64_t small_before = log.reclaimed_[SegmentQueue::small];
  for (int i = 0; i < 50'000; i++) {
    log.append(0);
  }
  const uint64_t main = log.reclaimed_[SegmentQueue::main] - main_before;
  const uint64_t small = log.reclaimed_[SegmentQueue::small] - small_before;
  EXPECT_GT(small, 2 * main);
}

TEST(Eviction, NoSegmentStaysForEver) {
  Log log(kSegments);
  for (int i = 0; i < 10'000; i++) {
    log.append(40);
  }
  for (int i = 0; i < 400'000; i++) {
    log.append(0);
  }
  for (uint32_t segment = 0; segment < kSegments; segment++) {
    if (log.allocator_.state(segment) == SegmentState::sealed) {
      log.oldest_age_ =
          std::max(log.oldest_age_, log.allocator_.nextSequence() - log.table_.sequence(segment));
    }
  }
  EXPECT_GT(log.oldest_age_, kSegments);
  // A run fills one segment of main and opens seven more at most.
  EXPECT_LE(log.oldest_age_, 8 * kSegments);
}

TEST(Eviction, AReturningKeyBeginsWithAHit) {
  Eviction eviction(optionsFor(kSegments));
  ReclaimInput small;
  small.queue = SegmentQueue::small;
  const ReclaimInput main;
  const Entry cold;
  EXPECT_EQ(eviction.welcome(hashOf(1)), 0);
  eviction.dropped(hashOf(1), cold, 512, small);
  EXPECT_EQ(eviction.welcome(hashOf(1)), 1);
  EXPECT_EQ(eviction.welcome(hashOf(1)), 0);  // once
  eviction.dropped(hashOf(2), cold, 512, main);
  EXPECT_EQ(eviction.welcome(hashOf(2)), 0);
  eviction.dropped(hashOf(2), cold.withFrequency(1), 512, main);
  EXPECT_EQ(eviction.welcome(hashOf(2)), 1);
}

// What the log holds, in bytes, may go before a key is forgotten.
TEST(Eviction, AKeyIsRememberedForOneLog) {
  constexpr uint64_t kLog = uint64_t{kSegments} * kMinSegmentBytes;
  for (const bool longer : {false, true}) {
    Eviction eviction(optionsFor(kSegments));
    ReclaimInput small;
    small.queue = SegmentQueue::small;
    eviction.dropped(hashOf(1), Entry(), 512, small);
    const uint64_t unit = uint64_t{1} << 4;  // the table's resolution for a log of this size
    eviction.dropped(hashOf(2), Entry(), kLog + (longer ? unit : 0), small);
    EXPECT_EQ(eviction.welcome(hashOf(1)), longer ? 0 : 1);
  }
}

}  // namespace
}  // namespace store
