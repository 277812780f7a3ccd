// The process: the control thread with its own reactor, the shards' threads, and the order in which
// everything starts and ends.
//
//   load -> open caches and listeners -> start shards -> apply the configuration -> live
//   SIGHUP, POST /reload, a changed file -> load, compare, apply; or refuse and keep running
//   SIGTERM, SIGINT -> drain -> stop sessions -> stop stores -> join; a second one exits at once
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "source/admin/admin_server.h"
#include "source/admin/control.h"
#include "source/base/random.h"
#include "source/config/load/load.h"
#include "source/net/listener.h"
#include "source/server/disks.h"
#include "source/server/dns_resolver.h"
#include "source/server/engines.h"
#include "source/server/options.h"
#include "source/server/shard_thread.h"
#include "source/server/watcher.h"
#include "source/store/io/disk_set.h"
#include "source/telemetry/sink/operator_log.h"
#include "source/upstream/dns.h"

namespace server {

class Server final : public admin::Control, public upstream::EndpointSink {
 public:
  explicit Server(const Options& options);
  ~Server() override;

  // To the end of the process's life; returns its exit code. Errors of the start are one line each
  // on standard error.
  int run();

  // admin::Control
  admin::ServerInfo info() override;
  const config::Snapshot& snapshot() override { return *config_.snapshot; }
  const std::string& bootstrapJson() override { return config_.bootstrap_json; }
  int64_t configLoadedUnixS() override { return config_loaded_unix_s_; }
  std::vector<admin::ListenerInfo> listeners() override;
  std::vector<admin::DiskInfo> disks() override;
  const std::vector<admin::ReloadReport>& reloads() override { return reloads_; }
  rt::Task<std::vector<shard::ShardStats>> collectStats() override;
  rt::Task<admin::ReloadReport> reload(std::string trigger) override;
  rt::Task<admin::PurgeReport> purge(admin::PurgeRequest request) override;
  rt::Task<admin::ListReport> list(admin::ListRequest request) override;
  rt::Task<admin::LookupReport> lookup(
      std::string cache, std::string url,
      std::vector<std::pair<std::string, std::string>> headers) override;
  telemetry::LogLevel logLevel() override { return log_->level(); }
  void setLogLevel(telemetry::LogLevel level) override { log_->setLevel(level); }
  void failHealthcheck(bool fail) override { health_failed_ = fail; }
  rt::Task<void> drainListeners(bool graceful) override;
  void quit() override;

  // upstream::EndpointSink
  void onEndpoints(const std::string& cluster,
                   const std::vector<upstream::ResolvedEndpoint>& endpoints) override;

 private:
  // A listening address of a listener.
  struct OpenListener {
    std::string name;
    config::SocketAddress asked;
    net::ListenerGroup group;
  };

  // Held by what the admin asks of the stripes, while it runs.
  using AdminCall = std::shared_ptr<const int>;

  // server.cc, control.cc
  bool loadFirst();
  // caches.cc
  bool openCaches();
  bool openCache(const config::CacheConfig& config, uint32_t now_s);
  std::optional<uint16_t> numberOf(const std::string& cache) const;
  static store::CacheLayout layoutOf(const config::CacheConfig& cache,
                                     const config::DiskConfig& disk, uint32_t now_s);
  std::string shareDisk(Directory& directory, uint32_t now_s, cache::CacheShared& shared);
  void shareCache(const config::CacheConfig& config, cache::CacheShared& shared,
                  const std::vector<Directory>& directories);
  static cache::CacheLimits limitsOf(const config::CacheConfig& config,
                                     const cache::DiskTable& disks);
  void noteOpened(const config::CacheConfig& config, Directory& directory,
                  const store::OpenedDisk& opened);
  uint32_t diskReads(uint16_t shards) const;
  void noteAioFiles(const store::CacheFiles& files, config::DiskIo how);
  bool openControl();
  bool startShards();
  bool openAdmin();
  rt::Task<void> serve();
  rt::Task<void> signalLoop();
  rt::Task<void> onSignal(int signal);
  rt::Task<void> watchLoop();
  rt::Task<void> housekeeping();
  rt::Task<void> logLoop();
  void drainLogs();
  // ending.cc
  rt::Task<void> shutDown();
  rt::Task<void> endAll();
  [[noreturn]] void leave(const std::string& why);
  void fail(const std::string& sentence);
  void say(telemetry::LogLevel level, const std::string& text);
  uint16_t shardCount() const { return static_cast<uint16_t>(shards_.size()); }
  template <class Call>
  rt::Task<void> callAll(std::vector<Call>& calls);
  rt::Task<void> callOne(uint16_t shard, rt::CallHeader* call);

  // disks.cc
  rt::Task<std::string> prepareCaches(const config::Snapshot& next,
                                      std::vector<CacheChange>& changes,
                                      admin::ReloadReport& report);
  std::string prepareCache(const config::CacheConfig& next, CacheChange& change,
                           admin::ReloadReport& report);
  std::string openJoining(const config::CacheConfig& next, CacheChange& change,
                          admin::ReloadReport& report);
  std::string lookForLeaving(const std::string& directory) const;
  bool hasFixedFiles(const config::CacheConfig& cache) const;
  rt::Task<void> attach(CacheChange& change);
  std::string commitCache(CacheChange& change);
  rt::Task<void> undoCaches(std::vector<CacheChange>& changes);
  void finishCaches(std::vector<CacheChange>& changes);
  void sweepLeaving();
  rt::Task<void> detach(Leaving* leaving);
  std::vector<Directory*> staying(const CacheChange& change);
  std::vector<cache::CacheDisk> leavingDisks(uint16_t number) const;
  std::vector<shard::CacheUse> cacheUses(const config::Snapshot& snapshot) const;
  // resize.cc
  std::string prepareSizes(const config::CacheConfig& next, CacheChange& change);
  void undoSizes(CacheChange& change);
  void finishSizes(CacheChange& change);
  void sweepSizes();
  Directory* findDisk(uint16_t number);
  rt::Task<void> resize(uint16_t cache, uint16_t disk);
  rt::Task<bool> callStripes(uint16_t cache, cache::StripeRange range, SizeOrder order);

  // reload.cc
  rt::Task<admin::ReloadReport> loadAndApply(std::string trigger);
  std::string openListeners(const config::Snapshot& snapshot, std::vector<OpenListener>& all,
                            std::vector<std::string>& reused);
  std::string openLog(const config::Snapshot& snapshot);
  std::string openAccessLog(const config::Snapshot& snapshot, int& fd);
  rt::Task<void> apply(config::LoadedConfig loaded, std::vector<OpenListener> listeners,
                       int access_log_fd);
  rt::Task<void> reopenLogs();
  void remember(admin::ReloadReport report);
  rt::Task<void> tellEndpoints(std::string cluster,
                               std::vector<upstream::ResolvedEndpoint> endpoints);

  // objects.cc
  rt::Task<bool> listFrom(const admin::ListRequest& request, uint16_t cache,
                          const store::Selector* selector, struct ListCursor& cursor,
                          admin::ListReport& report);
  // purge.cc
  struct FoundCache {
    const cache::CacheShared* shared = nullptr;  // null: there is none of this name
    uint16_t number = 0;                         // on the shards
    uint16_t index = 0;  // in the configuration in force; its end: it is not there
  };
  FoundCache findCache(const std::string& name) const;

  Options options_;
  config::Sources sources_;
  config::LoadedConfig config_;
  int64_t config_loaded_unix_s_ = 0;
  std::vector<std::shared_ptr<const config::Snapshot>> retired_;  // destroyed here, when unused
  std::unique_ptr<telemetry::OperatorLog> log_;
  std::vector<uint64_t> log_dropped_;  // a ring, as drain() remembers it
  // Of each cache by its number, which it keeps; null and empty: there is none, or it leaves.
  std::vector<std::vector<Directory>> directories_;
  std::vector<std::unique_ptr<cache::CacheShared>> caches_;
  std::vector<std::unique_ptr<Leaving>> leaving_;
  AdminCall admin_calls_ = std::make_shared<const int>(0);
  uint16_t next_disk_ = 0;
  rt::WaitQueue resized_;
  net::KernelSockets sockets_;
  std::vector<OpenListener> listeners_;
  int access_log_fd_ = -1;
  std::string access_log_path_;
  std::string log_path_;

  std::vector<int> cpus_;              // that this process may use
  std::vector<int32_t> shard_of_cpu_;  // empty: shards are not pinned
  std::unique_ptr<rt::Mesh> mesh_;
  Engines engines_;
  std::vector<int> aio_files_;  // of caches that are read and written by kernel AIO
  std::unique_ptr<rt::IoEngine> engine_;
  std::vector<std::unique_ptr<ShardThread>> shards_;
  std::unique_ptr<rt::Reactor> reactor_;
  std::unique_ptr<rt::Peers> peers_;
  std::unique_ptr<rt::ReceivePool> receive_;
  std::unique_ptr<rt::Credits> reloading_;
  std::unique_ptr<rt::TaskGroup> tasks_;
  std::unique_ptr<rt::TaskGroup> signals_;  // to the very end: a second signal must be heard
  base::Random random_{1};
  std::unique_ptr<DnsResolver> resolver_;
  std::unique_ptr<upstream::DnsRefresher> refresher_;
  FileWatcher watcher_;
  bool watching_ = false;
  net::ListenerGroup admin_group_;
  std::unique_ptr<admin::AdminServer> admin_;
  int signal_fd_ = -1;
  uint64_t started_ns_ = 0;
  admin::State state_ = admin::State::pre_initializing;
  bool health_failed_ = false;
  bool quitting_ = false;
  uint64_t reload_number_ = 0;
  std::vector<admin::ReloadReport> reloads_;
};

// Makes each call to its shard; returns when all have been answered.
template <class Call>
rt::Task<void> Server::callAll(std::vector<Call>& calls) {
  rt::TaskGroup group(*reactor_, static_cast<uint32_t>(calls.size()));
  for (uint16_t i = 0; i < calls.size(); i++) {
    const bool spawned = group.spawn(callOne(i, &calls[i]));
    CHECK(spawned);
  }
  co_await group.join();
}

}  // namespace server
