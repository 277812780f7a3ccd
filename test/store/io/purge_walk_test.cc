// Goal: a purge by label takes exactly what carries it and was there before, wherever it lies,
// reads little else, and stays in force after any end of the process. Method: lives of a stripe on
// the simulated disk, with tables of contents in memory, on the disk, damaged, and without filters.
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "source/base/random.h"
#include "test/store/io/stripe_world.h"

namespace store {
namespace {

constexpr Label kRed = 11;
constexpr Label kBlue = 22;
constexpr Label kDirectory = 33;

std::string keyOf(uint64_t number) {
  return "http://example.com/d/" + std::to_string(number);
}

Piece piece(uint64_t number, std::vector<Label> labels, uint32_t bytes = 60'000) {
  Piece p;
  p.key = keyOf(number);
  p.bytes = bytes;
  p.labels = std::move(labels);
  return p;
}

bool isThere(Life& life, uint64_t number) {
  return life.read(keyOf(number)).has_value();
}

// Even numbers are red, odd ones blue; some twenty to a segment of 1 MiB.
void fillWith(Life& life, uint64_t count) {
  for (uint64_t i = 0; i < count; i++) {
    ASSERT_EQ(life.append(piece(i, {i % 2 == 0 ? kRed : kBlue, kDirectory})).code, base::Code::ok);
  }
}

void expectOnlyBlue(Life& life, uint64_t count) {
  for (uint64_t i = 0; i < count; i++) {
    EXPECT_EQ(isThere(life, i), i % 2 == 1) << i;
  }
}

TEST(PurgeWalk, TakesWhatCarriesTheLabelWhereverItLies) {
  StripeWorld world(1);
  Life life(world);
  ASSERT_TRUE(life.recover().ok());
  fillWith(life, 50);  // two sealed segments and an open one, with an open slab
  const base::Result<uint64_t> purged = life.purgeSelected(Selector{kRed, {}});
  ASSERT_TRUE(purged.ok());
  EXPECT_EQ(purged.value(), 25U);
  expectOnlyBlue(life, 50);
  EXPECT_EQ(life.purgeSelected(Selector{kRed, {}}).value(), 0U);
  EXPECT_EQ(life.purgeSelected(Selector{99, {}}).value(), 0U);
  // What is stored from then on is another matter.
  ASSERT_EQ(life.append(piece(0, {kRed})).code, base::Code::ok);
  EXPECT_TRUE(isThere(life, 0));
  EXPECT_EQ(life.purgeSelected(Selector{kRed, {}}).value(), 1U);
  life.stop();
}

TEST(PurgeWalk, AVersionThatNoLongerHasTheLabelStays) {
  StripeWorld world(2);
  Life life(world);
  ASSERT_TRUE(life.recover().ok());
  fillWith(life, 30);
  ASSERT_EQ(life.append(piece(2, {kBlue})).code, base::Code::ok);
  EXPECT_EQ(life.purgeSelected(Selector{kRed, {}}).value(), 14U);
  EXPECT_TRUE(isThere(life, 2));
  EXPECT_EQ(life.purgeSelected(Selector{kBlue, {}}).value(), 16U);
  EXPECT_FALSE(isThere(life, 2));
  life.stop();
}

TEST(PurgeWalk, SoftlyEverythingIsThereAndStale) {
  StripeWorld world(3);
  {
    Life life(world);
    ASSERT_TRUE(life.recover().ok());
    fillWith(life, 30);
    EXPECT_EQ(life.purgeSelected(Selector{kRed, {}}, true).value(), 15U);
    for (uint64_t i = 0; i < 30; i++) {
      ASSERT_TRUE(life.read(keyOf(i)).has_value()) << i;
      EXPECT_EQ(life.read(keyOf(i))->stale, i % 2 == 0) << i;
    }
    life.die(false);
  }
  Life life(world);
  ASSERT_TRUE(life.recover().ok());
  for (uint64_t i = 0; i < 30; i++) {
    const std::optional<FoundRecord> found = life.read(keyOf(i));
    EXPECT_TRUE(!found.has_value() || found->stale == (i % 2 == 0)) << i;
  }
  life.stop();
}

// What has left the index is still on the disk, in segments that are in use or free: a crash must
// not bring it back.
TEST(PurgeWalk, APrefixAlsoTakesWhatTheIndexNoLongerHas) {
  for (uint64_t seed = 40; seed < 44; seed++) {
    StripeWorld::Cut cut;
    cut.segments = 16;
    StripeWorld world(seed, sim::Options(), cut);
    {
      Life life(world);
      ASSERT_TRUE(life.recover().ok());
      for (uint64_t i = 0; i < 400; i++) {
        ASSERT_EQ(life.append(piece(i, {kDirectory})).code, base::Code::ok);
        life.runFor(5 * base::kMillisecond_ns);
      }
      life.flush();
      life.runFor(base::kSecond_ns);
      ASSERT_GT(life.written().reclaimed_segments, 2U);
      ASSERT_FALSE(isThere(life, 0));
      ASSERT_TRUE(isThere(life, 398));
      life.shared().index->erase(life.hash(keyOf(398)));  // as an index without a place does
      ASSERT_TRUE(life.purgeSelected(Selector{kDirectory, "http://example.com/d/"}).ok());
      life.die(false);
    }
    Life life(world);
    ASSERT_TRUE(life.recover().ok());
    for (uint64_t i = 0; i < 400; i++) {
      EXPECT_FALSE(life.entry(keyOf(i)).has_value()) << seed << " " << i;
    }
    life.stop();
  }
}

// A prefix that ends inside a segment reads the keys of its directory, and journals keys.
TEST(PurgeWalk, APrefixComparesKeys) {
  StripeWorld world(4);
  {
    Life life(world);
    ASSERT_TRUE(life.recover().ok());
    fillWith(life, 40);
    const base::Result<uint64_t> purged = life.purgeSelected(Selector{kDirectory, keyOf(1)});
    ASSERT_TRUE(purged.ok());
    EXPECT_EQ(purged.value(), 11U);  // 1 and 10 to 19
    EXPECT_EQ(life.store().purgeStats().keys_read, 40U);
    for (uint64_t i = 0; i < 40; i++) {
      EXPECT_EQ(isThere(life, i), !keyOf(i).starts_with(keyOf(1))) << i;
    }
    life.die(true);
  }
  Life life(world);
  ASSERT_TRUE(life.recover().ok());
  for (uint64_t i = 10; i < 20; i++) {
    EXPECT_FALSE(isThere(life, i)) << i;
  }
  life.stop();
}

// The snapshot is older than the purge and has no labels: it must not bring back what is gone, and
// is used again once a newer one has been saved.
TEST(PurgeWalk, NothingComesBackFromAnOlderSnapshot) {
  StripeWorld world(5);
  {
    Life life(world);
    ASSERT_TRUE(life.recover().ok());
    fillWith(life, 60);
    life.flush();
    life.runFor(StripeStore::kSnapshotEvery_ns + base::kSecond_ns);
    ASSERT_EQ(life.purgeSelected(Selector{kRed, {}}).value(), 30U);
    life.die(true);
  }
  {
    Life life(world);
    const base::Result<RecoveryReport> report = life.recover();
    ASSERT_TRUE(report.ok());
    EXPECT_FALSE(report.value().from_snapshot);
    expectOnlyBlue(life, 60);
    life.runFor(StripeStore::kSnapshotEvery_ns + base::kSecond_ns);
    life.die(true);
  }
  Life life(world);
  const base::Result<RecoveryReport> report = life.recover();
  ASSERT_TRUE(report.ok());
  EXPECT_TRUE(report.value().from_snapshot);
  expectOnlyBlue(life, 60);
  life.stop();
}

// The process dies between removal and journal at any moment: an answered purge holds.
TEST(PurgeWalk, AnAnswerOutlivesACrashAtAnyMoment) {
  int answered = 0;
  int unanswered = 0;
  for (uint64_t step = 0; step < 60; step++) {
    StripeWorld world(100 + step);
    std::optional<base::Result<uint64_t>> outcome;
    {
      Life life(world);
      ASSERT_TRUE(life.recover().ok());
      fillWith(life, 45);
      life.flush();
      life.startPurgeSelected(Selector{kRed, {}}, false, &outcome);
      life.runFor(step * 200 * base::kMicrosecond_ns);
      life.die(true);
    }
    const bool ok = outcome.has_value() && outcome->ok();
    answered += ok ? 1 : 0;
    unanswered += ok ? 0 : 1;
    Life life(world);
    ASSERT_TRUE(life.recover().ok());
    for (uint64_t i = 0; ok && i < 45; i += 2) {
      EXPECT_FALSE(isThere(life, i)) << step << " " << i;
    }
    life.stop();
  }
  EXPECT_GT(answered, 5);
  EXPECT_GT(unanswered, 5);
}

// Only the segments that may have the label are read; after a start that is all until the filters
// have been made.
TEST(PurgeWalk, ReadsTheSegmentsThatMayHaveTheLabel) {
  StripeWorld world(6);
  {
    Life life(world);
    ASSERT_TRUE(life.recover().ok());
    fillWith(life, 80);
    ASSERT_EQ(life.append(piece(500, {kRed, 55})).code, base::Code::ok);
    fillWith(life, 20);
    life.flush();
    EXPECT_EQ(life.purgeSelected(Selector{55, {}}).value(), 1U);
    EXPECT_LE(life.store().purgeStats().segments_read, 1U);
    EXPECT_EQ(life.store().purgeStats().segments_unfiltered, 0U);
    EXPECT_GT(life.store().filters().bytes(), 0U);
    life.stop();
  }
  Life life(world);
  ASSERT_TRUE(life.recover().ok());
  life.runFor(base::kSecond_ns);
  EXPECT_EQ(life.purgeSelected(Selector{56, {}}).value(), 0U);
  EXPECT_EQ(life.store().purgeStats().segments_read, 0U);
  EXPECT_EQ(life.purgeSelected(Selector{kBlue, {}}).value(), 40U);
  EXPECT_GT(life.store().purgeStats().segments_read, 2U);
  life.stop();
}

TEST(PurgeWalk, WithoutMemoryForFiltersEverySegmentIsRead) {
  StripeWorld::Cut cut;
  cut.filter_bytes = 63;  // one filter of 64 would not fit
  StripeWorld world(7, sim::Options(), cut);
  Life life(world);
  ASSERT_TRUE(life.recover().ok());
  fillWith(life, 60);
  life.flush();
  EXPECT_GT(life.store().filters().refused(), 0U);
  EXPECT_EQ(life.store().filters().bytes(), 0U);
  EXPECT_EQ(life.purgeSelected(Selector{99, {}}).value(), 0U);
  EXPECT_GT(life.store().purgeStats().segments_unfiltered, 1U);
  EXPECT_EQ(life.purgeSelected(Selector{kRed, {}}).value(), 30U);
  expectOnlyBlue(life, 60);
  life.stop();
}

// Nobody can say what is in a segment without its table: it serves nothing any more, in this life
// nor in the next.
TEST(PurgeWalk, ASegmentThatCannotTellWhatItHasIsGivenUp) {
  StripeWorld world(8);
  {
    Life life(world);
    ASSERT_TRUE(life.recover().ok());
    fillWith(life, 60);
    life.flush();
    life.runFor(base::kSecond_ns);
    const std::span<std::byte> data = world.world.disk().contents("data");
    const uint64_t end = segmentOffset(1, kMinSegmentBytes);
    for (uint64_t at = end - kUnitBytes; at < end; at++) {
      data[at] ^= std::byte{0x55};
    }
    ASSERT_TRUE(life.purgeSelected(Selector{kRed, {}}).ok());
    EXPECT_EQ(life.store().purgeStats().segments_lost, 1U);
    for (uint64_t i = 0; i < 60; i += 2) {
      EXPECT_FALSE(isThere(life, i)) << i;
    }
    EXPECT_FALSE(isThere(life, 1));  // in the same segment
    EXPECT_TRUE(isThere(life, 59));
    life.stop();
  }
  Life life(world);
  ASSERT_TRUE(life.recover().ok());
  for (uint64_t i = 0; i < 60; i += 2) {
    EXPECT_FALSE(isThere(life, i)) << i;
  }
  life.stop();
}

// While the log goes round and hit records are written again, a purge takes every version that was
// appended before it began, and none that came after it ended.
TEST(PurgeWalk, ReclaimBringsNothingBack) {
  for (uint64_t seed = 1; seed <= 25; seed++) {
    SCOPED_TRACE(seed);
    StripeWorld world(1000 + seed);
    base::Random random(seed);
    Life life(world);
    ASSERT_TRUE(life.recover().ok());
    fillWith(life, 40);
    uint64_t version = 1;
    for (int round = 0; round < 8; round++) {
      for (uint64_t i = 0; i < 40; i++) {
        life.shared().index->touch(life.hash(keyOf(i)));
      }
      std::optional<base::Result<uint64_t>> outcome;
      std::vector<AppendOutcome> appends(30);
      const uint64_t before = version;
      for (size_t i = 0; i < appends.size(); i++) {
        if (i == random.below(appends.size()) || (i == 29 && !outcome.has_value())) {
          life.startPurgeSelected(Selector{kRed, {}}, false, &outcome);
        }
        Piece p = piece(1000 + random.below(200), {kBlue, kDirectory});
        p.version = ++version;
        life.startAppend(p, &appends[i]);
        life.runFor(random.below(3 * base::kMillisecond_ns));
      }
      life.finish();
      life.flush();
      for (uint64_t i = 0; i < 40; i += 2) {
        const std::optional<FoundRecord> found = life.read(keyOf(i));
        EXPECT_TRUE(!found.has_value() || found->version > before) << i;
      }
      fillWith(life, 40);
    }
    life.stop();
  }
}

TEST(PurgeWalk, MoreAtOnceThanMayWalkWaitTheirTurn) {
  StripeWorld world(9);
  Life life(world);
  ASSERT_TRUE(life.recover().ok());
  fillWith(life, 60);
  life.flush();
  std::vector<std::optional<base::Result<uint64_t>>> outcomes(StripeStore::kWalks + 1);
  for (auto& outcome : outcomes) {
    life.startPurgeSelected(Selector{kRed, {}}, false, &outcome);
  }
  life.finish();
  uint64_t purged = 0;
  for (const auto& outcome : outcomes) {
    ASSERT_TRUE(outcome.has_value() && outcome->ok());
    purged += outcome->value();
  }
  EXPECT_EQ(purged, 30U);  // each object once
  life.stop();
}

std::set<std::string> listAll(Life& life, std::optional<Selector> selector, uint32_t limit) {
  std::set<std::string> keys;
  ListQuery query;
  query.selector = std::move(selector);
  query.limit = limit;
  while (true) {
    base::Result<ListPage> page = life.list(query);
    EXPECT_TRUE(page.ok());
    EXPECT_LE(page.value().records.size(), limit);
    for (const ListedRecord& record : page.value().records) {
      EXPECT_TRUE(keys.insert(record.key).second) << record.key << " twice";
    }
    if (!page.value().next.has_value()) {
      return keys;
    }
    EXPECT_GT(*page.value().next, query.after);
    query.after = *page.value().next;
  }
}

TEST(ObjectList, PagesHoldEveryObjectOnce) {
  StripeWorld world(10);
  Life life(world);
  ASSERT_TRUE(life.recover().ok());
  fillWith(life, 70);
  fillWith(life, 10);  // newer versions
  ASSERT_TRUE(life.purge(keyOf(69)).ok());
  std::set<std::string> all;
  std::set<std::string> red;
  for (uint64_t i = 0; i < 69; i++) {
    all.insert(keyOf(i));
    if (i % 2 == 0) {
      red.insert(keyOf(i));
    }
  }
  for (const uint32_t limit : {1U, 7U, 69U, 70U}) {
    EXPECT_EQ(listAll(life, std::nullopt, limit), all) << limit;
    EXPECT_EQ(listAll(life, Selector{kRed, {}}, limit), red) << limit;
  }
  EXPECT_EQ(listAll(life, Selector{kDirectory, keyOf(6)}, 5).size(), 10U);  // 6 and 60 to 68
  EXPECT_TRUE(listAll(life, Selector{99, {}}, 5).empty());
  life.stop();
}

}  // namespace
}  // namespace store
