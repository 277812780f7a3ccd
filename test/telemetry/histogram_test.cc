// Goal: a histogram knows values to within 6 %, merges exactly and exports cumulative counts.
// Method: buckets are checked against their definition over all powers of two; quantiles against a
// sorted array of seeded random values.

#include "source/telemetry/histogram.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "source/base/random.h"

namespace telemetry {
namespace {

TEST(Histogram, EveryValueLiesInItsBucketAndBucketsAreNarrow) {
  for (uint32_t bit = 0; bit < Histogram::kMaxBits; bit++) {
    const uint64_t power = uint64_t{1} << bit;
    for (const uint64_t value : {power - 1, power, power + 1, power + power / 3, 2 * power - 1}) {
      const uint32_t bucket = Histogram::bucketOf(value);
      EXPECT_LE(Histogram::lowerBound(bucket), value);
      EXPECT_LT(value, Histogram::lowerBound(bucket + 1));
      const uint64_t width = Histogram::lowerBound(bucket + 1) - Histogram::lowerBound(bucket);
      EXPECT_LE(width * 16, std::max<uint64_t>(Histogram::lowerBound(bucket), 16));
    }
  }
}

TEST(Histogram, BucketsFollowEachOtherWithoutGap) {
  for (uint32_t bucket = 0; bucket < Histogram::kBuckets; bucket++) {
    EXPECT_EQ(Histogram::bucketOf(Histogram::lowerBound(bucket)), bucket);
    if (bucket > 0) {
      EXPECT_EQ(Histogram::bucketOf(Histogram::lowerBound(bucket) - 1), bucket - 1);
    }
  }
}

TEST(Histogram, TheLastBucketTakesEverythingFromTheLimitOn) {
  EXPECT_EQ(Histogram::bucketOf(Histogram::kLimit - 1), Histogram::kBuckets - 2);
  EXPECT_EQ(Histogram::bucketOf(Histogram::kLimit), Histogram::kBuckets - 1);
  EXPECT_EQ(Histogram::bucketOf(UINT64_MAX), Histogram::kBuckets - 1);
  Histogram histogram;
  histogram.record(UINT64_MAX);
  histogram.record(UINT64_MAX);
  EXPECT_EQ(histogram.quantile(0.5), UINT64_MAX);
  EXPECT_DOUBLE_EQ(histogram.sum(), 2 * 18446744073709551615.0);
}

TEST(Histogram, NothingRecordedGivesZeros) {
  const Histogram histogram;
  EXPECT_EQ(histogram.count(), 0u);
  EXPECT_EQ(histogram.quantile(0.99), 0u);
  EXPECT_EQ(histogram.max(), 0u);
  EXPECT_EQ(histogram.mean(), 0.0);
}

TEST(Histogram, OneValueIsEveryQuantileToWithinItsBucket) {
  Histogram histogram;
  histogram.record(1000000);
  for (const double q : {0.0, 0.5, 1.0}) {
    EXPECT_NEAR(static_cast<double>(histogram.quantile(q)), 1e6, 1e6 / 16);
  }
  EXPECT_EQ(histogram.max(), 1000000u);
  EXPECT_EQ(histogram.mean(), 1e6);
}

TEST(Histogram, QuantilesAreWithinSixPerCentOfTheSortedValues) {
  base::Random random(7);
  Histogram histogram;
  std::vector<uint64_t> values;
  for (int i = 0; i < 10000; i++) {
    const uint64_t value = random.below(uint64_t{1} << random.between(1, 40));
    values.push_back(value);
    histogram.record(value);
  }
  std::sort(values.begin(), values.end());
  for (const double q : {0.01, 0.25, 0.5, 0.9, 0.99, 0.999, 1.0}) {
    const size_t rank = static_cast<size_t>(std::ceil(q * 10000));
    const double exact = static_cast<double>(values[rank - 1]);
    EXPECT_NEAR(static_cast<double>(histogram.quantile(q)), exact, exact * 0.06) << q;
  }
}

TEST(Histogram, MergingIsRecordingBoth) {
  base::Random random(3);
  Histogram a;
  Histogram b;
  Histogram both;
  for (int i = 0; i < 1000; i++) {
    const uint64_t value = random.next() >> random.below(60);
    (i % 3 == 0 ? a : b).record(value);
    both.record(value);
  }
  a.merge(b);
  EXPECT_EQ(a, both);
  a.reset();
  EXPECT_EQ(a, Histogram());
}

TEST(Histogram, CumulativeCountsAreMonotoneAndEndWithWhatTheBoundsHold) {
  Histogram histogram;
  for (const uint64_t ms : {1, 1, 20, 20, 20, 700, 8000000}) {
    histogram.record(ms * base::kMillisecond_ns);
  }
  std::vector<uint64_t> bounds;
  for (const LatencyBound& bound : kLatencyBounds) {
    bounds.push_back(bound.ns);
  }
  std::vector<uint64_t> out(bounds.size());
  histogram.cumulative(bounds, out);
  EXPECT_TRUE(std::is_sorted(out.begin(), out.end()));
  const auto at = [&](uint64_t ns) {
    return out[static_cast<size_t>(std::find(bounds.begin(), bounds.end(), ns) - bounds.begin())];
  };
  EXPECT_EQ(at(500 * base::kMicrosecond_ns), 0u);
  EXPECT_EQ(at(2500 * base::kMicrosecond_ns), 2u);
  EXPECT_EQ(at(10 * base::kMillisecond_ns), 2u);
  EXPECT_EQ(at(25 * base::kMillisecond_ns), 5u);
  EXPECT_EQ(at(500 * base::kMillisecond_ns), 5u);
  EXPECT_EQ(at(1 * base::kSecond_ns), 6u);
  EXPECT_EQ(out.back(), 6u);  // 8,000 s are above every bound
  EXPECT_EQ(histogram.count(), 7u);
}

TEST(Histogram, TheTextOfABoundIsTheBoundInSeconds) {
  for (const LatencyBound& bound : kLatencyBounds) {
    EXPECT_DOUBLE_EQ(std::stod(std::string(bound.seconds)) * 1e9, static_cast<double>(bound.ns));
  }
}

}  // namespace
}  // namespace telemetry
