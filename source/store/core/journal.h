// The purge journal: what was purged, so that recovery does not bring it back. A file of fixed
// 64-byte records behind a 512-byte header; appended and synced before a purge is answered. A purge
// by tag or by directory is one record with the label (labels.h) that it names; another prefix is
// written as the keys it matched.
//
// A purge concerns the records before its position in the log, so a record written later under the
// same key is not touched. A purge can be forgotten when no older segment is left (compactJournal).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "source/base/hash.h"
#include "source/base/result.h"
#include "source/store/core/layout.h"

namespace store {

enum class PurgeKind : uint8_t { key = 1, everything = 2, label = 3 };

struct PurgeRecord {
  PurgeKind kind = PurgeKind::key;
  bool soft = false;    // the object becomes stale instead of absent
  uint64_t number = 0;  // consecutive within a journal file
  base::Hash128 hash;   // of a key; zero for everything; a label is in lo, and hi is zero
  LogPosition before;   // records at this position and later are not concerned
  uint32_t time_s = 0;
  uint32_t batch_index = 0;  // how many records of the same append are before it
  friend bool operator==(const PurgeRecord&, const PurgeRecord&) = default;
};

inline constexpr uint32_t kJournalHeaderBytes = kUnitBytes;
inline constexpr uint32_t kJournalRecordBytes = 64;
inline constexpr uint16_t kJournalVersion = 2;

struct JournalHeader {
  uint64_t generation = 0;    // of two files the one with the greater generation counts
  uint64_t first_number = 0;  // the number of the file's first record
  uint32_t created_s = 0;
  uint32_t initial_records =
      0;  // written with the header; with fewer of them the file never counted
  friend bool operator==(const JournalHeader&, const JournalHeader&) = default;
};

// `out` is 512 bytes.
void encodeJournalHeader(std::span<std::byte> out, const JournalHeader& header, uint32_t salt);
base::Result<JournalHeader> decodeJournalHeader(std::span<const std::byte> bytes, uint32_t salt);
// `out` is 64 bytes.
void encodePurge(std::span<std::byte> out, const PurgeRecord& record, uint32_t salt);
base::Result<PurgeRecord> decodePurge(std::span<const std::byte> slot, uint32_t salt);

// A file that begins with this instead of a header, whatever it and the other one hold besides:
// purges were missed, nobody knows which, and nothing that the stripe holds counts any more. `out`
// is 512 bytes.
void encodeGivenUp(std::span<std::byte> out, uint32_t salt);
bool isGivenUp(std::span<const std::byte> file, uint32_t salt);

struct JournalRead {
  JournalHeader header;
  // In order. If acknowledged purges were lost, a purge of everything before `lost_before` stands
  // in for them at the end, so that compaction hands it on.
  std::vector<PurgeRecord> records;
  uint64_t next_number = 0;
  uint64_t valid_bytes = 0;  // where the next record is to be written
  // Bytes that are neither a record nor zeros follow, or slots of the last append are bad: an
  // unfinished append.
  bool torn_tail = false;
  uint32_t damaged_slots = 0;  // bad slots with valid records of another append after them
  LogPosition lost_before;     // the lost purges concerned only records before this position
};
// The whole file. corrupt when the header or one of the initial records is not there: such a file
// was never completed, or nothing is known of past purges any more. Which of the two, the other
// file tells: it is emptied as soon as a new one is complete, before anything is appended to that.
base::Result<JournalRead> decodeJournal(std::span<const std::byte> file, uint32_t salt);

// The records that still matter, oldest first and renumbered from `first_number`: of each key and
// label the newest hard and the newest soft purge, none that a purge of everything covers, none
// whose position is before the oldest live segment.
std::vector<PurgeRecord> compactJournal(std::span<const PurgeRecord> records,
                                        uint64_t oldest_live_sequence, uint64_t first_number);

}  // namespace store
