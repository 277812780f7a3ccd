// Lays a record out in memory: the head at once, the body in pieces of any size, the checksums as
// the pieces come, the header last. Until finish() the bytes are no valid record.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "source/base/hash.h"
#include "source/base/result.h"
#include "source/store/core/record.h"

namespace store {

struct RecordFields {
  RecordKind kind = RecordKind::object;
  RecordPlace place;
  base::Hash128 hash;
  uint64_t object_id = 0;
  uint64_t object_length = 0;  // of a head; an object's is its body's
  uint32_t chunk_number = 0;
  uint32_t written_s = 0;
  uint32_t expires_s = 0;
  std::span<const Label> labels;  // copied by begin()
};

class RecordWriter {
 public:
  // `out` holds the record and stays where it is until finish(). `max_body` bounds the body and
  // decides how long the checksum table is. no_capacity when a length is over its limit or `out` is
  // too small.
  static base::Result<RecordWriter> begin(std::span<std::byte> out, const RecordFields& fields,
                                          std::string_view key, std::span<const std::byte> meta,
                                          uint32_t max_body);

  // Copies a piece of the body; returns how much of it fitted below max_body.
  uint32_t append(std::span<const std::byte> piece);
  // The place of the next piece, to be filled by the caller (a read into place) and then counted.
  std::span<std::byte> space();
  void appended(uint32_t bytes);

  uint32_t bodyBytes() const { return body_length_; }
  // Seals the record and returns its length, a multiple of the unit, at most what begin() reserved.
  uint32_t finish();

 private:
  RecordWriter(std::span<std::byte> out, const RecordHeader& header, uint32_t salt,
               uint32_t max_body);
  void closeBlock();

  std::span<std::byte> out_;
  RecordHeader header_;
  uint32_t salt_;
  uint32_t max_body_;
  uint32_t body_at_;
  uint32_t body_length_ = 0;
  uint32_t block_crc_;
};

// One call for a body that is at hand. Returns the record's length.
base::Result<uint32_t> encodeRecord(std::span<std::byte> out, const RecordFields& fields,
                                    std::string_view key, std::span<const std::byte> meta,
                                    std::span<const std::byte> body);
// Fills `units` of the log with a record that nobody reads: a walk over the log steps across it.
base::Result<uint32_t> encodePad(std::span<std::byte> out, const RecordPlace& place,
                                 uint32_t units);

// Makes a verified record, copied to `record`, one of another place, as reclaiming a segment does:
// the head is sealed anew, the body stays as it is.
void relocateRecord(std::span<std::byte> record, const RecordView& verified, const RecordPlace& to);

}  // namespace store
