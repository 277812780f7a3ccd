// Goal: a purge of a label holds through recovery: for what was written before it, for what that
// had replaced, and against snapshots that know no labels. Method: pieces given by hand, in both
// orders.
#include <gtest/gtest.h>

#include <array>
#include <memory>

#include "source/base/check.h"
#include "source/store/core/recovery.h"

namespace store {
namespace {

constexpr uint32_t kSegments = 12;
constexpr uint32_t kEpoch = 1'800'000'000;

base::Hash128 hashOf(uint64_t key) {
  return base::Hash128{mix64(key + 1), mix64(key + 0x51ed270b7f4a7c15ULL)};
}

std::unique_ptr<IndexShard> makeIndex(const SegmentTable& table) {
  base::Result<std::unique_ptr<IndexShard>> index =
      IndexShard::create(IndexOptions{200, kEpoch}, table);
  CHECK(index.ok());
  return std::move(index.value());
}

TocEntry line(uint64_t key, uint16_t offset) {
  TocEntry l;
  l.hash_hi = hashOf(key).hi;
  l.hash_lo = hashOf(key).lo;
  l.offset_units = offset;
  l.length_units = 2;
  l.kind = static_cast<uint8_t>(RecordKind::object);
  return l;
}

// A snapshot's entries have no labels: one that may hold what a label purged is not believed. Nor
// is what it says of a segment that was open, which is read anyway.
TEST(RecoveryLabels, ASnapshotThatMayHoldPurgedLabelsIsNotUsed) {
  SegmentTable table(kSegments);
  table.setSequence(1, 100);
  PurgeSet purges;
  PurgeRecord rule;
  rule.kind = PurgeKind::label;
  rule.hash.lo = 5;
  rule.number = 20;
  rule.before = LogPosition{100, 9};
  purges.add(rule);
  SnapshotHeader header;
  header.segment_count = kSegments;
  header.sealed_sequence = 100;
  std::vector<uint64_t> sequences(kSegments, 0);
  sequences[1] = 100;
  const auto outcome = [&](uint64_t journal_number, uint64_t sealed) {
    const auto index = makeIndex(table);
    RecoveryMerge merge(*index, table, purges);
    header.bucket_count = index->bucketCount();
    header.journal_number = journal_number;
    header.sealed_sequence = sealed;
    const PlacedEntry placed{index->bucketOf(hashOf(1)), entryOf(line(1, 8), 1, 100, kExpiryAsk)};
    return merge.addSnapshotEntry(header, sequences, placed);
  };
  EXPECT_EQ(outcome(21, 100), Recovered::taken);
  EXPECT_EQ(outcome(20, 100), Recovered::not_placed);
  EXPECT_EQ(outcome(21, 99), Recovered::not_placed);
}

// v1 was replaced by v2, and v2 purged by a label that v1 did not have: v1 is not the newest again.
TEST(RecoveryLabels, WhatAPurgedVersionHadReplacedStaysReplaced) {
  SegmentTable table(kSegments);
  table.setSequence(1, 100);
  PurgeSet purges;
  PurgeRecord rule;
  rule.kind = PurgeKind::label;
  rule.hash.lo = 5;
  rule.before = LogPosition{100, 40};
  purges.add(rule);
  const std::array<Label, 1> old{4};
  const std::array<Label, 1> purged{5};
  for (const bool newest_first : {false, true}) {
    const auto index = makeIndex(table);
    RecoveryMerge merge(*index, table, purges);
    if (newest_first) {
      EXPECT_EQ(merge.addRecord(1, 100, line(1, 20), purged), Recovered::purged);
      EXPECT_EQ(merge.addRecord(1, 100, line(1, 8), old), Recovered::older);
    } else {
      EXPECT_EQ(merge.addRecord(1, 100, line(1, 8), old), Recovered::taken);
      EXPECT_EQ(merge.addRecord(1, 100, line(1, 20), purged), Recovered::purged);
    }
    EXPECT_EQ(merge.buried(), 1U);
    // Until the marks are erased a reader finds a note that has expired.
    ASSERT_TRUE(index->find(hashOf(1)).has_value());
    EXPECT_TRUE(isBuried(*index->find(hashOf(1))));
    EXPECT_EQ(index->hint(*index->find(hashOf(1)), kEpoch), ExpiryHint::expired);
    // A later version is taken all the same.
    EXPECT_EQ(merge.addRecord(1, 100, line(1, 48), purged), Recovered::taken);
    EXPECT_TRUE(index->find(hashOf(1))->placed());
  }
}

TEST(RecoveryLabels, ALabelConcernsWhatWasWrittenBeforeItsPurge) {
  SegmentTable table(kSegments);
  table.setSequence(1, 100);
  PurgeSet purges;
  PurgeRecord rule;
  rule.kind = PurgeKind::label;
  rule.hash.lo = 5;
  rule.before = LogPosition{100, 20};
  purges.add(rule);
  const auto index = makeIndex(table);
  RecoveryMerge merge(*index, table, purges);
  const std::array<Label, 2> with{4, 5};
  const std::array<Label, 2> without{4, 6};
  EXPECT_EQ(merge.addRecord(1, 100, line(1, 8), with), Recovered::purged);
  EXPECT_EQ(merge.addRecord(1, 100, line(2, 12), without), Recovered::taken);
  EXPECT_EQ(merge.addRecord(1, 100, line(1, 20), with), Recovered::taken);
}

}  // namespace
}  // namespace store
