// Goal: what a stripe's disk holds after any end of its process becomes the index again: all of it
// after a clean stop, and after a crash nothing wrong, nothing purged, and everything that was
// sealed and synced. Method: lives of a stripe on the simulated disk, ended in every way at any
// time, against a model of what may and what must be found.
#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <string>
#include <vector>

#include "source/base/random.h"
#include "test/store/io/stripe_world.h"

namespace store {
namespace {

std::string keyOf(uint64_t number) {
  return "http://example.com/" + std::to_string(number);
}

// What the index says of each key, without what may change: whether it is in the buffer, its hits.
std::map<std::string, Location> placesOf(Life& life, uint64_t keys) {
  std::map<std::string, Location> places;
  for (uint64_t i = 0; i < keys; i++) {
    const std::optional<Entry> entry = life.entry(keyOf(i));
    if (entry.has_value()) {
      places[keyOf(i)] = life.shared().table->locate(*entry);
    }
  }
  return places;
}

void damage(StripeWorld& world, const std::string& file) {
  for (std::byte& byte : world.world.disk().contents(file)) {
    byte ^= std::byte{0x55};
  }
}

TEST(Recover, ANewDiskIsEmpty) {
  StripeWorld world(1);
  Life life(world);
  EXPECT_FALSE(life.store().ready());
  const base::Result<RecoveryReport> report = life.recover();
  ASSERT_TRUE(report.ok());
  EXPECT_TRUE(life.store().ready());
  EXPECT_FALSE(report.value().from_snapshot);
  EXPECT_EQ(report.value().entries, 0U);
  EXPECT_EQ(report.value().segments_read, 0U);
}

class CleanStop : public testing::TestWithParam<bool> {};

TEST_P(CleanStop, GivesTheSameIndexAgain) {
  StripeWorld world(2);
  std::map<std::string, Location> before;
  {
    Life life(world);
    ASSERT_TRUE(life.recover().ok());
    for (uint64_t i = 0; i < 120; i++) {
      ASSERT_EQ(life.append({.key = keyOf(i % 90), .version = i, .bytes = 60'000}).code,
                base::Code::ok);
    }
    ASSERT_TRUE(life.purge(keyOf(89)).ok());
    ASSERT_TRUE(life.purge(keyOf(88), true).ok());
    life.flush();
    life.runFor(base::kSecond_ns);
    before = placesOf(life, 90);
    life.stop();
  }
  ASSERT_GT(before.size(), 40U);
  if (!GetParam()) {
    damage(world, "index-0");
    damage(world, "index-1");
  }
  Life life(world);
  const base::Result<RecoveryReport> report = life.recover();
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report.value().from_snapshot, GetParam());
  EXPECT_EQ(report.value().segments_walked, 0U);
  EXPECT_EQ(report.value().segments_read > 0, !GetParam());
  std::map<std::string, Location> after = placesOf(life, 90);
  if (!GetParam()) {
    // Segments that were given up, but not yet written over, are as good as ever.
    std::erase_if(after, [&](const auto& place) { return !before.contains(place.first); });
  }
  EXPECT_TRUE(after == before);
  EXPECT_FALSE(life.entry(keyOf(89)).has_value());
  ASSERT_TRUE(life.entry(keyOf(88)).has_value());
  EXPECT_TRUE(life.entry(keyOf(88))->staleNow());
  for (const auto& [key, at] : before) {
    EXPECT_TRUE(life.read(key).has_value()) << key;
  }
}
INSTANTIATE_TEST_SUITE_P(WithAndWithoutSnapshot, CleanStop, testing::Bool());

TEST(Recover, ADeadProcessLosesOnlyWhatWasNotWritten) {
  StripeWorld world(3);
  {
    Life life(world);
    ASSERT_TRUE(life.recover().ok());
    ASSERT_EQ(life.append({.key = "written"}).code, base::Code::ok);
    life.flush();
    ASSERT_EQ(life.append({.key = "in the buffer"}).code, base::Code::ok);
    life.die(false);
  }
  Life life(world);
  const base::Result<RecoveryReport> report = life.recover();
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report.value().segments_walked, 1U);
  EXPECT_TRUE(life.read("written").has_value());
  EXPECT_FALSE(life.entry("in the buffer").has_value());
}

TEST(Recover, TheSnapshotOfARunningProcessIsEnough) {
  StripeWorld world(4);
  {
    Life life(world);
    ASSERT_TRUE(life.recover().ok());
    for (uint64_t i = 0; i < 30; i++) {
      ASSERT_EQ(life.append({.key = keyOf(i), .bytes = 100'000}).code, base::Code::ok);
    }
    life.runFor(StripeStore::kSnapshotEvery_ns + base::kSecond_ns);
    for (uint64_t i = 30; i < 40; i++) {
      ASSERT_EQ(life.append({.key = keyOf(i), .bytes = 1000}).code, base::Code::ok);
    }
    life.flush();
    life.die(false);
  }
  Life life(world);
  const base::Result<RecoveryReport> report = life.recover();
  ASSERT_TRUE(report.ok());
  EXPECT_TRUE(report.value().from_snapshot);
  EXPECT_EQ(report.value().segments_read, 1U);  // the one that was open
  for (uint64_t i = 0; i < 40; i++) {
    EXPECT_TRUE(life.read(keyOf(i)).has_value()) << i;
  }
}

// The instant at which a purge is answered is the last one of the process and of what was not
// synced.
TEST(Recover, APurgeIsDurableBeforeItReturns) {
  for (uint64_t seed = 1; seed <= 12; seed++) {
    StripeWorld world(seed);
    const bool soft = seed % 2 == 0;
    {
      Life life(world);
      ASSERT_TRUE(life.recover().ok());
      ASSERT_EQ(life.append({.key = "a"}).code, base::Code::ok);
      ASSERT_EQ(life.append({.key = "b"}).code, base::Code::ok);
      if (seed % 3 != 0) {
        life.flush();
      }
      std::optional<base::Status> outcome;
      life.startPurge("a", soft, &outcome);
      ASSERT_EQ(world.world.run([&] { return outcome.has_value(); },
                                world.world.now() + 10 * base::kSecond_ns),
                sim::Ran::done);
      ASSERT_TRUE(outcome->ok());
      life.die(true);
    }
    Life life(world);
    ASSERT_TRUE(life.recover().ok());
    const std::optional<FoundRecord> found = life.read("a");
    EXPECT_TRUE(soft ? !found.has_value() || found->stale : !found.has_value()) << seed;
    ASSERT_EQ(life.append({.key = "a", .version = 2}).code, base::Code::ok);
    EXPECT_EQ(life.read("a")->version, 2U);
    EXPECT_FALSE(life.read("a")->stale);
  }
}

TEST(Recover, ADiskThatCannotSyncFailsThePurgeButItIsInForce) {
  StripeWorld world(5);
  Life life(world);
  ASSERT_TRUE(life.recover().ok());
  ASSERT_EQ(life.append({.key = "a"}).code, base::Code::ok);
  life.flush();
  sim::DiskOptions broken;
  broken.sync_error = sim::kAlways;
  world.world.disk().setOptions(broken);
  const base::Result<uint64_t> purged = life.purge("a");
  ASSERT_FALSE(purged.ok());
  EXPECT_EQ(purged.error().code, base::Code::io_error);
  EXPECT_FALSE(life.entry("a").has_value());
  EXPECT_FALSE(life.purgeAll().ok());
  world.world.calm();
  EXPECT_TRUE(life.purge("a").ok());
}

TEST(Recover, ADiskThatCannotBeReadStoresNothing) {
  sim::Options options;
  options.disk.read_error = sim::kAlways;
  StripeWorld world(6, options);
  Life life(world);
  const base::Result<RecoveryReport> report = life.recover();
  ASSERT_FALSE(report.ok());
  EXPECT_EQ(report.error().code, base::Code::io_error);
  EXPECT_FALSE(life.store().ready());
  EXPECT_EQ(life.purge("a").error().code, base::Code::no_capacity);
}

// Without any journal nothing is known of past purges, so nothing that was stored may be served.
TEST(Recover, WithoutItsJournalNothingStoredIsServed) {
  StripeWorld world(7);
  {
    Life life(world);
    ASSERT_TRUE(life.recover().ok());
    ASSERT_EQ(life.append({.key = "a"}).code, base::Code::ok);
    life.stop();
  }
  damage(world, "purge-0");
  damage(world, "purge-1");
  for (int again = 0; again < 2; again++) {
    Life life(world);
    ASSERT_TRUE(life.recover().ok());
    EXPECT_FALSE(life.read("a").has_value());
    ASSERT_EQ(life.append({.key = "b"}).code, base::Code::ok);
    life.stop();
  }
  Life life(world);
  ASSERT_TRUE(life.recover().ok());
  EXPECT_TRUE(life.read("b").has_value());
}

TEST(PurgeAll, ConcernsWhatWasThereAndNothingLater) {
  for (uint64_t seed = 1; seed <= 4; seed++) {
    StripeWorld world(seed);
    {
      Life life(world);
      ASSERT_TRUE(life.recover().ok());
      for (uint64_t i = 0; i < 100; i++) {
        ASSERT_EQ(life.append({.key = keyOf(i), .bytes = 10'000}).code, base::Code::ok);
      }
      std::optional<base::Status> outcome;
      life.startPurgeAll(&outcome);
      std::deque<AppendOutcome> outcomes(20);
      for (uint64_t i = 0; i < 20; i++) {
        life.startAppend({.key = keyOf(1000 + i), .bytes = 200'000}, &outcomes[i]);
      }
      life.finish();
      ASSERT_TRUE(outcome->ok());
      ASSERT_EQ(life.append({.key = "later"}).code, base::Code::ok);
      life.flush();
      for (uint64_t i = 0; i < 100; i++) {
        EXPECT_FALSE(life.entry(keyOf(i)).has_value());
      }
      EXPECT_TRUE(life.read("later").has_value());
      life.die(seed % 2 == 0);
    }
    Life life(world);
    ASSERT_TRUE(life.recover().ok());
    for (uint64_t i = 0; i < 100; i++) {
      EXPECT_FALSE(life.read(keyOf(i)).has_value());
    }
    if (seed % 2 == 1) {
      EXPECT_TRUE(life.read("later").has_value());
      EXPECT_TRUE(life.read(keyOf(1019)).has_value());
    }
  }
}

// Whoever purges everything scans the index, and so does whoever saves it.
TEST(PurgeAll, ASnapshotAtTheSameTimeHidesNothingFromIt) {
  StripeWorld::Cut cut;
  cut.index_objects = 40'000;  // several steps and several blocks
  for (uint64_t seed = 1; seed <= 8; seed++) {
    sim::Options options;
    StripeWorld world(seed, options, cut);
    Life life(world);
    ASSERT_TRUE(life.recover().ok());
    for (uint64_t i = 0; i < 500; i++) {
      ASSERT_EQ(life.append({.key = keyOf(i), .bytes = 100}).code, base::Code::ok);
    }
    // To where the snapshot begins, and then a different little way.
    life.runFor(StripeStore::kSnapshotEvery_ns - base::kSecond_ns);
    const uint64_t writes = world.world.disk().counts().writes;
    world.world.run([&] { return world.world.disk().counts().writes > writes; },
                    world.world.now() + 5 * base::kSecond_ns);
    life.runFor(world.world.random().below(3 * base::kMillisecond_ns));
    ASSERT_TRUE(life.purgeAll().ok());
    for (uint64_t i = 0; i < 500; i++) {
      EXPECT_FALSE(life.entry(keyOf(i)).has_value()) << "seed " << seed;
    }
  }
}

TEST(PurgeAll, IsNotStoppedByASnapshotThatFailed) {
  StripeWorld::Cut cut;
  cut.index_objects = 40'000;
  StripeWorld world(8, sim::Options(), cut);
  Life life(world);
  ASSERT_TRUE(life.recover().ok());
  ASSERT_EQ(life.append({.key = "a"}).code, base::Code::ok);
  life.flush();
  sim::DiskOptions broken;
  broken.write_error = sim::kAlways;
  world.world.disk().setOptions(broken);
  life.runFor(StripeStore::kSnapshotEvery_ns + base::kSecond_ns);
  world.world.calm();
  EXPECT_GT(world.world.disk().counts().errors, 0U);
  std::optional<base::Status> outcome;
  life.startPurgeAll(&outcome);
  EXPECT_EQ(world.world.run([&] { return outcome.has_value(); },
                            world.world.now() + 10 * base::kSecond_ns),
            sim::Ran::done);
  EXPECT_FALSE(life.entry("a").has_value());
}

// What is hit is written again when its segment is reclaimed, to a place later than the purge.
TEST(PurgeAll, WhatIsWrittenAgainMeanwhileGoesToo) {
  StripeWorld::Cut cut;
  cut.index_objects = 400'000;  // a scan of many turns
  uint64_t copies = 0;
  for (uint64_t seed = 1; seed <= 3; seed++) {
    StripeWorld world(seed, sim::Options(), cut);
    Life life(world);
    ASSERT_TRUE(life.recover().ok());
    for (uint64_t i = 0; i < 400; i++) {
      ASSERT_EQ(life.append({.key = keyOf(i), .bytes = 30'000}).code, base::Code::ok);
      life.shared().index->touch(life.hash(keyOf(i)));
      life.runFor(300 * base::kMicrosecond_ns);
    }
    const uint64_t before = life.written().reinserted_records;
    copies += before;
    std::optional<base::Status> outcome;
    std::deque<AppendOutcome> outcomes(5);
    for (uint64_t i = 0; i < outcomes.size(); i++) {
      life.startAppend({.key = "other " + std::to_string(i), .bytes = 250'000}, &outcomes[i]);
    }
    life.runFor(world.world.random().below(2 * base::kMillisecond_ns));
    life.startPurgeAll(&outcome);
    life.finish();
    life.runFor(base::kSecond_ns);
    for (uint64_t i = 0; i < 400; i++) {
      EXPECT_FALSE(life.entry(keyOf(i)).has_value()) << "seed " << seed << " key " << i;
    }
  }
  EXPECT_GT(copies, 0U);
}

// Each life stores some, and purges one of them.
void fillAndStop(StripeWorld& world) {
  Life life(world);
  ASSERT_TRUE(life.recover().ok());
  for (uint64_t i = 0; i < 60; i++) {
    ASSERT_EQ(life.append({.key = keyOf(i), .version = i, .bytes = 60'000}).code, base::Code::ok);
  }
  ASSERT_TRUE(life.purge(keyOf(59)).ok());
  life.stop();
}

TEST(Recover, SucceedsOnceTheDiskReadsAgain) {
  StripeWorld world(31);
  fillAndStop(world);
  Life life(world);
  sim::DiskOptions broken;
  broken.read_error = sim::kAlways;
  world.world.disk().setOptions(broken);
  EXPECT_FALSE(life.recover().ok());
  EXPECT_FALSE(life.recover(Unreadable::is_lost).ok());  // nothing at all can be read
  EXPECT_FALSE(life.store().ready());
  EXPECT_FALSE(life.purge(keyOf(1)).ok());  // in force, and durable with the recovery
  broken.read_error = 0;
  broken.write_error = sim::kAlways;
  world.world.disk().setOptions(broken);
  EXPECT_FALSE(life.recover().ok());  // its new journal cannot be written
  world.world.disk().setOptions(sim::DiskOptions());
  const base::Result<RecoveryReport> report = life.recover();
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report.value().entries, 58U);
  EXPECT_FALSE(life.entry(keyOf(1)).has_value());
  EXPECT_EQ(report.value().segments_lost, 0U);
  EXPECT_TRUE(life.read(keyOf(58)).has_value());
  EXPECT_FALSE(life.read(keyOf(59)).has_value());
  life.stop();
}

TEST(Recover, GivesUpWhatStaysUnreadableAndForgetsNoPurgeOfIt) {
  for (uint64_t seed = 100; seed < 120; seed++) {
    StripeWorld world(seed);
    fillAndStop(world);
    {
      Life life(world);
      sim::DiskOptions broken;
      broken.read_error = sim::kAlways / 3;
      world.world.disk().setOptions(broken);
      const base::Result<RecoveryReport> report = life.recover(Unreadable::is_lost);
      world.world.disk().setOptions(sim::DiskOptions());
      if (!report.ok()) {
        ASSERT_TRUE(life.recover().ok());  // every header was refused
      }
      ASSERT_EQ(life.append({.key = keyOf(70), .version = 1, .bytes = 60'000}).code,
                base::Code::ok);
      EXPECT_FALSE(life.read(keyOf(59)).has_value());
      life.stop();
    }
    Life life(world);
    ASSERT_TRUE(life.recover().ok());
    EXPECT_FALSE(life.read(keyOf(59)).has_value()) << "seed " << seed;
    EXPECT_TRUE(life.read(keyOf(70)).has_value()) << "seed " << seed;
    life.stop();
  }
}

TEST(Recover, BringsNothingBackThatWasInvalidatedBefore) {
  for (const size_t keys : {size_t{1}, StripeStore::kMaxDropped, StripeStore::kMaxDropped + 1}) {
    const bool others_stay = keys <= StripeStore::kMaxDropped;
    StripeWorld world(33);
    fillAndStop(world);
    {
      Life life(world);
      life.store().dropAtRecovery(life.hash(keyOf(0)));
      for (size_t i = 1; i < keys; i++) {
        life.store().dropAtRecovery(life.hash("http://example.com/never/" + std::to_string(i)));
      }
      ASSERT_TRUE(life.recover().ok());
      EXPECT_FALSE(life.entry(keyOf(0)).has_value());
      EXPECT_EQ(life.entry(keyOf(58)).has_value(), others_stay);
      life.purgeDropped();
      life.die(true);
    }
    Life life(world);
    ASSERT_TRUE(life.recover().ok());
    EXPECT_FALSE(life.read(keyOf(0)).has_value());
    EXPECT_EQ(life.read(keyOf(58)).has_value(), others_stay);
    life.stop();
  }
}

// What the disk does in a life in which the stripe is never recovered, and what the next life
// finds.
struct NeverRecovered {
  const char* name;
  bool journal_reads;
  uint32_t write_error;
  bool all;          // more was dropped than can be named
  bool saved;        // what was dropped; else any of it may be, as after every failed write
  bool others_stay;  // what was not
};
class NeverRecoveredTest : public testing::TestWithParam<NeverRecovered> {};

TEST_P(NeverRecoveredTest, DropsWhatWasInvalidatedOrSaysThatItIsLost) {
  StripeWorld world(34);
  fillAndStop(world);
  const NeverRecovered& how = GetParam();
  {
    Life life(world);
    if (!how.journal_reads) {
      damage(world, "purge-0");
      damage(world, "purge-1");
    }
    sim::DiskOptions disk;
    disk.write_error = how.write_error;
    life.store().dropAtRecovery(life.hash(keyOf(0)));
    life.store().dropAtRecovery(life.hash(keyOf(1)));
    if (how.all) {
      life.store().dropAllAtRecovery();
    }
    const uint64_t dropped = how.all ? 3 : 2;
    EXPECT_EQ(life.store().droppedUnsaved(), dropped);
    world.world.disk().setOptions(disk);
    const bool by_key = life.saveDropped(IfNotByKey::fail).ok();
    EXPECT_EQ(by_key, how.saved && how.journal_reads);
    EXPECT_EQ(life.saveDropped(IfNotByKey::give_stripe_up).ok(), how.saved);
    EXPECT_EQ(life.store().droppedUnsaved(), how.saved ? 0U : dropped);
    life.stop();
    world.world.disk().setOptions(sim::DiskOptions());
  }
  for (int start = 1; how.saved && start <= 2; start++) {
    Life life(world);
    ASSERT_TRUE(life.recover().ok());
    EXPECT_FALSE(life.entry(keyOf(0)).has_value()) << start;
    EXPECT_FALSE(life.entry(keyOf(1)).has_value()) << start;
    EXPECT_EQ(life.entry(keyOf(58)).has_value(), how.others_stay) << start;
    EXPECT_FALSE(life.entry(keyOf(59)).has_value()) << start;
    // What comes later is not concerned, also at the start after the next.
    ASSERT_EQ(life.append({.key = "later", .bytes = 1000}).code, base::Code::ok);
    ASSERT_EQ(life.append({.key = keyOf(59), .bytes = 1000}).code, base::Code::ok);
    life.stop();
    Life next(world);
    ASSERT_TRUE(next.recover().ok());
    EXPECT_TRUE(next.entry("later").has_value());
    EXPECT_TRUE(next.entry(keyOf(59)).has_value());
    ASSERT_TRUE(next.purge(keyOf(59)).ok());
    next.stop();
  }
}
INSTANTIATE_TEST_SUITE_P(
    Recover, NeverRecoveredTest,
    testing::Values(NeverRecovered{"ByKey", true, 0, false, true, true},
                    NeverRecovered{"All", true, 0, true, true, false},
                    NeverRecovered{"JournalUnread", false, 0, false, true, false},
                    NeverRecovered{"NothingIsWritten", true, sim::kAlways, false, false, false}),
    [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace store
