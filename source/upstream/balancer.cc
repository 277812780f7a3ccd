#include "source/upstream/balancer.h"

#include <algorithm>

#include "source/base/check.h"

namespace upstream {
namespace {

// Which endpoints may be picked: the untried healthy ones, or else all untried ones.
class Eligible {
 public:
  Eligible(std::span<const Candidate> candidates, Tried tried, base::MonoTime now)
      : candidates_(candidates), tried_(tried), now_(now) {
    for (uint32_t i = 0; i < candidates.size(); i++) {
      if (isTried(i)) {
        continue;
      }
      all_weight_ += candidates[i].weight;
      all_count_++;
      if (candidates[i].unhealthy_until <= now) {
        healthy_weight_ += candidates[i].weight;
        healthy_count_++;
      }
    }
  }

  bool panicked() const { return healthy_count_ == 0; }
  uint64_t weight() const { return panicked() ? all_weight_ : healthy_weight_; }
  uint32_t count() const { return panicked() ? all_count_ : healthy_count_; }
  bool operator()(uint32_t i) const {
    return (panicked() || candidates_[i].unhealthy_until <= now_) && !isTried(i);
  }

 private:
  bool isTried(uint32_t i) const {
    return std::find(tried_.begin(), tried_.end(), i) != tried_.end();
  }

  std::span<const Candidate> candidates_;
  Tried tried_;
  base::MonoTime now_;
  uint64_t all_weight_ = 0;
  uint64_t healthy_weight_ = 0;
  uint32_t all_count_ = 0;
  uint32_t healthy_count_ = 0;
};

constexpr uint32_t kNone = UINT32_MAX;

// The eligible endpoint, other than `except`, in whose share of the weights `at` lies.
uint32_t byWeight(std::span<const Candidate> candidates, const Eligible& eligible, uint32_t except,
                  uint64_t at) {
  for (uint32_t i = 0; i < candidates.size(); i++) {
    if (i == except || !eligible(i)) {
      continue;
    }
    if (at < candidates[i].weight) {
      return i;
    }
    at -= candidates[i].weight;
  }
  CHECK(false);  // `at` was below the sum of the weights
  return kNone;
}

// A number below `bound` from 32 random bits.
uint64_t scaled(uint32_t random, uint64_t bound) {
  return (uint64_t{random} * bound) >> 32;
}

}  // namespace

std::optional<Pick> pickRoundRobin(std::span<Candidate> candidates, Tried tried,
                                   base::MonoTime now) {
  const Eligible eligible(candidates, tried, now);
  if (eligible.count() == 0) {
    return std::nullopt;
  }
  uint32_t best = kNone;
  for (uint32_t i = 0; i < candidates.size(); i++) {
    if (!eligible(i)) {
      continue;
    }
    candidates[i].turn += candidates[i].weight;
    if (best == kNone || candidates[i].turn > candidates[best].turn) {
      best = i;
    }
  }
  candidates[best].turn -= static_cast<int64_t>(eligible.weight());
  return Pick{best, eligible.panicked()};
}

std::optional<Pick> pickLeastRequest(std::span<const Candidate> candidates, Tried tried,
                                     base::MonoTime now, uint64_t random) {
  const Eligible eligible(candidates, tried, now);
  if (eligible.count() == 0) {
    return std::nullopt;
  }
  const uint32_t first = byWeight(candidates, eligible, kNone,
                                  scaled(static_cast<uint32_t>(random >> 32), eligible.weight()));
  if (eligible.count() == 1) {
    return Pick{first, eligible.panicked()};
  }
  const Candidate& a = candidates[first];
  const uint32_t second =
      byWeight(candidates, eligible, first,
               scaled(static_cast<uint32_t>(random), eligible.weight() - a.weight));
  const Candidate& b = candidates[second];
  const bool second_is_freer = uint64_t{b.in_flight} * a.weight < uint64_t{a.in_flight} * b.weight;
  return Pick{second_is_freer ? second : first, eligible.panicked()};
}

std::optional<Pick> pick(LbPolicy policy, std::span<Candidate> candidates, Tried tried,
                         base::MonoTime now, uint64_t random) {
  switch (policy) {
    case LbPolicy::round_robin:
      return pickRoundRobin(candidates, tried, now);
    case LbPolicy::least_request:
      return pickLeastRequest(candidates, tried, now, random);
  }
  return std::nullopt;
}

uint64_t unhealthyFor_ns(uint32_t failures) {
  if (failures == 0) {
    return 0;
  }
  const uint64_t seconds = failures > 5 ? 30 : uint64_t{1} << (failures - 1);
  return std::min<uint64_t>(seconds, 30) * base::kSecond_ns;
}

}  // namespace upstream
