// From names to endpoints: the resolver's port, and the refresher that keeps the endpoints of
// strict_dns clusters up to date. Both live on the control thread; shards are told of changes.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "source/base/random.h"
#include "source/net/address.h"
#include "source/rt/task_group.h"
#include "source/upstream/cluster.h"
#include "source/upstream/cluster_spec.h"

namespace upstream {

class Resolver {
 public:
  virtual ~Resolver() = default;
  // All addresses of a name, at least one, with port 0. An answer without addresses, or none, is an
  // error; it says nothing about earlier answers.
  virtual rt::Task<base::Result<std::vector<net::Address>>> resolve(std::string host,
                                                                    rt::CancelScope& scope,
                                                                    base::MonoTime deadline) = 0;
};

class EndpointSink {
 public:
  virtual ~EndpointSink() = default;
  // The endpoints of a cluster have changed. Called within a turn of the control reactor; it
  // returns at once.
  virtual void onEndpoints(const std::string& cluster,
                           const std::vector<ResolvedEndpoint>& endpoints) = 0;
};

struct DnsStats {
  uint64_t update_attempt = 0;  // rounds over a cluster's names
  uint64_t update_success = 0;  // rounds in which every name was resolved
  uint64_t update_failure = 0;  // others: the names that failed keep their addresses
  uint64_t update_change = 0;   // rounds that changed the endpoints
};

// Resolves every name of every strict_dns cluster again and again, each cluster at its own
// interval, varied by up to a tenth so that clusters and processes do not keep in step. A name that
// fails keeps its last addresses; before its first answer it is tried again each second. Of a name
// with addresses of both families those of IPv4 are taken.
class DnsRefresher {
 public:
  static constexpr uint64_t kAnswer_ns = 30 * base::kSecond_ns;  // for one name
  static constexpr uint64_t kFirst_retry_ns = base::kSecond_ns;

  DnsRefresher(rt::Reactor& reactor, Resolver& resolver, EndpointSink& sink, base::Random& random);
  ~DnsRefresher();

  // The clusters from now on; others than strict_dns are left aside. Those whose names are as
  // before go on; the sink is told anew of what is known of them, if their weights or ports have
  // changed.
  void update(std::span<const ClusterSpec> specs);
  // Waits until each cluster has been through its first round; false at the deadline or when
  // cancelled.
  rt::Task<bool> firstRound(rt::CancelScope& scope, base::MonoTime deadline);
  // Ends all rounds.
  rt::Task<void> shutdown();

  // What is known of a cluster now; null if it is none of ours or was never resolved. For a shard
  // that comes later.
  const std::vector<ResolvedEndpoint>* known(std::string_view cluster) const;
  const DnsStats* stats(std::string_view cluster) const;

 private:
  struct Watch {
    explicit Watch(rt::CancelScope& parent) : scope(parent) {}
    rt::CancelScope scope;
    ClusterSpec spec;
    std::map<std::string, std::vector<net::Address>, std::less<>> addresses;  // by name
    std::vector<ResolvedEndpoint> endpoints;
    DnsStats stats;
    bool went_round = false;
    bool told = false;
    bool running = true;  // its coroutine is there
  };

  void begin(const ClusterSpec& spec);
  rt::Task<void> watch(Watch* watch);
  rt::Task<void> resolveAll(Watch& watch);
  void publish(Watch& watch);
  void sweep();
  uint64_t pause_ns(const Watch& watch);

  rt::Reactor& reactor_;
  Resolver& resolver_;
  EndpointSink& sink_;
  base::Random& random_;
  rt::TaskGroup group_;
  std::map<std::string, std::unique_ptr<Watch>, std::less<>> watches_;
  std::vector<std::unique_ptr<Watch>> ending_;
  rt::WaitQueue round_;
};

// The endpoints of a cluster whose names have these addresses: an IP address stands for itself, a
// name for all its addresses in a fixed order, each with the weight of its name.
std::vector<ResolvedEndpoint> endpointsOf(
    const ClusterSpec& spec,
    const std::map<std::string, std::vector<net::Address>, std::less<>>& addresses);

}  // namespace upstream
