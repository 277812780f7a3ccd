// Goal: while a stripe recovers, what the index leads to is the newest version of a key, or nothing
// yet: never a version that another had replaced, nor one that was purged. Method: a coroutine that
// looks at every key at every turn of a recovery on the simulated disk.
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "test/store/io/stripe_world.h"

namespace store {
namespace {

constexpr uint64_t kKeys = 40;
constexpr uint64_t kRecords = 90;
constexpr Label kLabel = 77;

std::string keyOf(uint64_t number) {
  return "http://example.com/" + std::to_string(number);
}

struct Seen {
  uint64_t turns = 0;
  uint64_t partial = 0;  // turns with some keys, but not all
  uint64_t wrong = 0;
};

class RecoverServing : public testing::Test {
 protected:
  // Every key has several versions; some are purged by their label.
  void fill(Life& life, bool label) {
    ASSERT_TRUE(life.recover().ok());
    for (uint64_t i = 0; i < kRecords; i++) {
      Piece piece{.key = keyOf(i % kKeys), .version = i, .bytes = 60'000};
      if (i >= kRecords - 5) {
        piece.labels = {kLabel};
      }
      ASSERT_EQ(life.append(piece).code, base::Code::ok);
    }
    life.flush();
    if (label) {
      Selector selector;
      selector.label = kLabel;
      const base::Result<uint64_t> purged = life.purgeSelected(selector);
      ASSERT_TRUE(purged.ok());
      ASSERT_EQ(purged.value(), 5U);
    }
    ASSERT_TRUE(life.purge(keyOf(3)).ok());
    for (uint64_t i = 0; i < kKeys; i++) {
      if (const std::optional<Entry> entry = life.entry(keyOf(i))) {
        newest_[keyOf(i)] = life.shared().table->locate(*entry);
      }
    }
  }

  rt::Task<void> watch(Life* life, Seen* seen) {
    while (!life->store().ready()) {
      uint64_t found = 0;
      for (uint64_t i = 0; i < kKeys; i++) {
        const std::optional<Entry> entry = life->entry(keyOf(i));
        if (!entry.has_value() || !entry->placed()) {
          continue;
        }
        found++;
        const auto newest = newest_.find(keyOf(i));
        const bool right =
            newest != newest_.end() && life->shared().table->locate(*entry) == newest->second;
        seen->wrong += right ? 0 : 1;
      }
      seen->turns++;
      seen->partial += found > 0 && found < newest_.size() ? 1 : 0;
      co_await rt::NextTurn();
    }
  }

  void recoverWatched(StripeWorld& world) {
    Life life(world);
    Seen seen;
    life.host().spawn(watch(&life, &seen));
    const base::Result<RecoveryReport> report = life.recover();
    ASSERT_TRUE(report.ok());
    EXPECT_EQ(report.value().entries, newest_.size());
    EXPECT_EQ(life.store().segmentsRecovered(), world.cut.segments);
    EXPECT_GT(seen.partial, 0U) << seen.turns;
    EXPECT_EQ(seen.wrong, 0U);
    life.stop();
  }

  std::map<std::string, Location> newest_;
};

TEST_F(RecoverServing, FromSegmentsOnly) {
  StripeWorld world(11);
  {
    Life life(world);
    fill(life, true);
    life.die(false);
  }
  recoverWatched(world);
}

TEST_F(RecoverServing, FromASnapshotAndNewerSegments) {
  StripeWorld world(12);
  {
    Life life(world);
    fill(life, false);
    life.runFor(StripeStore::kSnapshotEvery_ns + base::kSecond_ns);
    for (uint64_t i = 0; i < 60; i++) {
      const std::string key = keyOf(10 + i % 10);
      ASSERT_EQ(life.append({.key = key, .version = 1000 + i, .bytes = 20'000}).code,
                base::Code::ok);
    }
    life.flush();
    newest_.clear();
    for (uint64_t i = 0; i < kKeys; i++) {
      if (const std::optional<Entry> entry = life.entry(keyOf(i))) {
        newest_[keyOf(i)] = life.shared().table->locate(*entry);
      }
    }
    life.die(false);
  }
  recoverWatched(world);
}

}  // namespace
}  // namespace store
