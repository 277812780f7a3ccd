#include "source/telemetry/histogram.h"

#include <algorithm>
#include <cmath>

#include "source/base/check.h"

namespace telemetry {

static_assert(Histogram::bucketOf(Histogram::kLimit - 1) == Histogram::kBuckets - 2);
static_assert(Histogram::lowerBound(Histogram::kBuckets - 1) == Histogram::kLimit);

void Histogram::merge(const Histogram& other) {
  for (uint32_t i = 0; i < kBuckets; i++) {
    buckets_[i] += other.buckets_[i];
  }
  count_ += other.count_;
  sum_ += other.sum_;
  max_ = std::max(max_, other.max_);
}

uint64_t Histogram::quantile(double q) const {
  if (count_ == 0) {
    return 0;
  }
  const double wanted = std::ceil(std::clamp(q, 0.0, 1.0) * static_cast<double>(count_));
  const uint64_t rank = std::clamp<uint64_t>(static_cast<uint64_t>(wanted), 1, count_);
  uint64_t seen = 0;
  for (uint32_t i = 0; i < kBuckets - 1; i++) {
    seen += buckets_[i];
    if (seen >= rank) {
      return std::min(middle(i), max_);
    }
  }
  return max_;
}

void Histogram::cumulative(std::span<const uint64_t> bounds, std::span<uint64_t> out) const {
  CHECK(bounds.size() == out.size());
  uint64_t seen = 0;
  uint32_t bucket = 0;
  for (size_t i = 0; i < bounds.size(); i++) {
    while (bucket < kBuckets && middle(bucket) <= bounds[i]) {
      seen += buckets_[bucket++];
    }
    out[i] = seen;
  }
}

}  // namespace telemetry
