// One core's share of everything: the composition root of the data plane. It owns its reactor, its
// buffers, its connections, its pools of origin connections and its stripes; everything is passed
// by reference, nothing is global. It runs on a thread of its own, or under the simulator.
//
// Order of ending (each step is awaited): acceptors, sessions, then (on all shards) fills and
// stores, origin connections, the access log. Afterwards every group is empty, every budget full,
// and that is CHECKed.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "source/base/random.h"
#include "source/cache/shard_cache.h"
#include "source/net/acceptor.h"
#include "source/proxy/context.h"
#include "source/proxy/origin.h"
#include "source/proxy/session.h"
#include "source/shard/disk_log.h"
#include "source/shard/messages.h"

namespace shard {

struct ShardOptions {
  base::ShardId id{};
  uint16_t shards = 1;  // without the control thread
  uint64_t buffer_pool_bytes = 64 << 20;
  uint32_t receive_buffers = 4096;  // a power of two
  uint32_t max_connections = 16384;
  uint32_t disk_reads = store::kDefaultReads;
  rt::BusyPollOptions busy_poll;
  telemetry::LogRing* log = nullptr;  // operators' log; null: none
  uint64_t seed = 1;                  // of load balancing
};

class Shard {
 public:
  // engine, mesh and caches outlive it. On the shard's own thread.
  Shard(const ShardOptions& options, rt::IoEngine& engine, rt::Mesh& mesh,
        net::SocketFactory& sockets,
        const std::vector<std::unique_ptr<cache::CacheShared>>& caches);
  ~Shard();

  // Begins to recover the stripes. The shard answers the calls of the control thread when that is
  // done, or has taken kStartPatience_ns: from then on it goes on while requests are answered.
  static constexpr uint64_t kStartPatience_ns = base::kSecond_ns;
  // How long stopping waits for disks.
  static constexpr uint64_t kStopPatience_ns = 20 * base::kSecond_ns;
  rt::Task<void> start();

  rt::Reactor& reactor() { return reactor_; }
  rt::Peers& peers() { return peers_; }
  rt::BufferPool& buffers() { return buffers_; }
  rt::TaskGroup& tasks() { return serving_; }
  bool stopped() const { return stopped_; }

 private:
  // One listening socket in use.
  struct Listening final : net::ConnectionHandler {
    Listening(Shard& s, std::string listener, int fd);
    bool accepted(int fd, net::ConnectionSlot slot) override;
    Shard& shard;
    std::string name;
    int fd;
    bool balances = false;  // hands connections over to shards with fewer
    rt::CancelScope scope;
    net::Acceptor acceptor;
    rt::TaskGroup task;
  };
  template <class Call, rt::Task<void> (Shard::*kServe)(Call*)>
  static void serve(void* context, rt::CallHeader& call);
  template <class Call, rt::Task<void> (Shard::*kServe)(Call*)>
  rt::Task<void> serveAndReply(Call* call);

  rt::Task<void> awaitStart();
  rt::Task<void> applyConfig(ApplyConfig* call);
  rt::Task<void> setEndpoints(SetEndpoints* call);
  rt::Task<void> collectStats(CollectStats* call);
  rt::Task<void> drain(Drain* call);
  rt::Task<void> stop(Stop* call);
  rt::Task<void> lookup(LookupObject* call);
  rt::Task<void> attachDisk(AttachDisk* call);
  rt::Task<void> detachDisk(DetachDisk* call);

  cache::StripeServices services();
  void listen(const ListenerSocket& socket);
  rt::Task<void> unlisten(int fd);
  rt::Task<void> runSession(int fd, net::ConnectionSlot slot, std::string listener);
  // balancing.cc
  void applyBalancing(const config::Snapshot& snapshot);
  uint16_t shardFor(const Listening& listening);
  rt::Task<void> handOver(int fd, net::ConnectionSlot slot, std::string listener, uint16_t to);
  static void serveTakeConnection(void* context, rt::CallHeader& call);
  bool takeConnection(const TakeConnection& call);
  Listening* listeningAs(std::string_view listener);
  void drainSessions(std::string_view listener);
  CacheReport reportCache(cache::ShardCache& cache);

  ShardOptions options_;
  rt::Reactor reactor_;
  rt::Mesh& mesh_;
  rt::Peers peers_;
  rt::ReceivePool receive_;
  rt::BufferPool buffers_;
  base::Random random_;
  DiskLog disk_log_;
  store::RecordReader reader_;
  proxy::ConfigHolder config_;
  proxy::ProxyStats stats_;
  proxy::AccessLog access_log_;
  http::DateCache date_;
  net::SocketFactory& sockets_;
  upstream::ClusterManager clusters_;
  std::vector<std::unique_ptr<cache::ShardCache>> caches_;  // by number; null: there is none
  proxy::Context context_;
  proxy::OriginPort origin_;
  proxy::ScratchPool scratch_;
  std::unique_ptr<cache::CallServer> calls_;
  net::ConnectionLimit connections_;
  rt::CancelScope session_scope_;
  rt::TaskGroup sessions_;
  base::IntrusiveList<proxy::Session> open_sessions_;
  std::map<int, std::unique_ptr<Listening>> listening_;
  std::map<std::string, net::AcceptorStats> closed_acceptors_;
  rt::TaskGroup serving_;
  std::vector<uint32_t> handing_over_;  // by shard: connections on their way to it
  std::vector<uint32_t> loads_;         // room for shardFor()
  uint64_t next_connection_ = 0;
  base::MonoTime started_at_{0};
  bool started_ = false;
  rt::WaitQueue start_;
  bool stopped_ = false;
};

}  // namespace shard
