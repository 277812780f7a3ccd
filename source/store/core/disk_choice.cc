#include "source/store/core/disk_choice.h"

#include <cmath>

#include "source/base/check.h"

namespace store {
namespace {

// A disk's lot in a slot: exponentially distributed with its weight as rate, so that the least of
// all is a disk's with the probability of its share, whoever else draws.
double lotOf(const DiskShare& disk, uint32_t slot) {
  constexpr uint64_t kSlotStep = 0x9e3779b97f4a7c15ULL;
  constexpr double kUnit = 0x1p-53;
  const uint64_t drawn = mix64(mix64(disk.identity) + (uint64_t{slot} + 1) * kSlotStep);
  const double in_0_1 = (static_cast<double>(drawn >> 11) + 0.5) * kUnit;
  return -std::log(in_0_1) / static_cast<double>(disk.weight);
}

}  // namespace

std::vector<uint8_t> chooseDisks(std::span<const DiskShare> disks) {
  CHECK(!disks.empty() && disks.size() <= kMaxDisks);
  std::vector<uint8_t> slots(kDiskSlots, 0);
  for (uint32_t slot = 0; slot < kDiskSlots && disks.size() > 1; slot++) {
    double least = lotOf(disks[0], slot);
    for (size_t i = 1; i < disks.size(); i++) {
      const double lot = lotOf(disks[i], slot);
      // Of equal lots, which happen once in 2^53, the lesser identity's.
      if (lot < least || (lot == least && disks[i].identity < disks[slots[slot]].identity)) {
        least = lot;
        slots[slot] = static_cast<uint8_t>(i);
      }
    }
  }
  return slots;
}

}  // namespace store
