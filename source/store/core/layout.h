// The numbers of the disk format and the two ways to name a place in a stripe's log.
// docs/disk-format.md is the format's description; a constant here that a file depends on changes
// only together with a version number.
#pragma once

#include <bit>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "source/base/hash.h"

namespace store {

static_assert(std::endian::native == std::endian::little, "the structs on disk are little-endian");

// Records begin at multiples of a unit; index entries and tables of contents count in units.
inline constexpr uint32_t kUnitBytes = 512;
// Headers, footers and flushed pieces are multiples of this, which suits every direct I/O
// alignment.
inline constexpr uint32_t kPageBytes = 4096;
inline constexpr uint32_t kMinSegmentBytes = 1 << 20;
inline constexpr uint32_t kMaxSegmentBytes = 16 << 20;
inline constexpr uint32_t kMaxSegments = 1 << 20;
// The superblock's two copies lie below this offset of a stripe's file; segment 0 begins at it.
inline constexpr uint64_t kDataOffset = 64 << 10;

// A body is checksummed in blocks of this size.
inline constexpr uint32_t kBodyBlockBytes = 128 << 10;
// A body up to this size is one record; a longer one is chunks and a head.
inline constexpr uint32_t kMaxObjectBody = 256 << 10;
inline constexpr uint32_t kMaxChunkBody = 1 << 20;
inline constexpr uint32_t kMaxKeyBytes = 16 << 10;
inline constexpr uint32_t kMaxMetaBytes = 64 << 10;
inline constexpr uint64_t kMaxObjectBytes = uint64_t{64} << 30;
inline constexpr uint32_t kMaxExtents = kMaxObjectBytes / kMaxChunkBody;

constexpr uint32_t roundUp(uint32_t bytes, uint32_t multiple) {
  return (bytes + multiple - 1) / multiple * multiple;
}

// The longest chunk body for segments of a size: small segments take small chunks, so that a record
// never needs more than about a quarter of a segment.
constexpr uint32_t maxChunkBody(uint32_t segment_bytes) {
  const uint32_t quarter = segment_bytes / 4 / kBodyBlockBytes * kBodyBlockBytes;
  return quarter < kMaxChunkBody ? quarter : kMaxChunkBody;
}

// How long segments are unless the configuration says so: a segment is the unit of eviction, so a
// stripe has kUsualSegments of them at least, if it is large enough.
inline constexpr uint32_t kUsualSegments = 128;
constexpr uint32_t segmentBytesFor(uint64_t stripe_bytes) {
  uint32_t bytes = kMaxSegmentBytes;
  while (bytes > kMinSegmentBytes && stripe_bytes / bytes < kUsualSegments) {
    bytes /= 2;
  }
  return bytes;
}

// Where a segment begins in its stripe's file.
constexpr uint64_t segmentOffset(uint32_t segment, uint32_t segment_bytes) {
  return kDataOffset + uint64_t{segment} * segment_bytes;
}

// A point in the order in which a stripe's log was written.
struct LogPosition {
  uint64_t sequence =
      0;  // of the segment; every opening of a segment takes the next number, from 1
  uint32_t offset_units = 0;
  friend auto operator<=>(const LogPosition&, const LogPosition&) = default;
};

// Each life of the process numbers its segments from the begin of a block of its own. So a sequence
// is never used twice, even if the disk lost what was written last, and the remains of one life are
// never taken for records of the next. The journal's generation, which is synced before a life
// writes its first segment, keeps the count of lives.
inline constexpr uint32_t kLifeBits = 32;
constexpr uint64_t firstSequence(uint64_t life) {
  return life << kLifeBits;
}
constexpr uint64_t lifeOf(uint64_t sequence) {
  return sequence >> kLifeBits;
}

// Where a record lies, and the sequence its segment must still have.
struct Location {
  uint64_t sequence = 0;
  uint32_t segment = 0;
  uint32_t offset_units = 0;
  uint32_t length_units = 0;
  LogPosition position() const { return LogPosition{sequence, offset_units}; }
  friend bool operator==(const Location&, const Location&) = default;
};

// Three independent parts of a key's hash: the stripe, the bucket (from lo), the tag.
constexpr uint32_t stripeOf(base::Hash128 hash, uint32_t stripe_count) {
  return static_cast<uint32_t>(hash.hi) % stripe_count;
}
inline constexpr uint32_t kTagBits = 36;
constexpr uint64_t tagOf(base::Hash128 hash) {
  return hash.hi >> (64 - kTagBits);
}

// A bijective mixer (the finalizer of splitmix64).
constexpr uint64_t mix64(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

// Eight bits of a segment's sequence for an index entry. They are mixed, because the plain low bits
// would repeat exactly when the number of segments is a multiple of 256.
constexpr uint8_t generationOf(uint64_t sequence) {
  return static_cast<uint8_t>(mix64(sequence) >> 56);
}

// Reads and writes of packed structs in byte buffers.
template <class T>
T loadStruct(std::span<const std::byte> from, size_t offset = 0) {
  T value;
  std::memcpy(&value, from.data() + offset, sizeof value);
  return value;
}
template <class T>
void storeStruct(std::span<std::byte> to, const T& value, size_t offset = 0) {
  std::memcpy(to.data() + offset, &value, sizeof value);
}

}  // namespace store
