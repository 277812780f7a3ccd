#include "source/store/core/superblock.h"

#include <algorithm>

#include "source/base/crc32c.h"
#include "source/base/hash.h"

namespace store {
namespace {

// The magic, the version and the checksum in the last four bytes of the block keep their places in
// every version, so that any version can tell another one from a torn block.
struct SuperblockLayout {
  uint64_t magic;
  uint32_t version;
  uint32_t stripe;
  uint32_t stripe_count;
  uint32_t segment_bytes;
  uint32_t segment_count;
  uint32_t formatted_s;
  uint64_t hash_seed;
  Uuid cache_uuid;
  uint64_t epoch;
  uint64_t company;
};
static_assert(sizeof(SuperblockLayout) == 72);

constexpr size_t kCrcOffset = kSuperblockBytes - 4;
// A copy that differs from an intact one in no more bytes than this is the same block with some rot
// in it; one that differs in more is something else that was written there.
constexpr size_t kRotBytes = 16;
// Not the number of a stripe.
constexpr uint64_t kIdentitySeed = UINT64_MAX;

using Block = std::array<std::byte, kSuperblockBytes>;

Block padded(std::span<const std::byte> bytes) {
  Block block{};
  std::copy_n(bytes.data(), std::min(bytes.size(), block.size()), block.data());
  return block;
}

enum class Copy : uint8_t { blank, not_ours, torn, other_version, intact };

Copy classify(const Block& block) {
  if (std::all_of(block.begin(), block.end(), [](std::byte b) { return b == std::byte{0}; })) {
    return Copy::blank;
  }
  const auto layout = loadStruct<SuperblockLayout>(block);
  if (layout.magic != kSuperblockMagic) {
    return Copy::not_ours;
  }
  const std::span<const std::byte> bytes(block);
  if (base::crc32c(bytes.first(kCrcOffset)) != loadStruct<uint32_t>(bytes, kCrcOffset)) {
    return Copy::torn;
  }
  return layout.version == kFormatVersion ? Copy::intact : Copy::other_version;
}

Superblock unpack(const Block& block) {
  const auto layout = loadStruct<SuperblockLayout>(block);
  Superblock s;
  s.stripe = layout.stripe;
  s.stripe_count = layout.stripe_count;
  s.segment_bytes = layout.segment_bytes;
  s.segment_count = layout.segment_count;
  s.cache_uuid = layout.cache_uuid;
  s.hash_seed = layout.hash_seed;
  s.formatted_s = layout.formatted_s;
  s.membership = Membership{layout.epoch, layout.company};
  return s;
}

bool withinLimits(const Superblock& s) {
  return s.stripe_count > 0 && s.stripe_count <= UINT16_MAX && s.stripe < s.stripe_count &&
         s.segment_bytes >= kMinSegmentBytes && s.segment_bytes <= kMaxSegmentBytes &&
         s.segment_bytes % kPageBytes == 0 && s.segment_count > 0 &&
         s.segment_count <= kMaxSegments;
}

bool mostlyEqual(const Block& a, const Block& b) {
  size_t different = 0;
  for (size_t i = 0; i < a.size(); i++) {
    different += a[i] != b[i] ? 1 : 0;
  }
  return different <= kRotBytes;
}

std::string_view textOf(const Uuid& uuid) {
  return std::string_view(reinterpret_cast<const char*>(uuid.data()), uuid.size());
}

SuperblockRead refused(SuperblockFault fault, uint32_t version = 0) {
  SuperblockRead read;
  read.fault = fault;
  read.version = version;
  return read;
}

SuperblockRead accepted(const Block& block, bool first_copy_bad) {
  const Superblock superblock = unpack(block);
  if (!withinLimits(superblock)) {
    return refused(SuperblockFault::other_geometry, kFormatVersion);
  }
  SuperblockRead read;
  read.superblock = superblock;
  read.version = kFormatVersion;
  read.first_copy_bad = first_copy_bad;
  return read;
}

}  // namespace

std::string_view name(SuperblockFault fault) {
  switch (fault) {
    case SuperblockFault::blank:
      return "blank";
    case SuperblockFault::not_ours:
      return "not_ours";
    case SuperblockFault::torn:
      return "torn";
    case SuperblockFault::other_version:
      return "other_version";
    case SuperblockFault::other_geometry:
      return "other_geometry";
  }
  return "unknown";
}

uint32_t Superblock::salt() const {
  return static_cast<uint32_t>(base::hash64(textOf(cache_uuid), stripe));
}

uint64_t Superblock::identity() const {
  return base::hash64(textOf(cache_uuid), kIdentitySeed);
}

void encodeSuperblock(std::span<std::byte> out, const Superblock& superblock) {
  Block block{};
  SuperblockLayout layout{};
  layout.magic = kSuperblockMagic;
  layout.version = kFormatVersion;
  layout.stripe = superblock.stripe;
  layout.stripe_count = superblock.stripe_count;
  layout.segment_bytes = superblock.segment_bytes;
  layout.segment_count = superblock.segment_count;
  layout.formatted_s = superblock.formatted_s;
  layout.hash_seed = superblock.hash_seed;
  layout.cache_uuid = superblock.cache_uuid;
  layout.epoch = superblock.membership.epoch;
  layout.company = superblock.membership.company;
  const std::span<std::byte> bytes(block);
  storeStruct(bytes, layout);
  storeStruct(bytes, base::crc32c(bytes.first(kCrcOffset)), kCrcOffset);
  std::copy(block.begin(), block.end(), out.data());
}

SuperblockRead decodeSuperblock(std::span<const std::byte> first,
                                std::span<const std::byte> second) {
  const Block a = padded(first);
  const Block b = padded(second);
  const Copy copy_a = classify(a);
  const Copy copy_b = classify(b);
  if (copy_a == Copy::intact) {
    return accepted(a, false);
  }
  if (copy_a == Copy::other_version) {
    return refused(SuperblockFault::other_version, loadStruct<SuperblockLayout>(a).version);
  }
  // The second copy may stand in for a first one that was lost, torn or has rotted, but not for one
  // that another program has overwritten: that file is no longer ours.
  const bool first_is_ours = copy_a == Copy::blank || copy_a == Copy::torn || mostlyEqual(a, b);
  if (!first_is_ours) {
    return refused(SuperblockFault::not_ours);
  }
  switch (copy_b) {
    case Copy::intact:
      return accepted(b, true);
    case Copy::other_version:
      return refused(SuperblockFault::other_version, loadStruct<SuperblockLayout>(b).version);
    case Copy::torn:
      return refused(SuperblockFault::torn);
    case Copy::not_ours:
      return refused(copy_a == Copy::torn ? SuperblockFault::torn : SuperblockFault::not_ours);
    case Copy::blank:
      return refused(copy_a == Copy::torn ? SuperblockFault::torn : SuperblockFault::blank);
  }
  return refused(SuperblockFault::not_ours);
}

SuperblockRead decodeSuperblock(std::span<const std::byte> first, std::span<const std::byte> second,
                                const Geometry& expected) {
  SuperblockRead read = decodeSuperblock(first, second);
  if (read.superblock && (read.superblock->stripe != expected.stripe ||
                          read.superblock->stripe_count != expected.stripe_count ||
                          read.superblock->segment_bytes != expected.segment_bytes)) {
    read.superblock.reset();
    read.fault = SuperblockFault::other_geometry;
  }
  return read;
}

}  // namespace store
