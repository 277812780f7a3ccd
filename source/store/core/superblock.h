// The superblock of a stripe's file: whose it is and how it is cut. Two copies of 4096 bytes, at 0
// and at 32 KiB. It is written when a file is formatted, when its number of segments or the company
// of disks changes, and never otherwise: each reason to refuse a file has a name, and a refused
// file is not touched.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "source/store/core/layout.h"
#include "source/store/core/membership.h"

namespace store {

inline constexpr uint32_t kFormatVersion = 2;
inline constexpr uint64_t kSuperblockMagic = 0x31454843'4147'4652ULL;  // "RFGACHE1"
inline constexpr uint32_t kSuperblockBytes = kPageBytes;
inline constexpr uint64_t kSuperblockCopyOffset = 32 << 10;

using Uuid = std::array<uint8_t, 16>;

struct Superblock {
  uint32_t stripe = 0;
  uint32_t stripe_count = 0;
  uint32_t segment_bytes = 0;
  uint32_t segment_count = 0;
  Uuid cache_uuid{};       // random, the same in all stripes of a cache; new at every format
  uint64_t hash_seed = 0;  // of the keys' hashes, the same in all stripes of a cache
  uint32_t formatted_s = 0;
  Membership membership;  // of the directory; in its first stripe alone
  friend bool operator==(const Superblock&, const Superblock&) = default;

  // What every checksum in this stripe starts from.
  uint32_t salt() const;
  // Of the directory's contents.
  uint64_t identity() const;
};

enum class SuperblockFault : uint8_t {
  blank,           // nothing but zeros: a new file, free to be formatted
  not_ours,        // another program's bytes
  torn,            // ours, but the checksum fails in both copies
  other_version,   // ours and intact, of another format version
  other_geometry,  // ours and intact, but not as this stripe is configured
};
std::string_view name(SuperblockFault fault);

struct SuperblockRead {
  std::optional<Superblock> superblock;  // if absent, fault says why
  SuperblockFault fault = SuperblockFault::blank;
  uint32_t version = 0;         // as found, for other_version
  bool first_copy_bad = false;  // the second copy was used: write the first again
};

// What the configuration expects; the number of segments may differ (the file grew or shrank).
struct Geometry {
  uint32_t stripe = 0;
  uint32_t stripe_count = 0;
  uint32_t segment_bytes = 0;
};

// `out` is 4096 bytes; both copies are the same.
void encodeSuperblock(std::span<std::byte> out, const Superblock& superblock);
// Each copy is what could be read of its 4096 bytes; a shorter one (a short file) is zero-extended.
SuperblockRead decodeSuperblock(std::span<const std::byte> first, std::span<const std::byte> second,
                                const Geometry& expected);
// Without an expectation, for tools.
SuperblockRead decodeSuperblock(std::span<const std::byte> first,
                                std::span<const std::byte> second);

}  // namespace store
