// One cache as one shard sees it: its memory tier, the stripes it owns, and the way to everybody
// else's.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "source/cache/calls.h"
#include "source/cache/ram_tier.h"
#include "source/cache/reader.h"
#include "source/cache/recovery.h"
#include "source/cache/shared.h"
#include "source/cache/stripe.h"
#include "source/rt/peers.h"
#include "source/store/core/verified_set.h"
#include "source/telemetry/histogram.h"

namespace cache {

// The names under which a request's object is looked for. Buffers are reused from request to
// request.
struct Keys {
  std::string primary;
  base::Hash128 primary_hash;
  base::StripeId stripe{};
  // The route heeds No-Vary-Search: set before locate().
  bool by_path = false;
  std::string asked;               // then: the URL's own key
  std::optional<VaryRule> search;  // and what made `primary` of it
  std::string variant;             // with `rule`
  std::optional<VaryRule> rule;

  // What the object is stored under, as far as is known.
  std::string_view key() const { return rule.has_value() ? variant : primary; }
};

enum class Found : uint8_t { absent, hit_for_miss, object };

struct LookupResult {
  Found found = Found::absent;
  std::optional<store::Entry> entry;  // as the index has it
  bool broken = false;                // it could not be read: the owner should drop it
  bool stale_now = false;             // purged softly
};

struct ShardCacheStats {
  uint64_t memory_hits = 0;
  uint64_t disk_hits = 0;
  uint64_t broken_records = 0;
  uint64_t flush_waits = 0;
  telemetry::Histogram call_ns;  // cross-shard calls, from sending to reply
};

class ShardCache {
 public:
  // Chunks remembered as verified, of caches with disk_io: SENDFILE.
  static constexpr uint32_t kVerifiedRecords = 16384;

  // With the stripes that there are, or with none: they are attached.
  enum class Begin : uint8_t { as_shared, empty };
  ShardCache(const StripeServices& services, const CacheShared& shared, uint16_t index,
             Begin begin = Begin::as_shared);
  ~ShardCache();

  // Begins to recover the stripes of this shard.
  void start();
  // Until that is done, as far as it can be at once, or the deadline. Requests need not wait.
  rt::Task<void> awaitRecovery(base::MonoTime deadline);
  void setLimits(const CacheLimits& limits);
  // Of the whole cache, all stripes together. 0: nothing is scrubbed.
  void setScrubRate(uint64_t bytes_per_s);
  void endFills();
  // No reader is left on any shard. All disks at once; none if they have begun to.
  void beginStop();
  // Waits for them. The number of stripes that have not stopped by then, since their disk does not
  // answer: the kernel has memory of theirs, and this cannot be destroyed.
  rt::Task<uint32_t> stop(base::MonoTime deadline);
  // That the next start may undo; of stripes that have not stopped, those that are not durable.
  uint64_t invalidationsLost() const;

  // While it runs: a disk's stripes come, and are recovered, or go when nobody uses them any more.
  void attach(const CacheDisk& disk);
  rt::Task<void> detach(StripeRange range);
  // Where keys go from now on. `disks` lives until another table has been given.
  void use(const DiskTable& disks) { disks_ = &disks; }

  // Sets hash and stripe for keys.primary, which is the URL's own key. Requests keep the stripe
  // that they began with.
  void locate(Keys& keys) const;
  // From memory alone: true if `reader` now has the object (and result its entry).
  bool lookupMemory(Keys& keys, const http::Fields& request, Reader& reader, LookupResult& result);
  // From memory or disk. An object that is found is in `reader`, whatever its age.
  rt::Task<LookupResult> lookup(Keys& keys, const http::Fields& request, Reader& reader,
                                rt::CancelScope& scope, base::MonoTime deadline);

  // A block of a sliced object: keys.primary is its key.
  rt::Task<LookupResult> lookupBlock(Keys& keys, Reader& reader, rt::CancelScope& scope);
  bool isIndexed(const Keys& keys) const;

  struct Acquired {
    AcquireHow how = AcquireHow::busy;
    bool collapsed = false;
  };
  // Joins or starts a fill; on `joined`, await its head and then read from `reader`.
  rt::Task<Acquired> acquire(const Keys& keys, const FillRequest& request, const LookupResult& seen,
                             Reader& reader);
  rt::Task<AcquireHow> refresh(const Keys& keys, const FillRequest& request,
                               const LookupResult& seen);
  rt::Task<AwaitHeadCall> awaitHead(Reader& reader, const http::Fields& request,
                                    base::MonoTime deadline);
  // What is stored under the primary key is not to be used any more (RFC 9111 4.4), on whichever
  // disk it lies.
  struct Invalidated {
    bool found = false;
    uint64_t epoch = 0;  // of the stripe, for keep()
  };
  rt::Task<Invalidated> invalidate(Keys& keys);
  // Everything with the label, in all stripes: in force and durable when it returns.
  struct Purged {
    uint64_t objects = 0;
    uint32_t not_durable = 0;  // stripes that could not write it down: in force until a crash
  };
  rt::Task<Purged> purge(store::Selector selector);
  // Sets the call's cache and stripe, and makes it.
  rt::Task<void> keep(const Keys& keys, KeepCall& call);
  // The owner drops this entry, if it is still the key's: a note that the key is not stored when a
  // response that can be has come, or an object whose record is damaged.
  rt::Task<void> forget(const Keys& keys, store::Entry entry);

  // For readers.
  // False when what is in the owner's buffers cannot be written.
  rt::Task<bool> awaitFlush(base::StripeId stripe);
  rt::Task<void> call(base::StripeId stripe, rt::CallHeader& call);
  base::MonoTime patience() const { return services_.reactor->now() + store::kDiskPatience_ns; }
  store::RecordReader& reader() { return *services_.reader; }
  base::MonoTime now() const { return services_.reactor->now(); }
  store::StripeShared& stripeShared(base::StripeId stripe) const {
    return *shared_.stripes[base::index(stripe)];
  }
  // For caches with disk_io: SENDFILE; null: the chunk there is to be read, and verified.
  const store::VerifiedRecord* findVerified(base::StripeId stripe, store::Location at) const;
  void noteVerified(base::StripeId stripe, const store::RecordRef& chunk, store::Location at);

  const CacheShared& shared() const { return shared_; }
  // Where keys go, as this shard was told.
  const DiskTable& disks() const { return *disks_; }
  RamTier& ram() { return ram_; }
  Stripe* owned(base::StripeId stripe) { return stripes_[base::index(stripe)].get(); }
  const std::vector<std::unique_ptr<Stripe>>& stripes() const { return stripes_; }
  const ShardCacheStats& stats() const { return stats_; }

 private:
  RamObject* findInMemory(base::StripeId stripe, base::Hash128 hash, std::string_view key,
                          std::optional<store::Entry>& entry);
  void recover(const CacheDisk& disk);
  void registerFiles(uint16_t stripe);
  void releaseFiles(uint16_t stripe);
  struct DiskRecovery {
    StripeRange range;
    uint16_t disk = 0;
    std::unique_ptr<Recovery> recovery;
  };
  rt::Task<void> stopDisk(const DiskRecovery* disk);
  rt::Task<void> stopStripe(Stripe* stripe);
  void shareWrites(uint64_t bytes_per_s);
  void useRule(Keys& keys, VaryRule rule, const http::Fields& request);
  bool takeRule(Keys& keys, std::span<const std::byte> meta, const http::Fields& request);
  void found(const Keys& keys, Reader& reader, LookupResult& result, bool usable);
  rt::Task<void> purgeStripe(PurgeCall* call);
  rt::Task<Invalidated> invalidateKey(base::StripeId stripe, std::string_view key);
  rt::Task<LookupResult> lookupKey(Keys& keys, const http::Fields& request, Reader& reader,
                                   rt::CancelScope& scope, base::MonoTime deadline);
  bool lookupKeyInMemory(Keys& keys, const http::Fields& request, Reader& reader,
                         LookupResult& result);
  // search_lookup.cc
  void useSearch(Keys& keys, std::optional<VaryRule> rule) const;
  enum class SearchRule : uint8_t { known, not_in_memory, unreadable };
  SearchRule searchInMemory(Keys& keys);
  rt::Task<void> dropBroken(base::StripeId stripe, base::Hash128 hash, store::Entry entry,
                            base::Error error);
  rt::Task<SearchRule> findSearch(Keys& keys, rt::CancelScope& scope, base::MonoTime deadline);
  rt::Task<bool> lookupDisk(Keys& keys, const http::Fields& request, Reader& reader,
                            LookupResult& result, rt::CancelScope& scope, base::MonoTime deadline);

  StripeServices services_;
  const CacheShared& shared_;
  uint16_t index_;
  const DiskTable* disks_;
  uint64_t max_object_bytes_;
  RamTier ram_;
  std::vector<uint16_t> registered_;              // stripes whose files the engine knows
  std::vector<std::unique_ptr<Stripe>> stripes_;  // by stripe id; null: another shard's
  std::optional<store::VerifiedSet> verified_;
  std::vector<DiskRecovery> recoveries_;
  std::unique_ptr<rt::TaskGroup> stopping_;
  rt::WaitQueue stripe_stopped_;
  ShardCacheStats stats_;
};

// Answers the calls of the cache on one shard.
class CallServer {
 public:
  CallServer(rt::Peers& peers, std::vector<std::unique_ptr<ShardCache>>& caches);

 private:
  template <class Call, void (Stripe::*kHandle)(Call&)>
  static void serve(void* context, rt::CallHeader& header);
  Stripe* stripeOf(uint16_t cache, uint16_t stripe);

  rt::Peers& peers_;
  std::vector<std::unique_ptr<ShardCache>>& caches_;  // null: there is none of this number
};

}  // namespace cache
