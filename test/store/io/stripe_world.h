// A stripe on the simulated disk, through any number of lives of its process, and a model of what
// it may hold. A record's body is a function of its key and version, so that whatever is read says
// by itself whether it is right.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "source/rt/buffer_pool.h"
#include "source/store/io/stripe_store.h"
#include "test/sim/world.h"

namespace store {

std::vector<std::byte> bodyOf(const std::string& key, uint64_t version, uint32_t bytes);

// The disk and the world around it: what outlives a process.
struct StripeWorld {
  struct Cut {
    uint32_t segments = 8;
    uint32_t most_segments = 0;  // that the disk has room for; 0: no more
    uint32_t segment_bytes = kMinSegmentBytes;
    uint64_t index_objects = 4096;
    uint64_t pool_bytes = 8 << 20;
    uint32_t reads = kDefaultReads;
    std::optional<uint64_t> filter_bytes;
  };
  explicit StripeWorld(uint64_t seed, const sim::Options& options = sim::Options())
      : StripeWorld(seed, options, Cut()) {}
  StripeWorld(uint64_t seed, const sim::Options& options, const Cut& c)
      : world(seed, options), cut(c) {}

  sim::SimWorld world;
  Cut cut;
  uint32_t next_process = 1;
};

// What a test asks of an append.
struct Piece {
  std::string key;
  uint64_t version = 1;
  uint32_t bytes = 1000;
  uint32_t expires_s = UINT32_MAX;
  std::optional<Entry> replaces = std::nullopt;
  const bool* doomed = nullptr;
  std::vector<Label> labels = {};
};

struct AppendOutcome {
  bool ended = false;
  base::Code code = base::Code::ok;
  std::optional<Appended> appended;
};

// What was found under a key; nothing: absent, or not readable.
struct FoundRecord {
  uint64_t version = 0;
  bool stale = false;
};

// One life of the process that owns the stripe. Calls run the world until they have ended, unless
// their name begins with "start".
class Life {
 public:
  explicit Life(StripeWorld& world);
  ~Life();
  Life(const Life&) = delete;
  Life& operator=(const Life&) = delete;

  base::Result<RecoveryReport> recover(Unreadable unreadable = Unreadable::fails);
  void stop();
  // The process dies, and with `power` so does the disk's cache.
  void die(bool power);

  AppendOutcome append(const Piece& piece);
  // Writes everything out.
  void flush();
  base::Result<uint64_t> purge(const std::string& key, bool soft = false);
  base::Result<uint64_t> purgeAll();
  void purgeDropped();
  base::Status saveDropped(IfNotByKey otherwise);
  // Until the log has so many segments and no other; false: that is not so.
  bool resize(uint32_t segments);
  base::Result<uint64_t> purgeSelected(const Selector& selector, bool soft = false);
  base::Result<ListPage> list(const ListQuery& query);
  // Verifies what it finds: a record that is intact but not what it claims to be ends the program.
  // What lies in the write buffer is written first.
  std::optional<FoundRecord> read(const std::string& key);

  void startResize(uint32_t segments, bool* done) { host_.spawn(resizing(segments, done)); }
  void startAppend(const Piece& piece, AppendOutcome* outcome);
  void startPurge(const std::string& key, bool soft, std::optional<base::Status>* outcome);
  void startPurgeAll(std::optional<base::Status>* outcome);
  void startPurgeSelected(const Selector& selector, bool soft,
                          std::optional<base::Result<uint64_t>>* outcome);
  void startRead(const std::string& key, std::optional<FoundRecord>* found);
  // Runs until everything that was started has ended.
  void finish();
  void runFor(uint64_t ns) { world_.world.runFor(ns); }

  base::Hash128 hash(const std::string& key) const { return base::hash128(key, 7); }
  std::optional<Entry> entry(const std::string& key) const {
    return shared_->index->find(hash(key));
  }
  sim::SimHost& host() { return host_; }
  StripeStore& store() { return *store_; }
  StripeShared& shared() { return *shared_; }
  RecordReader& reader() { return *reader_; }
  rt::BufferPool& pool() { return pool_; }
  const WriteStats& written() { return store_->log().stats(); }

 private:
  StripeFiles openFiles();
  rt::Task<void> recovering(Unreadable unreadable,
                            std::optional<base::Result<RecoveryReport>>* report);
  rt::Task<void> stopping();
  rt::Task<void> appending(Piece piece, AppendOutcome* outcome);
  rt::Task<void> flushing();
  rt::Task<void> purging(std::string key, bool soft,
                         std::optional<base::Result<uint64_t>>* outcome);
  rt::Task<void> purgingStatus(std::string key, bool soft, std::optional<base::Status>* outcome);
  rt::Task<void> purgingAll(std::optional<base::Result<uint64_t>>* outcome);
  rt::Task<void> purgingDropped();
  rt::Task<void> savingDropped(IfNotByKey otherwise, base::Status* status);
  rt::Task<void> resizing(uint32_t segments, bool* done);
  rt::Task<void> purgingAllStatus(std::optional<base::Status>* outcome);
  rt::Task<void> purgingSelected(Selector selector, bool soft,
                                 std::optional<base::Result<uint64_t>>* outcome);
  rt::Task<void> listing(ListQuery query, std::optional<base::Result<ListPage>>* outcome);
  rt::Task<void> reading(std::string key, std::optional<FoundRecord>* found);

  StripeWorld& world_;
  uint32_t process_;
  sim::SimHost& host_;
  rt::BufferPool pool_;
  std::vector<int> files_;
  std::unique_ptr<StripeShared> shared_;
  std::unique_ptr<RecordReader> reader_;
  std::unique_ptr<StripeStore> store_;
  bool over_ = false;
};

}  // namespace store
