// A record: what is written for one object, one chunk of a large object, a large object's head, or
// the rule by which a key has variants. It verifies itself: whoever reads it learns from the bytes
// alone whether they are what the index promised.
//
//   header 96 | crc32c of each 128 KiB of body | key | labels | meta | zeros to 8 | body | zeros
//   to 512
//
// The header's checksum covers everything before the body, so a reader that has the first part may
// use key, meta and lengths, and verifies the body block by block as it arrives. All checksums
// start from the stripe's salt: bytes of another cache, or of this file before it was formatted
// anew, never pass.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "source/base/hash.h"
#include "source/base/result.h"
#include "source/store/core/labels.h"
#include "source/store/core/layout.h"

namespace store {

enum class RecordKind : uint8_t {
  object = 1,     // key, meta and the whole body
  chunk = 2,      // a piece of a large body; its key is hash, object id and chunk number
  head = 3,       // key, meta and, as body, the table of a large object's extents
  vary_rule = 4,  // key and, as meta, the names
  pad = 5,        // fills the log up to a flush boundary; nothing in it is read
};

// As it lies on the disk.
struct RecordHeader {
  uint32_t magic;
  uint8_t version;
  uint8_t kind;
  uint16_t crc_slots;  // places in the checksum table, at least one a block of body
  uint64_t sequence;   // the segment's
  uint64_t hash_hi;
  uint64_t hash_lo;
  uint64_t object_id;      // joins a head and its chunks; 0 otherwise
  uint64_t object_length;  // the whole object's body; 0 in a chunk
  uint32_t offset_units;   // where in its segment the record believes to be
  uint32_t total_units;
  uint32_t key_length;
  uint32_t meta_length;  // with the labels before it
  uint32_t body_length;
  uint32_t chunk_number;
  uint32_t written_s;    // Unix seconds
  uint32_t expires_s;    // Unix seconds until which it is fresh, for rebuilding the index
  uint32_t flags;        // none defined: 0
  uint32_t label_count;  // what purges can name it by (labels.h), 8 bytes each
  uint32_t reserved;     // 0
  uint32_t head_crc;     // of everything before the body, without this field
};
static_assert(sizeof(RecordHeader) == 96);

inline constexpr uint32_t kRecordMagic = 0x31524652;  // "RFR1"
inline constexpr uint8_t kRecordVersion = 2;
inline constexpr uint32_t kRecordHeaderBytes = sizeof(RecordHeader);
// A head's body may be as long as the longest table of extents (extents.h).
inline constexpr uint32_t kMaxHeadBody = 16 + kMaxExtents * 24;

constexpr uint32_t bodyBlocks(uint32_t body_bytes) {
  return (body_bytes + kBodyBlockBytes - 1) / kBodyBlockBytes;
}
// The longest body a kind of record may have.
constexpr uint32_t maxBody(RecordKind kind) {
  switch (kind) {
    case RecordKind::object:
      return kMaxObjectBody;
    case RecordKind::chunk:
      return kMaxChunkBody;
    case RecordKind::head:
      return kMaxHeadBody;
    case RecordKind::vary_rule:
      return 0;
    case RecordKind::pad:
      return 0;
  }
  return 0;
}

// Where the body begins, and how long a record is in bytes. meta_bytes is with the labels.
constexpr uint32_t bodyOffset(uint32_t crc_slots, uint32_t key_bytes, uint32_t meta_bytes) {
  return roundUp(kRecordHeaderBytes + 4 * crc_slots + key_bytes + meta_bytes, 8);
}
constexpr uint32_t recordBytes(uint32_t key_bytes, uint32_t meta_bytes, uint32_t body_bytes) {
  return roundUp(bodyOffset(bodyBlocks(body_bytes), key_bytes, meta_bytes) + body_bytes,
                 kUnitBytes);
}

// What a reader knows about the record before it has read it.
struct RecordPlace {
  uint64_t sequence = 0;
  uint32_t offset_units = 0;
  uint32_t salt = 0;  // superblock.h
};

// Verified pieces of a record; views into the buffer that was verified.
struct RecordView {
  RecordHeader header;
  std::span<const std::byte> crc_table;
  std::string_view key;
  std::span<const std::byte> labels;  // packed
  std::span<const std::byte> meta;
  std::span<const std::byte> body;  // empty from decodeHead(): only its length is known

  RecordKind kind() const { return static_cast<RecordKind>(header.kind); }
  base::Hash128 hash() const { return base::Hash128{header.hash_hi, header.hash_lo}; }
  uint32_t bodyAt() const {
    return bodyOffset(header.crc_slots, header.key_length, header.meta_length);
  }
  uint32_t totalBytes() const { return header.total_units * kUnitBytes; }
  // An equal hash is not enough: the key decides.
  bool isFor(base::Hash128 h, std::string_view k) const { return hash() == h && key == k; }
  bool isChunk(base::Hash128 h, uint64_t object_id, uint32_t number) const {
    return kind() == RecordKind::chunk && hash() == h && header.object_id == object_id &&
           header.chunk_number == number;
  }
};

// Errors: corrupt when the bytes are no intact record; stale_location when they are one, but of
// another place or time. Either way the caller has a miss.

// How many bytes from the record's begin decodeHead() needs, from its first 96 at least. The answer
// is bounded by the format's limits, but proves nothing yet.
base::Result<uint32_t> headBytes(std::span<const std::byte> first);
// Verifies everything before the body.
base::Result<RecordView> decodeHead(std::span<const std::byte> bytes, const RecordPlace& place);
// Verifies the whole record: `bytes` is at least its exact length.
base::Result<RecordView> decodeRecord(std::span<const std::byte> bytes, const RecordPlace& place);
// Verifies block `index` of the body; `block` is exactly that block (the last may be short).
bool verifyBlock(const RecordView& head, uint32_t index, std::span<const std::byte> block,
                 uint32_t salt);

}  // namespace store
