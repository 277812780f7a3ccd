// Goal: keys are spread over a cache's disks, follow them when disks come and go, and what was
// invalidated does not come back whatever disks do. Method: a cache on three simulated disks and
// two shards, and tables that use some of them.
#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "test/cache/cache_world.h"

namespace cache {
namespace {

constexpr int kPaths = 40;

CacheWorld::Cut threeDisks() {
  CacheWorld::Cut cut;
  cut.shards = 2;
  cut.disks = 3;
  return cut;
}

std::string pathOf(int i) {
  return "/" + std::to_string(i);
}

void answerWith(CacheWorld& w, uint64_t version) {
  Answer answer;
  answer.version = version;
  w.setScript([answer](const FetchPlan&, uint64_t) { return answer; });
}

// All paths are asked for; how many were hits, and of which versions all of them were.
struct Round {
  int hits = 0;
  std::set<uint64_t> versions;
};
Round askAll(CacheWorld& w) {
  Round round;
  for (int i = 0; i < kPaths; i++) {
    const Got got = w.get({.path = pathOf(i)}, static_cast<uint16_t>(i % 2));
    EXPECT_TRUE(got.came == Came::hit || got.came == Came::filled);
    EXPECT_EQ(got.bytes, 1000U);
    round.hits += got.came == Came::hit ? 1 : 0;
    round.versions.insert(got.version);
  }
  return round;
}

TEST(Disks, EachHasItsShareAndAllIsFound) {
  CacheWorld w(1, threeDisks(), sim::Options());
  EXPECT_EQ(askAll(w).hits, 0);
  EXPECT_EQ(askAll(w).hits, kPaths);
  w.forgetMemory();
  EXPECT_EQ(askAll(w).hits, kPaths);
  std::set<size_t> used;
  for (const CacheDisk& disk : w.cache().disks().disks()) {
    for (uint16_t i = 0; i < disk.stripe_count; i++) {
      const base::StripeId id{static_cast<uint16_t>(disk.first_stripe + i)};
      for (const uint16_t shard : {uint16_t{0}, uint16_t{1}}) {
        Stripe* stripe = w.cache(shard).owned(id);
        if (stripe != nullptr && stripe->index().size() > 0) {
          used.insert(disk.number);
        }
      }
    }
  }
  EXPECT_EQ(used.size(), 3U);
}

TEST(Disks, ADiskThatComesTakesItsShareAsMisses) {
  CacheWorld w(2, threeDisks(), sim::Options());
  w.use({0, 1});
  askAll(w);
  w.use({0, 1, 2});
  const Round moved = askAll(w);
  EXPECT_GT(moved.hits, kPaths / 3);
  EXPECT_LT(moved.hits, kPaths);
  EXPECT_EQ(askAll(w).hits, kPaths);
}

TEST(Disks, ADiskThatGoesTakesOnlyItsOwnAway) {
  CacheWorld w(3, threeDisks(), sim::Options());
  askAll(w);
  w.use({0, 2});
  const Round left = askAll(w);
  EXPECT_GT(left.hits, kPaths / 3);
  EXPECT_LT(left.hits, kPaths);
  w.detach(1);
  EXPECT_EQ(askAll(w).hits, kPaths);
}

TEST(Disks, WhatWasPurgedOrInvalidatedElsewhereDoesNotComeBack) {
  CacheWorld w(4, threeDisks(), sim::Options());
  w.use({0});
  answerWith(w, 1);
  askAll(w);
  w.use({0, 1, 2});
  answerWith(w, 2);
  askAll(w);
  for (int i = 0; i < kPaths; i++) {
    EXPECT_TRUE(w.invalidate(pathOf(i), static_cast<uint16_t>(i % 2)));
    EXPECT_FALSE(w.invalidate(pathOf(i)));
  }
  answerWith(w, 3);
  w.use({0});
  const Round round = askAll(w);
  EXPECT_EQ(round.hits, 0);
  EXPECT_EQ(round.versions, std::set<uint64_t>{3});
}

// The first record of each disk lies in the same place and has the same entry.
TEST(Disks, ACopyInMemoryIsOfTheDiskThatItCameFrom) {
  CacheWorld::Cut cut = threeDisks();
  cut.shards = 1;
  cut.stripes = 1;
  CacheWorld w(5, cut, sim::Options());
  for (const size_t disk : {size_t{0}, size_t{1}}) {
    w.use({disk});
    answerWith(w, disk + 1);
    EXPECT_EQ(w.get({.path = "/1"}).came, Came::filled);
  }
  for (const size_t disk : {size_t{0}, size_t{1}, size_t{0}}) {
    w.use({disk});
    const Got got = w.get({.path = "/1"});
    EXPECT_EQ(got.came, Came::hit);
    EXPECT_EQ(got.version, disk + 1);
  }
}

TEST(Disks, ADiskThatIsDetachedAnswersNothingAndComesBackWithWhatItHas) {
  CacheWorld w(6, threeDisks(), sim::Options());
  w.use({1});
  answerWith(w, 1);
  askAll(w);
  w.use({0});
  w.detach(1);
  // Its stripes are asked as those of every disk are.
  EXPECT_FALSE(w.invalidate(pathOf(1), 0));
  EXPECT_FALSE(w.invalidate(pathOf(2), 1));
  answerWith(w, 2);
  EXPECT_EQ(askAll(w).hits, 0);
  w.attach(1);
  w.use({1});
  const Round round = askAll(w);
  EXPECT_EQ(round.hits, kPaths);
  EXPECT_EQ(round.versions, std::set<uint64_t>{1});
}

TEST(Disks, ACacheTakesStripesUpToItsLimitAndNotOneMore) {
  const auto some = [](size_t count) {
    std::vector<std::unique_ptr<store::StripeShared>> stripes;
    for (size_t i = 0; i < count; i++) {
      stripes.push_back(
          std::make_unique<store::StripeShared>(store::StripeFiles(), nullptr, nullptr));
    }
    return stripes;
  };
  CacheShared shared;
  CacheDisk first;
  CacheDisk second;
  CacheDisk third;
  EXPECT_TRUE(shared.add(some(kMaxStripes - 1), first));
  EXPECT_FALSE(shared.add(some(2), second));
  EXPECT_TRUE(shared.add(some(1), second));
  EXPECT_EQ(second.first_stripe, kMaxStripes - 1);
  EXPECT_FALSE(shared.add(some(1), third));
  shared.remove(first);
  EXPECT_TRUE(shared.add(some(1), third)) << "the place of a disk that has left";
  EXPECT_EQ(third.first_stripe, 0);
}

}  // namespace
}  // namespace cache
