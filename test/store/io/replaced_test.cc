// Goal: a version that was replaced never is found again, although segments are not freed in the
// order in which they were written and a recovery sees nothing but what is on the disk. Method:
// lives of a stripe, random but for what is hit: keys that were hit until they lie in main, and are
// replaced, or purged by a label that their older versions do not have, once nobody asks for them.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "source/base/random.h"
#include "test/store/io/stripe_world.h"

namespace store {
namespace {

constexpr uint32_t kKeys = 2500;
constexpr uint32_t kHot = 60;
constexpr uint32_t kAppends = 3000;  // a life; some two rounds of the log

std::string keyOf(uint64_t number) {
  return "http://example.com/" + std::to_string(number);
}

Label labelOf(uint64_t version) {
  return 100 + version % 3;
}

struct Known {
  uint64_t newest = 0;  // version; 0: never stored
  bool purged = false;
};

class Replaced : public testing::TestWithParam<uint64_t> {
 protected:
  Replaced() : random_(GetParam()), known_(kKeys) {}

  void append(Life& life, uint64_t number) {
    Piece piece;
    piece.key = keyOf(number);
    piece.version = ++version_;
    piece.bytes = static_cast<uint32_t>(random_.between(20'000, 60'000));
    piece.labels = {labelOf(version_)};
    ASSERT_EQ(life.append(piece).code, base::Code::ok);
    known_[number] = Known{version_, false};
    life.runFor(random_.below(4 * base::kMillisecond_ns));  // reclaim keeps up
  }

  void purgeLabel(Life& life) {
    const Label label = labelOf(random_.below(3));
    ASSERT_TRUE(life.purgeSelected(Selector{label, {}}).ok());
    for (Known& known : known_) {
      known.purged = known.purged || labelOf(known.newest) == label;
    }
  }

  // A while in which keys from `first_hot` on are asked for again and again.
  void live(Life& life, uint32_t first_hot) {
    for (uint32_t i = 0; i < kAppends; i++) {
      for (uint32_t hits = 0; hits < 3; hits++) {
        life.shared().index->touch(life.hash(keyOf((first_hot + random_.below(kHot)) % kKeys)));
      }
      const bool again = random_.chance(1, 2);
      append(life, again ? (first_hot + random_.below(3 * kHot)) % kKeys : random_.below(kKeys));
      if (i % 500 == 499) {
        purgeLabel(life);
      }
      if (HasFatalFailure()) {
        return;
      }
    }
    life.flush();
  }

  // How many keys were found.
  uint32_t check(Life& life) {
    uint32_t count = 0;
    for (uint64_t number = 0; number < kKeys; number++) {
      const std::optional<FoundRecord> found = life.read(keyOf(number));
      if (found.has_value()) {
        EXPECT_EQ(found->version, known_[number].newest) << number;
        EXPECT_FALSE(known_[number].purged) << number;
        count++;
      }
    }
    return count;
  }

  base::Random random_;
  std::vector<Known> known_;
  uint64_t version_ = 0;
};

TEST_P(Replaced, NeverComesBack) {
  StripeWorld::Cut cut;
  cut.segments = 64;  // enough for both queues
  StripeWorld world(GetParam(), sim::Options(), cut);
  uint64_t noted = 0;
  for (uint32_t era = 0; era < 4; era++) {
    Life life(world);
    ASSERT_TRUE(life.recover().ok());
    const uint32_t found = check(life);
    EXPECT_EQ(found > 50, era > 0);
    live(life, era * kHot);
    ASSERT_FALSE(HasFatalFailure());
    check(life);
    noted += life.written().noted_records;
    if (random_.chance(1, 3)) {
      life.runFor(StripeStore::kSnapshotEvery_ns + 100 * base::kMillisecond_ns);
      live(life, era * kHot);
      ASSERT_FALSE(HasFatalFailure());
    }
    life.die(false);
  }
  EXPECT_GT(noted, 0u);
}
INSTANTIATE_TEST_SUITE_P(Seeds, Replaced, testing::Range(uint64_t{1}, uint64_t{4}));

}  // namespace
}  // namespace store
