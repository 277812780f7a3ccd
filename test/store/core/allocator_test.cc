// Goal: the allocator never gives out a byte twice, opens segments in ring order with fresh
// sequences, and always names the oldest sealed one as victim. Method: random use against a model
// of the log.
#include "source/store/core/allocator.h"

#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <set>

#include "source/base/random.h"

namespace store {
namespace {

AllocatorOptions options(uint64_t next_sequence = 1) {
  AllocatorOptions o;
  o.segment_bytes = kMinSegmentBytes;
  o.next_sequence = next_sequence;
  return o;
}

TEST(Allocator, ReservesWithinTheSegmentAndLeavesRoomForTheFooter) {
  base::Random random(1);
  for (int round = 0; round < 20; round++) {
    SegmentTable table(kMinSegments);
    SegmentAllocator allocator(options(), table);
    EXPECT_FALSE(allocator.reserve(512).has_value());  // nothing is open
    ASSERT_TRUE(allocator.open().has_value());
    uint32_t end = kSegmentHeaderBytes / kUnitBytes;
    uint32_t listed = 0;
    const uint64_t most = random.chance(1, 2) ? 1024 : 200'000;
    for (;;) {
      const bool in_toc = random.chance(4, 5);
      const auto bytes = static_cast<uint32_t>(random.between(1, most));
      const std::optional<Location> l = allocator.reserve(bytes, in_toc);
      if (!l) {
        // It really did not fit.
        EXPECT_GT(
            end * kUnitBytes + roundUp(bytes, kUnitBytes) + footerBytes(listed + (in_toc ? 1 : 0)),
            kMinSegmentBytes);
        break;
      }
      listed += in_toc ? 1 : 0;
      ASSERT_EQ(l->offset_units, end);
      ASSERT_EQ(l->length_units, (bytes + 511) / 512);
      ASSERT_EQ(l->sequence, 1u);
      end += l->length_units;
      if (random.chance(1, 5)) {
        const auto less = static_cast<uint32_t>(random.between(1, bytes));
        allocator.shrink(*l, less);
        end = l->offset_units + (less + 511) / 512;
      }
      ASSERT_LE(end * kUnitBytes + footerBytes(listed), kMinSegmentBytes);
      ASSERT_EQ(allocator.usedUnits(), end);
      ASSERT_EQ(allocator.entries(), listed);
      ASSERT_EQ((end + allocator.padUnits()) % 8, 0u);
      ASSERT_LT(allocator.padUnits(), 8u);
    }
  }
}

TEST(Allocator, TheLongestRecordFitsAndOneByteMoreDoesNot) {
  SegmentTable table(kMinSegments);
  SegmentAllocator allocator(options(), table);
  allocator.open();
  EXPECT_FALSE(allocator.reserve(allocator.maxRecordBytes() + 1).has_value());
  EXPECT_TRUE(allocator.reserve(allocator.maxRecordBytes()).has_value());
  // Every record the format allows in segments of this size.
  EXPECT_GE(allocator.maxRecordBytes(), recordBytes(kMaxKeyBytes, kMaxMetaBytes, kMaxObjectBody));
  EXPECT_GE(allocator.maxRecordBytes(), recordBytes(0, 0, maxChunkBody(kMinSegmentBytes)));
}

TEST(Allocator, FollowsTheModelOfARing) {
  constexpr uint32_t kCount = 9;
  SegmentTable table(kCount);
  SegmentAllocator allocator(options(100), table);
  base::Random random(2);
  std::deque<OpenedSegment> sealing;
  std::deque<OpenedSegment> sealed;
  std::optional<OpenedSegment> reclaiming;
  std::set<uint32_t> bad;
  uint32_t free = kCount;
  uint64_t sequence = 100;
  std::optional<OpenedSegment> open;
  std::map<uint32_t, uint64_t> on_disk;
  for (int i = 0; i < 20000; i++) {
    switch (random.below(6)) {
      case 0:
        if (!open) {
          open = allocator.open();
          ASSERT_EQ(open.has_value(), free > 0);
          if (open) {
            ASSERT_EQ(open->sequence, sequence++);
            ASSERT_EQ(table.sequence(open->segment), open->sequence);
            on_disk[open->segment] = open->sequence;
            free--;
          }
        }
        break;
      case 1:
        if (open) {
          ASSERT_EQ(allocator.seal().segment, open->segment);
          sealing.push_back(*open);
          open.reset();
        }
        break;
      case 2:
        if (!sealing.empty()) {
          allocator.sealed(sealing.front().segment);
          sealed.push_back(sealing.front());
          sealing.pop_front();
        }
        break;
      case 3: {
        const std::optional<OpenedSegment> victim = allocator.nextVictim();
        ASSERT_EQ(victim.has_value(), !sealed.empty());
        if (victim) {
          ASSERT_EQ(victim->segment, sealed.front().segment);  // the oldest
          ASSERT_EQ(victim->sequence, sealed.front().sequence);
        }
        if (victim && !reclaiming && allocator.needsReclaim()) {
          allocator.beginReclaim(victim->segment);
          ASSERT_EQ(table.sequence(victim->segment), victim->sequence);  // still readable
          reclaiming = victim;
          sealed.pop_front();
        }
        break;
      }
      case 4:
        if (reclaiming) {
          allocator.finishReclaim(reclaiming->segment);
          ASSERT_EQ(table.sequence(reclaiming->segment), 0u);
          reclaiming.reset();
          free++;
        }
        break;
      case 5:
        if (random.chance(1, 3000) && bad.size() < 2 && !sealed.empty()) {
          const uint32_t segment = sealed.back().segment;
          sealed.pop_back();
          allocator.markBad(segment);
          bad.insert(segment);
          ASSERT_EQ(table.sequence(segment), 0u);
        }
        break;
    }
    ASSERT_EQ(allocator.freeCount(), free);
    ASSERT_EQ(allocator.badCount(), bad.size());
    ASSERT_EQ(allocator.needsReclaim(), free < kCleanAhead && !reclaiming);
    ASSERT_EQ(allocator.nextSequence(), sequence);
    ASSERT_EQ(allocator.position().sequence, open ? open->sequence : sequence);
    uint64_t oldest = sequence;
    for (const auto& [segment, s] : on_disk) {
      oldest = std::min(oldest, s);
    }
    ASSERT_EQ(allocator.oldestSequence(), oldest);
  }
  EXPECT_GT(sequence, 1000u);
}

TEST(Allocator, ContinuesBehindTheNewestAdoptedSegment) {
  SegmentTable table(8);
  SegmentAllocator allocator(options(firstSequence(4)), table);
  allocator.adopt(5, firstSequence(2) + 7);
  allocator.adopt(6, firstSequence(3) + 1);
  allocator.adopt(4, firstSequence(2) + 6);
  EXPECT_EQ(allocator.nextVictim()->segment, 4u);
  EXPECT_EQ(allocator.oldestSequence(), firstSequence(2) + 6);
  const std::optional<OpenedSegment> opened = allocator.open();
  EXPECT_EQ(opened->segment, 7u);
  EXPECT_EQ(opened->sequence, firstSequence(4));
  EXPECT_EQ(allocator.freeCount(), 4u);
}

TEST(Allocator, AFreedSegmentStillCountsAsOldUntilItIsWrittenOver) {
  SegmentTable table(kMinSegments);
  SegmentAllocator allocator(options(), table);
  for (uint32_t i = 0; i < kMinSegments; i++) {
    allocator.open();
    allocator.sealed(allocator.seal().segment);
  }
  allocator.beginReclaim(0);
  allocator.finishReclaim(0);
  EXPECT_EQ(allocator.oldestSequence(), 1u);  // a crash now would find segment 0 as it was
  allocator.open();
  EXPECT_EQ(allocator.oldestSequence(), 2u);
}

TEST(Allocator, ABadOpenSegmentIsNoLongerOpen) {
  SegmentTable table(kMinSegments);
  SegmentAllocator allocator(options(), table);
  const OpenedSegment opened = *allocator.open();
  allocator.markBad(opened.segment);
  EXPECT_FALSE(allocator.hasOpen());
  EXPECT_EQ(allocator.state(opened.segment), SegmentState::bad);
  EXPECT_NE(allocator.open()->segment, opened.segment);
  const OpenedSegment second = allocator.seal();
  allocator.markBad(second.segment);  // its footer could not be written
  allocator.sealed(second.segment);
  EXPECT_EQ(allocator.state(second.segment), SegmentState::bad);
  EXPECT_EQ(allocator.badCount(), 2u);
}

}  // namespace
}  // namespace store
