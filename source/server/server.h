// The process: the control thread with its own reactor, the shards' threads, and the order in which
// everything starts and ends.
//
//   load -> open caches and listeners -> start shards -> apply the configuration -> live
//   SIGHUP, POST /reload, a changed file -> load, compare, apply; or refuse and keep running
//   SIGTERM, SIGINT -> drain -> stop sessions -> stop stores -> join; a second one exits at once
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "source/admin/admin_server.h"
#include "source/admin/control.h"
#include "source/base/random.h"
#include "source/config/load/load.h"
#include "source/net/listener.h"
#include "source/server/dns_resolver.h"
#include "source/server/engines.h"
#include "source/server/options.h"
#include "source/server/shard_thread.h"
#include "source/server/watcher.h"
#include "source/store/io/cache_files.h"
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

  // server.cc, control.cc, caches.cc
  bool loadFirst();
  bool openCaches();
  std::unique_ptr<cache::CacheShared> shareCache(const config::CacheConfig& config,
                                                 const store::CacheFiles& files, uint32_t now_s);
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
  rt::Task<void> shutDown();
  void fail(const std::string& sentence);
  void say(telemetry::LogLevel level, const std::string& text);
  uint16_t shardCount() const { return static_cast<uint16_t>(shards_.size()); }
  template <class Call>
  rt::Task<void> callAll(std::vector<Call>& calls);
  rt::Task<void> callOne(uint16_t shard, rt::CallHeader* call);

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
  const cache::CacheShared* findCache(const std::string& name, uint16_t& index) const;

  Options options_;
  config::Sources sources_;
  config::LoadedConfig config_;
  int64_t config_loaded_unix_s_ = 0;
  std::vector<std::shared_ptr<const config::Snapshot>> retired_;  // destroyed here, when unused
  std::unique_ptr<telemetry::OperatorLog> log_;
  std::vector<uint64_t> log_dropped_;  // a ring, as drain() remembers it
  std::vector<std::unique_ptr<store::CacheFiles>> cache_files_;
  std::vector<std::unique_ptr<cache::CacheShared>> caches_;
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
