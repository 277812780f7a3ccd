#include "source/upstream/cluster_manager.h"

#include <utility>

#include "source/base/check.h"

namespace upstream {

ClusterManager::ClusterManager(const Context& context, uint32_t shards)
    : context_(context), shards_(shards), ending_(context.reactor, UINT32_MAX) {}

ClusterManager::~ClusterManager() {
  CHECK(clusters_.empty());
}

void ClusterManager::update(std::span<const ClusterSpec> specs) {
  std::map<std::string, Entry, std::less<>> next;
  for (const ClusterSpec& spec : specs) {
    const ClusterSpec mine = perShard(spec, shards_);
    Entry entry;
    if (auto node = clusters_.extract(spec.name)) {
      entry = std::move(node.mapped());
      entry.cluster->update(mine);
      if (std::exchange(entry.retired, false)) {
        entry.cluster->revive();
      }
    } else {
      entry.cluster = std::make_unique<Cluster>(context_, mine);
    }
    const bool distinct = next.emplace(spec.name, std::move(entry)).second;
    CHECK(distinct);
  }
  for (auto& [name, entry] : clusters_) {
    if (!entry.retired) {
      entry.retired = true;
      entry.cluster->retire();
    }
    next.emplace(name, std::move(entry));
  }
  clusters_ = std::move(next);
}

void ClusterManager::setEndpoints(std::string_view name,
                                  std::span<const ResolvedEndpoint> endpoints) {
  const auto found = clusters_.find(name);
  if (found != clusters_.end() &&
      found->second.cluster->spec().discovery == Discovery::strict_dns) {
    found->second.cluster->setEndpoints(endpoints);
  }
}

Cluster* ClusterManager::find(std::string_view name) {
  const auto found = clusters_.find(name);
  return found == clusters_.end() ? nullptr : found->second.cluster.get();
}

void ClusterManager::releaseRetired() {
  for (auto it = clusters_.begin(); it != clusters_.end();) {
    if (!it->second.retired) {
      ++it;
      continue;
    }
    const bool spawned = ending_.spawn(end(std::move(it->second.cluster)));
    CHECK(spawned);
    it = clusters_.erase(it);
  }
}

rt::Task<void> ClusterManager::end(std::unique_ptr<Cluster> cluster) {
  co_await cluster->join();
}

rt::Task<void> ClusterManager::shutdown() {
  update({});
  releaseRetired();
  co_await ending_.join();
}

size_t ClusterManager::retired() const {
  size_t count = 0;
  for (const auto& [name, entry] : clusters_) {
    count += entry.retired ? 1 : 0;
  }
  return count;
}

}  // namespace upstream
