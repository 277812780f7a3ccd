// An index entry: 16 bytes that say where an object's record lies and whether it is worth reading.
//
//   w0: tag, high 20 | segment 20 | offset 15 (units) | kind 3 | frequency 2 | flags 4
//   w1: length 16 (units) | tag, low 16 | expiry 24 | generation 8
//
// An entry proves nothing: the record it points to carries its segment's sequence, its key and
// checksums, so a wrong or stale entry costs a miss.
#pragma once

#include <cstdint>

#include "source/base/hash.h"
#include "source/store/core/layout.h"

namespace store {

enum class EntryKind : uint8_t {
  free = 0,
  object,        // one record
  extents,       // a head record; the body lies in chunks
  vary_rule,     // the key has variants; the record lists the names
  hit_for_miss,  // no record: answers for this key are not stored, so requests do not wait for one
  ram_only,      // no record on a disk; the owner's RAM tier has it
};

struct EntryFields {
  EntryKind kind = EntryKind::free;
  uint32_t segment = 0;
  uint32_t offset_units = 0;
  uint32_t length_units = 0;
  uint32_t expiry = 0;  // encoded by expiry.h
  uint8_t generation = 0;
  uint8_t frequency = 0;
  bool in_buffer = false;  // the record is still in the owner's write buffer, not on the disk
  bool stale_now = false;  // purged softly: stale whatever its times say
};

struct Entry {
  uint64_t w0 = 0;
  uint64_t w1 = 0;

  static constexpr uint64_t kInBuffer = 1;
  static constexpr uint64_t kStaleNow = 2;
  static constexpr uint64_t kFrequencyOne = 16;
  static constexpr uint64_t kFrequencyMask = 3 * kFrequencyOne;
  static constexpr uint64_t kKindMask = 7 << 6;
  static constexpr uint64_t kTagMask0 = ~uint64_t{0} << 44;
  static constexpr uint64_t kTagMask1 = uint64_t{0xffff} << 32;
  static constexpr uint64_t kExpiryMask1 = uint64_t{0xffffff} << 8;
  static constexpr uint8_t kMaxFrequency = 3;

  static constexpr uint64_t tagBits0(uint64_t tag) { return tag >> 16 << 44; }
  static constexpr uint64_t tagBits1(uint64_t tag) { return (tag & 0xffff) << 32; }

  static constexpr Entry make(uint64_t tag, const EntryFields& f) {
    Entry e;
    e.w0 = tagBits0(tag) | uint64_t{f.segment & 0xfffff} << 24 |
           uint64_t{f.offset_units & 0x7fff} << 9 | static_cast<uint64_t>(f.kind) << 6 |
           uint64_t{f.frequency & 3u} << 4 | (f.in_buffer ? kInBuffer : 0) |
           (f.stale_now ? kStaleNow : 0);
    e.w1 = uint64_t{f.length_units & 0xffff} << 48 | tagBits1(tag) |
           uint64_t{f.expiry & 0xffffff} << 8 | f.generation;
    return e;
  }
  static constexpr Entry make(base::Hash128 hash, const EntryFields& f) {
    return make(tagOf(hash), f);
  }
  // For the kinds without a record: a number of 35 bits of the owner's, so that versions differ.
  static constexpr Entry makeUnplaced(base::Hash128 hash, EntryKind kind, uint64_t serial,
                                      uint32_t expiry) {
    EntryFields f;
    f.kind = kind;
    f.segment = static_cast<uint32_t>(serial >> 15);
    f.offset_units = static_cast<uint32_t>(serial & 0x7fff);
    f.expiry = expiry;
    return make(hash, f);
  }

  constexpr EntryKind kind() const { return static_cast<EntryKind>(w0 >> 6 & 7); }
  constexpr uint64_t tag() const { return w0 >> 44 << 16 | (w1 >> 32 & 0xffff); }
  constexpr uint32_t segment() const { return static_cast<uint32_t>(w0 >> 24 & 0xfffff); }
  constexpr uint32_t offsetUnits() const { return static_cast<uint32_t>(w0 >> 9 & 0x7fff); }
  constexpr uint64_t serial() const { return w0 >> 9 & 0x7ffffffffULL; }
  constexpr uint8_t frequency() const { return static_cast<uint8_t>(w0 >> 4 & 3); }
  constexpr bool inBuffer() const { return (w0 & kInBuffer) != 0; }
  constexpr bool staleNow() const { return (w0 & kStaleNow) != 0; }
  constexpr uint32_t lengthUnits() const { return static_cast<uint32_t>(w1 >> 48); }
  constexpr uint32_t expiry() const { return static_cast<uint32_t>(w1 >> 8 & 0xffffff); }
  constexpr uint8_t generation() const { return static_cast<uint8_t>(w1); }

  // Whether the kind has a record in a segment.
  constexpr bool placed() const {
    return kind() == EntryKind::object || kind() == EntryKind::extents ||
           kind() == EntryKind::vary_rule;
  }
  constexpr bool matches(uint64_t t) const {
    return (w0 & kKindMask) != 0 && ((w0 ^ tagBits0(t)) & kTagMask0) == 0 &&
           ((w1 ^ tagBits1(t)) & kTagMask1) == 0;
  }

  constexpr Entry withFrequency(uint8_t frequency) const {
    return Entry{(w0 & ~kFrequencyMask) | uint64_t{frequency & 3u} << 4, w1};
  }
  constexpr Entry withInBuffer(bool in_buffer) const {
    return Entry{in_buffer ? w0 | kInBuffer : w0 & ~kInBuffer, w1};
  }
  constexpr Entry withStaleNow() const { return Entry{w0 | kStaleNow, w1}; }
  constexpr Entry withExpiry(uint32_t expiry) const {
    return Entry{w0, (w1 & ~kExpiryMask1) | uint64_t{expiry & 0xffffff} << 8};
  }

  friend bool operator==(const Entry&, const Entry&) = default;
};
static_assert(sizeof(Entry) == 16);

// Whether two entries name the same version of an object: the same record, not softly purged in
// between. The frequency, the way to the disk and the expiry's encoding may differ. A copy in RAM
// is good while this holds for the entry it was filled from.
constexpr bool sameVersion(const Entry& a, const Entry& b) {
  constexpr uint64_t kPassing = Entry::kFrequencyMask | Entry::kInBuffer;
  return ((a.w0 ^ b.w0) & ~kPassing) == 0 && ((a.w1 ^ b.w1) & ~Entry::kExpiryMask1) == 0;
}

}  // namespace store
