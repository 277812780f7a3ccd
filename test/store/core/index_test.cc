// Goal: the index finds what was published, loses only what it reports, and moves entries without
// losing them. Method: random operations against a std::map; full tables; scans with changes in
// between.
#include "source/store/core/index.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "source/base/random.h"

namespace store {
namespace {

constexpr uint32_t kEpoch = 1'800'000'000;

base::Hash128 hashOf(uint64_t key) {
  return base::Hash128{mix64(key + 1), mix64(key + 0x51ed270b7f4a7c15ULL)};
}

Entry entryFor(uint64_t key, uint32_t segment = 0, uint32_t offset = 8) {
  EntryFields f;
  f.kind = EntryKind::object;
  f.segment = segment;
  f.offset_units = offset;
  f.length_units = 1;
  return Entry::make(hashOf(key), f);
}

std::unique_ptr<IndexShard> makeIndex(uint64_t capacity, const SegmentTable& segments) {
  IndexOptions options;
  options.capacity_objects = capacity;
  options.epoch_s = kEpoch;
  base::Result<std::unique_ptr<IndexShard>> index = IndexShard::create(options, segments);
  CHECK(index.ok());
  return std::move(index.value());
}

TEST(Index, TheOtherBucketsOtherBucketIsTheFirst) {
  const SegmentTable segments(1);
  base::Random random(1);
  for (const uint64_t capacity : {1, 3, 4, 1000, 99999}) {
    const auto index = makeIndex(capacity, segments);
    for (int i = 0; i < 1000; i++) {
      const base::Hash128 hash{random.next(), random.next()};
      const uint64_t bucket = index->bucketOf(hash);
      const uint64_t other = index->partner(bucket, tagOf(hash));
      EXPECT_LT(bucket, index->bucketCount());
      EXPECT_LT(other, index->bucketCount());
      EXPECT_EQ(index->partner(other, tagOf(hash)), bucket);
    }
  }
}

TEST(Index, MemoryIsAtMostTwentyBytesAnObject) {
  const SegmentTable segments(1);
  for (const uint64_t capacity : {100, 100'000, 10'000'000}) {
    EXPECT_LE(IndexShard::bytesFor(capacity), capacity * 20);
    EXPECT_EQ(makeIndex(capacity, segments)->memoryBytes(), IndexShard::bytesFor(capacity));
  }
}

TEST(Index, AnAbsurdSizeIsAnError) {
  const SegmentTable segments(1);
  IndexOptions options;
  options.capacity_objects = 0;
  EXPECT_EQ(IndexShard::create(options, segments).error().code, base::Code::config_invalid);
  options.capacity_objects = kMaxIndexObjects + 1;
  EXPECT_EQ(IndexShard::create(options, segments).error().code, base::Code::config_invalid);
}

TEST(Index, BehavesLikeAMapBelowItsLoad) {
  constexpr uint64_t kKeys = 5000;
  const SegmentTable segments(1);
  const auto index = makeIndex(kKeys, segments);
  std::map<uint64_t, Entry> model;
  base::Random random(2);
  for (int i = 0; i < 300000; i++) {
    const uint64_t key = random.below(kKeys);
    const base::Hash128 hash = hashOf(key);
    const auto known = model.find(key);
    const Entry fresh = entryFor(key, static_cast<uint32_t>(random.below(1000)),
                                 static_cast<uint32_t>(random.between(8, 30000)));
    switch (random.below(6)) {
      case 0:
      case 1: {
        const Published published = index->publish(hash, fresh);
        ASSERT_EQ(published.how,
                  known == model.end() ? PublishOutcome::inserted : PublishOutcome::replaced);
        ASSERT_EQ(published.previous, known == model.end() ? Entry{} : known->second);
        model[key] = fresh;
        break;
      }
      case 2: {
        const std::optional<Entry> erased = index->erase(hash);
        ASSERT_EQ(erased.has_value(), known != model.end());
        if (erased) {
          ASSERT_EQ(*erased, known->second);
          model.erase(known);
        }
        break;
      }
      case 3: {
        const bool right = random.chance(1, 2) && known != model.end();
        const Entry old = right ? known->second.withFrequency(3) : entryFor(key, 1001);
        ASSERT_EQ(index->replaceIf(hash, old, fresh), right);
        if (right) {
          known->second = fresh;
        }
        break;
      }
      case 4: {
        const bool right = random.chance(1, 2) && known != model.end();
        const Entry old = right ? known->second : entryFor(key, 1001);
        ASSERT_EQ(index->eraseIf(hash, old), right);
        if (right) {
          model.erase(known);
        }
        break;
      }
      case 5: {
        index->touch(hash);
        if (known != model.end() && known->second.frequency() < 3) {
          known->second = known->second.withFrequency(known->second.frequency() + 1);
        }
        break;
      }
    }
    const uint64_t probe = random.below(kKeys);
    const auto expected = model.find(probe);
    const std::optional<Entry> found = index->find(hashOf(probe));
    ASSERT_EQ(found.has_value(), expected != model.end());
    if (found) {
      ASSERT_EQ(*found, expected->second);
    }
    ASSERT_EQ(index->size(), model.size());
  }
}

TEST(Index, HoldsItsCapacityWithoutAnEviction) {
  constexpr uint64_t kCapacity = 200'000;
  const SegmentTable segments(1);
  const auto index = makeIndex(kCapacity, segments);
  for (uint64_t key = 0; key < kCapacity; key++) {
    ASSERT_EQ(index->publish(hashOf(key), entryFor(key)).how, PublishOutcome::inserted) << key;
  }
  EXPECT_EQ(index->size(), kCapacity);
  EXPECT_EQ(index->evictions(), 0u);
  for (uint64_t key = 0; key < kCapacity; key++) {
    ASSERT_TRUE(index->find(hashOf(key)).has_value()) << key;
  }
}

// Beyond the slots something must go: what goes is reported and has the oldest segment within
// reach.
TEST(Index, WhenFullTheOldestInReachGoesAndIsReported) {
  constexpr uint32_t kSegments = 1000;
  SegmentTable segments(kSegments);
  for (uint32_t segment = 0; segment < kSegments; segment++) {
    segments.setSequence(segment, 5000 + (segment + 500) % kSegments);  // age is not the number
  }
  const auto index = makeIndex(900, segments);
  std::map<uint64_t, Entry> model;
  base::Random random(3);
  uint64_t evicted = 0;
  for (uint64_t key = 0; key < 20000; key++) {
    EntryFields f;
    f.kind = EntryKind::object;
    f.segment = static_cast<uint32_t>(random.below(kSegments));
    f.generation = generationOf(segments.sequence(f.segment));
    f.offset_units = static_cast<uint32_t>(key & 0x7fff);
    const Entry entry = Entry::make(hashOf(key), f);
    const Published published = index->publish(hashOf(key), entry);
    if (published.how == PublishOutcome::evicted) {
      evicted++;
      const auto gone = std::find_if(model.begin(), model.end(), [&](const auto& pair) {
        return pair.second == published.previous;
      });
      ASSERT_NE(gone, model.end());
      model.erase(gone);
    }
    model[key] = entry;
    ASSERT_EQ(index->size(), model.size());
  }
  EXPECT_GT(evicted, 18000u);
  EXPECT_EQ(evicted, index->evictions());
  uint64_t age = 0;
  for (const auto& [key, entry] : model) {
    ASSERT_EQ(index->find(hashOf(key)), entry);
    age += segments.sequence(entry.segment()) - 5000;
  }
  // Survivors are far younger than the average of what was published (500).
  EXPECT_GT(age / model.size(), 800u);
}

TEST(Index, AnEntryWithoutARecordGoesBeforeTheOldestRecord) {
  SegmentTable segments(2);
  segments.setSequence(0, 1);
  const auto index = makeIndex(1, segments);  // one bucket of four
  ASSERT_EQ(index->bucketCount(), 1u);
  EntryFields f;
  f.kind = EntryKind::object;
  f.generation = generationOf(1);
  for (uint64_t key = 0; key < 3; key++) {
    index->publish(hashOf(key), Entry::make(hashOf(key), f));
  }
  const Entry hfm = Entry::makeUnplaced(hashOf(3), EntryKind::hit_for_miss, 1, 60);
  index->publish(hashOf(3), hfm);
  const Published published = index->publish(hashOf(4), Entry::make(hashOf(4), f));
  EXPECT_EQ(published.how, PublishOutcome::evicted);
  EXPECT_EQ(published.previous, hfm);
}

TEST(Index, FrequencyStopsAtThreeAndCanBeSet) {
  const SegmentTable segments(1);
  const auto index = makeIndex(10, segments);
  index->publish(hashOf(1), entryFor(1));
  for (int i = 0; i < 10; i++) {
    index->touch(hashOf(1));
  }
  EXPECT_EQ(index->find(hashOf(1))->frequency(), 3);
  EXPECT_TRUE(index->setFrequency(hashOf(1), entryFor(1), 1));
  EXPECT_EQ(index->find(hashOf(1))->frequency(), 1);
  EXPECT_FALSE(index->setFrequency(hashOf(1), entryFor(1, 5), 0));
  index->touch(hashOf(2));  // absent: nothing happens
  EXPECT_EQ(index->size(), 1u);
}

TEST(Index, ErasesFromABucketOnlyTheVersionThatIsMeant) {
  const SegmentTable segments(1);
  const auto index = makeIndex(1000, segments);
  for (uint64_t key = 0; key < 900; key++) {
    index->publish(hashOf(key), entryFor(key, 1));
  }
  std::vector<PlacedEntry> all;
  index->beginScan();
  while (index->scanStep(100, all)) {
  }
  for (uint64_t key = 0; key < 900; key += 2) {
    index->publish(hashOf(key), entryFor(key, 2));  // replaced since
  }
  uint64_t erased = 0;
  for (const PlacedEntry& placed : all) {
    erased += index->eraseAt(placed.bucket, placed.entry) ? 1 : 0;
  }
  EXPECT_EQ(erased, 450u);
  EXPECT_EQ(index->size(), 450u);
  EXPECT_TRUE(index->find(hashOf(0)).has_value());
  EXPECT_FALSE(index->find(hashOf(1)).has_value());
}

TEST(Index, RestoreRebuildsFromBucketsAlone) {
  constexpr uint64_t kCapacity = 20000;
  const SegmentTable segments(1);
  const auto index = makeIndex(kCapacity, segments);
  for (uint64_t key = 0; key < kCapacity; key++) {
    index->publish(hashOf(key), entryFor(key));
  }
  std::vector<PlacedEntry> all;
  index->beginScan();
  while (index->scanStep(100, all)) {
  }
  ASSERT_EQ(all.size(), kCapacity);
  const auto copy = makeIndex(kCapacity, segments);
  for (const PlacedEntry& placed : all) {
    ASSERT_TRUE(copy->restore(placed.bucket, placed.entry));
    ASSERT_FALSE(copy->restore(placed.bucket, placed.entry));
  }
  for (uint64_t key = 0; key < kCapacity; key++) {
    ASSERT_EQ(copy->find(hashOf(key)), entryFor(key));
  }
}

TEST(Index, AScanSeesEveryEntryThatStays) {
  constexpr uint64_t kStay = 8000;
  const SegmentTable segments(1);
  const auto index = makeIndex(10000, segments);
  for (uint64_t key = 0; key < kStay; key++) {
    index->publish(hashOf(key), entryFor(key));
  }
  base::Random random(4);
  uint64_t next = kStay;
  std::set<uint64_t> tags;
  std::vector<PlacedEntry> seen;
  const uint64_t moves = index->moves();
  index->beginScan();
  bool more = true;
  while (more) {
    // Changes between the steps make room by moving what stays.
    for (int i = 0; i < 50; i++) {
      index->publish(hashOf(next), entryFor(next));
      index->erase(hashOf(next >= kStay + 1500 ? next - 1500 : next));
      next++;
    }
    more = index->scanStep(20, seen);
  }
  EXPECT_GT(index->moves(), moves + 1000);
  for (const PlacedEntry& placed : seen) {
    tags.insert(placed.entry.tag());
  }
  for (uint64_t key = 0; key < kStay; key++) {
    EXPECT_TRUE(tags.contains(tagOf(hashOf(key)))) << key;
  }
  EXPECT_EQ(index->evictions(), 0u);
}

TEST(Index, TheEpochAdvancesWithoutEverCallingAnExpiredEntryFresh) {
  const SegmentTable segments(1);
  const auto index = makeIndex(1000, segments);
  uint32_t now = kEpoch;
  std::map<uint64_t, uint32_t> expires;
  base::Random random(5);
  uint64_t exact = 0;
  for (int i = 0; i < 40000; i++) {
    now += static_cast<uint32_t>(random.below(4000));
    index->advanceEpoch(now, 7);
    const uint64_t key = random.below(500);
    const auto at = now + static_cast<uint32_t>(random.below(1 << 20));
    expires[key] = at;
    index->publish(hashOf(key), entryFor(key).withExpiry(index->expiryFor(at)));
    const uint64_t probe = random.below(500);
    const std::optional<Entry> entry = index->find(hashOf(probe));
    if (entry) {
      const ExpiryHint hint = index->hint(*entry, now);
      ASSERT_NE(hint, now >= expires[probe] ? ExpiryHint::fresh : ExpiryHint::expired);
      exact += hint != ExpiryHint::ask ? 1 : 0;
    }
  }
  EXPECT_GT(index->epoch(), kEpoch + 70'000'000);
  EXPECT_GT(exact, 30000u);  // the sweeps cost a little of the hints' use, no more
}

}  // namespace
}  // namespace store
