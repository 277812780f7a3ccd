#include "source/store/core/segment.h"

#include <algorithm>

#include "source/base/check.h"
#include "source/base/crc32c.h"

namespace store {
namespace {

base::Error corrupt() {
  return base::Error{base::Code::corrupt, base::Blame::disk};
}

// The checksum of a block that keeps it at `at`.
uint32_t crcAround(std::span<const std::byte> block, size_t at, uint32_t salt) {
  return base::crc32c(block.subspan(at + 4), base::crc32c(block.first(at), salt));
}

bool listable(uint8_t kind) {
  return kind >= static_cast<uint8_t>(RecordKind::object) &&
         kind <= static_cast<uint8_t>(RecordKind::vary_rule);
}

}  // namespace

TocEntry tocEntryOf(const RecordHeader& header) {
  TocEntry entry;
  entry.hash_hi = header.hash_hi;
  entry.hash_lo = header.hash_lo;
  entry.object_id = header.object_id;
  entry.chunk_number = header.chunk_number;
  entry.expires_s = header.expires_s;
  entry.offset_units = static_cast<uint16_t>(header.offset_units);
  entry.length_units = static_cast<uint16_t>(header.total_units);
  entry.kind = header.kind;
  entry.label_count = static_cast<uint16_t>(header.label_count);
  return entry;
}

void Contents::add(const RecordView& record) {
  entries.push_back(tocEntryOf(record.header));
  const size_t at = labels.size();
  labels.resize(at + record.header.label_count);
  std::ranges::copy(record.labels, std::as_writable_bytes(std::span(labels).subspan(at)).begin());
}

void encodeSegmentHeader(std::span<std::byte> out, const SegmentIdentity& identity,
                         uint64_t sequence, uint32_t opened_s) {
  CHECK(out.size() >= kSegmentHeaderBytes);
  const std::span<std::byte> block = out.first(kSegmentHeaderBytes);
  std::fill(block.begin(), block.end(), std::byte{0});
  SegmentHeader header;
  header.stripe = identity.stripe;
  header.segment = identity.segment;
  header.opened_s = opened_s;
  header.sequence = sequence;
  storeStruct(block, header);
  storeStruct(block, crcAround(block, offsetof(SegmentHeader, crc), identity.salt),
              offsetof(SegmentHeader, crc));
}

base::Result<SegmentHeader> decodeSegmentHeader(std::span<const std::byte> bytes,
                                                const SegmentIdentity& identity) {
  if (bytes.size() < kSegmentHeaderBytes) {
    return corrupt();
  }
  const auto header = loadStruct<SegmentHeader>(bytes);
  if (header.magic != kSegmentMagic || header.version != kSegmentVersion ||
      header.crc != crcAround(bytes.first(kSegmentHeaderBytes), offsetof(SegmentHeader, crc),
                              identity.salt)) {
    return corrupt();
  }
  if (header.stripe != identity.stripe || header.segment != identity.segment ||
      header.sequence == 0) {
    return corrupt();
  }
  return header;
}

std::vector<std::byte> encodeFooter(std::span<const TocEntry> lines, std::span<const Label> labels,
                                    const SegmentIdentity& identity, uint64_t sequence,
                                    uint32_t used_units) {
  const uint32_t bytes =
      footerBytes(static_cast<uint32_t>(lines.size()), static_cast<uint32_t>(labels.size()));
  CHECK(uint64_t{used_units} * kUnitBytes + bytes <= identity.segment_bytes);
  std::vector<std::byte> footer(bytes);
  const std::span<std::byte> table = std::span(footer).first(bytes - kUnitBytes);
  const std::span<std::byte> last = std::span(footer).last(kUnitBytes);
  const std::span<const std::byte> line_bytes = std::as_bytes(lines);
  const std::span<const std::byte> label_bytes = std::as_bytes(labels);
  const auto end = std::copy(line_bytes.begin(), line_bytes.end(), table.begin());
  std::copy(label_bytes.begin(), label_bytes.end(), end);
  SegmentTrailer trailer{};
  trailer.magic = kTrailerMagic;
  trailer.version = kSegmentVersion;
  trailer.stripe = identity.stripe;
  trailer.segment = identity.segment;
  trailer.count = static_cast<uint32_t>(lines.size());
  trailer.label_count = static_cast<uint32_t>(labels.size());
  trailer.sequence = sequence;
  trailer.footer_bytes = bytes;
  trailer.used_units = used_units;
  trailer.toc_crc = base::crc32c(table, identity.salt);
  storeStruct(last, trailer);
  storeStruct(last, crcAround(last, offsetof(SegmentTrailer, trailer_crc), identity.salt),
              offsetof(SegmentTrailer, trailer_crc));
  return footer;
}

base::Result<SegmentTrailer> decodeTrailer(std::span<const std::byte> last_unit,
                                           const SegmentIdentity& identity) {
  if (last_unit.size() != kUnitBytes) {
    return corrupt();
  }
  const auto trailer = loadStruct<SegmentTrailer>(last_unit);
  if (trailer.magic != kTrailerMagic || trailer.version != kSegmentVersion ||
      trailer.trailer_crc !=
          crcAround(last_unit, offsetof(SegmentTrailer, trailer_crc), identity.salt)) {
    return corrupt();
  }
  if (trailer.stripe != identity.stripe || trailer.segment != identity.segment ||
      trailer.sequence == 0 || trailer.count > identity.segment_bytes / sizeof(TocEntry) ||
      trailer.label_count > identity.segment_bytes / sizeof(Label) || trailer.reserved != 0 ||
      trailer.footer_bytes != footerBytes(trailer.count, trailer.label_count) ||
      uint64_t{trailer.used_units} * kUnitBytes + trailer.footer_bytes > identity.segment_bytes) {
    return corrupt();
  }
  return trailer;
}

base::Result<Footer> decodeFooter(std::span<const std::byte> bytes,
                                  const SegmentIdentity& identity) {
  if (bytes.size() < kUnitBytes) {
    return corrupt();
  }
  const base::Result<SegmentTrailer> trailer = decodeTrailer(bytes.last(kUnitBytes), identity);
  if (!trailer.ok()) {
    return trailer.error();
  }
  const SegmentTrailer& t = trailer.value();
  if (bytes.size() < t.footer_bytes) {
    return corrupt();
  }
  const std::span<const std::byte> table =
      bytes.last(t.footer_bytes).first(t.footer_bytes - kUnitBytes);
  if (base::crc32c(table, identity.salt) != t.toc_crc) {
    return corrupt();
  }
  Footer footer;
  footer.sequence = t.sequence;
  footer.used_units = t.used_units;
  footer.entries.resize(t.count);
  uint64_t labels = 0;
  uint32_t end = kSegmentHeaderBytes / kUnitBytes;
  for (uint32_t i = 0; i < t.count; i++) {
    const auto line = loadStruct<TocEntry>(table, i * sizeof(TocEntry));
    footer.entries[i] = line;
    const uint32_t line_end = uint32_t{line.offset_units} + line.length_units;
    if (!listable(line.kind) || line.offset_units < end || line.length_units == 0 ||
        line_end > t.used_units || line.label_count > kMaxLabels) {
      return corrupt();
    }
    end = line_end;
    labels += line.label_count;
  }
  if (labels != t.label_count) {
    return corrupt();
  }
  footer.labels.resize(t.label_count);
  std::ranges::copy(table.subspan(t.count * sizeof(TocEntry), t.label_count * sizeof(Label)),
                    std::as_writable_bytes(std::span(footer.labels)).begin());
  return footer;
}

TailWalk walkTail(std::span<const std::byte> bytes, uint64_t sequence, uint32_t salt) {
  TailWalk walk;
  uint32_t at = kSegmentHeaderBytes;
  walk.used_units = at / kUnitBytes;
  while (at < bytes.size()) {
    const RecordPlace place{sequence, at / kUnitBytes, salt};
    const std::span<const std::byte> rest = bytes.subspan(at);
    const base::Result<RecordView> head = decodeHead(rest, place);
    if (!head.ok() || head.value().totalBytes() > rest.size()) {
      break;
    }
    if (head.value().kind() != RecordKind::pad) {
      if (decodeRecord(rest, place).ok()) {
        walk.add(head.value());
      } else {
        walk.broken_bodies++;
      }
    }
    at += head.value().totalBytes();
    walk.used_units = at / kUnitBytes;
  }
  return walk;
}

}  // namespace store
