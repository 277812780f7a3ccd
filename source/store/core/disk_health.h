// Whether a disk is worth asking, judged by what became of what it was asked: a circuit breaker.
// kFailures failures in a row take it out of use; then one operation after each pause tries again,
// the pause doubling from kPause_ns to kPauseMost_ns, and the first success takes it back.
#pragma once

#include <algorithm>
#include <cstdint>

#include "source/base/types.h"

namespace store {

class DiskHealth {
 public:
  static constexpr uint32_t kFailures = 8;
  static constexpr uint64_t kPause_ns = base::kSecond_ns;
  static constexpr uint64_t kPauseMost_ns = 30 * base::kSecond_ns;

  bool out() const { return failures_ >= kFailures; }
  uint64_t outages() const { return outages_; }
  int32_t lastError() const { return last_error_; }  // errno of the newest failure; 0: a deadline

  // Whether to ask the disk now. Out of use, the one who is told so is the one who tries.
  bool usable(base::MonoTime now) {
    if (!out()) {
      return true;
    }
    if (now < try_at_) {
      return false;
    }
    pauseFrom(now);
    return true;
  }
  // True when this takes it back into use.
  bool succeeded() {
    const bool back = out();
    failures_ = 0;
    return back;
  }
  // True when this takes it out of use. `error` is an errno, or 0 for a missed deadline.
  bool failed(base::MonoTime now, int32_t error) {
    last_error_ = error;
    if (failures_ < kFailures && ++failures_ == kFailures) {
      outages_++;
      pause_ns_ = kPause_ns / 2;
      pauseFrom(now);
      return true;
    }
    return false;
  }

 private:
  void pauseFrom(base::MonoTime now) {
    pause_ns_ = std::min(2 * pause_ns_, kPauseMost_ns);
    try_at_ = now + pause_ns_;
  }

  uint32_t failures_ = 0;  // in a row
  uint64_t outages_ = 0;
  int32_t last_error_ = 0;
  uint64_t pause_ns_ = 0;
  base::MonoTime try_at_{0};
};

}  // namespace store
