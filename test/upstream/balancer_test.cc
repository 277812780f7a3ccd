// Goal: both policies share requests as weights and load say, never give an endpoint twice to one
// request, and pass over unhealthy endpoints while there is another.
// Method: tables of small clusters; shares are counted over whole rounds or over many random draws.
#include "source/upstream/balancer.h"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

#include "source/base/random.h"

namespace upstream {
namespace {

constexpr base::MonoTime kNow{1000};
constexpr base::MonoTime kLater{1001};

std::vector<Candidate> withWeights(std::vector<uint32_t> weights) {
  std::vector<Candidate> candidates;
  for (const uint32_t weight : weights) {
    candidates.push_back({weight});
  }
  return candidates;
}

std::string sequence(std::vector<Candidate>& candidates, int n, Tried tried = {}) {
  std::string order;
  for (int i = 0; i < n; i++) {
    const auto picked = pickRoundRobin(candidates, tried, kNow);
    order += picked.has_value() ? static_cast<char>('a' + picked->index) : '-';
  }
  return order;
}

TEST(RoundRobin, TakesTurns) {
  auto candidates = withWeights({1, 1, 1});
  EXPECT_EQ(sequence(candidates, 6), "abcabc");
}

TEST(RoundRobin, SpreadsAHeavyEndpointOverTheRound) {
  auto candidates = withWeights({5, 1, 1});
  EXPECT_EQ(sequence(candidates, 7), "aabacaa");
}

TEST(RoundRobin, GivesEachItsWeightInEveryRound) {
  auto candidates = withWeights({3, 7, 11});
  std::array<int, 3> count{};
  for (const char c : sequence(candidates, 21 * 10)) {
    count[static_cast<size_t>(c - 'a')]++;
  }
  EXPECT_EQ(count, (std::array<int, 3>{30, 70, 110}));
}

TEST(RoundRobin, NothingToPickFrom) {
  EXPECT_FALSE(pickRoundRobin({}, {}, kNow).has_value());
}

TEST(RoundRobin, PassesOverTriedEndpoints) {
  auto candidates = withWeights({1, 1, 1});
  const std::array<uint32_t, 1> one{1};
  EXPECT_EQ(sequence(candidates, 4, one), "acac");
  const std::array<uint32_t, 3> all{0, 1, 2};
  EXPECT_EQ(sequence(candidates, 1, all), "-");
}

TEST(RoundRobin, PassesOverUnhealthyUntilTheirTimeIsUp) {
  auto candidates = withWeights({1, 1});
  candidates[0].unhealthy_until = kLater;
  EXPECT_EQ(sequence(candidates, 3), "bbb");
  candidates[0].unhealthy_until = kNow;
  EXPECT_NE(sequence(candidates, 2).find('a'), std::string::npos);
}

TEST(RoundRobin, TriesUnhealthyOnesWhenNoOtherIsLeft) {
  auto candidates = withWeights({1, 1});
  candidates[0].unhealthy_until = kLater;
  const std::array<uint32_t, 1> tried{1};
  EXPECT_EQ(pickRoundRobin(candidates, tried, kNow), (Pick{0, true}));
}

TEST(LeastRequest, OnlyOne) {
  auto candidates = withWeights({4});
  EXPECT_EQ(pickLeastRequest(candidates, {}, kNow, UINT64_MAX), (Pick{0, false}));
  EXPECT_FALSE(pickLeastRequest({}, {}, kNow, 0).has_value());
}

TEST(LeastRequest, OfTwoTheFreerOneWhateverTheDraw) {
  auto candidates = withWeights({1, 1});
  candidates[0].in_flight = 2;
  candidates[1].in_flight = 1;
  base::Random random(1);
  for (int i = 0; i < 1000; i++) {
    EXPECT_EQ(pickLeastRequest(candidates, {}, kNow, random.next())->index, 1U);
  }
}

TEST(LeastRequest, LoadCountsRelativeToWeight) {
  auto candidates = withWeights({10, 1});
  candidates[0].in_flight = 5;  // half a request for each unit of weight
  candidates[1].in_flight = 1;
  base::Random random(1);
  for (int i = 0; i < 1000; i++) {
    EXPECT_EQ(pickLeastRequest(candidates, {}, kNow, random.next())->index, 0U);
  }
}

// With equal loads the first draw decides, which is by weight.
TEST(LeastRequest, DrawsByWeight) {
  auto candidates = withWeights({1, 2, 1});
  base::Random random(3);
  std::array<int, 3> count{};
  constexpr int kDraws = 40000;
  for (int i = 0; i < kDraws; i++) {
    count[pickLeastRequest(candidates, {}, kNow, random.next())->index]++;
  }
  EXPECT_NEAR(count[0], kDraws / 4, kDraws / 50);
  EXPECT_NEAR(count[1], kDraws / 2, kDraws / 50);
}

TEST(LeastRequest, NeverATriedOrAnUnhealthyOneWhileThereIsAnother) {
  auto candidates = withWeights({9, 9, 1, 1});
  candidates[0].unhealthy_until = kLater;
  const std::array<uint32_t, 1> tried{1};
  base::Random random(5);
  for (int i = 0; i < 1000; i++) {
    const auto picked = pickLeastRequest(candidates, tried, kNow, random.next());
    EXPECT_GE(picked->index, 2U);
    EXPECT_FALSE(picked->panicked);
  }
}

TEST(LeastRequest, ExtremeDrawsStayInRange) {
  auto candidates = withWeights({65535, 65535, 65535});
  for (const uint64_t random :
       {uint64_t{0}, UINT64_MAX, uint64_t{UINT32_MAX}, ~uint64_t{UINT32_MAX}}) {
    EXPECT_LT(pickLeastRequest(candidates, {}, kNow, random)->index, 3U);
  }
}

TEST(UnhealthyFor, DoublesUpToHalfAMinute) {
  const std::vector<uint64_t> seconds{0, 1, 2, 4, 8, 16, 30, 30};
  for (uint32_t failures = 0; failures < seconds.size(); failures++) {
    EXPECT_EQ(unhealthyFor_ns(failures), seconds[failures] * base::kSecond_ns) << failures;
  }
  EXPECT_EQ(unhealthyFor_ns(UINT32_MAX), 30 * base::kSecond_ns);
}

TEST(ShareOf, RoundsUpAndIsNeverNothing) {
  EXPECT_EQ(shareOf(1024, 1), 1024U);
  EXPECT_EQ(shareOf(1024, 2), 512U);
  EXPECT_EQ(shareOf(1025, 2), 513U);
  EXPECT_EQ(shareOf(1, 64), 1U);
  EXPECT_EQ(shareOf(64, 64), 1U);
  EXPECT_EQ(shareOf(65, 64), 2U);
}

}  // namespace
}  // namespace upstream
