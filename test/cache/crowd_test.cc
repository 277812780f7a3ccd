// Goal: those who wait for one head are all given their first bytes before anybody has more, for a
// limited time, and of many nobody is given much at once. Method: a table at the limits and one
// step beside them.
#include "source/cache/crowd.h"

#include <gtest/gtest.h>

namespace cache {
namespace {

constexpr base::MonoTime kNow{1000};

TEST(Crowd, HoldsBackUntilTheLastHasBeenServed) {
  Crowd crowd;
  EXPECT_FALSE(crowd.holdsBack(kNow));  // nobody waits
  crowd.join();
  crowd.join();
  EXPECT_TRUE(crowd.holdsBack(kNow));
  EXPECT_FALSE(crowd.served());
  EXPECT_TRUE(crowd.holdsBack(kNow));
  EXPECT_TRUE(crowd.served());
  EXPECT_FALSE(crowd.holdsBack(kNow));
}

TEST(Crowd, HoldsBackForItsPatienceFromTheFirstWhoWaits) {
  Crowd crowd;
  crowd.join();
  ASSERT_TRUE(crowd.holdsBack(kNow));
  EXPECT_EQ(crowd.until(), kNow + Crowd::kPatience_ns);
  EXPECT_TRUE(crowd.holdsBack(kNow + (Crowd::kPatience_ns - 1)));
  EXPECT_FALSE(crowd.holdsBack(kNow + Crowd::kPatience_ns));
}

TEST(Crowd, OfManyNobodyIsGivenMuchAtOnce) {
  EXPECT_EQ(Crowd::most(Crowd::kMany - 1, true), UINT32_MAX);
  EXPECT_EQ(Crowd::most(Crowd::kMany - 1, false), UINT32_MAX);
  EXPECT_EQ(Crowd::most(Crowd::kMany, true), Crowd::kFirst_bytes);
  EXPECT_EQ(Crowd::most(Crowd::kMany, false), Crowd::kPiece_bytes);
}

}  // namespace
}  // namespace cache
