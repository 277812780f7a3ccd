// A cache on one or more simulated shards with a scripted origin, and clients that ask as a session
// does: look up, join or start a fill, read. Every body is a function of its version, so each byte
// that a client gets is checked.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "source/cache/labels.h"
#include "source/cache/shard_cache.h"
#include "source/rt/buffer_pool.h"
#include "test/sim/world.h"

namespace cache {

std::byte byteAt(uint64_t version, uint64_t offset);

// What the origin does with one fetch.
struct Answer {
  std::string head = "HTTP/1.1 200 OK\r\nCache-Control: max-age=1000\r\n";  // without the end
  uint64_t version = 1;
  uint64_t first = 0;  // of the version's bytes
  uint64_t bytes = 1000;
  bool says_length = true;
  bool refuses = false;
  uint64_t fails_after = UINT64_MAX;  // of the body
  uint64_t head_delay_ns = base::kMillisecond_ns;
  uint64_t piece_delay_ns = 0;
  uint64_t piece_bytes = 64 << 10;
};

class ScriptedOrigin final : public Origin {
 public:
  using Script = std::function<Answer(const FetchPlan& plan, uint64_t number)>;

  explicit ScriptedOrigin(rt::Reactor& reactor) : reactor_(reactor) {}
  void setScript(Script script) { script_ = std::move(script); }
  rt::Task<FetchOutcome> fetch(const FetchPlan& plan, rt::CancelScope& scope) override;

  uint64_t fetches = 0;
  uint64_t running = 0;  // streams that are open
  uint64_t bytes = 0;    // of bodies that were read

 private:
  class Stream;
  rt::Reactor& reactor_;
  Script script_ = [](const FetchPlan&, uint64_t) { return Answer(); };
};

// How a client asks and reads, and what came of it.
struct Get {
  std::string path = "/";
  std::string fields;           // more of the request's head, each with its line end
  uint64_t reads_after_ns = 0;  // once it has the head
  uint64_t piece_delay_ns = 0;  // between two pieces that it takes
  uint64_t leaves_after = UINT64_MAX;
  uint64_t leaves_at_head = false;  // before the head is there
  std::optional<uint64_t> range_first;
  uint64_t range_last = 0;
  uint64_t head_deadline_ns = UINT64_MAX;
};
enum class Came : uint8_t {
  nothing,    // it has not ended
  hit,        // from the cache
  filled,     // from a fill, to the clean end
  cut,        // from a fill or the cache, and cut off
  left,       // as it was told
  released,   // told to fetch alone
  alone,      // a note says that it is not stored, or the limit is reached
  failed,     // no response
  timed_out,  // waited too long for a head
};
struct Got {
  Came came = Came::nothing;
  bool collapsed = false;
  bool stored = false;  // as the fill said
  uint64_t version = 0;
  uint64_t bytes = 0;
  uint64_t extents = 0;  // pieces that were read from the disk during a fill
  uint64_t looks = 0;    // lookups it took
  std::string head;
  std::string coded;  // the body, where its head names a coding: it is not checked then

  // The next bytes of the body, of which `at` have been before.
  void take(std::span<const std::byte> piece, uint64_t& at) {
    const bool checked = head.find("\r\nContent-Encoding: ") == std::string::npos;
    for (const std::byte byte : piece) {
      CHECK(!checked || byte == byteAt(version, at));
      at++;
    }
    if (!checked) {
      coded.append(reinterpret_cast<const char*>(piece.data()), piece.size());
    }
    bytes += piece.size();
  }
};

class CacheWorld {
 public:
  struct Cut {
    uint16_t shards = 1;
    uint16_t disks = 1;
    uint32_t stripes = 2;  // of each disk
    uint32_t segments = 12;
    uint32_t segment_bytes = 4 << 20;
    uint64_t memory_bytes = 2 << 20;
    uint64_t pool_bytes = 32 << 20;
    uint64_t max_object_bytes = 16 << 20;
    bool no_vary_search = false;                     // the route heeds it
    std::optional<policy::Compression> compression;  // the route's, and its accept_encodings
    std::vector<std::string> accept_encodings;
    uint64_t slice_bytes = 0;  // the route's
  };
  explicit CacheWorld(uint64_t seed) : CacheWorld(seed, Cut(), sim::Options()) {}
  CacheWorld(uint64_t seed, const Cut& cut, const sim::Options& options);
  ~CacheWorld();

  // On a shard; several at once. finish() runs until all have ended.
  void start(uint16_t shard, const Get& get, Got* got);
  void finish();
  Got get(const Get& get, uint16_t shard = 0);
  bool purge(const std::string& path, bool soft = false);
  void startPurge(const std::string& path, bool soft, bool* done);
  // As the call ends.
  struct PurgeOutcome {
    bool ended = false;
    base::Code code = base::Code::ok;
    bool in_force = true;
    uint64_t took_ns = 0;
  };
  // Of the first stripe, from its beginning.
  struct ListOutcome {
    bool ended = false;
    base::Code code = base::Code::ok;
    size_t objects = 0;
  };
  void startList(ListOutcome* outcome);
  enum class What : uint8_t { key, tag, everything };
  // `name`: a path, or a tag; of everything, a path in the stripe that is meant.
  void startPurgeOf(What what, const std::string& name, PurgeOutcome* outcome);
  bool purgeAll();
  // In every stripe; the number of objects, or nothing if one failed.
  std::optional<uint64_t> purgeSelected(const store::Selector& selector, bool soft = false);
  std::optional<uint64_t> purgeTag(const std::string& tag, bool soft = false) {
    return purgeSelected(selectTag(tag, shared_->hash_seed), soft);
  }
  // From a shard, in all stripes, as an unsafe request does it.
  uint64_t purgeGroup(const std::string& group, uint16_t shard = 0);
  std::optional<uint64_t> purgePrefix(const std::string& path, bool soft = false) {
    return purgeSelected(selectPrefix(keyOf(path), shared_->hash_seed), soft);
  }
  void forgetMemory();  // what is in memory is read from the disk again
  // Keys go to these disks from now on; the others may still have some.
  void use(const std::vector<size_t>& disks);
  // A disk that no key goes to ends on every shard, or comes back with what is on it.
  void detach(size_t disk);
  void attach(size_t disk);
  // As after an unsafe request; whether it was found.
  bool invalidate(const std::string& path, uint16_t shard = 0);
  // As often, with `stored` to be found each time.
  void invalidateOften(const std::string& path, store::Entry stored, size_t count);
  void runFor(uint64_t ns) { world.runFor(ns); }
  bool run(const std::function<bool()>& done, uint64_t ns = 100 * base::kSecond_ns) {
    return world.run(done, world.now() + ns) == sim::Ran::done;
  }

  // Stops everything and checks that nothing is left: the destructors of groups and budgets do.
  void stop();
  void startStop(bool* ended = nullptr);
  uint64_t stop_patience_ns = 1000 * base::kSecond_ns;
  uint32_t stripes_hung = 0;  // when it was over

  ScriptedOrigin& origin(uint16_t shard = 0) { return *shards_[shard]->origin; }
  uint64_t fetches() const;
  void setScript(const ScriptedOrigin::Script& script);
  ShardCache& cache(uint16_t shard = 0) { return *shards_[shard]->caches[0]; }
  rt::BufferPool& pool(uint16_t shard = 0) { return shards_[shard]->pool; }
  uint64_t inFlight() const;
  uint64_t inKernel() const;  // operations
  std::string keyOf(const std::string& path) const { return "http://h" + path; }
  Stripe& stripeOf(const std::string& path);
  std::optional<store::Entry> entry(const std::string& path);

  sim::SimWorld world;

 private:
  struct Shard {
    Shard(sim::SimHost& h, rt::Mesh& mesh, base::ShardId id, uint64_t pool_bytes)
        : host(h),
          reactor(h.engine()),
          peers(reactor, mesh, id),
          tasks(reactor, 100'000),
          pool(pool_bytes),
          reader(reactor, pool),
          origin(std::make_unique<ScriptedOrigin>(reactor)),
          server(peers, caches) {
      pool.setRegistered(host.engine().registerRegion(pool.region()));
      host.attach(reactor, &peers);
    }
    ~Shard() { host.detach(); }

    sim::SimHost& host;
    rt::Reactor reactor;
    rt::Peers peers;
    rt::TaskGroup tasks;
    rt::BufferPool pool;
    store::RecordReader reader;
    std::unique_ptr<ScriptedOrigin> origin;
    std::vector<std::unique_ptr<ShardCache>> caches;
    CallServer server;
  };
  store::StripeFiles openFiles(uint16_t disk, uint32_t stripe);
  rt::Task<void> starting(Shard* shard);
  rt::Task<void> stopping(Shard* shard, bool* ended);
  rt::Task<void> detaching(Shard* shard, StripeRange range);
  rt::Task<void> invalidating(Shard* shard, std::string path, bool* found);
  rt::Task<void> invalidatingOften(Shard* shard, std::string path, store::Entry stored,
                                   size_t count);
  rt::Task<void> getting(Shard* shard, Get get, Got* got);
  rt::Task<void> reading(Shard* shard, const Get& get, const FillRequest& request, Reader& reader,
                         Came whole, Got* got);
  rt::Task<bool> filling(Shard* shard, const Get& get, const Keys& keys, FillRequest& request,
                         const LookupResult& seen, Got* got);
  rt::Task<void> purgingOf(Shard* shard, What what, std::string name, PurgeOutcome* outcome);
  rt::Task<void> listing(Shard* shard, ListOutcome* outcome);
  rt::Task<void> purging(Shard* shard, std::string path, bool soft, bool* done);
  rt::Task<void> purgingAll(Shard* shard, uint16_t stripe, bool* done);
  rt::Task<void> purgingGroup(Shard* shard, store::Selector selector, uint64_t* purged, bool* done);
  static rt::Task<void> counted(rt::Task<void> task, uint16_t* ended);
  rt::Task<void> purgingSelected(Shard* shard, uint16_t stripe, const store::Selector* selector,
                                 bool soft, std::optional<uint64_t>* purged);

  Cut cut_;
  rt::Mesh mesh_;
  std::shared_ptr<const config::Snapshot> snapshot_;
  config::VirtualHost host_;
  std::unique_ptr<CacheShared> shared_;
  std::vector<CacheDisk> disks_;
  std::vector<std::unique_ptr<Shard>> shards_;
  std::vector<int> files_;
  bool stopped_ = false;
};

}  // namespace cache
