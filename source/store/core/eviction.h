// Which segment is reclaimed next, and how much of it is written again: S3-FIFO (Yang et al., SOSP
// 2023) by segments, on a log that is written at one point only.
//
// What is new fills segments of the small queue; what was hit there, and what still is hit in the
// main queue, is written again into segments of the main queue. To keep the two apart with a single
// point of writing, segments are reclaimed in runs: when the free ones run out, the segment that is
// opened then belongs to `main`, and old segments are reclaimed until that segment is full of what
// they kept. A run so frees several segments and fills one.
//
// What matters is that a segment of main holds nothing else: what is new there stays for a whole
// round unproven, and what main keeps and a segment of `small` gets has hardly time for a hit. So a
// run takes from main first, if main is long, and only while there is room for what such a segment
// usually keeps; then from `small`, whose segments keep little, and closely fill what is left; and
// no segment may keep more than there is room for. What fills happen to append before the segment
// is full lies in `main` and is judged there.
//
// A key that left the small queue, or main with a hit that was not enough, is remembered for as
// many bytes as the log holds (ghost.h); when it comes back it begins with one hit, so the small
// queue passes it on.
//
// What may be written again is earned by what is new: kEarnPercent of its bytes, saved up to
// 1 / kSavingShare of the log. So the bytes written stay below 1.36 times the bytes of new records
// (without headers, footers and padding), whatever the traffic is. A segment of `small` may spend
// as much of its size as the savings are full, one of main five times that: when they run low, what
// was hit once goes first, and what is new before what has proved itself.
//
// Each run adds a segment to main and main is bounded, so every segment is reclaimed within a few
// rounds of the log, and purges can be forgotten (journal.h). Nothing is written again while no
// segment is free.
#pragma once

#include <cstdint>
#include <optional>

#include "source/base/hash.h"
#include "source/store/core/allocator.h"
#include "source/store/core/ghost.h"
#include "source/store/core/reclaim.h"

namespace store {

struct EvictionOptions {
  uint32_t segment_bytes = 0;
  uint32_t segment_count = 0;
  uint32_t ghost_entries = 1 << 14;  // about the number of objects that fit
};

class Eviction {
 public:
  static constexpr uint32_t kSmallPercent = 6;      // of the sealed segments: then main is long
  static constexpr uint32_t kSmallLeftPercent = 3;  // of the segments: what a run leaves of them
  // Of a segment: the room that a run must have left for one of main, and for one of `small`.
  static constexpr uint32_t kMainRoomPercent = 60;
  static constexpr uint32_t kSmallRoomPercent = 3;
  static constexpr uint32_t kEarnPercent = 36;
  static constexpr uint32_t kSavingShare = 8;

  explicit Eviction(const EvictionOptions& options);
  // The log has become longer or shorter. The ghosts stay as many.
  void setSegmentCount(uint32_t segment_count);

  // A new record under this key is about to be appended: the hits that its entry begins with.
  uint8_t welcome(base::Hash128 hash);
  // New bytes were appended.
  void earn(uint64_t bytes);

  // The queue of a segment that is to be opened now: `main` if a run begins with it or goes on.
  SegmentQueue queueToOpen(const SegmentAllocator& allocator) const;
  // The next segment of the run (which it begins, if segments are needed); nullopt ends it. To be
  // asked again after that segment's reclaim has ended.
  std::optional<ReclaimInput> next(const SegmentAllocator& allocator, uint32_t now_s);
  // A record of the segment was written again; an entry (of records of `bytes`) was dropped.
  void spend(uint64_t bytes) { savings_bytes_ -= bytes < savings_bytes_ ? bytes : savings_bytes_; }
  void dropped(base::Hash128 hash, const Entry& entry, uint64_t bytes, const ReclaimInput& from);

  uint64_t savingsBytes() const { return savings_bytes_; }

 private:
  bool runIsOver(const SegmentAllocator& allocator, SegmentQueue next) const;
  std::optional<OpenedSegment> choose(const SegmentAllocator& allocator) const;
  bool mainIsLong(const SegmentAllocator& allocator) const;
  uint64_t roomOf(const SegmentAllocator& allocator) const;
  uint64_t roomFor(SegmentQueue queue) const;

  EvictionOptions options_;
  uint64_t max_savings_bytes_ = 0;
  uint32_t small_left_ = 0;  // segments
  uint32_t run_frees_ = 0;   // segments, beyond kCleanAhead, at which a run ends
  uint64_t savings_bytes_ = 0;
  uint64_t run_sequence_ = 0;  // of the segment that the run fills
  bool running_ = false;
  GhostTable ghost_;
};

}  // namespace store
