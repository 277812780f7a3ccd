// Goal: scrubbing finds what has rotted, drops it, touches nothing else, and keeps to its rate.
// Method: a stripe on the simulated disk, whose bytes the test flips. Chunks of large objects are
// test/cache/scrub_test.cc.
#include <gtest/gtest.h>

#include <string>

#include "test/store/io/stripe_world.h"

namespace store {
namespace {

constexpr uint64_t kRecords = 60;
constexpr uint32_t kBody_bytes = 40'000;

std::string keyOf(uint64_t number) {
  return "http://example.com/" + std::to_string(number);
}

class ScrubTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(life_.recover().ok());
    for (uint64_t i = 0; i < kRecords; i++) {
      ASSERT_EQ(life_.append({.key = keyOf(i), .version = 1, .bytes = kBody_bytes}).code,
                base::Code::ok);
    }
    life_.flush();
  }
  void TearDown() override { life_.stop(); }

  void flip(const std::string& key) {
    const Location at = life_.shared().table->locate(life_.entry(key).value());
    const uint64_t offset = segmentOffset(at.segment, world_.cut.segment_bytes) +
                            uint64_t{at.offset_units} * kUnitBytes + 1000;
    world_.world.disk().contents("data")[offset] ^= std::byte{1};
  }
  // Records in sealed segments; the open one is not scrubbed.
  uint64_t sealed() {
    uint64_t count = 0;
    for (uint64_t i = 0; i < kRecords; i++) {
      const Location at = life_.shared().table->locate(life_.entry(keyOf(i)).value());
      count += life_.store().log().isRecent(at.segment) ? 0 : 1;
    }
    return count;
  }

  StripeWorld world_{21};
  Life life_{world_};
};

TEST_F(ScrubTest, NothingIsReadUnlessAskedFor) {
  life_.runFor(1000 * base::kSecond_ns);
  EXPECT_EQ(life_.store().scrubStats().records, 0U);
}

TEST_F(ScrubTest, OnlyWhatHasRottedIsDropped) {
  const uint64_t scrubbed = sealed();
  ASSERT_GT(scrubbed, 20U);
  flip(keyOf(3));
  life_.store().setScrubRate(100 << 20);
  life_.runFor(30 * base::kSecond_ns);
  const ScrubStats& stats = life_.store().scrubStats();
  EXPECT_EQ(stats.passes, 1U);
  EXPECT_EQ(stats.records, scrubbed);
  EXPECT_EQ(stats.damaged, 1U);
  EXPECT_EQ(stats.unreadable, 0U);
  for (uint64_t i = 0; i < kRecords; i++) {
    EXPECT_EQ(life_.entry(keyOf(i)).has_value(), i != 3) << i;
  }
  // The next pass begins a minute after the first did, and finds nothing.
  life_.runFor(StripeStore::kScrubEvery_ns);
  EXPECT_EQ(stats.passes, 2U);
  EXPECT_EQ(stats.damaged, 1U);
}

TEST_F(ScrubTest, TheRateIsKept) {
  constexpr uint64_t kRate = 100'000;
  life_.store().setScrubRate(kRate);
  life_.runFor(10 * base::kSecond_ns);
  const ScrubStats& stats = life_.store().scrubStats();
  EXPECT_GE(stats.bytes, 9 * kRate);
  EXPECT_LE(stats.bytes, 10 * kRate + 2 * kBody_bytes);
  life_.store().setScrubRate(0);
  life_.runFor(base::kSecond_ns);
  const uint64_t records = stats.records;
  life_.runFor(100 * base::kSecond_ns);
  EXPECT_EQ(stats.records, records);
}

}  // namespace
}  // namespace store
