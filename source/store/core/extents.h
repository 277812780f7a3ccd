// The table of a large object's extents: the body of its head record. One extent is one chunk
// record; together they cover the object's body without a gap.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "source/base/result.h"
#include "source/store/core/layout.h"

namespace store {

// As it lies on the disk.
struct Extent {
  uint64_t sequence = 0;       // of the segment that holds the chunk
  uint64_t object_offset = 0;  // where in the object's body the chunk begins
  uint32_t segment = 0;
  uint16_t offset_units = 0;
  uint16_t length_units = 0;  // of the chunk's record
  Location location() const { return Location{sequence, segment, offset_units, length_units}; }
  friend bool operator==(const Extent&, const Extent&) = default;
};
static_assert(sizeof(Extent) == 24);

struct ExtentsHeader {
  uint32_t magic;
  uint16_t version;
  uint16_t reserved;  // 0
  uint32_t count;
  uint32_t crc;  // of the extents: the table is checked even when it is kept apart from its record
};
static_assert(sizeof(ExtentsHeader) == 16);

inline constexpr uint32_t kExtentsMagic = 0x31584652;  // "RFX1"
inline constexpr uint16_t kExtentsVersion = 1;

constexpr uint32_t extentsBytes(uint32_t count) {
  return static_cast<uint32_t>(sizeof(ExtentsHeader)) +
         count * static_cast<uint32_t>(sizeof(Extent));
}

// no_capacity when there are too many extents; config_invalid is never returned: extents that
// parse() would refuse (a gap, a chunk over its limit) are our own fault and checked.
base::Status encodeExtents(std::span<const Extent> extents, uint64_t object_length,
                           std::vector<std::byte>& out);

// A parsed table: a view into the verified body of a head record.
class ExtentTable {
 public:
  // corrupt unless the extents cover exactly [0, object_length) with chunks within the limits.
  static base::Result<ExtentTable> parse(std::span<const std::byte> body, uint64_t object_length);

  uint32_t count() const { return count_; }
  uint64_t objectLength() const { return object_length_; }
  Extent at(uint32_t index) const;
  // The chunk's number of body bytes.
  uint32_t bodyBytes(uint32_t index) const;
  // The extent that holds a byte of the object, by bisection; offset < objectLength().
  uint32_t indexOf(uint64_t offset) const;
  uint64_t oldestSequence() const;

 private:
  ExtentTable(std::span<const std::byte> extents, uint32_t count, uint64_t object_length)
      : extents_(extents), count_(count), object_length_(object_length) {}
  std::span<const std::byte> extents_;
  uint32_t count_;
  uint64_t object_length_;
};

}  // namespace store
