// All that one shard can tell about itself at an instant, copied whole into the control thread's
// memory.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "source/cache/ram_tier.h"
#include "source/cache/shard_cache.h"
#include "source/cache/stripe.h"
#include "source/net/acceptor.h"
#include "source/proxy/access_log.h"
#include "source/proxy/stats.h"
#include "source/rt/io_engine.h"
#include "source/rt/peers.h"
#include "source/rt/reactor.h"
#include "source/store/io/log.h"
#include "source/store/io/record_reader.h"
#include "source/telemetry/histogram.h"
#include "source/upstream/stats.h"

namespace shard {

struct ListenerStats {
  std::string name;
  net::AcceptorStats acceptor;
};

struct EndpointReport {
  std::string address;
  uint32_t weight = 1;
  bool healthy = true;
  uint32_t cx_active = 0;
  uint32_t rq_active = 0;
  upstream::EndpointStats stats;
};

struct ClusterReport {
  std::string name;
  upstream::ClusterStats stats;
  upstream::ClusterGauges gauges;
  std::vector<EndpointReport> endpoints;
};

// The same of one disk of a cache.
struct DiskFigures {
  uint64_t stripes = 0;
  uint64_t index_entries = 0;
  uint64_t capacity_bytes = 0;
  uint64_t used_bytes = 0;
  uint64_t segments_free = 0;
  uint64_t segments_bad = 0;
  uint64_t stripes_recovering = 0;
  uint64_t segments_to_recover = 0;
  uint64_t stripes_not_written = 0;
  uint64_t shards_not_reading = 0;
  uint64_t outages = 0;
  uint64_t writes = 0;
  uint64_t written_bytes = 0;
  uint64_t write_errors = 0;
  uint64_t segments_reclaimed = 0;
};
struct DiskReport {
  std::string path;
  DiskFigures figures;
  std::string trouble;  // why it is out of use; empty: it is not
};

// The stripes that the shard owns, added up.
struct CacheReport {
  std::string name;
  uint32_t stripes_owned = 0;
  uint64_t index_entries = 0;
  uint64_t index_bytes = 0;
  uint64_t index_evictions = 0;
  uint64_t label_filter_bytes = 0;
  uint64_t label_filters_refused = 0;
  uint64_t invalidations_not_durable = 0;
  uint64_t snapshots_saved = 0;
  uint64_t snapshots_failed = 0;
  uint64_t snapshots_late = 0;
  uint64_t disk_capacity_bytes = 0;
  uint64_t disk_used_bytes = 0;  // segments that are not free
  uint64_t segments_free = 0;
  uint64_t segments_bad = 0;
  uint64_t memory_bytes = 0;
  uint64_t memory_budget_bytes = 0;
  uint64_t memory_objects = 0;
  uint64_t fills_active = 0;
  uint64_t stripes_recovering = 0;   // what they hold is not all known yet; nothing is stored
  uint64_t segments_to_recover = 0;  // of these
  uint64_t stripes_not_written = 0;  // the disk is out of use for writes
  uint64_t shards_not_reading = 0;   // the disk is out of use for this shard's reads
  uint64_t disk_outages = 0;
  std::string disk_io;       // how the disks are reached
  std::string disk_trouble;  // why a disk is out of use; empty: none is
  std::vector<DiskReport> disks;
  cache::RamStats memory;
  cache::ShardCacheStats lookups;
  cache::StripeStats stripe;
  store::WriteStats writes;
  store::PurgeStats purges;
  store::ScrubStats scrub;
};

struct ShardStats {
  base::ShardId id{};
  proxy::ProxyStats proxy;
  rt::IoStats io;
  rt::ReactorStats reactor;
  rt::PeersStats peers;
  telemetry::Histogram call_ns;  // cross-shard calls, from sending to reply
  store::ReadStats reads;
  proxy::AccessLogStats access_log;
  uint64_t buffer_bytes_in_use = 0;
  uint64_t buffer_waits = 0;
  uint64_t receive_buffers_in_use = 0;
  uint64_t receive_buffers_exhausted = 0;
  uint64_t buffers_registered = 0;  // 1: with the ring
  uint64_t disk_reads_limit = 0;
  uint64_t alive_ns = 0;  // since the shard began
  uint64_t cpu_user_ns = 0;
  uint64_t cpu_kernel_ns = 0;
  uint64_t connections_open = 0;
  uint64_t connection_limit = 0;
  uint64_t config_version = 0;
  uint64_t configs_retained = 0;
  std::vector<ListenerStats> listeners;
  std::vector<ClusterReport> clusters;
  std::vector<CacheReport> caches;
};

}  // namespace shard
