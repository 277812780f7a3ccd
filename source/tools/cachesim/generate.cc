#include "source/tools/cachesim/generate.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "source/base/random.h"

namespace cachesim {
namespace {

// Upper ends of classes of sizes with their share in percent.
struct SizeClass {
  uint32_t percent;
  uint32_t low_bytes;
  uint32_t high_bytes;
};
constexpr SizeClass kWeb[] = {
    {20, 200, 2 << 10},        {30, 2 << 10, 16 << 10}, {30, 16 << 10, 64 << 10},
    {15, 64 << 10, 256 << 10}, {4, 256 << 10, 1 << 20}, {1, 1 << 20, 4 << 20},
};

class Generator {
 public:
  explicit Generator(const ZipfOptions& options) : options_(options), random_(options.seed) {
    double sum = 0;
    for (uint32_t rank = 1; rank <= options.objects; rank++) {
      sum += std::pow(rank, -options.alpha);
      cumulative_.push_back(sum);
    }
    by_rank_.resize(options.objects);
    std::iota(by_rank_.begin(), by_rank_.end(), 0u);
    for (uint32_t i = options.objects; i > 1; i--) {
      std::swap(by_rank_[i - 1], by_rank_[random_.below(i)]);
    }
    next_object_ = options.objects;
    for (uint32_t i = 0; i < options.objects; i++) {
      bytes_.push_back(drawSize());
    }
  }

  Trace run() {
    Trace trace;
    trace.requests.reserve(options_.requests);
    const auto shift = static_cast<uint64_t>(options_.shift_at * double(options_.requests));
    uint64_t scan_left = 0;
    for (uint64_t i = 0; i < options_.requests; i++) {
      if (shift != 0 && i == shift) {
        changePopularity();
      }
      if (options_.scan_every != 0 && i % options_.scan_every == options_.scan_every - 1) {
        scan_left = options_.scan_length;
      }
      Request request;
      request.time_s = static_cast<uint32_t>(i / options_.requests_per_s);
      const bool fresh = scan_left > 0 || unit() < options_.one_hit_share;
      scan_left -= scan_left > 0 ? 1 : 0;
      request.object = fresh ? newObject() : drawObject();
      request.bytes = bytes_[request.object];
      trace.requests.push_back(request);
    }
    trace.objects = next_object_;
    trace.link();
    return trace;
  }

 private:
  double unit() { return static_cast<double>(random_.next() >> 11) * 0x1p-53; }

  uint32_t drawSize() {
    if (options_.sizes == Sizes::unit) {
      return options_.unit_bytes;
    }
    uint64_t percent = random_.below(100);
    for (const SizeClass& c : kWeb) {
      if (percent < c.percent) {
        return static_cast<uint32_t>(random_.between(c.low_bytes, c.high_bytes));
      }
      percent -= c.percent;
    }
    return options_.unit_bytes;
  }

  uint32_t newObject() {
    bytes_.push_back(drawSize());
    return next_object_++;
  }

  uint32_t drawObject() {
    const double x = unit() * cumulative_.back();
    const auto at = std::lower_bound(cumulative_.begin(), cumulative_.end(), x);
    return by_rank_[std::min<size_t>(at - cumulative_.begin(), by_rank_.size() - 1)];
  }

  // The most popular tenth changes places with objects from the middle.
  void changePopularity() {
    const uint32_t tenth = options_.objects / 10;
    for (uint32_t i = 0; i < tenth; i++) {
      std::swap(by_rank_[i], by_rank_[options_.objects / 2 + i]);
    }
  }

  ZipfOptions options_;
  base::Random random_;
  std::vector<double> cumulative_;  // of the weights of the ranks
  std::vector<uint32_t> by_rank_;
  std::vector<uint32_t> bytes_;  // by object
  uint32_t next_object_;
};

bool isShare(double share) {
  return share >= 0 && share < 1;
}

}  // namespace

std::string checkZipf(const ZipfOptions& options) {
  if (!(options.alpha >= 0 && options.alpha <= 5)) {
    return "--alpha must be between 0 and 5";
  }
  if (options.objects == 0 || options.objects > 100'000'000) {
    return "--objects must be between 1 and 100000000";
  }
  if (options.requests == 0 || options.requests > 1'000'000'000) {
    return "--requests must be between 1 and 1000000000";
  }
  if (!isShare(options.one_hit_share) || !isShare(options.shift_at)) {
    return "--one-hit-share and --shift-at are shares of the requests: from 0 to less than 1";
  }
  if (options.requests_per_s == 0) {
    return "--requests-per-s must not be 0";
  }
  if (options.unit_bytes == 0) {
    return "--unit-bytes must not be 0";
  }
  return {};
}

Trace generateZipf(const ZipfOptions& options) {
  return Generator(options).run();
}

}  // namespace cachesim
