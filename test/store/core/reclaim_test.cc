// Goal: what is dropped was not hit, what is kept fits the budget, and a large object is kept whole
// or not at all. Method: hand-made segments for each rule, random ones against the rules restated
// as a model.
#include "source/store/core/reclaim.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "source/base/random.h"
#include "source/store/core/record.h"
#include "source/store/core/recovery.h"

namespace store {
namespace {

constexpr uint32_t kSegment = 4;
constexpr uint64_t kSequence = 1000;
constexpr uint32_t kNow = 1'800'000'000;

base::Hash128 hashOf(uint64_t key) {
  return base::Hash128{mix64(key + 1), mix64(key + 0x51ed270b7f4a7c15ULL)};
}

class Reclaim : public testing::Test {
 protected:
  Reclaim() : table_(10) {
    table_.setSequence(kSegment, kSequence);
    table_.setSequence(5, kSequence + 1);
    table_.setSequence(6, kSequence + 50);
    table_.setSequence(7, kSequence - 1);
    index_ = std::move(IndexShard::create(IndexOptions{20000, kNow - 1000}, table_).value());
  }

  TocEntry line(uint64_t key, RecordKind kind, uint16_t length) {
    TocEntry l;
    l.hash_hi = hashOf(key).hi;
    l.hash_lo = hashOf(key).lo;
    l.kind = static_cast<uint8_t>(kind);
    l.expires_s = kNow + 100;
    l.offset_units = next_;
    l.length_units = length;
    next_ = static_cast<uint16_t>(next_ + length);
    return l;
  }
  // Publishes the line's entry, hit `frequency` times.
  void publish(const TocEntry& l, uint8_t frequency, uint32_t expires_s = kNow + 100) {
    index_->publish(
        l.hash(),
        entryOf(l, kSegment, kSequence, index_->expiryFor(expires_s)).withFrequency(frequency));
  }
  // A large object whose head lies elsewhere.
  Entry publishHead(uint64_t key, uint8_t frequency) {
    EntryFields f;
    f.kind = EntryKind::extents;
    f.segment = 5;
    f.offset_units = 8;
    f.length_units = 3;
    f.generation = generationOf(kSequence + 1);
    f.frequency = frequency;
    f.expiry = index_->expiryFor(kNow + 100);
    const Entry head = Entry::make(hashOf(key), f);
    index_->publish(hashOf(key), head);
    return head;
  }
  ReclaimInput input(uint64_t budget_bytes) const {
    ReclaimInput in;
    in.segment = kSegment;
    in.sequence = kSequence;
    in.queue = queue_;
    in.budget_bytes = budget_bytes;
    in.now_s = kNow;
    return in;
  }
  ReclaimPlan plan(const std::vector<TocEntry>& toc, uint64_t budget_bytes) {
    return planReclaim(input(budget_bytes), toc, *index_);
  }

  SegmentTable table_;
  std::unique_ptr<IndexShard> index_;
  uint16_t next_ = 8;
  SegmentQueue queue_ = SegmentQueue::main;
};

TEST_F(Reclaim, HitRecordsAreKeptWithOneHitLess) {
  const TocEntry cold = line(1, RecordKind::object, 4);
  const TocEntry warm = line(2, RecordKind::object, 4);
  const TocEntry rule = line(3, RecordKind::vary_rule, 1);
  publish(cold, 0);
  publish(warm, 2);
  publish(rule, 1);
  const ReclaimPlan p = plan({cold, warm, rule}, 1 << 20);
  ASSERT_EQ(p.drop.size(), 1u);
  EXPECT_EQ(p.drop[0].hash, cold.hash());
  ASSERT_EQ(p.reinsert.size(), 2u);
  EXPECT_EQ(p.reinsert[0].line, warm);
  EXPECT_EQ(p.reinsert[0].frequency, 1);
  EXPECT_EQ(p.reinsert[1].line, rule);
  EXPECT_EQ(p.reinsert[1].frequency, 0);
  EXPECT_EQ(p.budget_bytes, (1u << 20) - 5 * kUnitBytes);
}

TEST_F(Reclaim, WhatLeavesTheSmallQueueHasItsHitsToEarnAnew) {
  queue_ = SegmentQueue::small;
  const TocEntry hot = line(1, RecordKind::object, 4);
  publish(hot, 3);
  const ReclaimPlan p = plan({hot}, 1 << 20);
  ASSERT_EQ(p.reinsert.size(), 1u);
  EXPECT_EQ(p.reinsert[0].frequency, 0);
}

TEST_F(Reclaim, LinesThatNoEntryPointsToAreDead) {
  const TocEntry erased = line(1, RecordKind::object, 4);
  const TocEntry replaced = line(2, RecordKind::object, 4);
  const TocEntry newer = line(2, RecordKind::object, 4);
  publish(newer, 0);
  const ReclaimPlan p = plan({erased, replaced, newer}, 1 << 20);
  EXPECT_EQ(p.dead, 2u);
  ASSERT_EQ(p.drop.size(), 1u);
  EXPECT_EQ(p.drop[0].entry.offsetUnits(), newer.offset_units);
}

TEST_F(Reclaim, AnExpiredRecordIsDroppedWhateverItsHits) {
  const TocEntry expired = line(1, RecordKind::object, 4);
  const TocEntry unknown = line(2, RecordKind::object, 4);
  publish(expired, 3, kNow);
  publish(unknown, 3, UINT32_MAX);  // the hint cannot tell: it stays
  const ReclaimPlan p = plan({expired, unknown}, 1 << 20);
  ASSERT_EQ(p.drop.size(), 1u);
  EXPECT_EQ(p.drop[0].hash, expired.hash());
  EXPECT_EQ(p.reinsert.size(), 1u);
}

// Written again, it would lie behind the purge in the log and be fresh after the next recovery.
TEST_F(Reclaim, ASoftlyPurgedRecordIsDroppedWhateverItsHits) {
  const TocEntry stale = line(1, RecordKind::object, 4);
  publish(stale, 3);
  index_->replaceIf(stale.hash(), *index_->find(stale.hash()),
                    index_->find(stale.hash())->withStaleNow());
  const ReclaimPlan p = plan({stale}, 1 << 20);
  EXPECT_TRUE(p.reinsert.empty());
  ASSERT_EQ(p.drop.size(), 1u);
}

TEST_F(Reclaim, TheBudgetGoesToTheHottestAndIsExact) {
  std::vector<TocEntry> toc;
  for (uint64_t key = 0; key < 9; key++) {
    toc.push_back(line(key, RecordKind::object, 10));
    publish(toc.back(), static_cast<uint8_t>(1 + key % 3));
  }
  const uint64_t five = 5 * 10 * kUnitBytes;
  EXPECT_EQ(plan(toc, five - 1).reinsert.size(), 4u);
  const ReclaimPlan p = plan(toc, five);
  ASSERT_EQ(p.reinsert.size(), 5u);
  EXPECT_EQ(p.budget_bytes, 0u);
  int hottest = 0;
  for (size_t i = 0; i < p.reinsert.size(); i++) {
    hottest += p.reinsert[i].frequency == 2 ? 1 : 0;
    EXPECT_GE(p.reinsert[i].frequency, 1);
    EXPECT_TRUE(i == 0 || p.reinsert[i - 1].line.offset_units < p.reinsert[i].line.offset_units);
  }
  EXPECT_EQ(hottest, 3);
  EXPECT_EQ(p.drop.size(), 4u);
  EXPECT_EQ(plan(toc, 0).reinsert.size(), 0u);
}

TEST_F(Reclaim, RandomSegmentsFollowTheRules) {
  base::Random random(1);
  for (int round = 0; round < 50; round++) {
    next_ = 8;
    std::vector<TocEntry> toc;
    std::map<uint16_t, uint8_t> live;  // by offset
    for (uint64_t key = 0; key < 300; key++) {
      toc.push_back(line(key, RecordKind::object, static_cast<uint16_t>(random.between(1, 40))));
      const auto frequency = static_cast<uint8_t>(random.below(4));
      if (random.chance(3, 4)) {
        publish(toc.back(), frequency);
        live[toc.back().offset_units] = frequency;
      } else {
        index_->erase(toc.back().hash());
      }
    }
    const uint64_t budget = random.below(3'000'000);
    const ReclaimPlan p = plan(toc, budget);
    uint64_t bytes = 0;
    std::set<uint16_t> seen;
    for (const Reinsertion& r : p.reinsert) {
      bytes += r.line.length_units * uint64_t{kUnitBytes};
      ASSERT_EQ(r.frequency + 1, live.at(r.line.offset_units));
      seen.insert(r.line.offset_units);
    }
    ASSERT_LE(bytes, budget);
    ASSERT_EQ(p.budget_bytes, budget - bytes);
    for (const ReclaimPlan::Drop& d : p.drop) {
      seen.insert(static_cast<uint16_t>(d.entry.offsetUnits()));
      // Dropped though hit: what is left of the budget would not pay for it.
      if (d.entry.frequency() > 0) {
        ASSERT_GT(d.entry.lengthUnits() * uint64_t{kUnitBytes}, p.budget_bytes);
      }
    }
    ASSERT_EQ(seen.size(), live.size());  // every live record is decided on, once
    ASSERT_EQ(p.drop.size() + p.reinsert.size(), live.size());
    ASSERT_EQ(p.dead, 300 - live.size());
  }
}

// --- large objects
// --------------------------------------------------------------------------------------

class LargeReclaim : public Reclaim {
 protected:
  // Extents of three chunks in the given segments' sequences.
  std::vector<std::byte> extents(uint64_t s0, uint64_t s1, uint64_t s2) {
    std::vector<Extent> table;
    for (const uint64_t s : {s0, s1, s2}) {
      Extent e;
      e.sequence = s;
      e.object_offset = table.size() * 100'000;
      e.segment = s == kSequence ? kSegment : s == kSequence + 50 ? 6 : s == kSequence - 1 ? 7 : 5;
      e.offset_units = 8;
      e.length_units = static_cast<uint16_t>(recordBytes(0, 0, 100'000) / kUnitBytes);
      table.push_back(e);
    }
    std::vector<std::byte> bytes;
    CHECK(encodeExtents(table, 300'000, bytes).ok());
    return bytes;
  }
  LargeOutcome decide(const LargeObject& object, uint64_t head_id,
                      const std::vector<std::byte>& table, uint64_t budget = 1 << 30) {
    return decideLarge(object, head_id, ExtentTable::parse(table, 300'000).value(), input(budget),
                       table_);
  }
};

TEST_F(LargeReclaim, ChunksAreGroupedByVersionOfTheObject) {
  std::vector<TocEntry> toc;
  const Entry head = publishHead(1, 2);
  for (uint32_t i = 0; i < 6; i++) {
    toc.push_back(line(1, RecordKind::chunk, 200));
    toc.back().object_id = i < 4 ? 77 : 78;
    toc.back().chunk_number = i % 4;
  }
  toc.push_back(line(2, RecordKind::chunk, 200));  // its object is gone
  const ReclaimPlan p = plan(toc, 1 << 20);
  ASSERT_EQ(p.large.size(), 2u);
  EXPECT_EQ(p.large[0].object_id, 77u);
  EXPECT_EQ(p.large[0].chunks.size(), 4u);
  EXPECT_EQ(p.large[0].bytes, 4u * 200 * kUnitBytes);
  EXPECT_EQ(p.large[0].head, head);
  EXPECT_EQ(p.large[1].object_id, 78u);
  EXPECT_EQ(p.large[1].chunks.size(), 2u);
  EXPECT_EQ(p.dead, 1u);
  EXPECT_TRUE(p.drop.empty());
}

TEST_F(LargeReclaim, AHeadInTheSegmentBelongsToItsGroup) {
  TocEntry chunk = line(1, RecordKind::chunk, 200);
  TocEntry head = line(1, RecordKind::head, 2);
  chunk.object_id = head.object_id = 9;
  publish(head, 1);
  const ReclaimPlan p = plan({chunk, head}, 1 << 20);
  ASSERT_EQ(p.large.size(), 1u);
  EXPECT_EQ(p.large[0].chunks.size(), 1u);
  EXPECT_EQ(p.large[0].bytes, 202u * kUnitBytes);
  EXPECT_TRUE(p.drop.empty());
  EXPECT_TRUE(p.reinsert.empty());
}

TEST_F(LargeReclaim, AnotherVersionsChunksAreIgnored) {
  LargeObject object;
  object.object_id = 7;
  EXPECT_EQ(decide(object, 8, extents(kSequence, kSequence, kSequence)).decision,
            LargeDecision::ignore);
}

TEST_F(LargeReclaim, TheFirstChunkDecides) {
  LargeObject object;
  object.object_id = 7;
  object.bytes = 5000;
  object.head = Entry::make(uint64_t{0}, EntryFields{}).withFrequency(2);
  const auto here = extents(kSequence, kSequence, kSequence + 1);
  LargeOutcome outcome = decide(object, 7, here);
  EXPECT_EQ(outcome.decision, LargeDecision::keep);
  EXPECT_EQ(outcome.frequency, 1);
  EXPECT_EQ(decide(object, 7, here, 5000).decision, LargeDecision::keep);
  EXPECT_EQ(decide(object, 7, here, 4999).decision, LargeDecision::drop);
  LargeObject stale = object;
  stale.head = object.head.withStaleNow();
  EXPECT_EQ(decide(stale, 7, here).decision, LargeDecision::drop);
  object.head = object.head.withFrequency(0);
  EXPECT_EQ(decide(object, 7, here).decision, LargeDecision::drop);
}

TEST_F(LargeReclaim, LaterChunksFollowTheFirstWithoutCostingAHit) {
  LargeObject object;
  object.object_id = 7;
  object.bytes = 5000;
  object.head = Entry::make(uint64_t{0}, EntryFields{});
  // Chunk 0 has been written again already.
  const auto moved = extents(kSequence + 50, kSequence, kSequence + 1);
  LargeOutcome outcome = decide(object, 7, moved);
  EXPECT_EQ(outcome.decision, LargeDecision::keep);
  EXPECT_EQ(outcome.frequency, 0);
  EXPECT_EQ(decide(object, 7, moved, 4999).decision, LargeDecision::drop);
}

TEST_F(LargeReclaim, ALaterChunkThatComesUpFirstIsJudgedButCostsNoHit) {
  LargeObject object;
  object.object_id = 7;
  object.bytes = 5000;
  object.head = Entry::make(uint64_t{0}, EntryFields{}).withFrequency(3);
  const auto before = extents(kSequence - 1, kSequence, kSequence);
  const LargeOutcome outcome = decide(object, 7, before);
  EXPECT_EQ(outcome.decision, LargeDecision::keep);
  EXPECT_EQ(outcome.frequency, 3);
  LargeObject cold = object;
  cold.head = object.head.withFrequency(0);
  EXPECT_EQ(decide(cold, 7, before).decision, LargeDecision::drop);
  // Chunk 0's segment is lost, and with it the object.
  table_.setSequence(7, 0);
  EXPECT_EQ(decide(object, 7, before).decision, LargeDecision::drop);
}

}  // namespace
}  // namespace store
