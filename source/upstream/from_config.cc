#include "source/upstream/from_config.h"

#include <algorithm>

namespace upstream {
namespace {

uint32_t narrow(uint64_t value) {
  return static_cast<uint32_t>(std::min<uint64_t>(value, UINT32_MAX));
}

}  // namespace

ClusterSpec fromConfig(const config::ClusterConfig& config) {
  ClusterSpec spec;
  spec.name = config.name;
  spec.discovery =
      config.discovery == config::Discovery::strict_dns ? Discovery::strict_dns : Discovery::fixed;
  spec.lb_policy = config.balancing == config::Balancing::least_request ? LbPolicy::least_request
                                                                        : LbPolicy::round_robin;
  for (const config::EndpointConfig& endpoint : config.endpoints) {
    spec.endpoints.push_back({endpoint.address.host, endpoint.address.port, endpoint.weight});
  }
  spec.connect_timeout_ms = narrow(config.connect_timeout_ms);
  spec.idle_timeout_ms = narrow(config.idle_timeout_ms);
  spec.max_connections = config.max_connections;
  spec.max_pending = config.max_pending_requests;
  spec.max_requests = config.max_requests;
  spec.max_requests_per_connection = config.max_requests_per_connection;
  spec.dns_refresh_ms = narrow(config.dns_refresh_ms);
  return spec;
}

std::vector<ClusterSpec> fromConfig(const std::vector<config::ClusterConfig>& configs) {
  std::vector<ClusterSpec> specs;
  specs.reserve(configs.size());
  for (const config::ClusterConfig& config : configs) {
    specs.push_back(fromConfig(config));
  }
  return specs;
}

}  // namespace upstream
