// VerifiedSet: the records of one cache that one shard has read whole and found intact a short time
// ago, so that their bytes may go from the page cache to a socket without being looked at again
// (disk_io: SENDFILE). A record is named by its stripe, its segment's sequence and its place there:
// no two records ever share that name.
//
// Limits: a fixed number of slots, each record in one of them; a later record pushes an earlier one
// out, which is then read and verified again. So is one that was verified kGood_ns ago: its pages
// may have been dropped and read again by others.
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

#include "source/base/check.h"
#include "source/base/types.h"
#include "source/store/core/layout.h"

namespace store {

struct VerifiedRecord {
  uint64_t sequence = 0;  // 0: none
  uint64_t object_id = 0;
  base::MonoTime when{0};
  uint32_t offset_units = 0;
  uint32_t body_at = 0;  // bytes from the record's begin
  uint32_t body_bytes = 0;
  uint16_t stripe = 0;
};

class VerifiedSet {
 public:
  static constexpr uint64_t kGood_ns = 60 * base::kSecond_ns;

  // slots: a power of two.
  explicit VerifiedSet(uint32_t slots) : slots_(slots) { CHECK(std::has_single_bit(slots)); }

  void add(const VerifiedRecord& record) {
    slots_[slotOf(record.stripe, record.sequence, record.offset_units)] = record;
  }
  // Null: not known to be intact. Valid until the next add().
  const VerifiedRecord* find(uint16_t stripe, const Location& at, base::MonoTime now) const {
    const VerifiedRecord& found = slots_[slotOf(stripe, at.sequence, at.offset_units)];
    const bool same = found.sequence == at.sequence && found.offset_units == at.offset_units &&
                      found.stripe == stripe && at.sequence != 0;
    return same && now < found.when + kGood_ns ? &found : nullptr;
  }

 private:
  size_t slotOf(uint16_t stripe, uint64_t sequence, uint32_t offset_units) const {
    uint64_t mixed = sequence * 0x9e3779b97f4a7c15U;
    mixed ^= (uint64_t{offset_units} << 16 | stripe) * 0xc2b2ae3d27d4eb4fU;
    return (mixed ^ mixed >> 29) & (slots_.size() - 1);
  }

  std::vector<VerifiedRecord> slots_;
};

}  // namespace store
