// A segment's header and footer.
//
//   header 4096 | records, each on a unit | free space | table of contents | trailer 512
//
// The table is a line for each record, then the labels of all lines, in the lines' order. The
// footer is the table and the trailer together, a multiple of 4096 that ends where the segment
// ends; it is written when the segment is sealed. The header is written before the first record.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "source/base/hash.h"
#include "source/base/result.h"
#include "source/store/core/layout.h"
#include "source/store/core/record.h"

namespace store {

inline constexpr uint32_t kSegmentHeaderBytes = kPageBytes;
inline constexpr uint32_t kSegmentMagic = 0x31474652;  // "RFG1"
inline constexpr uint32_t kTrailerMagic = 0x31544652;  // "RFT1"
inline constexpr uint16_t kSegmentVersion = 2;

struct SegmentHeader {
  uint32_t magic = kSegmentMagic;
  uint16_t version = kSegmentVersion;
  uint16_t stripe = 0;
  uint32_t segment = 0;
  uint32_t opened_s = 0;
  uint64_t sequence = 0;
  uint32_t reserved = 0;
  uint32_t crc = 0;  // of the 4096 bytes without this field; the rest is zero
};
static_assert(sizeof(SegmentHeader) == 32);

// One record in the table of contents.
struct TocEntry {
  uint64_t hash_hi = 0;
  uint64_t hash_lo = 0;
  uint64_t object_id = 0;
  uint32_t chunk_number = 0;
  uint32_t expires_s = 0;
  uint16_t offset_units = 0;
  uint16_t length_units = 0;
  uint8_t kind = 0;
  uint8_t reserved = 0;
  uint16_t label_count = 0;
  base::Hash128 hash() const { return base::Hash128{hash_hi, hash_lo}; }
  RecordKind recordKind() const { return static_cast<RecordKind>(kind); }
  friend bool operator==(const TocEntry&, const TocEntry&) = default;
};
static_assert(sizeof(TocEntry) == 40);

struct SegmentTrailer {
  uint32_t magic;
  uint16_t version;
  uint16_t stripe;
  uint32_t segment;
  uint32_t count;  // of lines
  uint64_t sequence;
  uint32_t footer_bytes;  // table, zeros and trailer
  uint32_t used_units;    // where the records end
  uint32_t label_count;   // of all lines
  uint32_t toc_crc;
  uint32_t reserved;     // 0
  uint32_t trailer_crc;  // of this struct without this field
};
static_assert(sizeof(SegmentTrailer) == 48);

constexpr uint32_t footerBytes(uint32_t lines, uint32_t labels) {
  return roundUp(lines * static_cast<uint32_t>(sizeof(TocEntry)) +
                     labels * static_cast<uint32_t>(sizeof(Label)) + kUnitBytes,
                 kPageBytes);
}

struct SegmentIdentity {
  uint32_t segment = 0;
  uint16_t stripe = 0;
  uint32_t segment_bytes = 0;
  uint32_t salt = 0;
};

TocEntry tocEntryOf(const RecordHeader& header);

// `out` is 4096 bytes.
void encodeSegmentHeader(std::span<std::byte> out, const SegmentIdentity& identity,
                         uint64_t sequence, uint32_t opened_s);
// corrupt unless it is an intact header of exactly this segment.
base::Result<SegmentHeader> decodeSegmentHeader(std::span<const std::byte> bytes,
                                                const SegmentIdentity& identity);

// The footer; it is to be written so that it ends at the segment's end.
std::vector<std::byte> encodeFooter(std::span<const TocEntry> lines, std::span<const Label> labels,
                                    const SegmentIdentity& identity, uint64_t sequence,
                                    uint32_t used_units);

// Lines and their labels, those of a line behind those of the line before.
struct Contents {
  std::vector<TocEntry> entries;
  std::vector<Label> labels;
  // Visits each line with its labels; visit(line, labels).
  template <class Visit>
  void each(Visit visit) const {
    size_t at = 0;
    for (const TocEntry& line : entries) {
      visit(line, std::span(labels).subspan(at, line.label_count));
      at += line.label_count;
    }
  }
  void add(const RecordView& record);
  void clear() {
    entries.clear();
    labels.clear();
  }
};

struct Footer : Contents {
  uint64_t sequence = 0;
  uint32_t used_units = 0;
};
// The trailer, from the last 512 bytes of the segment: how many bytes the whole footer takes.
base::Result<SegmentTrailer> decodeTrailer(std::span<const std::byte> last_unit,
                                           const SegmentIdentity& identity);
// `bytes` ends where the segment ends and holds at least the footer.
base::Result<Footer> decodeFooter(std::span<const std::byte> bytes,
                                  const SegmentIdentity& identity);

// A segment without a footer: walks its records from the first until one does not verify, which is
// where the log ended when the process died. Nothing beyond that is looked at: a body could pretend
// to hold records. A record whose head verifies and whose body does not is stepped over.
struct TailWalk : Contents {
  uint32_t used_units = 0;  // the end of the last record that was found
  uint32_t broken_bodies = 0;
};
// `bytes` is the segment from its begin; it may end early.
TailWalk walkTail(std::span<const std::byte> bytes, uint64_t sequence, uint32_t salt);

}  // namespace store
