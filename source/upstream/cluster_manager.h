// The clusters of one shard by name. A reload updates those that stay, in place: endpoints that
// stay keep their connections. A cluster that is gone stays findable for requests that began with
// the older configuration until the shard says that none is left; unused, it costs no connection.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "source/rt/task_group.h"
#include "source/upstream/cluster.h"

namespace upstream {

class ClusterManager {
 public:
  // Limits of specs are those of the process, of which each of `shards` gets its share.
  ClusterManager(const Context& context, uint32_t shards);
  ~ClusterManager();

  // All clusters that exist from now on; names are distinct.
  void update(std::span<const ClusterSpec> specs);
  // What a strict_dns cluster's names resolve to; unknown names are ignored, since the clusters may
  // have changed meanwhile.
  void setEndpoints(std::string_view name, std::span<const ResolvedEndpoint> endpoints);
  // Null if there is none of that name. Valid until releaseRetired().
  Cluster* find(std::string_view name);
  // No request refers to an older configuration any more: retired clusters end with their last
  // exchange.
  void releaseRetired();
  // Ends everything; returns when the last connection is closed. Requests have been told to end.
  rt::Task<void> shutdown();

  // In the order of names, without retired ones.
  template <class F>
  void forEach(F&& f) {
    for (auto& [name, entry] : clusters_) {
      if (!entry.retired) {
        f(*entry.cluster);
      }
    }
  }
  size_t retired() const;

 private:
  struct Entry {
    std::unique_ptr<Cluster> cluster;
    bool retired = false;
  };
  rt::Task<void> end(std::unique_ptr<Cluster> cluster);

  Context context_;
  uint32_t shards_;
  std::map<std::string, Entry, std::less<>> clusters_;
  rt::TaskGroup ending_;
};

}  // namespace upstream
