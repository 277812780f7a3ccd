// The index snapshot: two files, A and B, written in turn, each a row of 64 KiB blocks with a
// checksum of their own. A file counts only if it is complete: the last block says how many there
// are.
//
//   header block | blocks of segment sequences | blocks of entries | end block
//
// The index changes while it is written. That does no harm: an entry is a hint, the segments'
// sequences date from the begin, and whatever was written or purged since is in newer segments and
// the journal.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "source/base/result.h"
#include "source/store/core/index.h"
#include "source/store/core/layout.h"

namespace store {

inline constexpr uint32_t kSnapshotBlockBytes = 64 << 10;
inline constexpr uint32_t kSnapshotMagic = 0x31534652;  // "RFS1"
inline constexpr uint16_t kSnapshotVersion = 1;

struct SnapshotHeader {
  uint64_t number = 0;           // of two snapshots the greater counts
  uint64_t bucket_count = 0;     // entries are of use only to an index of the same size
  uint64_t sealed_sequence = 0;  // segments up to this one were sealed: newer ones are to be read
  uint64_t journal_number = 0;   // purges below this number had been applied
  uint32_t segment_count = 0;
  uint32_t epoch_s = 0;  // of the entries' expiry
  uint32_t written_s = 0;
  uint32_t reserved = 0;
  friend bool operator==(const SnapshotHeader&, const SnapshotHeader&) = default;
};
static_assert(sizeof(SnapshotHeader) == 48);

enum class SnapshotBlock : uint8_t { header = 1, sequences = 2, entries = 3, end = 4 };

struct SnapshotBlockHeader {
  uint32_t magic;
  uint16_t version;
  uint8_t kind;
  uint8_t reserved;     // 0
  uint64_t number;      // the snapshot's
  uint32_t index;       // the block's, from 0
  uint32_t used_bytes;  // of the payload
  uint32_t reserved2;   // 0
  uint32_t crc;         // of the whole block without this field
};
static_assert(sizeof(SnapshotBlockHeader) == 32);
inline constexpr uint32_t kSnapshotPayload = kSnapshotBlockBytes - sizeof(SnapshotBlockHeader);
// A bucket number (6 bytes would do) and the two words.
inline constexpr uint32_t kSnapshotEntryBytes = 24;

// Produces the blocks one by one; between two calls the owner goes on using the index.
class SnapshotEncoder {
 public:
  // Begins a scan of the index. `sequences`: of every segment, now.
  SnapshotEncoder(const SnapshotHeader& header, std::vector<uint64_t> sequences, IndexShard& index,
                  uint32_t salt);
  // Fills `out` (64 KiB) with the next block; false when the end block has been given already.
  bool next(std::span<std::byte> out);
  uint64_t entries() const { return entries_; }

 private:
  void emit(std::span<std::byte> out, SnapshotBlock kind, uint32_t used_bytes);
  bool sequenceBlock(std::span<std::byte> out);
  bool entryBlock(std::span<std::byte> out);

  SnapshotHeader header_;
  std::vector<uint64_t> sequences_;
  IndexShard& index_;
  uint32_t salt_;
  uint32_t block_ = 0;
  uint64_t sequence_cursor_ = 0;
  uint64_t entries_ = 0;
  std::vector<PlacedEntry> pending_;
  size_t pending_at_ = 0;
  bool scan_over_ = false;
  bool ended_ = false;
};

// Takes the blocks one by one.
class SnapshotDecoder {
 public:
  explicit SnapshotDecoder(uint32_t salt) : salt_(salt) {}
  // Verifies a block and appends the entries it holds. corrupt for a bad, misplaced or foreign
  // block: what was given before stays true, but the snapshot is not complete.
  base::Status feed(std::span<const std::byte> block, std::vector<PlacedEntry>& out);

  bool started() const { return next_block_ > 0; }
  bool complete() const { return complete_; }
  const SnapshotHeader& header() const { return header_; }
  // Complete once the first entry has been given.
  const std::vector<uint64_t>& sequences() const { return sequences_; }
  uint64_t entries() const { return entries_; }

 private:
  base::Status begin(std::span<const std::byte> payload, uint64_t number);
  base::Status takeSequences(std::span<const std::byte> payload);
  base::Status takeEntries(std::span<const std::byte> payload, std::vector<PlacedEntry>& out);
  base::Status finish(std::span<const std::byte> payload);

  uint32_t salt_;
  SnapshotHeader header_;
  std::vector<uint64_t> sequences_;
  uint32_t next_block_ = 0;
  uint64_t entries_ = 0;
  bool complete_ = false;
};

// Whether a file's first block is a snapshot of this stripe, and which.
base::Result<SnapshotHeader> peekSnapshot(std::span<const std::byte> first_block, uint32_t salt);

}  // namespace store
