// A whole Ringfence process in a simulated world: shards on hosts of their own, a host for the
// control thread, caches on the simulated disk. It starts, applies configurations, purges, stops,
// or is killed; what it leaves on the disk is what the next one finds.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "source/net/socket_factory.h"
#include "source/shard/shard.h"
#include "test/sim/campaign.h"
#include "test/sim/world.h"

namespace sim {

// Sockets of one host.
class SimSockets final : public net::SocketFactory {
 public:
  SimSockets(SimWorld& world, SimHost& host) : world_(world), host_(host) {}
  base::Result<int> stream(const net::Address& to) override;
  void noDelay(int fd) override;
  void abortOnClose(int fd) override { world_.abortOnClose(fd); }
  net::Address local(int fd) override;
  net::Address peer(int fd) override;

 private:
  SimWorld& world_;
  SimHost& host_;
};

// How a cache is cut, the same for every process that uses it.
struct CacheCut {
  uint16_t disks = 1;
  uint32_t stripes = 2;  // of each disk
  uint32_t segment_bytes = 1 << 20;
  uint32_t segments = 16;  // of each stripe
  uint64_t memory_bytes = 4 << 20;
  uint64_t hash_seed = 1;
  bool direct = true;
  bool sendfile = false;  // chunks are sent from the page cache
};

class ProxyNode {
 public:
  struct Spec {
    uint32_t process = 0;
    uint16_t shards = 1;
    uint16_t port = 80;  // of the listener called "http"
    CacheCut cut;
  };
  ProxyNode(SimWorld& world, Judge& judge, const Spec& spec,
            std::shared_ptr<const config::Snapshot> snapshot);
  ~ProxyNode();

  // Each runs the world until it is done, `limit_ns` of virtual time at most, or fails the judge.
  // Where a disk does not answer, stop() leaves as the server does: the process ends.
  void start(uint64_t limit_ns);
  void stop(uint64_t limit_ns);
  // By stop(): invalidations that it said the next process may undo.
  uint64_t invalidationsLost() const { return invalidations_lost_; }
  uint32_t stripesHung() const { return stripes_hung_; }
  // As a process that dies: nothing it does afterwards has an effect. Its coroutines unwind.
  void kill(uint64_t limit_ns);

  // While it runs. `done` is called with whether the purge is durable and in force.
  void purge(std::string key, std::function<void(bool)> done);
  void purgeAll(std::function<void(bool)> done);
  void apply(std::shared_ptr<const config::Snapshot> snapshot);
  // Calls of the control host that have not ended.
  bool busy() const { return control_->tasks.size() > 0; }
  std::vector<shard::ShardStats> collect(uint64_t limit_ns);
  const cache::CacheShared& cache() const { return *caches_[0]; }

 private:
  struct Member {
    Member(SimWorld& world, SimHost& h) : host(h), sockets(world, h) {}
    SimHost& host;
    SimSockets sockets;
    int listener = -1;
    std::unique_ptr<shard::Shard> shard;
    std::unique_ptr<rt::TaskGroup> starting;
  };
  struct Control {
    Control(SimHost& h, rt::Mesh& mesh)
        : host(h), reactor(h.engine()), peers(reactor, mesh, h.spec().shard), tasks(reactor, 1000) {
      host.attach(reactor, &peers);
    }
    ~Control() { host.detach(); }
    SimHost& host;
    rt::Reactor reactor;
    rt::Peers peers;
    rt::TaskGroup tasks;
  };

  void openCache();
  store::StripeFiles openStripe(uint16_t disk, uint32_t stripe);
  void waitForControl(uint64_t limit_ns, std::string_view what);
  void teardown(uint64_t limit_ns);
  rt::Task<void> startShard(Member* member);
  rt::Task<void> callOne(uint16_t shard, rt::CallHeader* call);
  rt::Task<void> applyAll(std::shared_ptr<const config::Snapshot> snapshot);
  rt::Task<void> purgeAt(std::vector<cache::PurgeCall> calls, std::string key,
                         std::function<void(bool)> done);
  rt::Task<void> stopAll();
  rt::Task<void> collectAll(std::vector<shard::ShardStats>* stats);
  template <class Call, class Prepare>
  rt::Task<void> callAll(std::vector<Call>& calls, Prepare prepare);

  SimWorld& world_;
  Judge& judge_;
  Spec spec_;
  std::shared_ptr<const config::Snapshot> snapshot_;
  rt::Mesh mesh_;
  std::vector<std::unique_ptr<Member>> members_;
  std::unique_ptr<Control> control_;
  std::vector<std::unique_ptr<cache::CacheShared>> caches_;
  std::vector<int> files_;
  uint64_t invalidations_lost_ = 0;
  uint32_t stripes_hung_ = 0;
};

}  // namespace sim
