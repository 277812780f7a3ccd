// IndexShard: a stripe's index in RAM. Buckets of four 16-byte entries (one cache line); an entry
// lives in one of two buckets, both known from either bucket and the tag, so entries move without
// their key. Sized once; at the stated load of 0.9 an object costs under 18 bytes.
//
// One shard, the owner, writes; every shard reads at any time without locks. The words are atomics:
// the owner empties an entry's first word before it changes the second, and a reader takes the
// first word before and after the second, so it never joins halves of two entries. An entry is
// moved by writing the copy first; a reader between the two buckets can then miss it, which sends
// it to the owner, who never does. Only the frequency is written by readers, by one
// compare-and-swap that may fail.
//
// Limits: capacity (the table's slots; the oldest entry of the candidate buckets makes room),
// kSearchBuckets looked at for a place.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "source/base/hash.h"
#include "source/base/result.h"
#include "source/store/core/entry.h"
#include "source/store/core/expiry.h"
#include "source/store/core/segment_table.h"

namespace store {

struct IndexOptions {
  uint64_t capacity_objects = 0;  // at the load of kIndexLoadPercent
  uint32_t epoch_s = 0;           // times before it look expired: the start, less a day for clocks
};

inline constexpr uint32_t kIndexLoadPercent = 90;
inline constexpr uint64_t kMaxIndexObjects = uint64_t{1} << 34;

enum class PublishOutcome : uint8_t { inserted, replaced, evicted };

struct Published {
  PublishOutcome how = PublishOutcome::inserted;
  Entry previous;  // what was replaced or evicted
};

// An entry with its bucket, as snapshots keep it.
struct PlacedEntry {
  uint64_t bucket = 0;
  Entry entry;
};

class IndexShard {
 public:
  // no_capacity with errno when the memory cannot be had; config_invalid when the size is absurd.
  // `segments` orders entries by age and outlives the index.
  static base::Result<std::unique_ptr<IndexShard>> create(const IndexOptions& options,
                                                          const SegmentTable& segments);
  // The bytes of memory that create() will ask for.
  static uint64_t bytesFor(uint64_t capacity_objects);

  IndexShard(const IndexShard&) = delete;
  IndexShard& operator=(const IndexShard&) = delete;
  ~IndexShard();

  // Any shard.
  std::optional<Entry> find(base::Hash128 hash) const;
  void prefetch(base::Hash128 hash) const;
  void touch(base::Hash128 hash);  // counts a hit, up to 3; may be lost
  ExpiryHint hint(const Entry& entry, uint32_t now_s) const {
    return decodeExpiry(entry.expiry(), epoch_s_.load(std::memory_order_acquire), now_s);
  }

  // The owner alone, from here on.
  Published publish(base::Hash128 hash, const Entry& entry);
  std::optional<Entry> erase(base::Hash128 hash);
  bool eraseIf(base::Hash128 hash, const Entry& old);  // only if it is still the same version
  bool replaceIf(base::Hash128 hash, const Entry& old, const Entry& entry);
  bool setFrequency(base::Hash128 hash, const Entry& of, uint8_t frequency);
  // Re-creates an entry from its bucket: false if the tag is taken, or no place was found.
  bool restore(uint64_t bucket, const Entry& entry);
  // The entry with this tag in the bucket or its partner.
  std::optional<Entry> findAt(uint64_t bucket, uint64_t tag) const;
  bool replaceAt(uint64_t bucket, const Entry& old, const Entry& entry);
  bool eraseAt(uint64_t bucket, const Entry& old);

  // Encodes an exact expiry for publish(); "ask" while the epoch is being advanced.
  uint32_t expiryFor(uint32_t expires_s) const;
  uint32_t reencode(uint32_t expiry, uint32_t from_epoch_s) const;
  uint32_t epoch() const { return epoch_s_.load(std::memory_order_relaxed); }
  // Advances the epoch when half its range is used, a few buckets a call: every entry is first made
  // to say "ask", then, a minute later (no reader holds an entry so long), the epoch changes.
  void advanceEpoch(uint32_t now_s, uint64_t buckets);

  // Visits all entries in steps, with the owner changing the index in between: an entry that is
  // there from beginScan() to the end is seen at least once, even if it moves.
  void beginScan();
  bool scanning() const { return scanning_; }
  // Appends to `out` the entries of up to `buckets` more buckets; false when the scan is over.
  bool scanStep(uint64_t buckets, std::vector<PlacedEntry>& out);

  uint64_t size() const { return size_; }
  uint64_t bucketCount() const { return bucket_count_; }
  uint64_t memoryBytes() const { return bucket_count_ * sizeof(Bucket); }
  uint64_t moves() const { return moves_; }
  uint64_t evictions() const { return evictions_; }

  uint64_t bucketOf(base::Hash128 hash) const {
    return static_cast<uint64_t>((static_cast<unsigned __int128>(hash.lo) * bucket_count_) >> 64);
  }
  // The other bucket of an entry: its own inverse, for any number of buckets.
  uint64_t partner(uint64_t bucket, uint64_t tag) const {
    const uint64_t sum = static_cast<uint64_t>(
        (static_cast<unsigned __int128>(mix64(tag + 0x9e3779b97f4a7c15ULL)) * bucket_count_) >> 64);
    return sum >= bucket ? sum - bucket : sum + bucket_count_ - bucket;
  }

 private:
  static constexpr uint32_t kSlots = 4;
  static constexpr uint32_t kSearchBuckets = 256;

  struct Slot {
    std::atomic<uint64_t> w0;
    std::atomic<uint64_t> w1;
  };
  struct alignas(64) Bucket {
    Slot slots[kSlots];
  };
  static_assert(sizeof(Bucket) == 64);
  static_assert(std::atomic<uint64_t>::is_always_lock_free);

  struct Place {
    uint64_t bucket = 0;
    uint32_t slot = 0;
  };
  enum class Epoch : uint8_t { steady, sweeping, settling };

  IndexShard(Bucket* buckets, uint64_t bucket_count, uint32_t epoch_s,
             const SegmentTable& segments);

  static std::optional<Entry> read(const Slot& slot, uint64_t tag);
  static Entry own(const Slot& slot);
  static void write(Slot& slot, const Entry& entry);
  Slot& at(Place place) { return buckets_[place.bucket].slots[place.slot]; }
  std::optional<Place> freeSlot(uint64_t bucket) const;
  std::optional<Place> placeOf(uint64_t bucket, uint64_t tag) const;
  std::optional<Place> makeRoom(uint64_t first, uint64_t second);
  bool move(Place from, Place to);
  Place oldest(uint64_t first, uint64_t second) const;
  uint64_t age(const Entry& entry) const;
  void clear(Place place);

  Bucket* buckets_;  // mapped anonymous memory, unmapped by the destructor
  uint64_t bucket_count_;
  const SegmentTable* segments_;
  std::atomic<uint32_t> epoch_s_;
  uint64_t size_ = 0;
  uint64_t moves_ = 0;
  uint64_t evictions_ = 0;

  Epoch epoch_phase_ = Epoch::steady;
  uint64_t epoch_cursor_ = 0;
  uint32_t epoch_settled_s_ = 0;

  bool scanning_ = false;
  uint64_t scan_cursor_ = 0;
  std::vector<PlacedEntry> moved_behind_;  // entries that moved to where the scan has been
};

}  // namespace store
