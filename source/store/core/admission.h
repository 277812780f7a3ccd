// Admission to the disk. By policy, everything, or only keys that were asked for before. Besides, a
// budget of bytes written: while more than half of what it allows at once is left, the policy alone
// decides; then only keys that were asked for before are admitted, and once it is used up nothing.
// So what is asked for again has the first claim on a disk that must not be written more.
//
// What was asked for before is told by a count-min sketch of 4-bit counters behind a doorkeeper, as
// in TinyLFU (Einziger, Friedman, Manes 2017): the first occurrence sets bits in the doorkeeper
// only, later ones count. After a period of four additions for each key it is sized for, the
// counters are halved and the doorkeeper is cleared.
#pragma once

#include <cstdint>
#include <memory>

#include "source/base/hash.h"

namespace store {

class FrequencySketch {
 public:
  // One 64-bit word (16 counters, 4 rows of which are used a key) for each key, rounded up to a
  // power of two.
  explicit FrequencySketch(uint32_t keys);
  void add(base::Hash128 hash);
  // 0..16: how often the key was added of late, roughly, and never less (until the next ageing).
  uint32_t estimate(base::Hash128 hash);
  uint64_t agings() const { return agings_; }

 private:
  struct Cell {
    uint64_t word = 0;
    uint32_t shift = 0;
  };
  Cell cellOf(base::Hash128 hash, uint32_t row) const;
  bool knock(base::Hash128 hash, bool enter);
  void age();

  uint64_t words_;
  uint64_t additions_ = 0;
  uint64_t agings_ = 0;
  std::unique_ptr<uint64_t[]> counters_;
  std::unique_ptr<uint64_t[]> doorkeeper_;
};

// What a budget may spend at once: what it earns in so long.
inline constexpr uint64_t kBudgetBurst_s = 60;

enum class BudgetLevel : uint8_t { none, low, plenty };

// A bucket of tokens: bytes that may be written. Time is passed in and may stand still or go back.
class WriteBudget {
 public:
  // bytes_per_s 0: without a limit.
  WriteBudget(uint64_t bytes_per_s, uint64_t burst_bytes);
  // none: nothing is left; plenty: more than half of a burst.
  BudgetLevel level(uint32_t now_s);
  // As full as it was. Not to or from no limit.
  void setRate(uint64_t bytes_per_s, uint64_t burst_bytes);
  // Always succeeds: what was admitted is paid for, if need be in advance.
  void spend(uint64_t bytes);

 private:
  uint64_t bytes_per_s_;
  int64_t burst_bytes_;
  int64_t tokens_;
  uint32_t last_s_ = 0;
  bool started_ = false;
};

enum class Admit : uint8_t { admitted, first_request, over_budget };

struct AdmissionOptions {
  uint32_t keys = 1 << 16;  // that are remembered; twelve bytes each
  bool second_request = false;
  uint64_t write_bytes_per_s = 0;  // 0: no limit
  uint64_t burst_bytes = 0;

  bool admitsAll() const { return !second_request && write_bytes_per_s == 0; }
};

class Admission {
 public:
  explicit Admission(const AdmissionOptions& options);
  // Notes a request for the key, whether it is stored or not.
  void noteRequest(base::Hash128 hash) { sketch_.add(hash); }
  // Decides on a response and spends its bytes. The request for it has been noted already. known:
  // it takes the place of a stored object, so it was asked for before.
  Admit decide(base::Hash128 hash, bool known, uint64_t bytes, uint32_t now_s);
  // Another share of the cache's budget.
  void setWriteRate(uint64_t bytes_per_s) {
    budget_.setRate(bytes_per_s, bytes_per_s * kBudgetBurst_s);
  }
  // Bytes that were not known then, or were not asked about.
  void spend(uint64_t bytes) { budget_.spend(bytes); }
  FrequencySketch& sketch() { return sketch_; }

 private:
  FrequencySketch sketch_;
  WriteBudget budget_;
  bool second_request_;
};

}  // namespace store
