// The configuration as one shard holds it. Requests use the current one and keep it while they run,
// through a plain counter; the shared pointer's own count changes only when a configuration arrives
// or leaves.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <utility>
#include <vector>

#include "source/base/check.h"
#include "source/cache/shard_cache.h"
#include "source/config/model/snapshot.h"

namespace proxy {

struct ConfigRef {
  std::shared_ptr<const config::Snapshot> snapshot;
  std::vector<cache::ShardCache*> caches;  // in the order of the snapshot's
  uint32_t users = 0;
};

class ConfigHolder;

// Keeps a configuration in use.
class ConfigUse {
 public:
  ConfigUse() = default;
  ConfigUse(ConfigHolder& holder, ConfigRef& ref) : holder_(&holder), ref_(&ref) { ref.users++; }
  ConfigUse(ConfigUse&& other) noexcept
      : holder_(other.holder_), ref_(std::exchange(other.ref_, nullptr)) {}
  ConfigUse& operator=(ConfigUse&& other) noexcept {
    if (this != &other) {
      reset();
      holder_ = other.holder_;
      ref_ = std::exchange(other.ref_, nullptr);
    }
    return *this;
  }
  ~ConfigUse() { reset(); }
  void reset();

  explicit operator bool() const { return ref_ != nullptr; }
  const config::Snapshot& operator*() const { return *ref_->snapshot; }
  const config::Snapshot* operator->() const { return ref_->snapshot.get(); }
  const std::shared_ptr<const config::Snapshot>& shared() const { return ref_->snapshot; }
  // By its index in the snapshot; lives as long as the configuration is used.
  cache::ShardCache& cache(uint32_t index) const { return *ref_->caches[index]; }

 private:
  ConfigHolder* holder_ = nullptr;
  ConfigRef* ref_ = nullptr;
};

class ConfigHolder {
 public:
  ~ConfigHolder() {
    for (const ConfigRef& ref : refs_) {
      CHECK(ref.users == 0);
    }
  }

  void set(std::shared_ptr<const config::Snapshot> snapshot,
           std::vector<cache::ShardCache*> caches = {}) {
    refs_.push_back(ConfigRef{std::move(snapshot), std::move(caches), 0});
    sweep();
  }
  bool has() const { return !refs_.empty(); }
  const config::Snapshot& current() const { return *refs_.back().snapshot; }
  ConfigUse use() { return ConfigUse(*this, refs_.back()); }
  // Older configurations that requests still use.
  size_t retained() const { return refs_.size() - 1; }

 private:
  friend class ConfigUse;
  void sweep() {
    for (auto at = refs_.begin(); refs_.size() > 1 && at != std::prev(refs_.end());) {
      at = at->users == 0 ? refs_.erase(at) : std::next(at);
    }
  }
  std::list<ConfigRef> refs_;  // the last is the current one
};

inline void ConfigUse::reset() {
  if (ref_ != nullptr) {
    ConfigRef* ref = std::exchange(ref_, nullptr);
    if (--ref->users == 0) {
      holder_->sweep();
    }
  }
}

}  // namespace proxy
