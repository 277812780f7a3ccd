// Every figure that the process has, as one sorted list of series with names, kinds and labels: the
// only source of /stats in all its formats. Pure: what it is given is what it knows.
//
// A series has a dotted name as Envoy's (`cluster.origin.upstream_cx_total`) and a family with
// labels as Prometheus wants them (`ringfence_cluster_upstream_cx_total{cluster="origin"}`).
// Figures of the shards are kept apart, so that text shows `http.downstream_rq_total`, the sum, and
// `shard.0.http.downstream_rq_total`, while Prometheus gets one series a shard and adds up itself.
// Clusters and endpoints, of which there may be thousands, are added up over the shards.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "source/admin/command.h"
#include "source/admin/control.h"
#include "source/shard/stats.h"
#include "source/telemetry/counters.h"
#include "source/telemetry/histogram.h"

namespace admin {

enum class Kind : uint8_t { counter, gauge, peak, histogram };
enum class Unit : uint8_t { one, nanoseconds };

struct Label {
  std::string_view name;
  std::string value;
};

struct Definition {
  Kind kind = Kind::counter;
  std::string_view group;  // "http", "cluster"
  std::string_view name;   // "downstream_rq_total"
  std::string_view help;
  Unit unit = Unit::one;
};

struct Series {
  struct OfShard {
    uint16_t shard = 0;
    uint64_t value = 0;
    const telemetry::Histogram* histogram = nullptr;  // borrowed from the shards' figures
  };
  std::string name;  // dotted
  std::string family;
  Kind kind = Kind::counter;
  Unit unit = Unit::one;
  std::string_view help;
  std::vector<Label> labels;  // but the shard's
  bool per_shard = false;
  std::vector<OfShard> shards;  // if per_shard, in the order of shards
  uint64_t value = 0;           // of all; not of a histogram
  telemetry::Histogram merged() const;
};

// Figures of the process besides the shards'.
struct ProcessFigures {
  AdminStats admin;
  bool live = false;
  uint64_t uptime_s = 0;
  uint64_t shards = 0;
  uint64_t memory_allocated_bytes = 0;
  uint64_t memory_heap_bytes = 0;
  uint64_t reload_attempts = 0;
  bool last_reload_ok = true;
  uint64_t last_reload_unix_s = 0;
  std::vector<DiskInfo> disks;
};

// Sorted by name. The series borrow from `shards`.
std::vector<Series> collectMetrics(const std::vector<shard::ShardStats>& shards,
                                   const ProcessFigures& process);

// What the counters say now, for subtractBaseline later.
Baseline takeBaseline(const std::vector<Series>& series);
// Counters start again from 0. One that is below its baseline has been started again by its owner
// (a cluster that was removed and came back), and is left as it is.
void subtractBaseline(const Baseline& baseline, std::vector<Series>& series);

// The figures of a cluster's endpoints, added up over the shards.
struct EndpointSum {
  std::string address;
  uint32_t weight = 1;
  bool healthy = true;  // on every shard
  uint64_t cx_active = 0;
  uint64_t rq_active = 0;
  upstream::EndpointStats stats;
};
struct ClusterSum {
  std::string name;
  upstream::ClusterStats stats;
  upstream::ClusterGauges gauges;  // of membership: the largest of the shards
  std::vector<EndpointSum> endpoints;
};
// By name; endpoints in the order of the first shard that has them.
std::vector<ClusterSum> sumClusters(const std::vector<shard::ShardStats>& shards);

}  // namespace admin
