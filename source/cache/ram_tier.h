// One shard's objects in memory: copies of records, found by hash and full key. A copy is good
// while the index still has the entry it was made from, so a purge or a newer version elsewhere is
// seen at once.
//
// A copy costs as much as sending the object, so only what is read from the disk a second time,
// soon enough that memory would have kept it, is copied. What was just fetched is there at once.
//
// Limits: an exact budget of bytes (S3-FIFO decides who stays); objects that are being sent leave
// the tier when evicted but keep their bytes until the last sender lets go.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "source/base/hash.h"
#include "source/base/types.h"
#include "source/cache/object.h"
#include "source/store/core/entry.h"
#include "source/store/core/ghost.h"
#include "source/store/core/record.h"
#include "source/store/core/s3fifo.h"

namespace cache {

// One copy. The record's bytes follow the struct in the same allocation.
struct RamObject : store::RamNode {
  base::Hash128 hash;
  store::Entry entry;       // what the index must still have
  base::StripeId stripe{};  // the index of which stripe
  store::RecordKind kind = store::RecordKind::object;
  std::string_view key;
  std::span<const std::byte> meta;
  std::span<const std::byte> body;
  uint64_t object_id = 0;  // of a large object's head, whose body is the table of its extents
  uint64_t object_length = 0;
  StoredHead head;  // of an object
  RamObject* chain = nullptr;
  uint32_t readers = 0;
  bool listed = false;
};

// Keeps an object alive while it is being sent.
class RamRef {
 public:
  RamRef() = default;
  RamRef(class RamTier& tier, RamObject& object);
  RamRef(RamRef&& other) noexcept;
  RamRef& operator=(RamRef&& other) noexcept;
  ~RamRef() { reset(); }
  void reset();
  explicit operator bool() const { return object_ != nullptr; }
  const RamObject& operator*() const { return *object_; }
  const RamObject* operator->() const { return object_; }

 private:
  RamTier* tier_ = nullptr;
  RamObject* object_ = nullptr;
};

struct RamStats {
  uint64_t hits = 0;
  uint64_t outdated = 0;  // found, but the index had moved on
  uint64_t inserted = 0;
  uint64_t evicted = 0;
};

class RamTier {
 public:
  explicit RamTier(uint64_t budget_bytes);
  ~RamTier();

  // The copy with this key, or nullptr. Whether it is still good is the caller's to ask (entry).
  RamObject* find(base::Hash128 hash, std::string_view key);
  void hit(RamObject& object) {
    stats_.hits++;
    policy_.hit(&object);
  }
  // The copy's entry is no longer the index's.
  void dropOutdated(RamObject& object);
  // Whether an object that was just read from the disk is worth a copy: it was read before, and
  // since then no more bytes than the budget were. Else it is remembered for the next time.
  bool isWorthCopying(base::Hash128 hash, uint64_t bytes);
  // Copies a verified record. nullptr when it is too large, or nothing could make room.
  RamObject* insert(const store::RecordView& record, std::span<const std::byte> bytes,
                    const store::Entry& entry, base::StripeId stripe = base::StripeId{0});
  // More memory or less; what has no room any more goes, and what is being sent when it has been.
  void setBudget(uint64_t bytes);
  // What was copied from these stripes is not found any more.
  void dropStripes(uint16_t first, uint16_t count);
  uint64_t usedBytes() const { return policy_.usedBytes() + policy_.leavingBytes(); }
  uint64_t budgetBytes() const { return policy_.budgetBytes(); }
  uint64_t count() const { return policy_.count(); }
  const RamStats& stats() const { return stats_; }

 private:
  friend class RamRef;
  RamObject*& chainOf(base::Hash128 hash) { return table_[hash.lo & (table_.size() - 1)]; }
  void unchain(RamObject& object);
  void leave(RamObject& object);  // out of table and queue
  void grow();
  void release(RamObject& object);  // the last reader has gone
  bool makeRoom(uint64_t bytes);
  void destroy(RamObject& object);

  store::S3Fifo policy_;
  store::GhostTable read_;  // from the disk lately, and not copied
  std::vector<RamObject*> table_;
  RamStats stats_;
};

}  // namespace cache
