#include "source/store/core/index.h"

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <limits>

#include "source/base/check.h"

namespace store {
namespace {

// A reader holds an entry within one turn of its shard; a minute is an age.
constexpr uint32_t kEpochSettle_s = 60;
constexpr uint32_t kEpochHalfRange_s = kExpiryAsk / 2;
constexpr uint32_t kEpochMargin_s = 86400;

uint64_t bucketsFor(uint64_t capacity_objects) {
  return (capacity_objects * 100 + 4 * kIndexLoadPercent - 1) / (4 * kIndexLoadPercent);
}

}  // namespace

uint64_t IndexShard::bytesFor(uint64_t capacity_objects) {
  return bucketsFor(capacity_objects) * sizeof(Bucket);
}

base::Result<std::unique_ptr<IndexShard>> IndexShard::create(const IndexOptions& options,
                                                             const SegmentTable& segments) {
  if (options.capacity_objects == 0 || options.capacity_objects > kMaxIndexObjects) {
    return base::Error{base::Code::config_invalid, base::Blame::self};
  }
  const uint64_t buckets = bucketsFor(options.capacity_objects);
  const uint64_t bytes = buckets * sizeof(Bucket);
  // Pages are zero, that is free, and are taken when first used.
  void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    return base::Error{base::Code::no_capacity, base::Blame::self, base::Retry::never, errno};
  }
  // A lookup is two random cache lines; huge pages spare it two walks of the page table.
  ::madvise(memory, bytes, MADV_HUGEPAGE);
  return std::unique_ptr<IndexShard>(
      new IndexShard(static_cast<Bucket*>(memory), buckets, options.epoch_s, segments));
}

IndexShard::IndexShard(Bucket* buckets, uint64_t bucket_count, uint32_t epoch_s,
                       const SegmentTable& segments)
    : buckets_(buckets), bucket_count_(bucket_count), segments_(&segments), epoch_s_(epoch_s) {}

IndexShard::~IndexShard() {
  ::munmap(buckets_, memoryBytes());
}

// --- any shard
// -----------------------------------------------------------------------------------------

std::optional<Entry> IndexShard::read(const Slot& slot, uint64_t tag) {
  uint64_t w0 = slot.w0.load(std::memory_order_acquire);
  for (;;) {
    if ((w0 & Entry::kKindMask) == 0 || ((w0 ^ Entry::tagBits0(tag)) & Entry::kTagMask0) != 0) {
      return std::nullopt;
    }
    const uint64_t w1 = slot.w1.load(std::memory_order_acquire);
    const uint64_t again = slot.w0.load(std::memory_order_acquire);
    if (again == w0) {
      const Entry entry{w0, w1};
      return entry.matches(tag) ? std::optional<Entry>(entry) : std::nullopt;
    }
    w0 = again;
  }
}

std::optional<Entry> IndexShard::find(base::Hash128 hash) const {
  return findAt(bucketOf(hash), tagOf(hash));
}

std::optional<Entry> IndexShard::findAt(uint64_t bucket, uint64_t tag) const {
  const uint64_t other = partner(bucket, tag);
  __builtin_prefetch(&buckets_[other]);
  for (const uint64_t b : {bucket, other}) {
    for (const Slot& slot : buckets_[b].slots) {
      if (const std::optional<Entry> entry = read(slot, tag)) {
        return entry;
      }
    }
  }
  return std::nullopt;
}

void IndexShard::prefetch(base::Hash128 hash) const {
  const uint64_t bucket = bucketOf(hash);
  __builtin_prefetch(&buckets_[bucket]);
  __builtin_prefetch(&buckets_[partner(bucket, tagOf(hash))]);
}

void IndexShard::touch(base::Hash128 hash) {
  const uint64_t tag = tagOf(hash);
  const std::optional<Place> place = placeOf(bucketOf(hash), tag);
  if (!place) {
    return;
  }
  Slot& slot = at(*place);
  uint64_t w0 = slot.w0.load(std::memory_order_relaxed);
  const bool same =
      (w0 & Entry::kKindMask) != 0 && ((w0 ^ Entry::tagBits0(tag)) & Entry::kTagMask0) == 0;
  if (same && Entry{w0, 0}.frequency() < Entry::kMaxFrequency) {
    // A plain store could undo the owner's; one failed attempt loses one hit. Three successes and a
    // hot entry is never written to again.
    slot.w0.compare_exchange_strong(w0, w0 + Entry::kFrequencyOne, std::memory_order_relaxed);
  }
}

// --- the owner
// -----------------------------------------------------------------------------------------

Entry IndexShard::own(const Slot& slot) {
  return Entry{slot.w0.load(std::memory_order_relaxed), slot.w1.load(std::memory_order_relaxed)};
}

void IndexShard::write(Slot& slot, const Entry& entry) {
  const Entry old = own(slot);
  if (old.w1 != entry.w1 && old.kind() != EntryKind::free) {
    // Between the halves the slot is free: a reader that comes now misses.
    slot.w0.store(0, std::memory_order_release);
  }
  slot.w1.store(entry.w1, std::memory_order_release);
  slot.w0.store(entry.w0, std::memory_order_release);
}

std::optional<IndexShard::Place> IndexShard::freeSlot(uint64_t bucket) const {
  for (uint32_t i = 0; i < kSlots; i++) {
    if (own(buckets_[bucket].slots[i]).kind() == EntryKind::free) {
      return Place{bucket, i};
    }
  }
  return std::nullopt;
}

std::optional<IndexShard::Place> IndexShard::placeOf(uint64_t bucket, uint64_t tag) const {
  for (const uint64_t b : {bucket, partner(bucket, tag)}) {
    for (uint32_t i = 0; i < kSlots; i++) {
      if (own(buckets_[b].slots[i]).matches(tag)) {
        return Place{b, i};
      }
    }
  }
  return std::nullopt;
}

void IndexShard::clear(Place place) {
  at(place).w0.store(0, std::memory_order_release);
  size_--;
}

Published IndexShard::publish(base::Hash128 hash, const Entry& entry) {
  CHECK(entry.matches(tagOf(hash)));
  const uint64_t bucket = bucketOf(hash);
  const uint64_t tag = tagOf(hash);
  if (const std::optional<Place> place = placeOf(bucket, tag)) {
    const Entry previous = own(at(*place));
    write(at(*place), entry);
    return Published{PublishOutcome::replaced, previous};
  }
  const uint64_t other = partner(bucket, tag);
  if (const std::optional<Place> place = makeRoom(bucket, other)) {
    write(at(*place), entry);
    size_++;
    return Published{PublishOutcome::inserted, Entry{}};
  }
  const Place victim = oldest(bucket, other);
  const Entry previous = own(at(victim));
  write(at(victim), entry);
  evictions_++;
  return Published{PublishOutcome::evicted, previous};
}

std::optional<Entry> IndexShard::erase(base::Hash128 hash) {
  const std::optional<Place> place = placeOf(bucketOf(hash), tagOf(hash));
  if (!place) {
    return std::nullopt;
  }
  const Entry entry = own(at(*place));
  clear(*place);
  return entry;
}

bool IndexShard::eraseIf(base::Hash128 hash, const Entry& old) {
  const std::optional<Place> place = placeOf(bucketOf(hash), tagOf(hash));
  if (!place || !sameVersion(own(at(*place)), old)) {
    return false;
  }
  clear(*place);
  return true;
}

bool IndexShard::replaceIf(base::Hash128 hash, const Entry& old, const Entry& entry) {
  return replaceAt(bucketOf(hash), old, entry);
}

bool IndexShard::replaceAt(uint64_t bucket, const Entry& old, const Entry& entry) {
  CHECK(entry.matches(old.tag()));
  const std::optional<Place> place = placeOf(bucket, old.tag());
  if (!place || !sameVersion(own(at(*place)), old)) {
    return false;
  }
  write(at(*place), entry);
  return true;
}

bool IndexShard::eraseAt(uint64_t bucket, const Entry& old) {
  const std::optional<Place> place = placeOf(bucket, old.tag());
  if (!place || !sameVersion(own(at(*place)), old)) {
    return false;
  }
  clear(*place);
  return true;
}

bool IndexShard::setFrequency(base::Hash128 hash, const Entry& of, uint8_t frequency) {
  const std::optional<Place> place = placeOf(bucketOf(hash), tagOf(hash));
  if (!place || !sameVersion(own(at(*place)), of)) {
    return false;
  }
  Slot& slot = at(*place);
  slot.w0.store(own(slot).withFrequency(frequency).w0, std::memory_order_release);
  return true;
}

bool IndexShard::restore(uint64_t bucket, const Entry& entry) {
  CHECK(entry.kind() != EntryKind::free);
  if (bucket >= bucket_count_ || placeOf(bucket, entry.tag())) {
    return false;
  }
  const std::optional<Place> place = makeRoom(bucket, partner(bucket, entry.tag()));
  if (!place) {
    return false;
  }
  write(at(*place), entry);
  size_++;
  return true;
}

bool IndexShard::move(Place from, Place to) {
  const Entry entry = own(at(from));
  if (entry.kind() == EntryKind::free || partner(from.bucket, entry.tag()) != to.bucket) {
    return false;
  }
  write(at(to), entry);
  at(from).w0.store(0, std::memory_order_release);
  moves_++;
  if (scanning_ && from.bucket >= scan_cursor_ && to.bucket < scan_cursor_) {
    moved_behind_.push_back(PlacedEntry{to.bucket, entry});
  }
  return true;
}

// A breadth-first search from the two buckets for one with a free slot, along the entries'
// partners; then the entries on the path move up, the last one first, so that none is ever absent.
std::optional<IndexShard::Place> IndexShard::makeRoom(uint64_t first, uint64_t second) {
  struct Node {
    uint64_t bucket;
    uint16_t parent;  // whose entry in `slot` has its partner here
    uint8_t slot;
  };
  std::array<Node, kSearchBuckets> nodes;
  uint32_t count = 0;
  nodes[count++] = Node{first, 0, 0};
  if (second != first) {
    nodes[count++] = Node{second, 0, 0};
  }
  const uint32_t roots = count;
  for (uint32_t i = 0; i < count; i++) {
    std::optional<Place> free = freeSlot(nodes[i].bucket);
    uint32_t node = i;
    while (free && node >= roots) {
      const Place from{nodes[nodes[node].parent].bucket, nodes[node].slot};
      // A path that crosses itself can break while it is followed; every move made is sound by
      // itself.
      free = move(from, *free) ? std::optional<Place>(from) : std::nullopt;
      node = nodes[node].parent;
    }
    if (free) {
      return free;
    }
    for (uint32_t s = 0; s < kSlots && count < kSearchBuckets; s++) {
      const Entry entry = own(buckets_[nodes[i].bucket].slots[s]);
      if (entry.kind() == EntryKind::free) {
        continue;
      }
      const uint64_t bucket = partner(nodes[i].bucket, entry.tag());
      __builtin_prefetch(&buckets_[bucket]);
      nodes[count++] = Node{bucket, static_cast<uint16_t>(i), static_cast<uint8_t>(s)};
    }
  }
  return std::nullopt;
}

uint64_t IndexShard::age(const Entry& entry) const {
  // Entries without a record are the cheapest to lose, then those whose segment is gone.
  return entry.placed() ? segments_->locate(entry).sequence : 0;
}

IndexShard::Place IndexShard::oldest(uint64_t first, uint64_t second) const {
  Place best{first, 0};
  uint64_t best_age = std::numeric_limits<uint64_t>::max();
  for (const uint64_t b : {first, second}) {
    for (uint32_t i = 0; i < kSlots; i++) {
      const uint64_t a = age(own(buckets_[b].slots[i]));
      if (a < best_age) {
        best = Place{b, i};
        best_age = a;
      }
    }
  }
  return best;
}

// --- the epoch
// -----------------------------------------------------------------------------------------

uint32_t IndexShard::expiryFor(uint32_t expires_s) const {
  return epoch_phase_ == Epoch::steady ? encodeExpiry(expires_s, epoch()) : kExpiryAsk;
}

uint32_t IndexShard::reencode(uint32_t expiry, uint32_t from_epoch_s) const {
  return epoch_phase_ == Epoch::steady ? reencodeExpiry(expiry, from_epoch_s, epoch()) : kExpiryAsk;
}

void IndexShard::advanceEpoch(uint32_t now_s, uint64_t buckets) {
  if (epoch_phase_ == Epoch::steady) {
    if (now_s < epoch() || now_s - epoch() < kEpochHalfRange_s) {
      return;
    }
    epoch_phase_ = Epoch::sweeping;
    epoch_cursor_ = 0;
  }
  if (epoch_phase_ == Epoch::settling) {
    if (now_s >= epoch_settled_s_ && now_s - epoch_settled_s_ >= kEpochSettle_s) {
      epoch_s_.store(now_s - kEpochMargin_s, std::memory_order_release);
      epoch_phase_ = Epoch::steady;
    }
    return;
  }
  const uint64_t end = std::min(bucket_count_, epoch_cursor_ + buckets);
  for (; epoch_cursor_ < end; epoch_cursor_++) {
    for (Slot& slot : buckets_[epoch_cursor_].slots) {
      const Entry entry = own(slot);
      if (entry.kind() != EntryKind::free) {
        slot.w1.store(entry.withExpiry(kExpiryAsk).w1, std::memory_order_release);
      }
    }
  }
  if (epoch_cursor_ == bucket_count_) {
    epoch_phase_ = Epoch::settling;
    epoch_settled_s_ = now_s;
  }
}

// --- the scan
// ------------------------------------------------------------------------------------------

void IndexShard::beginScan() {
  scanning_ = true;
  scan_cursor_ = 0;
  moved_behind_.clear();
}

bool IndexShard::scanStep(uint64_t buckets, std::vector<PlacedEntry>& out) {
  if (!scanning_) {
    return false;
  }
  out.insert(out.end(), moved_behind_.begin(), moved_behind_.end());
  moved_behind_.clear();
  const uint64_t end = std::min(bucket_count_, scan_cursor_ + buckets);
  for (; scan_cursor_ < end; scan_cursor_++) {
    for (const Slot& slot : buckets_[scan_cursor_].slots) {
      const Entry entry = own(slot);
      if (entry.kind() != EntryKind::free) {
        out.push_back(PlacedEntry{scan_cursor_, entry});
      }
    }
  }
  scanning_ = scan_cursor_ < bucket_count_;
  return scanning_;
}

}  // namespace store
