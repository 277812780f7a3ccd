// Those who wait for one fill's head. When it comes, each of them is given a first piece, of many a
// short one, and has sent it before anybody has a second one: a client has its first byte as soon
// as all heads are written, not behind other clients' bulk. Of many, nobody is given much at a time
// later either, or one turn would send them half a megabyte each.
//
// Who joins when the head is there already is no part of it, so that bulk is never held back by
// clients that keep coming; and who has not asked for a second piece in time (its client does not
// read) holds it back no longer.
#pragma once

#include <cstdint>

#include "source/base/check.h"
#include "source/base/types.h"

namespace cache {

class Crowd {
 public:
  static constexpr uint32_t kMany = 16;
  static constexpr uint32_t kFirst_bytes = 4 << 10;
  static constexpr uint32_t kPiece_bytes = 64 << 10;
  static constexpr uint64_t kPatience_ns = 50 * base::kMillisecond_ns;

  // One that waits for the head has subscribed.
  void join() { waiting_++; }
  // It has sent its first bytes, or has left. True when it was the last one: all go on.
  bool served() {
    CHECK(waiting_ > 0);
    return --waiting_ == 0;
  }
  // Whether one that has sent its first bytes must wait for others, until then at the latest.
  bool holdsBack(base::MonoTime now) {
    if (waiting_ > 0 && until_ == base::kNever) {
      until_ = now + kPatience_ns;
    }
    return waiting_ > 0 && now < until_;
  }
  base::MonoTime until() const { return until_; }
  // How much one of `subscribers` is given at a time.
  static uint32_t most(uint32_t subscribers, bool first) {
    if (subscribers < kMany) {
      return UINT32_MAX;
    }
    return first ? kFirst_bytes : kPiece_bytes;
  }

 private:
  uint32_t waiting_ = 0;
  base::MonoTime until_ = base::kNever;
};

}  // namespace cache
