// What the configuration says about one cluster, as plain values. The limits are those of the whole
// process; perShard() gives what one shard may use.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace upstream {

enum class LbPolicy : uint8_t { round_robin, least_request };
enum class Discovery : uint8_t { fixed, strict_dns };

struct EndpointSpec {
  std::string host;  // an IP address without brackets, or (strict_dns) a name
  uint16_t port = 0;
  uint32_t weight = 1;  // 1 to 65535
  friend bool operator==(const EndpointSpec&, const EndpointSpec&) = default;
};

struct ClusterSpec {
  std::string name;
  Discovery discovery = Discovery::fixed;
  LbPolicy lb_policy = LbPolicy::round_robin;
  std::vector<EndpointSpec> endpoints;

  uint32_t connect_timeout_ms = 5000;
  uint32_t idle_timeout_ms = 60000;  // of an unused connection; 0: until the origin closes it
  uint32_t max_connections = 1024;
  uint32_t max_pending = 1024;               // requests that wait for a connection
  uint32_t max_requests = 1024;              // requests in flight, those that wait included
  uint32_t max_requests_per_connection = 0;  // 0: no limit
  uint32_t dns_refresh_ms = 5000;

  friend bool operator==(const ClusterSpec&, const ClusterSpec&) = default;
};

// An equal share, rounded up, of a limit that holds for the whole process.
constexpr uint32_t shareOf(uint32_t limit, uint32_t shards) {
  return shards <= 1 ? limit : (limit - 1) / shards + 1;
}

// The same cluster with the limits of one of `shards` shards.
inline ClusterSpec perShard(ClusterSpec spec, uint32_t shards) {
  spec.max_connections = shareOf(spec.max_connections, shards);
  spec.max_pending = shareOf(spec.max_pending, shards);
  spec.max_requests = shareOf(spec.max_requests, shards);
  return spec;
}

}  // namespace upstream
