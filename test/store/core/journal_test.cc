// Goal: no acknowledged purge is lost unnoticed, and none is invented. Method: every byte flipped,
// every length cut, files used before, and compaction against the verdicts of the whole journal.
#include "source/store/core/journal.h"

#include <gtest/gtest.h>

#include "source/base/random.h"
#include "source/store/core/purge_set.h"

namespace store {
namespace {

using Bytes = std::vector<std::byte>;
constexpr uint32_t kSalt = 77;

PurgeRecord keyPurge(uint64_t key, LogPosition before, bool soft = false) {
  PurgeRecord r;
  r.hash = base::Hash128{mix64(key), key};
  r.before = before;
  r.soft = soft;
  r.time_s = 1'800'000'000;
  return r;
}

PurgeRecord labelPurge(Label label, LogPosition before, bool soft = false) {
  PurgeRecord r;
  r.kind = PurgeKind::label;
  r.hash.lo = label;
  r.before = before;
  r.soft = soft;
  return r;
}

PurgeRecord everything(LogPosition before, bool soft = false) {
  PurgeRecord r;
  r.kind = PurgeKind::everything;
  r.before = before;
  r.soft = soft;
  return r;
}

Bytes file(std::vector<PurgeRecord>& records, uint64_t first_number, uint64_t generation = 1,
           uint32_t initial = 0) {
  Bytes bytes(kJournalHeaderBytes + records.size() * kJournalRecordBytes);
  encodeJournalHeader(bytes, JournalHeader{generation, first_number, 5, initial}, kSalt);
  for (size_t i = 0; i < records.size(); i++) {
    records[i].number = first_number + i;
    encodePurge(std::span(bytes).subspan(kJournalHeaderBytes + i * kJournalRecordBytes), records[i],
                kSalt);
  }
  return bytes;
}

std::vector<PurgeRecord> randomPurges(base::Random& random, size_t count, uint64_t keys) {
  std::vector<PurgeRecord> records;
  LogPosition at{10, 8};
  for (size_t i = 0; i < count; i++) {
    at.offset_units += static_cast<uint32_t>(random.below(50));
    if (random.chance(1, 10)) {
      at = LogPosition{at.sequence + 1, 8};
    }
    if (random.chance(1, 6)) {
      records.push_back(labelPurge(random.below(4), at, random.chance(1, 3)));
      continue;
    }
    records.push_back(random.chance(1, 25) ? everything(at, random.chance(2, 3))
                                           : keyPurge(random.below(keys), at, random.chance(1, 3)));
  }
  return records;
}

TEST(Journal, RoundTrip) {
  base::Random random(1);
  std::vector<PurgeRecord> records = randomPurges(random, 100, 30);
  const Bytes bytes = file(records, 1000, 9);
  const base::Result<JournalRead> read = decodeJournal(bytes, kSalt);
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read.value().header, (JournalHeader{9, 1000, 5, 0}));
  EXPECT_EQ(read.value().records, records);
  EXPECT_EQ(read.value().next_number, 1100u);
  EXPECT_EQ(read.value().valid_bytes, bytes.size());
  EXPECT_FALSE(read.value().torn_tail);
  EXPECT_EQ(read.value().damaged_slots, 0u);
}

TEST(Journal, AnEmptyPreallocatedFileEndsAtOnce) {
  std::vector<PurgeRecord> none;
  Bytes bytes = file(none, 3);
  bytes.resize(1 << 16);
  const base::Result<JournalRead> read = decodeJournal(bytes, kSalt);
  ASSERT_TRUE(read.ok());
  EXPECT_TRUE(read.value().records.empty());
  EXPECT_EQ(read.value().next_number, 3u);
  EXPECT_EQ(read.value().valid_bytes, kJournalHeaderBytes);
  EXPECT_FALSE(read.value().torn_tail);
}

TEST(Journal, ATornAppendIsDiscardedAndTheRestStays) {
  base::Random random(2);
  std::vector<PurgeRecord> records = randomPurges(random, 6, 30);
  const Bytes bytes = file(records, 1);
  for (size_t cut = kJournalHeaderBytes; cut < bytes.size(); cut++) {
    for (const bool zeros_follow : {false, true}) {
      Bytes torn(bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(cut));
      if (zeros_follow) {
        torn.resize(bytes.size() + 4096);
      }
      const base::Result<JournalRead> read = decodeJournal(torn, kSalt);
      ASSERT_TRUE(read.ok());
      const size_t whole = (cut - kJournalHeaderBytes) / kJournalRecordBytes;
      ASSERT_EQ(read.value().records.size(), whole);
      ASSERT_EQ(read.value().valid_bytes, kJournalHeaderBytes + whole * kJournalRecordBytes);
      ASSERT_EQ(read.value().torn_tail, (cut - kJournalHeaderBytes) % kJournalRecordBytes != 0);
      ASSERT_EQ(read.value().damaged_slots, 0u);
    }
  }
}

TEST(Journal, EveryFlippedByteIsNoticed) {
  base::Random random(3);
  std::vector<PurgeRecord> records = randomPurges(random, 10, 30);
  Bytes bytes = file(records, 1);
  for (size_t i = 0; i < bytes.size(); i++) {
    bytes[i] ^= std::byte{4};
    const base::Result<JournalRead> read = decodeJournal(bytes, kSalt);
    bytes[i] ^= std::byte{4};
    if (i < kJournalHeaderBytes) {
      ASSERT_FALSE(read.ok()) << i;
      continue;
    }
    ASSERT_TRUE(read.ok());
    const size_t slot = (i - kJournalHeaderBytes) / kJournalRecordBytes;
    std::vector<PurgeRecord> expected = records;
    expected.erase(expected.begin() + static_cast<ptrdiff_t>(slot));
    const bool last = slot + 1 == records.size();
    if (!last) {
      expected.push_back(everything(records[slot + 1].before));
      expected.back().number = read.value().next_number;
    }
    ASSERT_EQ(read.value().records, expected) << i;
    ASSERT_EQ(read.value().torn_tail, last) << i;
    ASSERT_EQ(read.value().damaged_slots, last ? 0u : 1u) << i;
    if (!last) {
      // Whatever was lost concerned nothing at or beyond this position.
      ASSERT_GE(read.value().lost_before, records[slot].before);
    }
  }
}

TEST(Journal, RecordsOfAFilesFormerUseAreNotItsOwn) {
  base::Random random(4);
  std::vector<PurgeRecord> old = randomPurges(random, 50, 30);
  Bytes bytes = file(old, 1, 1);
  std::vector<PurgeRecord> fresh = randomPurges(random, 7, 30);
  const Bytes start = file(fresh, 51, 2);
  std::copy(start.begin(), start.end(), bytes.begin());
  const base::Result<JournalRead> read = decodeJournal(bytes, kSalt);
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read.value().records, fresh);
  EXPECT_FALSE(read.value().torn_tail);
  EXPECT_EQ(read.value().damaged_slots, 0u);
  // A torn append among them is still told.
  bytes[start.size()] ^= std::byte{1};
  EXPECT_TRUE(decodeJournal(bytes, kSalt).value().torn_tail);
}

// The crash came while a new file was written: the old one still counts.
TEST(Journal, AFileWithoutItsInitialRecordsNeverCounted) {
  base::Random random(6);
  std::vector<PurgeRecord> records = randomPurges(random, 8, 30);
  const Bytes bytes = file(records, 1, 2, 8);
  EXPECT_TRUE(decodeJournal(bytes, kSalt).ok());
  for (size_t cut = 0; cut < bytes.size(); cut += 8) {
    Bytes torn(bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(cut));
    EXPECT_FALSE(decodeJournal(torn, kSalt).ok());
    torn.resize(bytes.size());
    EXPECT_FALSE(decodeJournal(torn, kSalt).ok());
  }
}

// What was lost stays lost: the stand-in survives compaction and keeps everything older away.
TEST(Journal, LostPurgesAreHandedOnAsAPurgeOfEverything) {
  std::vector<PurgeRecord> records = {keyPurge(1, {10, 50}), keyPurge(2, {11, 60}),
                                      keyPurge(3, {12, 70})};
  Bytes bytes = file(records, 1);
  bytes[kJournalHeaderBytes + kJournalRecordBytes + 20] ^= std::byte{1};
  const base::Result<JournalRead> read = decodeJournal(bytes, kSalt);
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read.value().lost_before, (LogPosition{12, 70}));
  PurgeSet set;
  set.addAll(compactJournal(read.value().records, 1, 100));
  EXPECT_EQ(set.verdict(records[1].hash, {11, 59}), PurgeVerdict::drop);
  EXPECT_EQ(set.verdict(keyPurge(9, {}).hash, {12, 69}), PurgeVerdict::drop);
  EXPECT_EQ(set.verdict(keyPurge(9, {}).hash, {12, 70}), PurgeVerdict::keep);
}

// An append of several records, of which a crash left some: nobody was told of it.
TEST(Journal, WhatACrashLeftOfTheLastAppendIsNoLoss) {
  std::vector<PurgeRecord> records;
  for (uint32_t i = 0; i < 9; i++) {
    records.push_back(keyPurge(i, {10, 50 + i}));
    records.back().batch_index = i < 3 ? 0 : i - 3;  // three appends of one, one of six
  }
  const Bytes whole = file(records, 1);
  for (uint32_t mask = 0; mask < 64; mask++) {
    Bytes torn = whole;
    std::vector<PurgeRecord> expected(records.begin(), records.begin() + 3);
    for (uint32_t i = 0; i < 6; i++) {
      if ((mask >> i & 1) == 0) {
        std::fill_n(torn.begin() + kJournalHeaderBytes + (3 + i) * kJournalRecordBytes,
                    kJournalRecordBytes, std::byte{0});
      } else {
        expected.push_back(records[3 + i]);
      }
    }
    const base::Result<JournalRead> read = decodeJournal(torn, kSalt);
    ASSERT_TRUE(read.ok());
    ASSERT_EQ(read.value().damaged_slots, 0u) << mask;
    ASSERT_EQ(read.value().records, expected) << mask;
  }
}

// Once another append follows, the one before had been answered.
TEST(Journal, AHoleInAnAnsweredAppendIsALoss) {
  std::vector<PurgeRecord> records;
  for (uint32_t i = 0; i < 6; i++) {
    records.push_back(keyPurge(i, {10, 50 + i}));
    records.back().batch_index = i < 5 ? i : 0;  // one of five, one of one
  }
  for (uint32_t hole = 0; hole < 5; hole++) {
    Bytes bytes = file(records, 1);
    bytes[kJournalHeaderBytes + hole * kJournalRecordBytes + 9] ^= std::byte{1};
    const base::Result<JournalRead> read = decodeJournal(bytes, kSalt);
    ASSERT_TRUE(read.ok());
    EXPECT_EQ(read.value().damaged_slots, 1u) << hole;
    EXPECT_EQ(read.value().lost_before, (LogPosition{10, 55})) << hole;
  }
}

TEST(Journal, AnotherSaltIsNotOurs) {
  std::vector<PurgeRecord> none;
  EXPECT_FALSE(decodeJournal(file(none, 1), kSalt + 1).ok());
  EXPECT_FALSE(decodeJournal(Bytes(100), kSalt).ok());
}

// Compaction must not change any verdict on a record that can still be on the disk.
TEST(Journal, CompactionKeepsEveryVerdictThatMatters) {
  base::Random random(5);
  for (int round = 0; round < 60; round++) {
    std::vector<PurgeRecord> records = randomPurges(random, random.below(200), 12);
    const uint64_t oldest = random.between(8, 40);
    const std::vector<PurgeRecord> kept = compactJournal(records, oldest, 500);
    EXPECT_LE(kept.size(), 12u * 2 + 4 * 2 + 2);
    PurgeSet before;
    PurgeSet after;
    before.addAll(records);
    after.addAll(kept);
    for (size_t i = 0; i < kept.size(); i++) {
      EXPECT_EQ(kept[i].number, 500 + i);
      EXPECT_TRUE(i == 0 || kept[i - 1].before <= kept[i].before);
    }
    for (int probe = 0; probe < 2000; probe++) {
      const base::Hash128 hash = keyPurge(random.below(13), {}).hash;
      const LogPosition at{random.between(oldest, 40),
                           static_cast<uint32_t>(random.between(8, 600))};
      ASSERT_EQ(before.verdict(hash, at), after.verdict(hash, at));
      // A record with a label is asked for both, as a purge of everything may stand for its own.
      const std::vector<Label> labels{random.below(5), 77};
      ASSERT_EQ(PurgeSet::worse(before.verdict(hash, at), before.labelVerdict(labels, at)),
                PurgeSet::worse(after.verdict(hash, at), after.labelVerdict(labels, at)));
    }
  }
}

TEST(Journal, CompactionForgetsWhatNoSegmentCanHold) {
  std::vector<PurgeRecord> records = {keyPurge(1, {10, 50}), keyPurge(2, {11, 8}),
                                      keyPurge(3, {11, 9})};
  const std::vector<PurgeRecord> kept = compactJournal(records, 11, 1);
  ASSERT_EQ(kept.size(), 1u);
  EXPECT_EQ(kept[0].hash, records[2].hash);
}

TEST(PurgeSet, ConcernsOnlyWhatWasWrittenBefore) {
  PurgeSet set;
  const base::Hash128 hard = keyPurge(1, {}).hash;
  const base::Hash128 soft = keyPurge(2, {}).hash;
  set.add(keyPurge(1, {20, 100}));
  set.add(keyPurge(1, {20, 50}));  // an older one does not undo it
  set.add(keyPurge(2, {20, 100}, true));
  EXPECT_EQ(set.verdict(hard, {20, 99}), PurgeVerdict::drop);
  EXPECT_EQ(set.verdict(hard, {19, 5000}), PurgeVerdict::drop);
  EXPECT_EQ(set.verdict(hard, {20, 100}), PurgeVerdict::keep);
  EXPECT_EQ(set.verdict(hard, {21, 8}), PurgeVerdict::keep);
  EXPECT_EQ(set.verdict(soft, {20, 99}), PurgeVerdict::stale);
  EXPECT_EQ(set.verdict(soft, {20, 100}), PurgeVerdict::keep);
  set.add(everything({20, 60}));
  EXPECT_EQ(set.verdict(soft, {20, 59}), PurgeVerdict::drop);
  EXPECT_EQ(set.verdict(soft, {20, 60}), PurgeVerdict::stale);
  EXPECT_EQ(set.verdict(keyPurge(3, {}).hash, {20, 59}), PurgeVerdict::drop);
  EXPECT_EQ(set.verdict(keyPurge(3, {}).hash, {20, 60}), PurgeVerdict::keep);
  set.raiseFloor({30, 8});
  EXPECT_EQ(set.verdict(keyPurge(3, {}).hash, {29, 99}), PurgeVerdict::drop);
  EXPECT_EQ(set.newest(), (LogPosition{20, 100}));  // a floor is no purge
}

TEST(PurgeSet, LabelsAreNoKeys) {
  PurgeSet set;
  set.add(labelPurge(7, {20, 100}));
  set.add(labelPurge(8, {20, 100}, true));
  const std::vector<Label> both{8, 7};
  const std::vector<Label> soft{1, 8};
  EXPECT_EQ(set.labelVerdict(both, {20, 99}), PurgeVerdict::drop);
  EXPECT_EQ(set.labelVerdict(soft, {20, 99}), PurgeVerdict::stale);
  EXPECT_EQ(set.labelVerdict(soft, {20, 100}), PurgeVerdict::keep);
  EXPECT_EQ(set.labelVerdict({}, {1, 1}), PurgeVerdict::keep);
  EXPECT_EQ(set.verdict(base::Hash128{0, 7}, {20, 99}), PurgeVerdict::keep);
  EXPECT_EQ(set.newest(), (LogPosition{20, 100}));
}

TEST(PurgeSet, KeysThatShareATagAreToldApart) {
  PurgeSet set;
  PurgeRecord a = keyPurge(1, {20, 100});
  a.hash = base::Hash128{0xabcdef0000000000, 1};
  PurgeRecord b = a;
  b.hash = base::Hash128{0xabcdef0000000001, 2};  // differs below the tag
  ASSERT_EQ(tagOf(a.hash), tagOf(b.hash));
  set.add(a);
  EXPECT_EQ(set.verdict(a.hash, {20, 1}), PurgeVerdict::drop);
  EXPECT_EQ(set.verdict(b.hash, {20, 1}), PurgeVerdict::keep);
  EXPECT_EQ(set.verdictByTag(tagOf(b.hash), {20, 1}, [](base::Hash128) { return true; }),
            PurgeVerdict::drop);
}

}  // namespace
}  // namespace store
