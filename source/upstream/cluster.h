// One cluster on one shard: its endpoints, which may be replaced at any time, their passive health
// (an endpoint that cannot be connected to is passed over for a while), and its connections. A
// request enters with a Ticket, acquires connections, one an attempt, and gives each back.
//
// Limits: max_requests (more are refused), max_connections (more requests wait), max_pending (more
// are refused).
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "source/base/random.h"
#include "source/http/codec.h"
#include "source/net/address.h"
#include "source/rt/task.h"
#include "source/upstream/balancer.h"
#include "source/upstream/cluster_spec.h"
#include "source/upstream/connection_pool.h"
#include "source/upstream/head_buffers.h"
#include "source/upstream/reason.h"
#include "source/upstream/stats.h"

namespace upstream {

// What the clusters of a shard borrow from it.
struct Context {
  rt::Reactor& reactor;
  rt::ReceivePool& receive;
  net::SocketFactory& sockets;
  base::Random& random;
  http::Limits head_limits = {};  // of responses
};

struct ResolvedEndpoint {
  net::Address address;
  uint32_t weight = 1;
  friend bool operator==(const ResolvedEndpoint&, const ResolvedEndpoint&) = default;
};

struct AcquireOptions {
  // Open a new connection even if an unused one is there.
  bool fresh_only = false;
  // Do not take one that has been unused for longer.
  uint64_t max_idle_ns = UINT64_MAX;
  // Endpoints by their id that this request does not want again.
  std::span<const uint64_t> tried;
};

struct Acquired {
  Connection* connection = nullptr;  // null: see failure
  Failure failure;
  uint64_t endpoint_id = 0;  // of the connection or of the connect that failed
  // The request never reached an endpoint's socket, and another endpoint is worth a try.
  bool try_another = false;
};

class Cluster {
 public:
  // spec holds this shard's limits (perShard()).
  Cluster(const Context& context, const ClusterSpec& spec);
  ~Cluster();

  const ClusterSpec& spec() const { return spec_; }
  // The same name. Endpoints that stay keep their connections.
  void update(const ClusterSpec& spec);
  // What the names of a strict_dns cluster resolve to now. Duplicates count once; connections to
  // endpoints that are no longer among them are closed as their exchanges end.
  void setEndpoints(std::span<const ResolvedEndpoint> endpoints);

  // false: at max_requests (counted). Every enterRequest() that was true needs its leaveRequest().
  bool enterRequest();
  void leaveRequest();

  // A leased connection. The caller holds a request and calls giveBack() exactly once.
  rt::Task<Acquired> acquire(AcquireOptions options, rt::CancelScope& scope,
                             base::MonoTime deadline);
  void giveBack(Connection& connection, const Return& how);

  // No new work is expected: unused connections are closed, and others as their exchanges end.
  void retire();
  // A retired cluster is named by the configuration again.
  void revive();
  // After retire(): waits for the last request and the last connection.
  rt::Task<void> join();

  const Context& context() const { return context_; }
  HeadBuffers& headBuffers() { return head_buffers_; }
  ClusterStats& stats() { return stats_; }
  ClusterGauges gauges() const;
  struct EndpointView {
    const Endpoint& endpoint;
    uint32_t weight;
    bool healthy;
  };
  // In the order of the configuration, or of the addresses resolved.
  template <class F>
  void forEachEndpoint(F&& f) const {
    for (const auto& endpoint : endpoints_) {
      const Candidate& candidate = candidates_[endpoint->slot];
      f(EndpointView{*endpoint, candidate.weight,
                     candidate.unhealthy_until <= context_.reactor.now()});
    }
  }

 private:
  void applyLimits();
  void applyFixedEndpoints();
  void sweep();
  std::vector<uint32_t> slotsOf(std::span<const uint64_t> ids) const;
  Endpoint* pickEndpoint(const AcquireOptions& options);
  Endpoint* find(uint64_t id) const;  // null: no longer among them
  bool awaitsFirstResolution() const;
  Connection& lease(Connection& connection);
  rt::Task<Acquired> connect(Endpoint& endpoint, rt::CancelScope& scope, base::MonoTime deadline);
  bool anotherIsLeft(const AcquireOptions& options, uint64_t failed_id) const;
  void connectFailed(Endpoint& endpoint, const base::Error& error);

  Context context_;
  ClusterSpec spec_;
  ClusterStats stats_;
  HeadBuffers head_buffers_;
  std::vector<std::unique_ptr<Endpoint>> endpoints_;  // by slot
  std::vector<Candidate> candidates_;                 // the same
  std::vector<std::unique_ptr<Endpoint>> leaving_;    // removed, but still pinned
  ConnectionPool pool_;
  rt::WaitQueue resolved_;  // requests that came before a name was resolved for the first time
  rt::WaitQueue quiet_;
  uint64_t next_id_ = 1;
  uint32_t rq_active_ = 0;
  uint32_t waiting_for_names_ = 0;
  bool ever_resolved_ = false;
  bool retired_ = false;
};

// Holds a request's place in its cluster.
class Ticket {
 public:
  Ticket() = default;
  explicit Ticket(Cluster& cluster) : cluster_(cluster.enterRequest() ? &cluster : nullptr) {}
  Ticket(Ticket&& other) noexcept : cluster_(std::exchange(other.cluster_, nullptr)) {}
  Ticket& operator=(Ticket&& other) noexcept {
    if (this != &other) {
      reset();
      cluster_ = std::exchange(other.cluster_, nullptr);
    }
    return *this;
  }
  ~Ticket() { reset(); }

  explicit operator bool() const { return cluster_ != nullptr; }
  void reset() {
    if (cluster_ != nullptr) {
      std::exchange(cluster_, nullptr)->leaveRequest();
    }
  }

 private:
  Cluster* cluster_ = nullptr;
};

}  // namespace upstream
