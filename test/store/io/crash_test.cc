// Goal: no crash, on a whole disk or a faulty one, brings back what is wrong or was purged. Method:
// many seeds, each a row of lives of a stripe with random appends, purges and ends, against a
// model.
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

// Many lives of one disk, each ended at any time in any way. The model: of each key the newest
// version that was appended, and the newest that a purge must have made unreachable.
class Campaign {
 public:
  Campaign(uint64_t seed, const sim::Options& options)
      : disk_(options.disk), world_(seed, options), random_(seed) {}

  void run(int lives) {
    for (int i = 0; i < lives && !testing::Test::HasFatalFailure(); i++) {
      Life life(world_);
      const base::Result<RecoveryReport> report = life.recover();
      if (!report.ok()) {
        continue;  // a disk that could not be read at this time
      }
      verify(life, true);
      work(life);
      end(life);
    }
    world_.world.calm();
    Life last(world_);
    ASSERT_TRUE(last.recover().ok());
    verify(last, true);
  }

 private:
  struct Key {
    uint64_t newest = 0;
    uint64_t purged = 0;   // versions up to this one are gone
    uint64_t stale = 0;    // versions up to this one are stale, at best
    uint64_t may_go = 0;   // versions up to this one may be gone after the next start
    uint64_t durable = 0;  // this version must be found, if nothing else happened since
  };
  static constexpr uint64_t kKeys = 60;
  static constexpr uint64_t kTags = 5;
  static constexpr Label kDirectory = 77;

  // A tag that every fifth key has, and a directory that all have.
  static std::vector<Label> labelsOf(uint64_t number) { return {number % kTags, kDirectory}; }

  Selector someSelector() {
    if (random_.chance(1, 2)) {
      return Selector{random_.below(kTags), {}};
    }
    return Selector{kDirectory, keyOf(random_.below(10))};
  }

  void notePurged(const Selector& selector, bool soft) {
    for (auto& [number, key] : keys_) {
      if (!hasLabel(labelsOf(number), selector.label)) {
        continue;
      }
      if (keyOf(number).starts_with(selector.key_prefix)) {
        (soft ? key.stale : key.purged) = key.newest;
      }
      // With a segment that could not tell what it has, the journal names the whole directory.
      key.may_go = key.newest;
    }
  }

  void verify(Life& life, bool after_crash) {
    world_.world.calm();  // what cannot be read now may be there all the same
    for (auto& [number, key] : keys_) {
      const std::optional<FoundRecord> found = life.read(keyOf(number));
      if (found.has_value()) {
        EXPECT_LE(found->version, key.newest) << number;
        EXPECT_GT(found->version, key.purged) << number;
        EXPECT_TRUE(found->version > key.stale || found->stale) << number;
      }
      if (after_crash && key.durable != 0) {
        ASSERT_TRUE(found.has_value()) << number;
        EXPECT_EQ(found->version, key.durable);
      }
      key.durable = 0;
    }
    world_.world.disk().setOptions(disk_);
  }

  void work(Life& life) {
    const uint64_t steps = random_.below(60);
    for (uint64_t i = 0; i < steps; i++) {
      const uint64_t number = random_.below(kKeys);
      Key& key = keys_[number];
      const uint64_t what = random_.below(100);
      if (what < 70) {
        key.newest++;
        const auto bytes =
            static_cast<uint32_t>(random_.below(random_.chance(1, 4) ? 200'000 : 3000));
        life.append({.key = keyOf(number),
                     .version = key.newest,
                     .bytes = bytes,
                     .labels = labelsOf(number)});
        life.shared().index->touch(life.hash(keyOf(number)));
      } else if (what < 80) {
        if (life.purge(keyOf(number)).ok()) {
          key.purged = key.newest;
        }
      } else if (what < 85) {
        if (life.purge(keyOf(number), true).ok()) {
          key.stale = key.newest;
        }
      } else if (what < 89) {
        const Selector selector = someSelector();
        const bool soft = random_.chance(1, 3);
        if (life.purgeSelected(selector, soft).ok()) {
          notePurged(selector, soft);
        }
      } else if (what < 91) {
        if (life.purgeAll().ok()) {
          for (auto& [n, k] : keys_) {
            k.purged = k.newest;
          }
        }
      } else if (what < 94) {
        life.runFor(StripeStore::kSnapshotEvery_ns + base::kSecond_ns);
      } else {
        life.runFor(random_.below(60 * base::kMillisecond_ns));
      }
    }
  }

  void end(Life& life) {
    // Purges that were not answered may or may not be in force: they only make things rarer.
    std::optional<base::Status> outcome;
    AppendOutcome append;
    const uint64_t number = random_.below(kKeys);
    std::optional<base::Result<uint64_t>> selected;
    const Selector selector = someSelector();
    switch (random_.below(5)) {
      case 0:
        life.stop();
        return;
      case 1:
        life.flush();
        life.runFor(base::kSecond_ns);
        verify(life, false);
        noteDurable(life);
        break;
      case 2:
        life.startPurge(keyOf(number), false, &outcome);
        break;
      case 3:
        life.startPurgeSelected(selector, false, &selected);
        break;
      default:
        keys_[number].newest++;
        life.startAppend({.key = keyOf(number),
                          .version = keys_[number].newest,
                          .bytes = 200'000,
                          .labels = labelsOf(number)},
                         &append);
        break;
    }
    life.runFor(random_.below(4 * base::kMillisecond_ns));
    life.die(random_.chance(2, 3));
    if (outcome.has_value() && outcome->ok()) {
      keys_[number].purged = keys_[number].newest;
    }
    if (selected.has_value() && selected->ok()) {
      notePurged(selector, false);
    }
  }

  // Everything is written, and now synced too.
  void noteDurable(Life& life) {
    struct Sync {
      static rt::Task<void> run(int fd, rt::CancelScope* scope, int32_t* result) {
        const rt::IoResult synced =
            co_await rt::FileOp(rt::OpKind::fsync, fd, {}, 0, false, *scope, base::kNever);
        *result = synced.result;
      }
    };
    int32_t result = -1;
    life.host().spawn(Sync::run(life.shared().files.data_fd, &life.host().scope(), &result));
    life.finish();
    // After a sync that failed, what the next one promises is not so.
    if (result != 0 || disk_.sync_error > 0) {
      return;
    }
    world_.world.calm();
    for (auto& [number, key] : keys_) {
      const std::optional<FoundRecord> found = life.read(keyOf(number));
      const bool stays = found.has_value() && !found->stale && found->version > key.may_go;
      key.durable = stays ? found->version : 0;
    }
    world_.world.disk().setOptions(disk_);
  }

  sim::DiskOptions disk_;
  StripeWorld world_;
  base::Random random_;
  std::map<uint64_t, Key> keys_;
};

TEST(Crashes, NeverBringBackWhatIsWrongOrPurged) {
  for (uint64_t seed = 1; seed <= 15; seed++) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    sim::Options options;
    options.disk.write_back = 300'000;
    Campaign(seed, options).run(6);
    if (HasFailure()) {
      return;
    }
  }
}

TEST(Crashes, OnADiskWithFaultsBringBackNothingWrongEither) {
  for (uint64_t seed = 1; seed <= 15; seed++) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    sim::Options options;
    options.disk.short_transfer = 200'000;
    options.disk.write_error = seed % 2 == 0 ? 10'000 : 0;
    options.disk.read_error = seed % 3 == 0 ? 5'000 : 0;
    options.disk.sync_error = seed % 5 == 0 ? 50'000 : 0;
    Campaign(seed, options).run(6);
    if (HasFailure()) {
      return;
    }
  }
}

}  // namespace
}  // namespace store
