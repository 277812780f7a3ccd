#include "source/store/core/extents.h"

#include <algorithm>

#include "source/base/check.h"
#include "source/base/crc32c.h"
#include "source/store/core/record.h"

namespace store {
namespace {

base::Error corrupt() {
  return base::Error{base::Code::corrupt, base::Blame::disk};
}

// Whether an extent can stand before `next_offset`, where the following one begins.
bool plausible(const Extent& extent, uint64_t next_offset) {
  if (next_offset <= extent.object_offset || next_offset - extent.object_offset > kMaxChunkBody) {
    return false;
  }
  const uint32_t body = static_cast<uint32_t>(next_offset - extent.object_offset);
  const uint32_t end = uint32_t{extent.offset_units} + extent.length_units;
  return extent.sequence != 0 && extent.segment < kMaxSegments &&
         extent.offset_units >= kPageBytes / kUnitBytes && end <= kMaxSegmentBytes / kUnitBytes &&
         uint64_t{extent.length_units} * kUnitBytes >= recordBytes(0, 0, body);
}

}  // namespace

base::Status encodeExtents(std::span<const Extent> extents, uint64_t object_length,
                           std::vector<std::byte>& out) {
  if (extents.size() > kMaxExtents || object_length > kMaxObjectBytes) {
    return base::Error{base::Code::no_capacity, base::Blame::self};
  }
  CHECK(!extents.empty() && extents.front().object_offset == 0);
  for (size_t i = 0; i < extents.size(); i++) {
    const uint64_t next = i + 1 < extents.size() ? extents[i + 1].object_offset : object_length;
    CHECK(plausible(extents[i], next));
  }
  const std::span<const std::byte> table = std::as_bytes(extents);
  const ExtentsHeader header{kExtentsMagic, kExtentsVersion, 0,
                             static_cast<uint32_t>(extents.size()), base::crc32c(table)};
  out.resize(extentsBytes(header.count));
  storeStruct(std::span(out), header);
  std::memcpy(out.data() + sizeof header, table.data(), table.size());
  return base::Unit{};
}

base::Result<ExtentTable> ExtentTable::parse(std::span<const std::byte> body,
                                             uint64_t object_length) {
  if (body.size() < sizeof(ExtentsHeader) || object_length > kMaxObjectBytes) {
    return corrupt();
  }
  const auto header = loadStruct<ExtentsHeader>(body);
  if (header.magic != kExtentsMagic || header.version != kExtentsVersion || header.reserved != 0 ||
      header.count == 0 || header.count > kMaxExtents ||
      body.size() != extentsBytes(header.count)) {
    return corrupt();
  }
  const std::span<const std::byte> extents = body.subspan(sizeof header);
  if (base::crc32c(extents) != header.crc) {
    return corrupt();
  }
  const ExtentTable table(extents, header.count, object_length);
  if (table.at(0).object_offset != 0) {
    return corrupt();
  }
  for (uint32_t i = 0; i < header.count; i++) {
    const uint64_t next = i + 1 < header.count ? table.at(i + 1).object_offset : object_length;
    if (!plausible(table.at(i), next)) {
      return corrupt();
    }
  }
  return table;
}

Extent ExtentTable::at(uint32_t index) const {
  CHECK(index < count_);
  return loadStruct<Extent>(extents_, index * sizeof(Extent));
}

uint32_t ExtentTable::bodyBytes(uint32_t index) const {
  const uint64_t next = index + 1 < count_ ? at(index + 1).object_offset : object_length_;
  return static_cast<uint32_t>(next - at(index).object_offset);
}

uint32_t ExtentTable::indexOf(uint64_t offset) const {
  CHECK(offset < object_length_);
  uint32_t low = 0;
  uint32_t high = count_;  // the answer is in [low, high)
  while (high - low > 1) {
    const uint32_t middle = low + (high - low) / 2;
    if (at(middle).object_offset <= offset) {
      low = middle;
    } else {
      high = middle;
    }
  }
  return low;
}

uint64_t ExtentTable::oldestSequence() const {
  uint64_t oldest = at(0).sequence;
  for (uint32_t i = 1; i < count_; i++) {
    oldest = std::min(oldest, at(i).sequence);
  }
  return oldest;
}

}  // namespace store
