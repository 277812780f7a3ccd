// The configuration of a simulated proxy: one listener, one cluster of origins, one cache.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "source/config/model/snapshot.h"
#include "test/sim/campaign.h"

namespace sim {

struct ProxyConfig {
  std::optional<uint32_t> number;  // which one it is; responses say it in X-Config
  uint32_t endpoints = 1;          // from Origin::kPort on
  uint64_t timeout_s = 10;         // of the route
  bool slices = false;             // the route fetches large objects in blocks
};

// What does not load is a failure that the judge hears of.
std::shared_ptr<const config::Snapshot> loadProxyConfig(Judge& judge, const ProxyConfig& config);

}  // namespace sim
