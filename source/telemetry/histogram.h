// A log-linear histogram of durations in nanoseconds (or of any counts): each power of two is cut
// into 16 equal buckets, so that a value is known to within 1/16, and its bucket's middle to within
// 1/32. Recording is a few instructions. It is a plain value: copied by message, merged by adding.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "source/base/types.h"

namespace telemetry {

class Histogram {
 public:
  static constexpr uint32_t kSubBits = 4;
  static constexpr uint32_t kMaxBits = 44;  // 2^44 ns is almost five hours
  // Values from kLimit on share the last bucket.
  static constexpr uint64_t kLimit = uint64_t{1} << kMaxBits;
  static constexpr uint32_t kBuckets = ((kMaxBits - kSubBits + 1) << kSubBits) + 1;

  void record(uint64_t value) {
    buckets_[bucketOf(value)]++;
    count_++;
    sum_ += value;
    max_ = value > max_ ? value : max_;
  }
  void merge(const Histogram& other);
  void reset() { *this = Histogram(); }

  uint64_t count() const { return count_; }
  uint64_t max() const { return max_; }
  double sum() const { return static_cast<double>(sum_); }
  double mean() const { return count_ == 0 ? 0 : sum() / static_cast<double>(count_); }
  // The value that a share `q` (0 to 1) of the recorded ones does not exceed: the middle of its
  // bucket, or the maximum where that is less. 0 when nothing was recorded.
  uint64_t quantile(double q) const;
  // out[i] = how many values are at most bounds[i], for ascending bounds, as far as the buckets
  // tell: a bucket counts for the bounds that its middle does not exceed.
  void cumulative(std::span<const uint64_t> bounds, std::span<uint64_t> out) const;

  static constexpr uint32_t bucketOf(uint64_t value) {
    if (value < (1u << kSubBits)) {
      return static_cast<uint32_t>(value);
    }
    if (value >= kLimit) {
      return kBuckets - 1;
    }
    const uint32_t exponent = static_cast<uint32_t>(std::bit_width(value)) - 1;
    const uint32_t part = static_cast<uint32_t>(value >> (exponent - kSubBits)) & 15;
    return ((exponent - kSubBits + 1) << kSubBits) + part;
  }
  // The least value of a bucket.
  static constexpr uint64_t lowerBound(uint32_t bucket) {
    if (bucket < (1u << kSubBits)) {
      return bucket;
    }
    const uint32_t shift = (bucket >> kSubBits) - 1;
    return (uint64_t{16} + (bucket & 15)) << shift;
  }

  friend bool operator==(const Histogram&, const Histogram&) = default;

 private:
  static constexpr uint64_t middle(uint32_t bucket) {
    return bucket == kBuckets - 1
               ? kLimit
               : lowerBound(bucket) + (lowerBound(bucket + 1) - lowerBound(bucket)) / 2;
  }

  uint64_t count_ = 0;
  uint64_t max_ = 0;
  unsigned __int128 sum_ = 0;
  std::array<uint64_t, kBuckets> buckets_{};
};

// A bound of an exported histogram and its text in seconds, as Prometheus writes it.
struct LatencyBound {
  uint64_t ns;
  std::string_view seconds;
};

inline constexpr std::array<LatencyBound, 21> kLatencyBounds{{
    {10 * base::kMicrosecond_ns, "0.00001"},
    {25 * base::kMicrosecond_ns, "0.000025"},
    {50 * base::kMicrosecond_ns, "0.00005"},
    {100 * base::kMicrosecond_ns, "0.0001"},
    {250 * base::kMicrosecond_ns, "0.00025"},
    {500 * base::kMicrosecond_ns, "0.0005"},
    {1 * base::kMillisecond_ns, "0.001"},
    {2500 * base::kMicrosecond_ns, "0.0025"},
    {5 * base::kMillisecond_ns, "0.005"},
    {10 * base::kMillisecond_ns, "0.01"},
    {25 * base::kMillisecond_ns, "0.025"},
    {50 * base::kMillisecond_ns, "0.05"},
    {100 * base::kMillisecond_ns, "0.1"},
    {250 * base::kMillisecond_ns, "0.25"},
    {500 * base::kMillisecond_ns, "0.5"},
    {1 * base::kSecond_ns, "1"},
    {2500 * base::kMillisecond_ns, "2.5"},
    {5 * base::kSecond_ns, "5"},
    {10 * base::kSecond_ns, "10"},
    {60 * base::kSecond_ns, "60"},
    {600 * base::kSecond_ns, "600"},
}};

}  // namespace telemetry
