// Goal: a disk goes out of use after so many failures in a row and not one earlier, is tried once
// after each pause, and comes back with the first success. Method: the circuit breaker against a
// clock that the test moves.
#include "source/store/core/disk_health.h"

#include <gtest/gtest.h>

namespace store {
namespace {

constexpr base::MonoTime kStart{1'000};

DiskHealth afterFailures(uint32_t failures) {
  DiskHealth health;
  for (uint32_t i = 0; i < failures; i++) {
    EXPECT_EQ(health.failed(kStart, 5), i + 1 == DiskHealth::kFailures);
  }
  return health;
}

TEST(DiskHealth, IsUsedUpToTheLastFailureButOne) {
  DiskHealth health = afterFailures(DiskHealth::kFailures - 1);
  EXPECT_FALSE(health.out());
  EXPECT_TRUE(health.usable(kStart));
  EXPECT_EQ(health.outages(), 0U);
}

TEST(DiskHealth, IsOutAtTheLimit) {
  DiskHealth health = afterFailures(DiskHealth::kFailures);
  EXPECT_TRUE(health.out());
  EXPECT_FALSE(health.usable(kStart));
  EXPECT_EQ(health.outages(), 1U);
  EXPECT_EQ(health.lastError(), 5);
  EXPECT_FALSE(health.failed(kStart, 0));  // out already
  EXPECT_EQ(health.outages(), 1U);
  EXPECT_EQ(health.lastError(), 0);
}

TEST(DiskHealth, OnlyFailuresInARowCount) {
  DiskHealth health = afterFailures(DiskHealth::kFailures - 1);
  EXPECT_FALSE(health.succeeded());
  for (uint32_t i = 0; i + 1 < DiskHealth::kFailures; i++) {
    EXPECT_FALSE(health.failed(kStart, 5));
  }
  EXPECT_FALSE(health.out());
}

TEST(DiskHealth, OneTriesAfterEachPauseAndThePausesDoubleUpToALimit) {
  DiskHealth health = afterFailures(DiskHealth::kFailures);
  base::MonoTime now = kStart;
  const uint64_t pauses_s[] = {1, 2, 4, 8, 16, 30, 30};
  for (const uint64_t pause_s : pauses_s) {
    const base::MonoTime due = now + pause_s * base::kSecond_ns;
    EXPECT_FALSE(health.usable(base::MonoTime{due.ns - 1})) << pause_s;
    EXPECT_TRUE(health.usable(due)) << pause_s;
    EXPECT_FALSE(health.usable(due)) << "one alone tries";
    EXPECT_FALSE(health.failed(due, 5));
    now = due;
  }
}

TEST(DiskHealth, TheFirstSuccessTakesItBack) {
  DiskHealth health = afterFailures(DiskHealth::kFailures);
  EXPECT_TRUE(health.succeeded());
  EXPECT_FALSE(health.succeeded());
  EXPECT_TRUE(health.usable(kStart));
  EXPECT_FALSE(health.out());
  EXPECT_EQ(health.outages(), 1U);
}

}  // namespace
}  // namespace store
