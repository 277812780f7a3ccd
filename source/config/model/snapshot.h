// A configuration, compiled for the shards: plain, immutable, resolved (names are indexes, absent
// fields are their defaults, durations are numbers). Built by config/load on the control thread,
// which also destroys it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "source/config/model/access_log.h"
#include "source/config/model/route.h"
#include "source/policy/tag_rules.h"

namespace config {

struct SocketAddress {
  std::string host;  // IP address without brackets, or a host name (STRICT_DNS endpoints only)
  uint16_t port = 0;
  friend bool operator==(const SocketAddress&, const SocketAddress&) = default;
};

enum class Engine : uint8_t { automatic, io_uring, epoll };
enum class CompletionMode : uint8_t { automatic, defer_taskrun, coop_taskrun, interrupt };
struct RingConfig {
  CompletionMode completion_mode = CompletionMode::automatic;
  uint32_t sq_entries = 1024;
  uint32_t cq_entries = 16384;
  uint32_t submit_batch = 1024;
  bool sqpoll = false;
  uint32_t sqpoll_idle_ms = 1000;
  std::optional<uint32_t> sqpoll_cpu;
  bool registered_buffers = true;
  bool registered_files = true;
  uint32_t napi_busy_poll_us = 0;  // 0: none
  friend bool operator==(const RingConfig&, const RingConfig&) = default;
};
struct BusyPollConfig {
  uint64_t duration_ns = 0;         // 0: none
  uint32_t cpu_budget_percent = 0;  // 0: fixed, not adaptive
  friend bool operator==(const BusyPollConfig&, const BusyPollConfig&) = default;
};
struct RuntimeConfig {
  uint32_t shards = 0;  // 0: one per CPU
  Engine engine = Engine::automatic;
  uint64_t drain_time_ms = 600000;
  uint32_t max_connections_per_shard = 16384;
  uint64_t buffer_pool_bytes_per_shard = uint64_t{64} << 20;
  RingConfig ring;
  BusyPollConfig busy_poll;
  uint32_t max_disk_reads_per_shard = 0;  // 0: by the device
  friend bool operator==(const RuntimeConfig&, const RuntimeConfig&) = default;
};

enum class LogLevel : uint8_t { trace, debug, info, warning, error, critical, off };
struct AccessLogConfig {
  std::string path;
  AccessLogFormat format;
  friend bool operator==(const AccessLogConfig&, const AccessLogConfig&) = default;
};
struct LoggingConfig {
  LogLevel level = LogLevel::info;
  std::string path;  // empty: standard error
  std::optional<AccessLogConfig> access_log;
  friend bool operator==(const LoggingConfig&, const LoggingConfig&) = default;
};

enum class Steering : uint8_t { automatic, queue_mapping, cpu, hash };
struct ListenerConfig {
  std::string name;
  std::vector<SocketAddress> addresses;  // at least one
  Steering steering = Steering::automatic;
  uint32_t backlog = 4096;
  uint32_t max_request_head_bytes = 16384;
  uint32_t max_headers = 100;
  uint64_t request_headers_timeout_ms = 10000;  // 0 in any of the three: no limit
  uint64_t stream_idle_timeout_ms = 300000;
  uint64_t idle_timeout_ms = 60000;
  uint32_t max_requests_per_connection = 0;  // 0: no limit
  std::string via;                           // empty: no Via field
  std::string cdn_loop;                      // id in CDN-Loop; empty: the field stays as it is
  uint32_t max_loops = 0;                    // requests that passed here more often are refused
  bool balance_connections = false;          // among the shards, when they are accepted
  RouteTable routes;
  friend bool operator==(const ListenerConfig&, const ListenerConfig&) = default;
};

enum class Discovery : uint8_t { fixed, strict_dns };
enum class Balancing : uint8_t { round_robin, least_request };
struct EndpointConfig {
  SocketAddress address;
  uint16_t weight = 1;
  friend bool operator==(const EndpointConfig&, const EndpointConfig&) = default;
};
struct ClusterConfig {
  std::string name;
  Discovery discovery = Discovery::fixed;
  Balancing balancing = Balancing::round_robin;
  uint64_t connect_timeout_ms = 5000;
  std::vector<EndpointConfig> endpoints;  // at least one
  uint64_t dns_refresh_ms = 5000;
  bool respect_dns_ttl = false;
  uint32_t max_connections = 1024;  // the three are for the process: a shard has its share
  uint32_t max_pending_requests = 1024;
  uint32_t max_requests = 1024;
  uint64_t idle_timeout_ms = 60000;          // 0: no limit
  uint32_t max_requests_per_connection = 0;  // 0: no limit
  friend bool operator==(const ClusterConfig&, const ClusterConfig&) = default;
};

enum class DiskIo : uint8_t { automatic, io_uring, libaio, sendfile };
enum class AdmissionPolicy : uint8_t { all, second_hit };

struct AdmissionConfig {
  AdmissionPolicy policy = AdmissionPolicy::all;
  uint64_t write_bytes_per_second = 0;  // 0: no limit
  friend bool operator==(const AdmissionConfig&, const AdmissionConfig&) = default;
};

struct DiskConfig {
  std::string path;
  uint64_t max_size_bytes = 0;
  bool listed = false;  // in `disks`, not the cache's own `path`
  friend bool operator==(const DiskConfig&, const DiskConfig&) = default;
};
struct CacheConfig {
  std::string name;
  std::vector<DiskConfig> disks;               // at least one; `path` comes first
  uint64_t memory_bytes = uint64_t{64} << 20;  // 0: no memory tier
  DiskIo disk_io = DiskIo::automatic;
  bool direct_io = true;
  uint64_t max_object_bytes = 0;  // never 0 once compiled
  bool max_object_bytes_given = false;
  uint32_t stripes = 0;        // 0: the store decides
  uint64_t segment_bytes = 0;  // 0: the store decides
  policy::TagRules tags;
  uint64_t scrub_bytes_per_second = 0;  // 0: not at all
  AdmissionConfig admission;
  friend bool operator==(const CacheConfig&, const CacheConfig&) = default;
};

struct Snapshot {
  uint64_t version =
      0;  // a hash of the configuration's content: the same text has the same version
  std::optional<SocketAddress> admin;
  RuntimeConfig runtime;
  LoggingConfig logging;
  std::vector<ListenerConfig> listeners;
  std::vector<ClusterConfig> clusters;
  std::vector<CacheConfig> caches;
};

}  // namespace config
