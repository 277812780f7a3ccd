#include "source/store/core/record_writer.h"

#include <algorithm>

#include "source/base/check.h"
#include "source/base/crc32c.h"

namespace store {
namespace {

base::Error tooLarge() {
  return base::Error{base::Code::no_capacity, base::Blame::self};
}

void sealHead(std::span<std::byte> record, RecordHeader& header, uint32_t salt) {
  storeStruct(record, header);
  const uint32_t body_at = bodyOffset(header.crc_slots, header.key_length, header.meta_length);
  header.head_crc =
      base::crc32c(record.subspan(kRecordHeaderBytes, body_at - kRecordHeaderBytes),
                   base::crc32c(record.first(offsetof(RecordHeader, head_crc)), salt));
  storeStruct(record, header);
}

RecordHeader headerOf(const RecordFields& fields) {
  RecordHeader h{};
  h.magic = kRecordMagic;
  h.version = kRecordVersion;
  h.kind = static_cast<uint8_t>(fields.kind);
  h.sequence = fields.place.sequence;
  h.hash_hi = fields.hash.hi;
  h.hash_lo = fields.hash.lo;
  h.object_id = fields.object_id;
  h.object_length = fields.object_length;
  h.offset_units = fields.place.offset_units;
  h.chunk_number = fields.chunk_number;
  h.written_s = fields.written_s;
  h.expires_s = fields.expires_s;
  return h;
}

}  // namespace

base::Result<RecordWriter> RecordWriter::begin(std::span<std::byte> out, const RecordFields& fields,
                                               std::string_view key,
                                               std::span<const std::byte> meta, uint32_t max_body) {
  CHECK(fields.kind != RecordKind::pad);
  CHECK(fields.kind != RecordKind::chunk || (key.empty() && meta.empty()));
  const std::span<const std::byte> labels = std::as_bytes(fields.labels);
  if (key.size() > kMaxKeyBytes || labels.size() + meta.size() > kMaxMetaBytes ||
      fields.labels.size() > kMaxLabels || max_body > maxBody(fields.kind)) {
    return tooLarge();
  }
  RecordHeader header = headerOf(fields);
  header.crc_slots = static_cast<uint16_t>(bodyBlocks(max_body));
  header.key_length = static_cast<uint32_t>(key.size());
  header.meta_length = static_cast<uint32_t>(labels.size() + meta.size());
  header.label_count = static_cast<uint32_t>(fields.labels.size());
  if (out.size() < recordBytes(header.key_length, header.meta_length, max_body)) {
    return tooLarge();
  }
  RecordWriter writer(out, header, fields.place.salt, max_body);
  std::byte* at = out.data() + kRecordHeaderBytes;
  std::fill_n(out.data(), writer.body_at_, std::byte{0});
  at += 4 * size_t{header.crc_slots};
  std::copy_n(reinterpret_cast<const std::byte*>(key.data()), key.size(), at);
  at += key.size();
  std::copy_n(labels.data(), labels.size(), at);
  std::copy_n(meta.data(), meta.size(), at + labels.size());
  return writer;
}

RecordWriter::RecordWriter(std::span<std::byte> out, const RecordHeader& header, uint32_t salt,
                           uint32_t max_body)
    : out_(out),
      header_(header),
      salt_(salt),
      max_body_(max_body),
      body_at_(bodyOffset(header.crc_slots, header.key_length, header.meta_length)),
      block_crc_(salt) {}

std::span<std::byte> RecordWriter::space() {
  return out_.subspan(body_at_ + body_length_, max_body_ - body_length_);
}

uint32_t RecordWriter::append(std::span<const std::byte> piece) {
  const auto bytes = static_cast<uint32_t>(std::min(piece.size(), space().size()));
  std::copy_n(piece.data(), bytes, space().data());
  appended(bytes);
  return bytes;
}

void RecordWriter::appended(uint32_t bytes) {
  CHECK(bytes <= max_body_ - body_length_);
  while (bytes > 0) {
    const uint32_t room = kBodyBlockBytes - body_length_ % kBodyBlockBytes;
    const uint32_t part = std::min(bytes, room);
    block_crc_ = base::crc32c(out_.subspan(body_at_ + body_length_, part), block_crc_);
    body_length_ += part;
    bytes -= part;
    if (part == room) {
      closeBlock();
    }
  }
}

void RecordWriter::closeBlock() {
  const size_t block = (body_length_ - 1) / kBodyBlockBytes;
  storeStruct(out_, block_crc_, kRecordHeaderBytes + 4 * block);
  block_crc_ = salt_;
}

uint32_t RecordWriter::finish() {
  if (body_length_ % kBodyBlockBytes != 0) {
    closeBlock();
  }
  const uint32_t end = body_at_ + body_length_;
  const uint32_t total = roundUp(end, kUnitBytes);
  std::fill_n(out_.data() + end, total - end, std::byte{0});
  header_.body_length = body_length_;
  header_.total_units = total / kUnitBytes;
  if (header_.kind == static_cast<uint8_t>(RecordKind::object)) {
    header_.object_length = body_length_;
  }
  sealHead(out_, header_, salt_);
  return total;
}

base::Result<uint32_t> encodeRecord(std::span<std::byte> out, const RecordFields& fields,
                                    std::string_view key, std::span<const std::byte> meta,
                                    std::span<const std::byte> body) {
  if (body.size() > maxBody(fields.kind)) {
    return tooLarge();
  }
  base::Result<RecordWriter> writer =
      RecordWriter::begin(out, fields, key, meta, static_cast<uint32_t>(body.size()));
  if (!writer.ok()) {
    return writer.error();
  }
  writer.value().append(body);
  return writer.value().finish();
}

base::Result<uint32_t> encodePad(std::span<std::byte> out, const RecordPlace& place,
                                 uint32_t units) {
  CHECK(units > 0);
  if (out.size() < size_t{units} * kUnitBytes) {
    return tooLarge();
  }
  std::fill_n(out.data(), size_t{units} * kUnitBytes, std::byte{0});
  RecordFields fields;
  fields.kind = RecordKind::pad;
  fields.place = place;
  RecordHeader header = headerOf(fields);
  header.total_units = units;
  sealHead(out, header, place.salt);
  return units * kUnitBytes;
}

void relocateRecord(std::span<std::byte> record, const RecordView& verified,
                    const RecordPlace& to) {
  CHECK(record.size() >= verified.bodyAt());
  RecordHeader header = verified.header;
  header.sequence = to.sequence;
  header.offset_units = to.offset_units;
  sealHead(record, header, to.salt);
}

}  // namespace store
