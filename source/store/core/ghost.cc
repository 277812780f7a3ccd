#include "source/store/core/ghost.h"

#include <algorithm>
#include <bit>

#include "source/store/core/layout.h"

namespace store {
namespace {

constexpr uint32_t kLifetimeBits = 24;

uint32_t shiftFor(uint64_t lifetime_bytes) {
  const auto bits = static_cast<uint32_t>(std::bit_width(lifetime_bytes));
  return bits > kLifetimeBits ? bits - kLifetimeBits : 0;
}

}  // namespace

GhostTable::GhostTable(uint32_t entries, uint64_t lifetime_bytes)
    : shift_(shiftFor(lifetime_bytes)),
      sets_(std::max(1u, (entries + kWays - 1) / kWays)),
      slots_(new Slot[uint64_t{sets_} * kWays]) {}

GhostTable::Slot* GhostTable::setOf(uint64_t mixed) {
  const uint64_t set = ((mixed >> 32) * sets_) >> 32;
  return &slots_[set * kWays];
}

void GhostTable::insert(uint64_t fingerprint, uint64_t bytes) {
  bytes_ += bytes;
  const uint64_t mixed = mix64(fingerprint);
  Slot* set = setOf(mixed);
  Slot* victim = set;
  for (uint32_t i = 0; i < kWays; i++) {
    if (set[i].fingerprint == 0) {
      victim = &set[i];
      break;
    }
    if (now() - set[i].time > now() - victim->time) {
      victim = &set[i];
    }
  }
  *victim = Slot{static_cast<uint32_t>(mixed) | 1, now()};
}

bool GhostTable::take(uint64_t fingerprint, uint64_t lifetime_bytes) {
  const uint64_t mixed = mix64(fingerprint);
  Slot* set = setOf(mixed);
  bool found = false;
  for (uint32_t i = 0; i < kWays; i++) {
    if (set[i].fingerprint == (static_cast<uint32_t>(mixed) | 1)) {
      found = found || now() - set[i].time <= lifetime_bytes >> shift_;
      set[i] = Slot{};
    }
  }
  return found;
}

}  // namespace store
