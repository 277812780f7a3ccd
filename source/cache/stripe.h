// One stripe as its owner runs it: the store, the fills in progress, and the decisions that only
// one place may take: who fetches, who waits, what is purged. Requests of all shards arrive as
// calls (calls.h).
//
// Limits: kMaxFills at once; a request beyond them fetches for itself and stores nothing.
// kMaxCoders bodies that are compressed or decompressed at once; those beyond them are stored as
// they come, if the client accepts that, else not.
// kMaxNotDurable invalidations that wait for the journal; beyond them one note stands for all: the
// next start drops what was stored before it.
// kMaxPurges and kMaxLists under way, of which a disk that hangs lets none end: more are refused.
// kRecentPurges by label that running fills are still to be judged by; at one more, all that run
// count as purged.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string_view>
#include <unordered_map>

#include "source/cache/calls.h"
#include "source/cache/fill.h"
#include "source/cache/list_work.h"
#include "source/cache/ram_tier.h"
#include "source/cache/shared.h"
#include "source/cache/stripe_stats.h"
#include "source/coding/coder.h"
#include "source/policy/compression.h"
#include "source/rt/peers.h"
#include "source/rt/task_group.h"
#include "source/store/core/admission.h"

namespace cache {

// What a stripe uses of its shard. All outlive it.
struct StripeServices {
  rt::Reactor* reactor = nullptr;
  rt::Peers* peers = nullptr;
  rt::BufferPool* pool = nullptr;
  store::RecordReader* reader = nullptr;
  store::DiskEvents* disk_events = nullptr;  // null: nobody is told
  Origin* origin = nullptr;
  RamTier* ram = nullptr;
  const uint64_t* max_object_bytes = nullptr;  // a reload may change it
};

class Stripe {
 public:
  static constexpr uint32_t kMaxFills = 4096;
  static constexpr uint32_t kMaxCoders = 64;
  static constexpr size_t kMaxVariants = 1 << 16;
  static constexpr size_t kMaxPurges = 1024;
  static constexpr size_t kMaxLists = 16;
  static constexpr size_t kMaxNotDurable = 65536;
  static constexpr uint32_t kSaveAttempts = 6;  // at the end; half of them key by key
  static constexpr uint64_t kSaveAgain_ns = 50 * base::kMillisecond_ns;
  static constexpr uint64_t kRecoverAgain_ns = base::kSecond_ns;
  static constexpr uint64_t kRecoverAgainMost_ns = 30 * base::kSecond_ns;
  static constexpr uint32_t kRecoverStrictly = 3;
  static constexpr size_t kRecentPurges = 4096;
  static constexpr uint32_t kUseKeys = 1 << 16;  // counted exactly enough; more blur

  Stripe(const StripeServices& services, const CacheShared& shared, base::StripeId id);
  ~Stripe();

  base::StripeId id() const { return id_; }
  // Recovers the store. An error means that nothing can be stored yet: requests are answered all
  // the same, and recovery is tried again (kRecoverAgain_ns, twice as long each time) until it
  // succeeds. After kRecoverStrictly attempts what cannot be read is given up.
  rt::Task<base::Result<store::RecoveryReport>> start(rt::CancelScope& scope);
  // Every fill ends soon, and no other begins: whoever waits for one is told that it failed.
  void endFills();
  // No subscriber is left. Ends the fills, then the store.
  rt::Task<void> stop();
  bool stopped() const { return stopped_; }

  // Calls. Those that must wait are answered by a task of the stripe's.
  void acquire(AcquireCall& call);
  void awaitHead(AwaitHeadCall& call);
  void pull(PullCall& call);
  void leave(LeaveCall& call);
  void awaitFlush(AwaitFlushCall& call);
  void purge(PurgeCall& call);
  void invalidate(InvalidateCall& call);
  void list(ListCall& call);
  void keep(KeepCall& call);
  void resize(ResizeCall& call);

  // For fills.
  const CacheShared& shared() const { return shared_; }
  uint64_t maxObjectBytes() const { return *services_.max_object_bytes; }
  Origin& origin() { return *services_.origin; }
  rt::BufferPool& pool() { return *services_.pool; }
  store::RecordReader& reader() { return *services_.reader; }
  store::StripeLog& log() { return store_.log(); }
  store::IndexShard& index() { return *stripe_shared_.index; }
  const store::SegmentTable& table() const { return *stripe_shared_.table; }
  store::RecordFile recordFile() const { return stripe_shared_.recordFile(); }
  uint32_t salt() const { return stripe_shared_.files.superblock.salt(); }
  uint32_t maxChunkBody() const {
    return store::maxChunkBody(stripe_shared_.files.superblock.segment_bytes);
  }
  base::MonoTime mono() const { return services_.reactor->now(); }
  base::MonoTime patience() const { return mono() + store::kDiskPatience_ns; }
  base::UnixSeconds now() const { return services_.reactor->turn().wall; }
  // Asked once a response: while the disk is out of use, the one who is told yes tries it.
  bool canStore() { return store_.ready() && !stopping_ && store_.log().usable(); }
  uint64_t nextRuleId() { return store::mix64(++rule_ids_ + (mono().ns << 8)) | 1; }
  // A number that nobody can foresee well, for what need not expire together.
  uint32_t draw() { return static_cast<uint32_t>(nextRuleId() >> 32); }
  // How often a key has been asked of this owner of late; counted for routes with min_uses.
  uint32_t uses(base::Hash128 hash) { return uses_ == nullptr ? 1 : uses_->estimate(hash); }
  // Erases what the index has of the key if it is this version.
  void eraseIf(base::Hash128 hash, store::Entry entry);
  // Asks the admission filter; nullopt: the response may be stored, and its bytes are spent.
  std::optional<policy::NoStoreReason> refusedAdmission(base::Hash128 hash, bool known,
                                                        uint64_t bytes);
  void spendWrites(uint64_t bytes);
  void setWriteRate(uint64_t bytes_per_s);
  void publishHitForMiss(base::Hash128 hash, uint32_t ttl_s, policy::NoStoreReason why);
  void keepInMemory(std::span<const std::byte> record, const store::Entry& entry);
  // Remembers which variants a key has, so that a purge can count and erase them (kMaxVariants in
  // all; others become unreachable with their rule, and go when their segment does).
  void noteVariant(base::Hash128 primary, base::Hash128 variant);
  // For the fills that run, whose tags may not be known yet.
  void rememberPurge(store::Label label);
  // Whether one of the labels was purged while the fill with this number ran.
  bool purgedSince(uint64_t fill, std::span<const store::Label> labels) const;
  void countPartial(PartialEvent what);
  void countSlice(SliceEvent what);
  // nullptr at the limit. What is given is given back.
  std::unique_ptr<coding::Coder> takeCoder(const policy::CodingPlan& plan,
                                           std::optional<uint32_t> level);
  void giveCoder() { coders_--; }
  uint64_t& codingFailures() { return stats_.coding_failures; }
  void fillEnded(Fill& fill);
  // Its key is another now than the one with this hash.
  void rekey(Fill& fill, base::Hash128 before);
  void reap(Fill& fill);

  const StripeStats& stats() const { return stats_; }
  // In force, and not on the disk yet.
  uint64_t notDurable() const {
    return not_durable_.size() + (store_.ready() ? 0 : store_.droppedUnsaved());
  }
  store::StripeStore& store() { return store_; }
  size_t purgesRunning() const { return purging_.size(); }
  size_t listsRunning() const { return listing_.size(); }
  uint32_t fillsRunning() const { return tasks_.size(); }

 private:
  struct HashOf {
    size_t operator()(const base::Hash128& h) const { return h.lo; }
  };
  void spawn(rt::Task<void> task);
  rt::Task<void> recoverAgain();
  rt::Task<void> awaitRecovery(uint64_t patience_ns);
  void noteUse(const FillRequest& request, base::Hash128 hash);
  rt::Task<void> runFill(Fill* fill);
  rt::Task<void> serveHead(AwaitHeadCall* call);
  rt::Task<void> servePull(PullCall* call);
  rt::Task<void> serveFlush(AwaitFlushCall* call);
  rt::Task<void> servePurge(PurgeCall* call);
  struct PurgeWork;
  rt::Task<void> runPurge(PurgeWork* work);
  rt::Task<void> serveKeep(KeepCall* call);
  rt::Task<void> serveResize(ResizeCall* call);
  rt::Task<bool> append(const KeepCall& call, const bool& doomed);
  // stripe_purge.cc
  rt::Task<void> purgeKey(PurgeWork* work);
  rt::Task<void> purgeOne(PurgeWork* work, std::string_view key);
  rt::Task<std::optional<VaryRule>> readRule(base::Hash128 hash, std::string_view key);
  void makeDurable(store::PurgeKind kind, bool soft, base::Hash128 hash);
  void tryOn(const base::Result<uint64_t>& purge, store::PurgeKind kind, bool soft,
             base::Hash128 hash);
  rt::Task<void> writeInvalidations();
  rt::Task<void> useRecovered(rt::CancelScope& scope);
  rt::Task<void> saveInvalidations();
  rt::Task<void> serveList(ListCall* call, ListWork* work);
  rt::Task<void> runList(ListWork* work);
  void beginEpoch();
  void purgeFills(const PurgeCall& call);
  void purgeFillsOf(std::string_view primary_key);
  uint64_t eraseVariants(base::Hash128 primary);

  StripeServices services_;
  const CacheShared& shared_;
  base::StripeId id_;
  store::StripeShared& stripe_shared_;
  store::StripeStore store_;
  rt::TaskGroup recovery_;
  bool tried_ = false;  // to recover
  rt::WaitQueue recovery_tried_;
  rt::TaskGroup tasks_;    // fills
  rt::TaskGroup serving_;  // calls that wait
  std::unordered_map<base::Hash128, Fill*, HashOf> by_key_;
  std::map<uint64_t, std::unique_ptr<Fill>> fills_;  // by number
  std::unordered_map<base::Hash128, std::vector<base::Hash128>, HashOf>
      variants_;  // by primary key
  size_t variant_count_ = 0;
  std::deque<store::Erased> not_durable_;  // by invalidations: to be written to the journal
  size_t writing_ = 0;                     // of them, the first ones
  bool writer_runs_ = false;
  std::map<uint64_t, std::unique_ptr<PurgeWork>> purging_;
  uint64_t purge_number_ = 0;
  std::map<uint64_t, std::unique_ptr<ListWork>> listing_;
  uint64_t list_number_ = 0;
  struct RecentPurge {
    store::Label label = 0;
    uint64_t last_fill = 0;  // the newest that had begun
  };
  std::vector<RecentPurge> recent_;               // oldest first
  std::unique_ptr<store::FrequencySketch> uses_;  // made when a route first asks for it
  std::unique_ptr<store::Admission> admission_;   // null: everything is admitted
  StripeStats stats_;
  uint32_t coders_ = 0;
  uint64_t epoch_ = 0;          // purges and invalidations
  std::vector<bool*> keeping_;  // set when one comes while a response is being kept
  uint64_t fill_number_ = 0;
  uint64_t rule_ids_ = 0;
  uint64_t serials_ = 0;
  bool stopping_ = false;
  bool stopped_ = false;
};

}  // namespace cache
