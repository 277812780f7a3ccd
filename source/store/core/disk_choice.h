// Which of a cache's disks a key belongs to: weighted rendezvous. Each of kDiskSlots slots draws a
// lot with every disk, by the disk's identity and in proportion to its size, and belongs to the
// disk with the best one; a key belongs to its slot's disk. So a disk that comes or goes moves only
// its own share of the keys, and one that grows only what it gains. The draw costs nothing when
// keys are looked up: the slots are a table.
#pragma once

#include <bit>
#include <cstdint>
#include <span>
#include <vector>

#include "source/base/hash.h"
#include "source/store/core/layout.h"

namespace store {

inline constexpr size_t kMaxDisks = 16;
// A disk's share deviates from its weight by about 1/sqrt(share x kDiskSlots) of it: 1 % for one of
// two disks, 3 % for one of sixteen.
inline constexpr uint32_t kDiskSlots = 1 << 14;

struct DiskShare {
  uint64_t identity = 0;  // distinct
  uint64_t weight = 0;    // bytes, or any other measure of size; not 0
};

// For each slot the position of its disk in `disks`, of which there are 1 to kMaxDisks. The order
// of the disks makes no difference to where a slot goes.
std::vector<uint8_t> chooseDisks(std::span<const DiskShare> disks);

// Independent of the parts of the hash that choose stripe, bucket and tag.
constexpr uint32_t diskSlotOf(base::Hash128 hash) {
  constexpr int kShift = 64 - std::bit_width(kDiskSlots - 1);
  return static_cast<uint32_t>(mix64(hash.hi ^ std::rotl(hash.lo, 31)) >> kShift);
}

}  // namespace store
