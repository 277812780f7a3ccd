// Goal: the allocator never gives out a byte twice, opens segments in ring order with fresh
// sequences, and always names the oldest sealed one as victim. Method: random use against a model
// of the log.
#include "source/store/core/allocator.h"

#include <gtest/gtest.h>

#include <deque>
#include <map>

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
    EXPECT_FALSE(allocator.reserve(512, 0).has_value());  // nothing is open
    ASSERT_TRUE(allocator.open().has_value());
    uint32_t end = kSegmentHeaderBytes / kUnitBytes;
    uint32_t listed = 0;
    uint32_t labelled = 0;
    const uint64_t most = random.chance(1, 2) ? 1024 : 200'000;
    for (;;) {
      const bool in_toc = random.chance(4, 5);
      const auto bytes = static_cast<uint32_t>(random.between(1, most));
      const auto labels = static_cast<uint32_t>(in_toc ? random.below(9) : 0);
      const std::optional<Location> l = allocator.reserve(bytes, labels, in_toc);
      if (!l) {
        // It really did not fit.
        EXPECT_GT(end * kUnitBytes + roundUp(bytes, kUnitBytes) +
                      footerBytes(listed + (in_toc ? 1 : 0), labelled + labels),
                  kMinSegmentBytes);
        break;
      }
      listed += in_toc ? 1 : 0;
      labelled += labels;
      ASSERT_EQ(l->offset_units, end);
      ASSERT_EQ(l->length_units, (bytes + 511) / 512);
      ASSERT_EQ(l->sequence, 1u);
      end += l->length_units;
      if (random.chance(1, 5)) {
        const auto less = static_cast<uint32_t>(random.between(1, bytes));
        allocator.shrink(*l, less);
        end = l->offset_units + (less + 511) / 512;
      }
      ASSERT_LE(end * kUnitBytes + footerBytes(listed, labelled), kMinSegmentBytes);
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
  EXPECT_FALSE(allocator.reserve(allocator.maxRecordBytes() + 1, kMaxLabels).has_value());
  EXPECT_TRUE(allocator.reserve(allocator.maxRecordBytes(), kMaxLabels).has_value());
  // Every record the format allows in segments of this size.
  EXPECT_GE(allocator.maxRecordBytes(), recordBytes(kMaxKeyBytes, kMaxMetaBytes, kMaxObjectBody));
  EXPECT_GE(allocator.maxRecordBytes(), recordBytes(0, 0, maxChunkBody(kMinSegmentBytes)));
}

// The ring as lists of segments.
class Ring {
 public:
  Ring() : table_(kCount), allocator_(options(kFirst), table_) {}

  void open() {
    if (open_) {
      return;
    }
    open_ = allocator_.open();
    ASSERT_EQ(open_.has_value(), free_ > 0);
    if (open_) {
      ASSERT_EQ(open_->sequence, next_++);
      ASSERT_EQ(table_.sequence(open_->segment), open_->sequence);
      on_disk_[open_->segment] = open_->sequence;
      free_--;
    }
  }
  void seal() {
    if (open_) {
      ASSERT_EQ(allocator_.seal().segment, open_->segment);
      sealing_.push_back(*open_);
      open_.reset();
    }
  }
  void sealed() {
    if (!sealing_.empty()) {
      allocator_.sealed(sealing_.front().segment);
      sealed_.push_back(sealing_.front());
      sealing_.pop_front();
    }
  }
  void beginReclaim() {
    const std::optional<OpenedSegment> victim = allocator_.nextVictim(SegmentQueue::small);
    ASSERT_EQ(victim.has_value(), !sealed_.empty());
    if (!victim) {
      return;
    }
    ASSERT_EQ(victim->segment, sealed_.front().segment);  // the oldest
    ASSERT_EQ(victim->sequence, sealed_.front().sequence);
    if (allocator_.needsReclaim()) {
      allocator_.beginReclaim(victim->segment);
      ASSERT_EQ(table_.sequence(victim->segment), victim->sequence);  // still readable
      reclaiming_ = victim;
      sealed_.pop_front();
    }
  }
  void finishReclaim() {
    if (reclaiming_) {
      allocator_.finishReclaim(reclaiming_->segment);
      ASSERT_EQ(table_.sequence(reclaiming_->segment), 0u);
      reclaiming_.reset();
      free_++;
    }
  }
  void spoil() {
    if (bad_ < 2 && !sealed_.empty()) {
      allocator_.markBad(sealed_.back().segment);
      ASSERT_EQ(table_.sequence(sealed_.back().segment), 0u);
      sealed_.pop_back();
      bad_++;
    }
  }
  void check() const {
    ASSERT_EQ(allocator_.freeCount(), free_);
    ASSERT_EQ(allocator_.badCount(), bad_);
    ASSERT_EQ(allocator_.needsReclaim(), free_ < kCleanAhead && !reclaiming_);
    ASSERT_EQ(allocator_.nextSequence(), next_);
    ASSERT_EQ(allocator_.position().sequence, open_ ? open_->sequence : next_);
    uint64_t oldest = next_;
    for (const auto& [segment, sequence] : on_disk_) {
      oldest = std::min(oldest, sequence);
    }
    ASSERT_EQ(allocator_.oldestSequence(), oldest);
    uint64_t unsealed = open_ ? open_->sequence : next_;
    for (const OpenedSegment& segment : sealing_) {
      unsealed = std::min(unsealed, segment.sequence);
    }
    ASSERT_EQ(allocator_.sealedSequence(), unsealed - 1);
  }
  uint64_t opened() const { return next_ - kFirst; }

 private:
  static constexpr uint32_t kCount = 9;
  static constexpr uint64_t kFirst = 100;
  SegmentTable table_;
  SegmentAllocator allocator_;
  std::optional<OpenedSegment> open_;
  std::deque<OpenedSegment> sealing_;
  std::deque<OpenedSegment> sealed_;
  std::optional<OpenedSegment> reclaiming_;
  std::map<uint32_t, uint64_t> on_disk_;
  uint32_t free_ = kCount;
  uint32_t bad_ = 0;
  uint64_t next_ = kFirst;
};

TEST(Allocator, FollowsTheModelOfARing) {
  Ring ring;
  base::Random random(2);
  for (int i = 0; i < 20000; i++) {
    switch (random.below(6)) {
      case 0:
        ring.open();
        break;
      case 1:
        ring.seal();
        break;
      case 2:
        ring.sealed();
        break;
      case 3:
        ring.beginReclaim();
        break;
      case 4:
        ring.finishReclaim();
        break;
      case 5:
        random.chance(1, 3000) ? ring.spoil() : ring.open();
        break;
    }
    ring.check();
    if (testing::Test::HasFatalFailure()) {
      return;
    }
  }
  EXPECT_GT(ring.opened(), 900u);
}

TEST(Allocator, ContinuesBehindTheNewestAdoptedSegment) {
  SegmentTable table(8);
  SegmentAllocator allocator(options(firstSequence(4)), table);
  allocator.adopt(5, firstSequence(2) + 7);
  allocator.adopt(6, firstSequence(3) + 1);
  allocator.adopt(4, firstSequence(2) + 6);
  EXPECT_EQ(allocator.nextVictim(SegmentQueue::main)->segment, 4u);
  EXPECT_EQ(allocator.oldestSequence(), firstSequence(2) + 6);
  const std::optional<OpenedSegment> opened = allocator.open();
  EXPECT_EQ(opened->segment, 7u);
  EXPECT_EQ(opened->sequence, firstSequence(4));
  EXPECT_EQ(allocator.freeCount(), 4u);
}

TEST(Allocator, EachQueueGivesItsOldest) {
  SegmentTable table(8);
  SegmentAllocator allocator(options(1), table);
  for (const SegmentQueue queue : {SegmentQueue::main, SegmentQueue::small, SegmentQueue::main}) {
    const OpenedSegment opened = *allocator.open(queue);
    EXPECT_EQ(allocator.queueOf(opened.segment), queue);
    allocator.seal();
    allocator.sealed(opened.segment);
  }
  EXPECT_EQ(allocator.sealedCount(SegmentQueue::small), 1u);
  EXPECT_EQ(allocator.sealedCount(SegmentQueue::main), 2u);
  EXPECT_EQ(allocator.nextVictim(SegmentQueue::small)->sequence, 2u);
  EXPECT_EQ(allocator.nextVictim(SegmentQueue::main)->sequence, 1u);
  allocator.beginReclaim(allocator.nextVictim(SegmentQueue::main)->segment);
  EXPECT_EQ(allocator.sealedCount(SegmentQueue::main), 1u);
  EXPECT_EQ(allocator.nextVictim(SegmentQueue::main)->sequence, 3u);
  allocator.markBad(allocator.nextVictim(SegmentQueue::small)->segment);
  EXPECT_EQ(allocator.sealedCount(SegmentQueue::small), 0u);
  EXPECT_FALSE(allocator.nextVictim(SegmentQueue::small).has_value());
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

TEST(Allocator, BecomesLongerAtOnce) {
  SegmentTable table(kMinSegments);
  SegmentAllocator allocator(options(), table);
  for (uint32_t i = 0; i < kMinSegments; i++) {
    allocator.open();
    allocator.sealed(allocator.seal().segment);
  }
  EXPECT_FALSE(allocator.open().has_value());
  allocator.setEnd(kMinSegments + 2);
  EXPECT_TRUE(allocator.endIsReached());
  EXPECT_EQ(table.count(), kMinSegments + 2);
  EXPECT_EQ(allocator.freeCount(), 2u);
  EXPECT_EQ(allocator.open()->segment, kMinSegments);
  EXPECT_EQ(allocator.usedCount(), kMinSegments + 1);
}

TEST(Allocator, BecomesShorterSegmentBySegment) {
  constexpr uint32_t kEnd = kMinSegments;
  SegmentTable table(kEnd + 4);
  SegmentAllocator allocator(options(), table);
  for (uint32_t i = 0; i < kEnd + 2; i++) {
    allocator.open();
    allocator.sealed(allocator.seal().segment);
  }
  EXPECT_EQ(allocator.open()->segment, kEnd + 2);
  allocator.setEnd(kEnd);
  EXPECT_EQ(allocator.freeCount(), 0u);
  EXPECT_EQ(allocator.usedCount(), kEnd + 3);
  EXPECT_EQ(allocator.nextBehindEnd()->segment, kEnd);
  EXPECT_FALSE(allocator.endIsReached());
  allocator.beginReclaim(kEnd);
  allocator.finishReclaim(kEnd);
  EXPECT_EQ(allocator.state(kEnd), SegmentState::cut);
  EXPECT_EQ(allocator.freeCount(), 0u);
  allocator.markBad(kEnd + 1);
  EXPECT_FALSE(allocator.nextBehindEnd().has_value());
  EXPECT_FALSE(allocator.endIsReached());  // one is open
  allocator.sealed(allocator.seal().segment);
  allocator.beginReclaim(kEnd + 2);
  allocator.finishReclaim(kEnd + 2);
  EXPECT_TRUE(allocator.endIsReached());
  // What is there still may be found by a crash.
  EXPECT_EQ(allocator.onDisk(kEnd), kEnd + 1);
  allocator.forgetBehindEnd();
  EXPECT_EQ(allocator.onDisk(kEnd), 0u);
  EXPECT_EQ(allocator.badCount(), 0u);
  EXPECT_EQ(table.count(), kEnd);
  EXPECT_EQ(allocator.usedCount(), kEnd);
}

TEST(Allocator, AnEndMayMoveBackBeforeItIsReached) {
  SegmentTable table(kMinSegments + 3);
  SegmentAllocator allocator(options(), table);
  allocator.setEnd(kMinSegments);
  allocator.setEnd(kMinSegments + 2);
  EXPECT_EQ(allocator.freeCount(), kMinSegments + 2);
  EXPECT_TRUE(allocator.endIsReached());
}

}  // namespace
}  // namespace store
