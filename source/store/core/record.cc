#include "source/store/core/record.h"

#include <algorithm>

#include "source/base/crc32c.h"

namespace store {
namespace {

base::Error corrupt() {
  return base::Error{base::Code::corrupt, base::Blame::disk};
}

bool knownKind(uint8_t kind) {
  return kind >= static_cast<uint8_t>(RecordKind::object) &&
         kind <= static_cast<uint8_t>(RecordKind::pad);
}

// What must hold of lengths before anything is read by them.
bool plausible(const RecordHeader& h) {
  if (h.magic != kRecordMagic || h.version != kRecordVersion || !knownKind(h.kind)) {
    return false;
  }
  const auto kind = static_cast<RecordKind>(h.kind);
  if (h.label_count > kMaxLabels || h.label_count * sizeof(Label) > h.meta_length) {
    return false;
  }
  if (h.key_length > kMaxKeyBytes || h.meta_length > kMaxMetaBytes ||
      h.body_length > maxBody(kind) || h.crc_slots < bodyBlocks(h.body_length) ||
      h.crc_slots > bodyBlocks(maxBody(kind))) {
    return false;
  }
  const uint32_t end = bodyOffset(h.crc_slots, h.key_length, h.meta_length) + h.body_length;
  const uint32_t units = roundUp(end, kUnitBytes) / kUnitBytes;
  return kind == RecordKind::pad ? h.total_units >= units : h.total_units == units;
}

// What must hold of the rest once the checksum has passed.
bool coherent(const RecordHeader& h) {
  if (h.flags != 0 || h.reserved != 0) {
    return false;
  }
  const uint32_t segment_units = kMaxSegmentBytes / kUnitBytes;
  if (h.total_units > segment_units || h.offset_units > segment_units - h.total_units) {
    return false;
  }
  switch (static_cast<RecordKind>(h.kind)) {
    case RecordKind::object:
      return h.object_length == h.body_length && h.chunk_number == 0;
    case RecordKind::chunk:
      return h.key_length == 0 && h.meta_length == 0 && h.body_length > 0 &&
             h.chunk_number < kMaxExtents;
    case RecordKind::head:
      return h.object_length <= kMaxObjectBytes && h.chunk_number == 0;
    case RecordKind::vary_rule:
      return h.object_length == 0 && h.chunk_number == 0;
    case RecordKind::pad:
      return h.key_length == 0 && h.meta_length == 0;
  }
  return false;
}

bool allZero(std::span<const std::byte> bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](std::byte b) { return b == std::byte{0}; });
}

}  // namespace

base::Result<uint32_t> headBytes(std::span<const std::byte> first) {
  if (first.size() < kRecordHeaderBytes) {
    return corrupt();
  }
  const auto header = loadStruct<RecordHeader>(first);
  if (!plausible(header)) {
    return corrupt();
  }
  return bodyOffset(header.crc_slots, header.key_length, header.meta_length);
}

base::Result<RecordView> decodeHead(std::span<const std::byte> bytes, const RecordPlace& place) {
  const base::Result<uint32_t> needed = headBytes(bytes);
  if (!needed.ok()) {
    return needed.error();
  }
  const uint32_t body_at = needed.value();
  if (bytes.size() < body_at) {
    return corrupt();
  }
  RecordView view;
  view.header = loadStruct<RecordHeader>(bytes);
  const uint32_t crc =
      base::crc32c(bytes.subspan(kRecordHeaderBytes, body_at - kRecordHeaderBytes),
                   base::crc32c(bytes.first(offsetof(RecordHeader, head_crc)), place.salt));
  if (crc != view.header.head_crc || !coherent(view.header)) {
    return corrupt();
  }
  if (view.header.sequence != place.sequence || view.header.offset_units != place.offset_units) {
    return base::Error{base::Code::stale_location, base::Blame::disk};
  }
  const uint32_t table_bytes = 4u * view.header.crc_slots;
  view.crc_table = bytes.subspan(kRecordHeaderBytes, table_bytes);
  const auto key = bytes.subspan(kRecordHeaderBytes + table_bytes, view.header.key_length);
  view.key = std::string_view(reinterpret_cast<const char*>(key.data()), key.size());
  const auto meta = bytes.subspan(kRecordHeaderBytes + table_bytes + view.header.key_length,
                                  view.header.meta_length);
  view.labels = meta.first(view.header.label_count * sizeof(Label));
  view.meta = meta.subspan(view.labels.size());
  return view;
}

bool verifyBlock(const RecordView& head, uint32_t index, std::span<const std::byte> block,
                 uint32_t salt) {
  if (index >= bodyBlocks(head.header.body_length)) {
    return false;
  }
  const uint32_t begin = index * kBodyBlockBytes;
  const uint32_t length = std::min(kBodyBlockBytes, head.header.body_length - begin);
  return block.size() == length &&
         base::crc32c(block, salt) == loadStruct<uint32_t>(head.crc_table, 4 * size_t{index});
}

base::Result<RecordView> decodeRecord(std::span<const std::byte> bytes, const RecordPlace& place) {
  base::Result<RecordView> head = decodeHead(bytes, place);
  if (!head.ok()) {
    return head;
  }
  RecordView& view = head.value();
  if (bytes.size() < view.totalBytes()) {
    return corrupt();
  }
  const uint32_t body_at = view.bodyAt();
  view.body = bytes.subspan(body_at, view.header.body_length);
  for (uint32_t i = 0; i < bodyBlocks(view.header.body_length); i++) {
    const uint32_t begin = i * kBodyBlockBytes;
    const uint32_t length = std::min(kBodyBlockBytes, view.header.body_length - begin);
    if (!verifyBlock(view, i, view.body.subspan(begin, length), place.salt)) {
      return corrupt();
    }
  }
  const uint32_t end = body_at + view.header.body_length;
  if (view.kind() != RecordKind::pad && !allZero(bytes.subspan(end, view.totalBytes() - end))) {
    return corrupt();
  }
  return view;
}

}  // namespace store
