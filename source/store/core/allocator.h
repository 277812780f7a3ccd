// SegmentAllocator: which segment is written now, what is free, what is next to be reclaimed.
//
//   free -> open -> sealing -> sealed -> reclaiming -> free        any -> bad (a disk error)
//                                                  `-> cut         free -> cut -> free
//
// Segments behind the log's end are cut: a log becomes longer at once, and shorter one segment
// after the other.
//
// Each opening takes the next sequence, and of the free segments the one that holds the oldest
// bytes: what a crash could bring back goes in the order in which it came. What is sealed waits in
// one of two queues, of which the oldest can be reclaimed (eviction.h chooses). The queues are
// known to this process only: what recovery finds is in `main`. The owner of the stripe alone uses
// it, and it keeps the shared SegmentTable in step: a sequence appears when the segment opens and
// vanishes when its reclaim ends.
//
// Limits: one segment open; kCleanAhead free segments are kept ahead of the log.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "source/store/core/layout.h"
#include "source/store/core/segment.h"
#include "source/store/core/segment_table.h"

namespace store {

enum class SegmentState : uint8_t { free, open, sealing, sealed, reclaiming, bad, cut };

// S3-FIFO's queues: `small` for what is new, `main` for what was hit and written again.
enum class SegmentQueue : uint8_t { small, main };
inline constexpr size_t kSegmentQueues = 2;

inline constexpr uint32_t kCleanAhead = 2;
// Two free ahead, one open, one being reclaimed, and one that serves.
inline constexpr uint32_t kMinSegments = kCleanAhead + 3;

struct AllocatorOptions {
  uint32_t segment_bytes = kMaxSegmentBytes;
  uint64_t next_sequence = 1;  // greater than every sequence ever used, from recovery
};

struct OpenedSegment {
  uint32_t segment = 0;
  uint64_t sequence = 0;
};

class SegmentAllocator {
 public:
  // All segments free. `table` outlives it and has at least kMinSegments.
  SegmentAllocator(const AllocatorOptions& options, SegmentTable& table);

  // Before the first opening: what recovery found in a segment.
  void adopt(uint32_t segment, uint64_t sequence);

  // Opens a free segment for a queue; nullopt when none is free. No segment may be open.
  std::optional<OpenedSegment> open(SegmentQueue queue = SegmentQueue::small);
  bool hasOpen() const { return open_.has_value(); }
  OpenedSegment opened() const { return *open_; }
  // Room for a record of `bytes` in the open segment, with its line and labels in the table of
  // contents;
  // nullopt when none is open or it does not fit: then seal, open the next and ask again.
  std::optional<Location> reserve(uint32_t bytes, uint32_t labels, bool listed = true);
  // Gives back the end of the newest reservation: the record became shorter.
  void shrink(const Location& location, uint32_t bytes);
  // Units up to the next multiple of a page, which a flush must fill with a pad record; 0 if
  // aligned.
  uint32_t padUnits() const;
  uint32_t usedUnits() const { return used_units_; }
  uint32_t entries() const { return entries_; }
  uint32_t labels() const { return labels_; }
  // Where the next record will lie, or for no open segment where the next segment begins.
  LogPosition position() const;
  // The longest record that fits into an empty segment, however many labels it has.
  uint32_t maxRecordBytes() const;

  // Closes the open segment: sealing until its footer and all its records are written.
  OpenedSegment seal();
  void sealed(uint32_t segment);

  // Whether a segment should be reclaimed now, and the oldest sealed one of each queue.
  bool needsReclaim() const { return free_ < kCleanAhead && reclaiming_ == 0; }
  std::optional<OpenedSegment> nextVictim(SegmentQueue queue) const;
  // While it is reclaimed a segment still can be read. finishReclaim() takes its sequence away; by
  // then no index entry may point to it.
  void beginReclaim(uint32_t segment);
  void finishReclaim(uint32_t segment);
  // The log is to have so many segments, kMinSegments at least and the table's capacity at most.
  // Those behind its end are not opened any more; in use they are until they have been reclaimed.
  void setEnd(uint32_t segment_count);
  uint32_t end() const { return end_; }
  // The oldest sealed segment behind the end.
  std::optional<OpenedSegment> nextBehindEnd() const;
  // Whether none is in use behind the end.
  bool endIsReached() const;
  // Then: the disk does not have them any more.
  void forgetBehindEnd();
  // Those that are not in use and may be found by a crash, the oldest first; and one that may not,
  // since it has been blanked.
  std::vector<OpenedSegment> leftOnDisk() const;
  void blanked(uint32_t segment);
  // A segment that the disk refuses: never used again while the process runs.
  void markBad(uint32_t segment);
  // A sealed segment of `small` goes to its place, by age, in main.
  void moveToMain(uint32_t segment);

  SegmentState state(uint32_t segment) const { return states_[segment]; }
  // The last sequence that was written to it, and may be found there; 0: none.
  uint64_t onDisk(uint32_t segment) const { return on_disk_[segment]; }
  SegmentQueue queueOf(uint32_t segment) const { return queues_[segment]; }
  uint32_t sealedCount(SegmentQueue queue) const { return sealed_[static_cast<size_t>(queue)]; }
  uint32_t freeCount() const { return free_; }
  uint32_t usedCount() const { return static_cast<uint32_t>(states_.size()) - free_ - cut_; }
  uint32_t badCount() const { return bad_; }
  uint64_t nextSequence() const { return next_sequence_; }
  // All segments up to this sequence are sealed: what a snapshot taken now may promise.
  uint64_t sealedSequence() const;
  // The oldest sequence that the disk still may hold, whether its segment is in use or free but not
  // yet written over; nextSequence() when there is none. What was purged before it can be
  // forgotten.
  uint64_t oldestSequence() const;
  // Whether an older segment is in use. Free ones are written over before any that is freed later.
  bool hasOlder(uint64_t sequence) const;

 private:
  void setState(uint32_t segment, SegmentState state);

  AllocatorOptions options_;
  SegmentTable& table_;
  std::vector<SegmentState> states_;
  std::vector<SegmentQueue> queues_;
  std::vector<uint64_t> on_disk_;  // the last sequence written to each segment; 0: none
  uint64_t next_sequence_;
  uint32_t end_;
  uint32_t next_segment_ = 0;
  uint64_t newest_adopted_ = 0;
  std::optional<OpenedSegment> open_;
  uint32_t used_units_ = 0;
  uint32_t entries_ = 0;
  uint32_t labels_ = 0;
  uint32_t free_ = 0;
  uint32_t bad_ = 0;
  uint32_t cut_ = 0;
  uint32_t reclaiming_ = 0;
  std::array<uint32_t, kSegmentQueues> sealed_{};
};

}  // namespace store
