#include "source/store/core/snapshot.h"

#include <algorithm>

#include "source/base/check.h"
#include "source/base/crc32c.h"

namespace store {
namespace {

constexpr uint32_t kSequencesPerBlock = kSnapshotPayload / sizeof(uint64_t);
constexpr uint32_t kEntriesPerBlock = kSnapshotPayload / kSnapshotEntryBytes;
constexpr uint64_t kScanBuckets = 512;

struct EndLayout {
  uint64_t entries;
  uint32_t blocks;  // this one included
  uint32_t reserved;
};

base::Error corrupt() {
  return base::Error{base::Code::corrupt, base::Blame::disk};
}

uint32_t blockCrc(std::span<const std::byte> block, uint32_t salt) {
  constexpr size_t kAt = offsetof(SnapshotBlockHeader, crc);
  return base::crc32c(block.subspan(kAt + 4), base::crc32c(block.first(kAt), salt));
}

// The block's header if the block is intact.
base::Result<SnapshotBlockHeader> open(std::span<const std::byte> block, uint32_t salt) {
  if (block.size() != kSnapshotBlockBytes) {
    return corrupt();
  }
  const auto header = loadStruct<SnapshotBlockHeader>(block);
  if (header.magic != kSnapshotMagic || header.version != kSnapshotVersion ||
      header.used_bytes > kSnapshotPayload || header.crc != blockCrc(block, salt)) {
    return corrupt();
  }
  return header;
}

std::span<const std::byte> payloadOf(std::span<const std::byte> block,
                                     const SnapshotBlockHeader& header) {
  return block.subspan(sizeof header, header.used_bytes);
}

}  // namespace

SnapshotEncoder::SnapshotEncoder(const SnapshotHeader& header, std::vector<uint64_t> sequences,
                                 IndexShard& index, uint32_t salt)
    : header_(header), sequences_(std::move(sequences)), index_(index), salt_(salt) {
  CHECK(sequences_.size() == header.segment_count);
  CHECK(header.bucket_count == index.bucketCount());
  index_.beginScan();
}

void SnapshotEncoder::emit(std::span<std::byte> out, SnapshotBlock kind, uint32_t used_bytes) {
  SnapshotBlockHeader header{};
  header.magic = kSnapshotMagic;
  header.version = kSnapshotVersion;
  header.kind = static_cast<uint8_t>(kind);
  header.number = header_.number;
  header.index = block_++;
  header.used_bytes = used_bytes;
  storeStruct(out, header);
  header.crc = blockCrc(out, salt_);
  storeStruct(out, header);
}

bool SnapshotEncoder::next(std::span<std::byte> out) {
  CHECK(out.size() == kSnapshotBlockBytes);
  if (ended_) {
    return false;
  }
  std::fill(out.begin(), out.end(), std::byte{0});
  if (block_ == 0) {
    storeStruct(out, header_, sizeof(SnapshotBlockHeader));
    emit(out, SnapshotBlock::header, sizeof header_);
    return true;
  }
  if (sequenceBlock(out) || entryBlock(out)) {
    return true;
  }
  const EndLayout end{entries_, block_ + 1, 0};
  storeStruct(out, end, sizeof(SnapshotBlockHeader));
  emit(out, SnapshotBlock::end, sizeof end);
  ended_ = true;
  return true;
}

bool SnapshotEncoder::sequenceBlock(std::span<std::byte> out) {
  const size_t count = std::min<size_t>(kSequencesPerBlock, sequences_.size() - sequence_cursor_);
  if (count == 0) {
    return false;
  }
  std::memcpy(out.data() + sizeof(SnapshotBlockHeader), sequences_.data() + sequence_cursor_,
              count * sizeof(uint64_t));
  sequence_cursor_ += count;
  emit(out, SnapshotBlock::sequences, static_cast<uint32_t>(count * sizeof(uint64_t)));
  return true;
}

bool SnapshotEncoder::entryBlock(std::span<std::byte> out) {
  uint32_t count = 0;
  while (count < kEntriesPerBlock) {
    if (pending_at_ == pending_.size()) {
      if (scan_over_) {
        break;
      }
      pending_.clear();
      pending_at_ = 0;
      scan_over_ = !index_.scanStep(kScanBuckets, pending_);
      continue;
    }
    const PlacedEntry& placed = pending_[pending_at_++];
    // What is not on the disk yet will be found in a newer segment; a list of names has its number
    // in this process only; hits for misses are not worth keeping.
    if (!placed.entry.placed() || placed.entry.inBuffer()) {
      continue;
    }
    const Entry entry = placed.entry;
    const size_t at = sizeof(SnapshotBlockHeader) + size_t{count} * kSnapshotEntryBytes;
    storeStruct(out, placed.bucket, at);
    storeStruct(out, entry, at + sizeof placed.bucket);
    count++;
  }
  if (count == 0) {
    return false;
  }
  entries_ += count;
  emit(out, SnapshotBlock::entries, count * kSnapshotEntryBytes);
  return true;
}

base::Status SnapshotDecoder::feed(std::span<const std::byte> block,
                                   std::vector<PlacedEntry>& out) {
  const base::Result<SnapshotBlockHeader> opened = open(block, salt_);
  if (!opened.ok()) {
    return opened.error();
  }
  const SnapshotBlockHeader& header = opened.value();
  const bool first = next_block_ == 0;
  if (complete_ || header.index != next_block_ || (!first && header.number != header_.number) ||
      first != (header.kind == static_cast<uint8_t>(SnapshotBlock::header))) {
    return corrupt();
  }
  const std::span<const std::byte> payload = payloadOf(block, header);
  base::Status status = corrupt();
  switch (static_cast<SnapshotBlock>(header.kind)) {
    case SnapshotBlock::header:
      status = begin(payload, header.number);
      break;
    case SnapshotBlock::sequences:
      status = takeSequences(payload);
      break;
    case SnapshotBlock::entries:
      status = takeEntries(payload, out);
      break;
    case SnapshotBlock::end:
      status = finish(payload);
      break;
  }
  next_block_ += status.ok() ? 1 : 0;
  return status;
}

base::Status SnapshotDecoder::begin(std::span<const std::byte> payload, uint64_t number) {
  if (payload.size() != sizeof(SnapshotHeader)) {
    return corrupt();
  }
  const auto header = loadStruct<SnapshotHeader>(payload);
  if (header.number != number || header.segment_count > kMaxSegments || header.bucket_count == 0) {
    return corrupt();
  }
  header_ = header;
  sequences_.reserve(header.segment_count);
  return base::Unit{};
}

base::Status SnapshotDecoder::takeSequences(std::span<const std::byte> payload) {
  const size_t count = payload.size() / sizeof(uint64_t);
  if (payload.size() % sizeof(uint64_t) != 0 || entries_ > 0 ||
      count > header_.segment_count - sequences_.size()) {
    return corrupt();
  }
  for (size_t i = 0; i < count; i++) {
    sequences_.push_back(loadStruct<uint64_t>(payload, i * sizeof(uint64_t)));
  }
  return base::Unit{};
}

base::Status SnapshotDecoder::takeEntries(std::span<const std::byte> payload,
                                          std::vector<PlacedEntry>& out) {
  if (payload.size() % kSnapshotEntryBytes != 0 || sequences_.size() != header_.segment_count) {
    return corrupt();
  }
  const size_t count = payload.size() / kSnapshotEntryBytes;
  const size_t before = out.size();
  for (size_t i = 0; i < count; i++) {
    const size_t at = i * kSnapshotEntryBytes;
    const PlacedEntry placed{loadStruct<uint64_t>(payload, at),
                             loadStruct<Entry>(payload, at + sizeof(uint64_t))};
    if (placed.bucket >= header_.bucket_count || !placed.entry.placed() ||
        placed.entry.inBuffer() || placed.entry.segment() >= header_.segment_count) {
      out.resize(before);
      return corrupt();
    }
    out.push_back(placed);
  }
  entries_ += count;
  return base::Unit{};
}

base::Status SnapshotDecoder::finish(std::span<const std::byte> payload) {
  if (payload.size() != sizeof(EndLayout) || sequences_.size() != header_.segment_count) {
    return corrupt();
  }
  const auto end = loadStruct<EndLayout>(payload);
  if (end.entries != entries_ || end.blocks != next_block_ + 1) {
    return corrupt();
  }
  complete_ = true;
  return base::Unit{};
}

base::Result<SnapshotHeader> peekSnapshot(std::span<const std::byte> first_block, uint32_t salt) {
  SnapshotDecoder decoder(salt);
  std::vector<PlacedEntry> none;
  const base::Status status = decoder.feed(first_block, none);
  if (!status.ok()) {
    return status.error();
  }
  return decoder.header();
}

}  // namespace store
