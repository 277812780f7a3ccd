// RecoveryMerge: what was found on the disk becomes the index. The pieces (a snapshot and all that
// is newer, or all there is) may come in any order and more than once, while the index already
// serves: the record that lies latest in the log wins, what was purged is dropped or marked stale,
// and an entry whose segment has another sequence by now is dropped.
#pragma once

#include <cstdint>
#include <span>

#include "source/store/core/index.h"
#include "source/store/core/purge_set.h"
#include "source/store/core/segment.h"
#include "source/store/core/segment_table.h"
#include "source/store/core/snapshot.h"

namespace store {

enum class Recovered : uint8_t {
  taken,
  purged,      // by the journal
  stale,       // its segment's sequence is another now
  older,       // the index knows a later record of the key
  not_placed,  // not a record on the disk
  no_place,    // the index is full
};
inline constexpr size_t kRecoveredCount = 6;

class RecoveryMerge {
 public:
  // `table` holds the sequences that the segments' headers have now. All outlive the merge; purges
  // that arrive meanwhile are added to `purges` by the owner and applied to the index as well.
  RecoveryMerge(IndexShard& index, const SegmentTable& table, const PurgeSet& purges);

  // An entry of a snapshot whose header and sequences are complete. The index must have the
  // snapshot's number of buckets, and all purges of labels are older than the snapshot: its entries
  // have none.
  Recovered addSnapshotEntry(const SnapshotHeader& header, std::span<const uint64_t> sequences,
                             const PlacedEntry& placed);
  // A line of a segment's table of contents or of its tail, with its labels.
  Recovered addRecord(uint32_t segment, uint64_t sequence, const TocEntry& line,
                      std::span<const Label> labels);

  // Records that a label purged and that had replaced others: until all pieces are merged, a mark
  // in the index keeps those from coming back. Readers take it for a note that is out of date. The
  // marks are to be erased in the end, if there are any (isBuried).
  uint64_t buried() const { return buried_; }
  uint64_t count(Recovered outcome) const { return counts_[static_cast<size_t>(outcome)]; }
  // The life (layout.h) for what is written from now on: later than everything that was seen. The
  // journal must be written with it as generation, and synced, before the first segment is opened.
  uint64_t nextLife(uint64_t journal_generation, uint64_t snapshot_sequence) const;

 private:
  Recovered counted(Recovered outcome);
  Recovered judgeSnapshotEntry(const SnapshotHeader& header, std::span<const uint64_t> sequences,
                               const PlacedEntry& placed);
  Recovered judgeRecord(uint32_t segment, uint64_t sequence, const TocEntry& line,
                        std::span<const Label> labels);
  Recovered merge(uint64_t bucket, const Entry& entry, LogPosition at);
  void bury(uint64_t bucket, const Entry& entry, LogPosition at);
  LogPosition positionOf(const Entry& entry) const;

  IndexShard& index_;
  const SegmentTable& table_;
  const PurgeSet& purges_;
  uint64_t counts_[kRecoveredCount] = {};
  uint64_t buried_ = 0;
};

// A note that has expired whatever the time is.
inline constexpr uint32_t kBuriedExpiry = 0;
// Whether an entry is a mark of RecoveryMerge's.
constexpr bool isBuried(const Entry& entry) {
  return entry.kind() == EntryKind::hit_for_miss && entry.expiry() == kBuriedExpiry;
}

// The entry for a line of a table of contents; kind free for lines that have none (chunks).
Entry entryOf(const TocEntry& line, uint32_t segment, uint64_t sequence, uint32_t expiry);

}  // namespace store
