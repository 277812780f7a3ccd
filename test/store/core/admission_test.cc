// Goal: the sketch never forgets a key within a period and rarely invents one; the budget is kept
// over time. Method: counts against a std::map; time that stands still, jumps and goes back.
#include "source/store/core/admission.h"

#include <gtest/gtest.h>

#include <map>

#include "source/base/random.h"
#include "source/store/core/layout.h"

namespace store {
namespace {

base::Hash128 hashOf(uint64_t key) {
  return base::Hash128{mix64(key + 1), mix64(key + 0x51ed270b7f4a7c15ULL)};
}

TEST(FrequencySketch, NeverCountsTooLittleAndSeldomTooMuch) {
  FrequencySketch sketch(1 << 12);
  std::map<uint64_t, uint32_t> model;
  base::Random random(1);
  for (int i = 0; i < (1 << 14) - 1; i++) {
    const uint64_t key = random.below(random.below(6000) + 1);
    sketch.add(hashOf(key));
    model[key]++;
  }
  ASSERT_EQ(sketch.agings(), 0u);
  uint64_t over = 0;
  for (const auto& [key, count] : model) {
    const uint32_t estimate = sketch.estimate(hashOf(key));
    ASSERT_GE(estimate, std::min(count, 16u));
    over += estimate > count ? 1 : 0;
  }
  EXPECT_LT(over, model.size() / 10);
  uint64_t invented = 0;
  for (uint64_t key = 100'000; key < 110'000; key++) {
    invented += sketch.estimate(hashOf(key)) >= 2 ? 1 : 0;
  }
  EXPECT_LT(invented, 100u);
}

TEST(FrequencySketch, AgeingHalvesWhatWasCounted) {
  FrequencySketch sketch(64);
  for (int i = 0; i < 13; i++) {
    sketch.add(hashOf(1));
  }
  EXPECT_EQ(sketch.estimate(hashOf(1)), 13u);
  for (uint64_t i = 13; i < 64 * 4 - 1; i++) {
    sketch.add(hashOf(2));
  }
  EXPECT_EQ(sketch.agings(), 0u);
  EXPECT_EQ(sketch.estimate(hashOf(2)), 16u);
  sketch.add(hashOf(3));
  EXPECT_EQ(sketch.agings(), 1u);
  // Twelve beyond the doorkeeper are six; the doorkeeper is empty.
  EXPECT_GE(sketch.estimate(hashOf(1)), 6u);
  EXPECT_LE(sketch.estimate(hashOf(1)), 7u);
}

TEST(WriteBudget, WithAnotherRateItIsAsFullAsItWas) {
  WriteBudget budget(100, 1000);
  EXPECT_EQ(budget.level(1), BudgetLevel::plenty);
  budget.spend(400);
  budget.setRate(50, 500);
  EXPECT_EQ(budget.level(1), BudgetLevel::plenty);  // 300 of 500
  budget.spend(50);
  EXPECT_EQ(budget.level(1), BudgetLevel::low);
  budget.setRate(200, 2000);
  EXPECT_EQ(budget.level(1), BudgetLevel::low);  // 1000 of 2000
  budget.spend(1000);
  EXPECT_EQ(budget.level(1), BudgetLevel::none);
  EXPECT_EQ(budget.level(2), BudgetLevel::low);  // 200
}

TEST(WriteBudget, IsKeptOverTime) {
  WriteBudget budget(1000, 5000);
  base::Random random(2);
  uint64_t spent = 0;
  uint32_t now = 1'800'000'000;
  for (int i = 0; i < 20000; i++) {
    now += static_cast<uint32_t>(random.below(2));
    if (budget.level(now) != BudgetLevel::none) {
      const uint64_t bytes = random.below(3000);
      budget.spend(bytes);
      spent += bytes;
    }
  }
  const uint64_t allowed = 5000 + 1000 * uint64_t{now - 1'800'000'000};
  EXPECT_LE(spent, allowed + 3000);
  EXPECT_GE(spent, allowed - 6000);
}

TEST(WriteBudget, ATimeThatStandsStillOrGoesBackEarnsNothing) {
  WriteBudget budget(1000, 1000);
  EXPECT_EQ(budget.level(100), BudgetLevel::plenty);
  budget.spend(1000);
  EXPECT_EQ(budget.level(100), BudgetLevel::none);
  EXPECT_EQ(budget.level(50), BudgetLevel::none);
  EXPECT_EQ(budget.level(51), BudgetLevel::plenty);
  budget.spend(1'000'000);
  EXPECT_EQ(budget.level(60), BudgetLevel::none);
  EXPECT_EQ(budget.level(UINT32_MAX), BudgetLevel::plenty);
}

TEST(WriteBudget, IsLowAtHalfABurstAndNoneAtTheLastByte) {
  WriteBudget budget(1, 1000);
  budget.spend(499);
  EXPECT_EQ(budget.level(100), BudgetLevel::plenty);
  budget.spend(1);
  EXPECT_EQ(budget.level(100), BudgetLevel::low);
  budget.spend(499);
  EXPECT_EQ(budget.level(100), BudgetLevel::low);
  budget.spend(1);
  EXPECT_EQ(budget.level(100), BudgetLevel::none);
  EXPECT_EQ(budget.level(101), BudgetLevel::low);
}

TEST(WriteBudget, ZeroIsNoLimit) {
  WriteBudget budget(0, 0);
  for (int i = 0; i < 10; i++) {
    EXPECT_EQ(budget.level(0), BudgetLevel::plenty);
    budget.spend(uint64_t{1} << 40);
  }
}

TEST(Admission, WithoutALimitEverythingIsAdmitted) {
  EXPECT_TRUE(AdmissionOptions{}.admitsAll());
  Admission admission(AdmissionOptions{});
  for (uint64_t key = 0; key < 1000; key++) {
    EXPECT_EQ(admission.decide(hashOf(key), false, 1 << 20, 0), Admit::admitted);
  }
}

TEST(Admission, OfSecondRequestsLetsNoFirstOneIn) {
  AdmissionOptions options;
  options.second_request = true;
  EXPECT_FALSE(options.admitsAll());
  Admission admission(options);
  admission.noteRequest(hashOf(1));
  EXPECT_EQ(admission.decide(hashOf(1), false, 100, 0), Admit::first_request);
  EXPECT_EQ(admission.decide(hashOf(1), true, 100, 0), Admit::admitted);
  admission.noteRequest(hashOf(1));
  EXPECT_EQ(admission.decide(hashOf(1), false, 100, 0), Admit::admitted);
  EXPECT_EQ(admission.decide(hashOf(2), false, 100, 0), Admit::first_request);
}

TEST(Admission, ABudgetThatIsLowIsForWhatWasAskedForBefore) {
  AdmissionOptions options;
  options.write_bytes_per_s = 1000;
  options.burst_bytes = 10'000;
  EXPECT_FALSE(options.admitsAll());
  Admission admission(options);
  admission.noteRequest(hashOf(1));
  EXPECT_EQ(admission.decide(hashOf(1), false, 5000, 100), Admit::admitted);
  admission.noteRequest(hashOf(2));
  EXPECT_EQ(admission.decide(hashOf(2), false, 500, 100), Admit::over_budget);
  EXPECT_EQ(admission.decide(hashOf(2), true, 500, 100), Admit::admitted);
  admission.noteRequest(hashOf(2));
  EXPECT_EQ(admission.decide(hashOf(2), false, 4000, 100), Admit::admitted);
  // 500 are left, and any size may be paid from them.
  EXPECT_EQ(admission.decide(hashOf(2), false, 1000, 100), Admit::admitted);
  EXPECT_EQ(admission.decide(hashOf(2), true, 1, 100), Admit::over_budget);
  // 500 are owed, 1000 a second are earned.
  EXPECT_EQ(admission.decide(hashOf(2), false, 1, 101), Admit::admitted);
  EXPECT_EQ(admission.decide(hashOf(3), false, 1, 105), Admit::over_budget);
  EXPECT_EQ(admission.decide(hashOf(3), false, 1, 106), Admit::admitted);
  admission.spend(5000);
  EXPECT_EQ(admission.decide(hashOf(3), false, 1, 106), Admit::over_budget);
}

}  // namespace
}  // namespace store
