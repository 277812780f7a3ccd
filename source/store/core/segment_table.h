// The sequence each segment has now: written by the stripe's owner, read by every shard. A reader
// takes the sequence before its read and demands it of the record it finds, so a segment that was
// overwritten meanwhile is a miss. Sequence 0: the segment holds nothing that may be read.
//
// Who lets the kernel send bytes of a segment without looking at them (disk_io: SENDFILE) pins it
// for one system call. The owner takes the sequence away first and then waits until nobody has a
// pin; who pins does so first and then looks at the sequence. All four accesses are sequentially
// consistent, so one of the two sees the other.
//
// A log may become longer and shorter while it is used; it has room for kGrowth times what it has
// at first.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>

#include "source/base/check.h"
#include "source/store/core/entry.h"
#include "source/store/core/layout.h"

namespace store {

class SegmentTable {
 public:
  static constexpr uint32_t kGrowth = 4;
  static constexpr uint32_t kLeastCapacity = 64;
  static constexpr uint32_t capacityFor(uint32_t segment_count) {
    const uint64_t grown = std::max(uint64_t{segment_count} * kGrowth, uint64_t{kLeastCapacity});
    return static_cast<uint32_t>(std::min<uint64_t>(grown, kMaxSegments));
  }

  explicit SegmentTable(uint32_t segment_count)
      : count_(segment_count),
        capacity_(capacityFor(segment_count)),
        sequences_(new std::atomic<uint64_t>[capacity_]()),
        pins_(new std::atomic<uint32_t>[capacity_]()) {
    CHECK(segment_count <= kMaxSegments);
  }

  uint32_t capacity() const { return capacity_; }
  uint64_t sequence(uint32_t segment) const {
    return segment < capacity_ ? sequences_[segment].load(std::memory_order_acquire) : 0;
  }
  // Where the entry's record lies, with the sequence to demand; sequence 0 when the entry is stale.
  Location locate(const Entry& entry) const {
    const uint64_t now = sequence(entry.segment());
    const bool current = now != 0 && generationOf(now) == entry.generation();
    return Location{current ? now : 0, entry.segment(), entry.offsetUnits(), entry.lengthUnits()};
  }

  // False: the segment is not this one any more, and is not pinned.
  bool pin(uint32_t segment, uint64_t sequence) {
    CHECK(segment < capacity_ && sequence != 0);
    pins_[segment].fetch_add(1, std::memory_order_seq_cst);
    if (sequences_[segment].load(std::memory_order_seq_cst) == sequence) {
      return true;
    }
    unpin(segment);
    return false;
  }
  void unpin(uint32_t segment) { pins_[segment].fetch_sub(1, std::memory_order_seq_cst); }

  // The owner alone. After retire() no new pin is given.
  void retire(uint32_t segment) {
    CHECK(segment < count_);
    sequences_[segment].store(0, std::memory_order_seq_cst);
  }
  bool pinned(uint32_t segment) const {
    return pins_[segment].load(std::memory_order_seq_cst) != 0;
  }
  // How many segments there are.
  uint32_t count() const { return count_; }
  void setCount(uint32_t count) {
    CHECK(count <= capacity_);
    count_ = count;
  }
  void setSequence(uint32_t segment, uint64_t sequence) {
    CHECK(segment < count_);
    sequences_[segment].store(sequence, std::memory_order_release);
  }

 private:
  uint32_t count_;
  uint32_t capacity_;
  std::unique_ptr<std::atomic<uint64_t>[]> sequences_;
  std::unique_ptr<std::atomic<uint32_t>[]> pins_;
};

}  // namespace store
