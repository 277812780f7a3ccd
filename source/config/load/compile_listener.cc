// Listeners and clusters.
#include <utility>

#include "source/config/load/compile_parts.h"
#include "source/http/grammar.h"

namespace config {
namespace {

Steering steeringOf(pb::Listener::Steering steering) {
  switch (steering) {
    case pb::Listener::QUEUE_MAPPING:
      return Steering::queue_mapping;
    case pb::Listener::CPU:
      return Steering::cpu;
    case pb::Listener::HASH:
      return Steering::hash;
    default:
      return Steering::automatic;
  }
}

void compileAddresses(const Place& place, const pb::Listener& from, ListenerConfig& out) {
  if (auto address = compileAddress(
          place["address"], from.has_address() ? &from.address() : nullptr, AddressRule{})) {
    out.addresses.push_back(std::move(*address));
  }
  const Place list = place["additional_addresses"];
  const int count = countWithin(list, from.additional_addresses_size(), kMaxAdditionalAddresses);
  for (int i = 0; i < count; i++) {
    const pb::AdditionalAddress& further = from.additional_addresses(i);
    const pb::Address* address = further.has_address() ? &further.address() : nullptr;
    if (auto compiled = compileAddress(list[i]["address"], address, AddressRule{})) {
      out.addresses.push_back(std::move(*compiled));
    }
  }
}

void compileLimits(const Place& place, const pb::Listener& from, ListenerConfig& out) {
  constexpr uint64_t kMaxBacklog = 65535;
  constexpr uint64_t kMaxHeadKb = 64;
  constexpr uint64_t kMaxHeaders = 1024;
  constexpr uint64_t kHour_ms = 3600000;
  if (from.has_tcp_backlog_size()) {
    out.backlog = static_cast<uint32_t>(numberIn(place["tcp_backlog_size"], from.tcp_backlog_size(),
                                                 out.backlog, {1, kMaxBacklog}));
  }
  if (from.has_max_request_headers_kb()) {
    out.max_request_head_bytes = static_cast<uint32_t>(
        1024 * numberIn(place["max_request_headers_kb"], from.max_request_headers_kb(),
                        out.max_request_head_bytes / 1024, {1, kMaxHeadKb}));
  }
  if (from.has_max_headers_count()) {
    out.max_headers = static_cast<uint32_t>(numberIn(
        place["max_headers_count"], from.max_headers_count(), out.max_headers, {1, kMaxHeaders}));
  }
  out.request_headers_timeout_ms =
      durationMs(place["request_headers_timeout"],
                 from.has_request_headers_timeout() ? &from.request_headers_timeout() : nullptr,
                 {.otherwise_ms = out.request_headers_timeout_ms, .high_ms = kHour_ms});
  out.stream_idle_timeout_ms =
      durationMs(place["stream_idle_timeout"],
                 from.has_stream_idle_timeout() ? &from.stream_idle_timeout() : nullptr,
                 {.otherwise_ms = out.stream_idle_timeout_ms, .high_ms = kDay_ms});
  out.idle_timeout_ms =
      durationMs(place["idle_timeout"], from.has_idle_timeout() ? &from.idle_timeout() : nullptr,
                 {.otherwise_ms = out.idle_timeout_ms, .high_ms = kDay_ms});
  out.max_requests_per_connection = from.max_requests_per_connection();
  out.balance_connections = from.connection_balance_config().has_exact_balance();
  if (from.has_connection_balance_config() && !out.balance_connections) {
    place["connection_balance_config"].missingOneOf("`exact_balance`");
  }
}

void compileEndpoints(const Place& place, const pb::Cluster& from, ClusterConfig& out) {
  const AddressRule rule{.host_names = from.type() == pb::Cluster::STRICT_DNS, .lowest_port = 1};
  const Place assignment = place["load_assignment"];
  int total = 0;
  for (int i = 0; i < from.load_assignment().endpoints_size(); i++) {
    const pb::LocalityLbEndpoints& group = from.load_assignment().endpoints(i);
    const Place list = assignment["endpoints"][i]["lb_endpoints"];
    total += group.lb_endpoints_size();
    for (int j = 0; j < group.lb_endpoints_size(); j++) {
      const pb::LbEndpoint& endpoint = group.lb_endpoints(j);
      EndpointConfig compiled;
      const pb::Address* address =
          endpoint.endpoint().has_address() ? &endpoint.endpoint().address() : nullptr;
      auto socket = compileAddress(list[j]["endpoint"]["address"], address, rule);
      if (endpoint.has_load_balancing_weight()) {
        compiled.weight = static_cast<uint16_t>(numberIn(list[j]["load_balancing_weight"],
                                                         endpoint.load_balancing_weight(),
                                                         compiled.weight, {1, UINT16_MAX}));
      }
      if (socket.has_value()) {
        compiled.address = std::move(*socket);
        out.endpoints.push_back(std::move(compiled));
      }
    }
  }
  if (total == 0) {
    assignment.missing(
        "at least one endpoint is required: load_assignment.endpoints[].lb_endpoints");
  }
  countWithin(assignment, total, kMaxEndpoints);
}

void compileThresholds(const Place& place, const pb::CircuitBreakers& from, ClusterConfig& out) {
  constexpr uint64_t kMost = 1048576;
  const Place list = place["thresholds"];
  if (countWithin(list, from.thresholds_size(), 1) == 0) {
    return;
  }
  const pb::CircuitBreakers::Thresholds& limits = from.thresholds(0);
  const auto limit = [&list](std::string_view field, bool has, uint32_t value, uint32_t otherwise) {
    return has ? static_cast<uint32_t>(numberIn(list[0][field], value, otherwise, {1, kMost}))
               : otherwise;
  };
  out.max_connections = limit("max_connections", limits.has_max_connections(),
                              limits.max_connections(), out.max_connections);
  out.max_pending_requests = limit("max_pending_requests", limits.has_max_pending_requests(),
                                   limits.max_pending_requests(), out.max_pending_requests);
  out.max_requests =
      limit("max_requests", limits.has_max_requests(), limits.max_requests(), out.max_requests);
}

}  // namespace

ListenerConfig compileListener(const Place& place, const pb::Listener& from,
                               References& references) {
  constexpr size_t kMaxVia = 64;
  ListenerConfig listener;
  listener.name = from.name();
  compileAddresses(place, from, listener);
  listener.steering = steeringOf(from.steering());
  compileLimits(place, from, listener);
  listener.via = from.via();
  if (!from.via().empty() && (!http::isToken(from.via()) || from.via().size() > kMaxVia)) {
    place["via"].error("must be a token of at most " + std::to_string(kMaxVia) + " characters",
                       "ringfence");
  }
  listener.cdn_loop = from.cdn_loop();
  if (!from.cdn_loop().empty() &&
      (!http::isToken(from.cdn_loop()) || from.cdn_loop().size() > kMaxVia)) {
    place["cdn_loop"].error("must be a token of at most " + std::to_string(kMaxVia) + " characters",
                            "ringfence");
  }
  constexpr uint64_t kMostLoops = 16;
  listener.max_loops =
      static_cast<uint32_t>(numberIn(place["max_loops"], from.max_loops(), 0, {0, kMostLoops}));
  if (from.max_loops() > 0 && from.via().empty() && from.cdn_loop().empty()) {
    place["max_loops"].error("needs via or cdn_loop, by which loops are found");
  }
  if (from.has_route_config()) {
    listener.routes = compileRoutes(place["route_config"], from.route_config(), references);
  } else {
    place["route_config"].missing();
  }
  return listener;
}

ClusterConfig compileCluster(const Place& place, const pb::Cluster& from) {
  constexpr uint64_t kMaxConnect_ms = 600000;
  ClusterConfig cluster;
  cluster.name = from.name();
  cluster.discovery =
      from.type() == pb::Cluster::STRICT_DNS ? Discovery::strict_dns : Discovery::fixed;
  cluster.balancing = from.lb_policy() == pb::Cluster::LEAST_REQUEST ? Balancing::least_request
                                                                     : Balancing::round_robin;
  cluster.connect_timeout_ms = durationMs(
      place["connect_timeout"], from.has_connect_timeout() ? &from.connect_timeout() : nullptr,
      {.otherwise_ms = cluster.connect_timeout_ms,
       .high_ms = kMaxConnect_ms,
       .zero_allowed = false});
  compileEndpoints(place, from, cluster);
  cluster.dns_refresh_ms = durationMs(
      place["dns_refresh_rate"], from.has_dns_refresh_rate() ? &from.dns_refresh_rate() : nullptr,
      {.otherwise_ms = cluster.dns_refresh_ms,
       .low_ms = 1000,
       .high_ms = kDay_ms,
       .zero_allowed = false});
  cluster.respect_dns_ttl = from.respect_dns_ttl();
  if (cluster.discovery == Discovery::fixed) {
    if (from.has_dns_refresh_rate() || from.respect_dns_ttl()) {
      place[from.has_dns_refresh_rate() ? "dns_refresh_rate" : "respect_dns_ttl"].warning(
          "has no effect on a cluster of type STATIC");
    }
  }
  compileThresholds(place["circuit_breakers"], from.circuit_breakers(), cluster);
  cluster.idle_timeout_ms =
      durationMs(place["idle_timeout"], from.has_idle_timeout() ? &from.idle_timeout() : nullptr,
                 {.otherwise_ms = cluster.idle_timeout_ms, .high_ms = kDay_ms});
  cluster.max_requests_per_connection = from.max_requests_per_connection();
  return cluster;
}

}  // namespace config
