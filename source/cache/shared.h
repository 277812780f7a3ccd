// What all shards share of one cache: its stripes' indexes and files, read by everybody, each
// written by its owner alone. Made by the control thread; outlives the shards' use of it.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "source/base/check.h"
#include "source/base/hash.h"
#include "source/base/types.h"
#include "source/store/core/admission.h"
#include "source/store/core/disk_choice.h"
#include "source/store/io/stripe_store.h"

namespace cache {

// Stripes of a cache, of all its disks.
inline constexpr uint16_t kMaxStripes = 4096;

struct StripeRange {
  uint16_t first = 0;
  uint16_t count = 0;
};

// A directory of a cache that is in use. Its stripes' ids follow each other.
struct CacheDisk {
  std::string path;
  uint16_t number = 0;  // of the device, distinct in the process
  uint16_t first_stripe = 0;
  uint16_t stripe_count = 0;
  store::DiskShare share;
  uint64_t largest_object_bytes = 0;  // that does not push itself out while it is written
  StripeRange stripes() const { return StripeRange{first_stripe, stripe_count}; }
};

// Which stripes keys go to. Never changed; a change of disks makes another table. While disks come
// or go, some shards use them already, or still: what is invalidated must be looked for there too.
class DiskTable {
 public:
  static constexpr size_t kMaxDisks = 2 * store::kMaxDisks;

  // Keys go to `disks`; `others` come or go. kMaxDisks at most.
  explicit DiskTable(std::vector<CacheDisk> disks, const std::vector<CacheDisk>& others = {})
      : all_(std::move(disks)), chosen_(all_.size()) {
    std::vector<store::DiskShare> shares;
    for (const CacheDisk& disk : all_) {
      shares.push_back(disk.share);
    }
    slots_ = store::chooseDisks(shares);
    all_.insert(all_.end(), others.begin(), others.end());
    CHECK(all_.size() <= kMaxDisks);
    for (size_t i = 0; i < all_.size(); i++) {
      parts_[i] = all_[i].stripes();
    }
  }

  // Of a key's home (CacheShared::homeOf).
  base::StripeId stripeOf(base::Hash128 home) const {
    return stripeOn(chosen_ == 1 ? 0 : slots_[store::diskSlotOf(home)], home);
  }
  // Where the key is if it is on a disk, one of count(): it may have been stored there before disks
  // changed.
  base::StripeId stripeOn(size_t disk, base::Hash128 home) const {
    const StripeRange part = parts_[disk];
    return base::StripeId{static_cast<uint16_t>(part.first + store::stripeOf(home, part.count))};
  }
  size_t count() const { return all_.size(); }
  // Those that keys go to; the first ones of all().
  std::span<const CacheDisk> disks() const { return std::span(all_).first(chosen_); }
  std::span<const CacheDisk> all() const { return all_; }

  // Of the disks that keys go to, in order.
  std::vector<base::StripeId> stripeIds() const { return idsOf(disks()); }
  // With those that come or go.
  std::vector<base::StripeId> allStripeIds() const { return idsOf(all()); }

 private:
  static std::vector<base::StripeId> idsOf(std::span<const CacheDisk> disks) {
    std::vector<base::StripeId> ids;
    for (const CacheDisk& disk : disks) {
      for (uint16_t i = 0; i < disk.stripe_count; i++) {
        ids.push_back(base::StripeId{static_cast<uint16_t>(disk.first_stripe + i)});
      }
    }
    return ids;
  }

  std::array<StripeRange, kMaxDisks> parts_{};
  std::vector<uint8_t> slots_;
  std::vector<CacheDisk> all_;
  size_t chosen_;
};

// What a reload may change.
struct CacheLimits {
  uint64_t memory_bytes = 0;  // of all shards together
  uint64_t max_object_bytes = 0;
  uint64_t write_bytes_per_s = 0;  // of all stripes together; 0: no limit
};

struct CacheShared {
  CacheShared() : stripes(kMaxStripes) {}

  std::string name;
  uint64_t hash_seed = 0;
  CacheLimits limits;                 // the control thread's, and what a shard begins with
  store::AdmissionOptions admission;  // of each stripe, at first
  uint16_t shard_count = 1;
  bool sendfile = false;  // chunks go from the page cache to sockets
  std::string disk_io;    // how the disk is reached, for the admin
  // By id; null where there is none. A shard looks only at those of the tables that it was given.
  std::vector<std::unique_ptr<store::StripeShared>> stripes;
  std::unique_ptr<const DiskTable> disks;  // the control thread's, which is the newest

  // Takes a directory's stripes in; sets the disk's ids. False: there is no room for so many.
  bool add(std::vector<std::unique_ptr<store::StripeShared>> added, CacheDisk& disk) {
    uint32_t first = 0;
    for (uint32_t i = 0; i < stripes.size() && i - first < added.size(); i++) {
      first = stripes[i] != nullptr ? i + 1 : first;
    }
    if (first + added.size() > stripes.size()) {
      return false;
    }
    disk.first_stripe = static_cast<uint16_t>(first);
    disk.stripe_count = static_cast<uint16_t>(added.size());
    std::move(added.begin(), added.end(), stripes.begin() + first);
    return true;
  }
  // Nobody uses them any more.
  void remove(const CacheDisk& disk) {
    for (uint32_t i = 0; i < disk.stripe_count; i++) {
      stripes[disk.first_stripe + i].reset();
    }
  }

  base::Hash128 hash(std::string_view key) const { return base::hash128(key, hash_seed); }
  // What chooses disk and stripe of a primary key, and of all its variants. With No-Vary-Search all
  // queries of a path have one home.
  base::Hash128 homeOf(std::string_view key, bool by_path) const {
    return hash(by_path ? key.substr(0, key.find('?')) : key);
  }
  // On the control thread.
  base::StripeId stripeOf(std::string_view key, bool by_path) const {
    return disks->stripeOf(homeOf(key, by_path));
  }
  base::ShardId ownerOf(base::StripeId stripe) const {
    return base::ShardId{static_cast<uint16_t>(base::index(stripe) % shard_count)};
  }
};

}  // namespace cache
