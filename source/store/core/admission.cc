#include "source/store/core/admission.h"

#include <algorithm>
#include <bit>

#include "source/store/core/layout.h"

namespace store {
namespace {

constexpr uint32_t kRows = 4;
constexpr uint64_t kBlockWords = 8;  // a key's counters share one cache line
constexpr uint64_t kPeriodPerKey = 4;
constexpr uint64_t kDoorWordsShift = 1;  // 32 doorkeeper bits a key
constexpr uint64_t kMinKeys = 64;
constexpr uint64_t kHalfMask = 0x7777777777777777ULL;

}  // namespace

FrequencySketch::FrequencySketch(uint32_t keys)
    : words_(std::bit_ceil(std::max<uint64_t>(keys, kMinKeys))),
      counters_(new uint64_t[words_]()),
      doorkeeper_(new uint64_t[words_ >> kDoorWordsShift]()) {}

FrequencySketch::Cell FrequencySketch::cellOf(base::Hash128 hash, uint32_t row) const {
  const uint64_t block = (hash.lo & (words_ - 1)) / kBlockWords * kBlockWords;
  // Two words a row; 5 bits choose one of their 32 counters.
  const uint64_t choice = mix64(hash.hi) >> (row * 5) & 31;
  return Cell{block + row * 2 + (choice >> 4), static_cast<uint32_t>(choice & 15) * 4};
}

bool FrequencySketch::knock(base::Hash128 hash, bool enter) {
  const uint64_t bits = (words_ >> kDoorWordsShift) * 64;
  const uint64_t mixed = mix64(hash.lo ^ 0x9e3779b97f4a7c15ULL);
  bool known = true;
  for (const uint64_t bit : {mixed & (bits - 1), (mixed >> 32 ^ hash.hi) & (bits - 1)}) {
    uint64_t& word = doorkeeper_[bit / 64];
    known = known && (word >> (bit % 64) & 1) != 0;
    word |= enter ? uint64_t{1} << (bit % 64) : 0;
  }
  return known;
}

void FrequencySketch::add(base::Hash128 hash) {
  if (++additions_ >= words_ * kPeriodPerKey) {
    age();
  }
  if (!knock(hash, true)) {
    return;
  }
  for (uint32_t row = 0; row < kRows; row++) {
    const Cell cell = cellOf(hash, row);
    uint64_t& word = counters_[cell.word];
    if ((word >> cell.shift & 15) < 15) {
      word += uint64_t{1} << cell.shift;
    }
  }
}

uint32_t FrequencySketch::estimate(base::Hash128 hash) {
  uint64_t least = 15;
  for (uint32_t row = 0; row < kRows; row++) {
    const Cell cell = cellOf(hash, row);
    least = std::min(least, counters_[cell.word] >> cell.shift & 15);
  }
  return static_cast<uint32_t>(least) + (knock(hash, false) ? 1 : 0);
}

void FrequencySketch::age() {
  for (uint64_t i = 0; i < words_; i++) {
    counters_[i] = counters_[i] >> 1 & kHalfMask;
  }
  std::fill_n(doorkeeper_.get(), words_ >> kDoorWordsShift, 0);
  additions_ = 0;
  agings_++;
}

WriteBudget::WriteBudget(uint64_t bytes_per_s, uint64_t burst_bytes)
    : bytes_per_s_(bytes_per_s),
      burst_bytes_(static_cast<int64_t>(std::min<uint64_t>(burst_bytes, INT64_MAX / 2))),
      tokens_(burst_bytes_) {}

void WriteBudget::setRate(uint64_t bytes_per_s, uint64_t burst_bytes) {
  const auto burst = static_cast<int64_t>(std::min<uint64_t>(burst_bytes, INT64_MAX / 2));
  if (burst_bytes_ > 0) {
    const auto scaled = static_cast<__int128>(tokens_) * burst / burst_bytes_;
    tokens_ = static_cast<int64_t>(std::max<__int128>(scaled, -(INT64_MAX / 4)));
  }
  bytes_per_s_ = bytes_per_s;
  burst_bytes_ = burst;
}

BudgetLevel WriteBudget::level(uint32_t now_s) {
  if (bytes_per_s_ == 0) {
    return BudgetLevel::plenty;
  }
  if (started_ && now_s > last_s_) {
    const auto room = static_cast<unsigned __int128>(burst_bytes_ - tokens_);
    const auto earned = static_cast<unsigned __int128>(now_s - last_s_) * bytes_per_s_;
    tokens_ += static_cast<int64_t>(std::min(room, earned));
  }
  last_s_ = now_s;
  started_ = true;
  if (tokens_ <= 0) {
    return BudgetLevel::none;
  }
  return tokens_ > burst_bytes_ / 2 ? BudgetLevel::plenty : BudgetLevel::low;
}

void WriteBudget::spend(uint64_t bytes) {
  const auto cost = static_cast<int64_t>(std::min<uint64_t>(bytes, kMaxObjectBytes));
  tokens_ = std::max(tokens_ - cost, -(INT64_MAX / 4));
}

Admission::Admission(const AdmissionOptions& options)
    : sketch_(options.keys),
      budget_(options.write_bytes_per_s, options.burst_bytes),
      second_request_(options.second_request) {}

Admit Admission::decide(base::Hash128 hash, bool known, uint64_t bytes, uint32_t now_s) {
  const BudgetLevel level = budget_.level(now_s);
  // The request that leads here counts once; a second one makes the key known.
  known = known || sketch_.estimate(hash) >= 2;
  if (second_request_ && !known) {
    return Admit::first_request;
  }
  if (level == BudgetLevel::none || (level == BudgetLevel::low && !known)) {
    return Admit::over_budget;
  }
  budget_.spend(bytes);
  return Admit::admitted;
}

}  // namespace store
