// Goal: an accepted connection goes to the shard with the fewest only where that has fewer by more
// than two and by more than a tenth. Method: a table of loads, this shard's with the new
// connection; and a run of many accepts by one shard, which must end even.
#include "source/net/balance.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "source/net/acceptor.h"

namespace net {
namespace {

struct Case {
  uint16_t self;
  std::vector<uint32_t> open;
  uint16_t chosen;
};

TEST(ChooseShard, ByTheTable) {
  const Case cases[] = {
      {0, {1}, 0},          {0, {1, 0}, 0},       {0, {2, 0}, 0},          {0, {3, 0}, 1},
      {1, {0, 3}, 0},       {1, {3, 3}, 1},       {0, {10, 8}, 0},         {0, {11, 8}, 1},
      {0, {100, 90}, 0},    {0, {101, 91}, 0},    {0, {102, 91}, 1},       {0, {0, 5}, 0},
      {2, {4, 1, 9, 1}, 1}, {2, {4, 3, 5, 3}, 2}, {2, {4, 2, 5, 2}, 1},    {3, {7, 8, 9, 6}, 3},
      {0, {1000, 901}, 0},  {0, {1000, 899}, 1},  {0, {UINT32_MAX, 0}, 1},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(chooseShard(c.self, c.open), c.chosen)
        << "shard " << c.self << " of loads " << testing::PrintToString(c.open);
  }
}

TEST(ChooseShard, WhatOneShardAcceptsIsSpread) {
  std::vector<uint32_t> open(4, 0);
  for (int i = 0; i < 400; i++) {
    open[2]++;
    const uint16_t to = chooseShard(2, open);
    if (to != 2) {
      open[2]--;
      open[to]++;
    }
  }
  const auto [least, most] = std::minmax_element(open.begin(), open.end());
  EXPECT_LE(*most - *least, 11U) << testing::PrintToString(open);
}

TEST(ConnectionLimit, TellsOfEveryChange) {
  rt::ShardLoad load;
  ConnectionLimit limit(10, &load);
  ConnectionSlot one = limit.enter();
  EXPECT_EQ(load.get(), 1U);
  {
    const ConnectionSlot two = limit.enter();
    EXPECT_EQ(load.get(), 2U);
  }
  EXPECT_EQ(load.get(), 1U);
  one.release();
  EXPECT_EQ(load.get(), 0U);
}

}  // namespace
}  // namespace net
