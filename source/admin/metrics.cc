#include "source/admin/metrics.h"

#include <algorithm>
#include <span>

#include "source/admin/figures.h"

namespace admin {
namespace {

using Labels = std::vector<Label>;

// A part of a dotted name: a colon would be taken for the end of the name, as by Envoy.
std::string plain(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    const bool fine = c > ' ' && c < 0x7f && c != ':';
    c = fine ? c : '_';
  }
  return out;
}

// group.<first label>.<next label's name>.<next label>.name
std::string dottedName(const Definition& definition, const Labels& labels) {
  std::string out(definition.group);
  for (size_t i = 0; i < labels.size(); i++) {
    out += i == 0 ? "" : "." + std::string(labels[i].name);
    out += "." + plain(labels[i].value);
  }
  return out + "." + std::string(definition.name);
}

bool dropSuffix(std::string& text, std::string_view suffix) {
  if (!text.ends_with(suffix)) {
    return false;
  }
  text.resize(text.size() - suffix.size());
  return true;
}

// Prometheus' rules: base units by name, `_total` on counters and on nothing else.
std::string familyName(const Definition& definition, const Labels& labels) {
  std::string name = "ringfence_" + std::string(definition.group);
  for (size_t i = 1; i < labels.size(); i++) {
    name += "_" + std::string(labels[i].name);
  }
  name += "_" + std::string(definition.name);
  dropSuffix(name, "_total");
  if (definition.unit == Unit::nanoseconds) {
    dropSuffix(name, "_ns") || dropSuffix(name, "_time");
    name += "_seconds";
  }
  return definition.kind == Kind::counter ? name + "_total" : name;
}

void mergeInto(Kind kind, uint64_t& into, uint64_t value) {
  into = kind == Kind::peak ? std::max(into, value) : into + value;
}

class Collector {
 public:
  void process(const Definition& definition, uint64_t value) {
    mergeInto(definition.kind, find(definition, {}).value, value);
  }
  void sum(const Definition& definition, const Labels& labels, uint64_t value) {
    mergeInto(definition.kind, find(definition, labels).value, value);
  }
  void shard(const Definition& definition, const Labels& labels, base::ShardId shard,
             uint64_t value) {
    Series& series = find(definition, labels);
    mergeInto(definition.kind, ofShard(series, shard).value, value);
    mergeInto(definition.kind, series.value, value);
  }
  void histogram(const Definition& definition, const Labels& labels, base::ShardId shard,
                 const telemetry::Histogram& histogram) {
    ofShard(find(definition, labels), shard).histogram = &histogram;
  }
  // All figures of a struct.
  template <class Owner, class Number>
  void shard(std::string_view group, std::span<const Figure<Owner, Number>> figures,
             const Labels& labels, base::ShardId id, const Owner& owner) {
    for (const Figure<Owner, Number>& figure : figures) {
      shard({figure.kind, group, figure.name, figure.help, figure.unit}, labels, id,
            owner.*figure.member);
    }
  }
  template <class Owner, class Number>
  void sum(std::string_view group, std::span<const Figure<Owner, Number>> figures,
           const Labels& labels, const Owner& owner) {
    for (const Figure<Owner, Number>& figure : figures) {
      sum({figure.kind, group, figure.name, figure.help, figure.unit}, labels,
          uint64_t{owner.*figure.member});
    }
  }

  std::vector<Series> take() {
    std::vector<Series> out;
    out.reserve(series_.size());
    for (auto& [key, series] : series_) {
      out.push_back(std::move(series));
    }
    std::ranges::sort(out, {}, &Series::name);
    return out;
  }

 private:
  // By what identifies it in Prometheus: two dotted names may look alike once made plain.
  Series& find(const Definition& definition, const Labels& labels) {
    std::string family = familyName(definition, labels);
    std::string key = family;
    for (const Label& label : labels) {
      key += '\0' + label.value;
    }
    const auto [at, is_new] = series_.try_emplace(std::move(key));
    Series& series = at->second;
    if (is_new) {
      series.name = dottedName(definition, labels);
      series.family = std::move(family);
      series.kind = definition.kind;
      series.unit = definition.unit;
      series.help = definition.help;
      series.labels = labels;
    }
    return series;
  }
  static Series::OfShard& ofShard(Series& series, base::ShardId shard) {
    series.per_shard = true;
    const uint16_t number = base::index(shard);
    const auto at = std::ranges::lower_bound(series.shards, number, {}, &Series::OfShard::shard);
    if (at != series.shards.end() && at->shard == number) {
      return *at;
    }
    return *series.shards.insert(at, Series::OfShard{number, 0, nullptr});
  }

  std::map<std::string, Series> series_;
};

Kind kindOf(telemetry::MetricKind kind) {
  switch (kind) {
    case telemetry::MetricKind::counter:
      return Kind::counter;
    case telemetry::MetricKind::gauge:
      return Kind::gauge;
    case telemetry::MetricKind::peak:
      return Kind::peak;
  }
  return Kind::gauge;
}

constexpr Definition time(std::string_view group, std::string_view name, std::string_view help) {
  return {Kind::histogram, group, name, help, Unit::nanoseconds};
}

void collectCache(Collector& out, const shard::CacheReport& cache, base::ShardId id) {
  const Labels labels{{"cache", cache.name}};
  out.shard("cache", cacheFigures(), labels, id, cache);
  out.shard({Kind::gauge, "cache", "stripes", "Stripes that the shard owns"}, labels, id,
            cache.stripes_owned);
  out.shard("cache", ramFigures(), labels, id, cache.memory);
  out.shard("cache", lookupFigures(), labels, id, cache.lookups);
  out.shard({Kind::counter, "cache", "hits", "Lookups answered from memory or a disk"}, labels, id,
            cache.lookups.memory_hits + cache.lookups.disk_hits);
  out.shard("cache", stripeFigures(), labels, id, cache.stripe);
  out.shard("cache", purgeFigures(), labels, id, cache.purges);
  out.shard("cache", scrubFigures(), labels, id, cache.scrub);
  out.shard("cache", writeFigures(), labels, id, cache.writes);
  for (const shard::DiskReport& disk : cache.disks) {
    out.shard("cache", diskFigures(), Labels{{"cache", cache.name}, {"directory", disk.path}}, id,
              disk.figures);
  }
  out.histogram(time("cache", "disk_write_time", "Time that a write to a disk took"), labels, id,
                cache.writes.latency_ns);
  out.histogram(time("cache", "call_time", "Time that a call to another shard took"), labels, id,
                cache.lookups.call_ns);
}

void collectShard(Collector& out, const shard::ShardStats& stats) {
  const base::ShardId id = stats.id;
  stats.proxy.forEach([&out, id](const telemetry::Metric& metric, uint64_t value) {
    out.shard({kindOf(metric.kind), "http", metric.name, metric.help}, {}, id, value);
  });
  out.histogram(time("http", "downstream_rq_time",
                     "Time from a request's head to the end of its "
                     "response"),
                {}, id, stats.proxy.request_ns);
  out.histogram(time("http", "upstream_rq_time", "Time to an origin's response head"), {}, id,
                stats.proxy.upstream_ns);
  out.shard("io", ioFigures(), {}, id, stats.io);
  out.shard("reactor", reactorFigures(), {}, id, stats.reactor);
  out.shard("calls", callFigures(), {}, id, stats.peers);
  out.histogram(time("calls", "call_time", "Time that a call to another shard took"), {}, id,
                stats.call_ns);
  out.shard("disk", readFigures(), {}, id, stats.reads);
  out.histogram(time("disk", "read_time", "Time that a read from a disk took"), {}, id,
                stats.reads.latency_ns);
  out.shard("access_log", accessLogFigures(), {}, id, stats.access_log);
  out.shard("runtime", shardFigures(), {}, id, stats);
  for (const shard::ListenerStats& listener : stats.listeners) {
    out.shard("listener", acceptorFigures(), Labels{{"listener", listener.name}}, id,
              listener.acceptor);
  }
  for (const shard::CacheReport& cache : stats.caches) {
    collectCache(out, cache, id);
  }
}

void collectProcess(Collector& out, const ProcessFigures& process) {
  process.admin.forEach([&out](const telemetry::Metric& metric, uint64_t value) {
    out.process({kindOf(metric.kind), "admin", metric.name, metric.help}, value);
  });
  out.process({Kind::gauge, "server", "live", "1 if the process is live, not draining"},
              process.live ? 1 : 0);
  out.process({Kind::gauge, "server", "uptime_seconds", "Time since the process started"},
              process.uptime_s);
  out.process({Kind::gauge, "server", "concurrency", "Shards"}, process.shards);
  out.process({Kind::gauge, "server", "memory_allocated_bytes", "Memory that is allocated"},
              process.memory_allocated_bytes);
  out.process({Kind::gauge, "server", "memory_heap_bytes", "Memory that the allocator holds"},
              process.memory_heap_bytes);
  for (const DiskInfo& disk : process.disks) {
    if (disk.leaving) {
      continue;
    }
    const Labels labels{{"cache", disk.cache}, {"directory", disk.path}};
    out.sum({Kind::gauge, "cache", "in_use", "1 if the directory is used"}, labels,
            disk.why_not.empty() ? 1 : 0);
    out.sum({Kind::counter, "cache", "open_failures", "Times that the directory could not be used"},
            labels, disk.failures);
  }
  out.process({Kind::counter, "config", "load_attempts", "Configurations loaded, or tried to be"},
              process.reload_attempts);
  out.process({Kind::gauge, "config", "last_load_successful", "1 if the last attempt succeeded"},
              process.last_reload_ok ? 1 : 0);
  out.process({Kind::gauge, "config", "last_load_timestamp_seconds", "When the last attempt was"},
              process.last_reload_unix_s);
}

void addEndpoint(ClusterSum& cluster, const shard::EndpointReport& endpoint) {
  auto at = std::ranges::find(cluster.endpoints, endpoint.address, &EndpointSum::address);
  if (at == cluster.endpoints.end()) {
    cluster.endpoints.push_back({endpoint.address});
    at = cluster.endpoints.end() - 1;
  }
  at->weight = endpoint.weight;
  at->healthy = at->healthy && endpoint.healthy;
  at->cx_active += endpoint.cx_active;
  at->rq_active += endpoint.rq_active;
  for (const Figure<upstream::EndpointStats>& figure : endpointFigures()) {
    at->stats.*figure.member += endpoint.stats.*figure.member;
  }
}

void addCluster(ClusterSum& sum, const shard::ClusterReport& report) {
  for (const Figure<upstream::ClusterStats>& figure : clusterFigures()) {
    sum.stats.*figure.member += report.stats.*figure.member;
  }
  for (const Figure<upstream::ClusterGauges, uint32_t>& figure : clusterGauges()) {
    uint64_t value = sum.gauges.*figure.member;
    mergeInto(figure.kind, value, report.gauges.*figure.member);
    sum.gauges.*figure.member = static_cast<uint32_t>(value);
  }
  for (const shard::EndpointReport& endpoint : report.endpoints) {
    addEndpoint(sum, endpoint);
  }
}

std::string shardKey(const Series& series, uint16_t shard) {
  std::string key = series.family + '\0' + std::to_string(shard);
  for (const Label& label : series.labels) {
    key += '\0' + label.value;
  }
  return key;
}

}  // namespace

telemetry::Histogram Series::merged() const {
  telemetry::Histogram all;
  for (const OfShard& shard : shards) {
    if (shard.histogram != nullptr) {
      all.merge(*shard.histogram);
    }
  }
  return all;
}

std::vector<ClusterSum> sumClusters(const std::vector<shard::ShardStats>& shards) {
  std::map<std::string_view, ClusterSum> by_name;
  for (const shard::ShardStats& shard : shards) {
    for (const shard::ClusterReport& report : shard.clusters) {
      ClusterSum& sum = by_name[report.name];
      sum.name = report.name;
      addCluster(sum, report);
    }
  }
  std::vector<ClusterSum> out;
  for (auto& [name, sum] : by_name) {
    out.push_back(std::move(sum));
  }
  return out;
}

std::vector<Series> collectMetrics(const std::vector<shard::ShardStats>& shards,
                                   const ProcessFigures& process) {
  Collector out;
  for (const shard::ShardStats& shard : shards) {
    collectShard(out, shard);
  }
  for (const ClusterSum& cluster : sumClusters(shards)) {
    Labels labels{{"cluster", cluster.name}};
    out.sum("cluster", clusterFigures(), labels, cluster.stats);
    out.sum("cluster", clusterGauges(), labels, cluster.gauges);
    for (const EndpointSum& endpoint : cluster.endpoints) {
      Labels both = labels;
      both.push_back({"endpoint", endpoint.address});
      out.sum("cluster", endpointFigures(), both, endpoint.stats);
      out.sum({Kind::gauge, "cluster", "cx_active", "Connections to the endpoint"}, both,
              endpoint.cx_active);
      out.sum({Kind::gauge, "cluster", "rq_active", "Requests in progress at the endpoint"}, both,
              endpoint.rq_active);
      out.sum({Kind::gauge, "cluster", "healthy", "1 if every shard finds the endpoint healthy"},
              both, endpoint.healthy ? 1 : 0);
    }
  }
  collectProcess(out, process);
  return out.take();
}

Baseline takeBaseline(const std::vector<Series>& series) {
  Baseline baseline;
  for (const Series& one : series) {
    if (one.kind != Kind::counter) {
      continue;
    }
    if (!one.per_shard) {
      baseline[shardKey(one, 0)] = one.value;
    }
    for (const Series::OfShard& shard : one.shards) {
      baseline[shardKey(one, shard.shard)] = shard.value;
    }
  }
  return baseline;
}

void subtractBaseline(const Baseline& baseline, std::vector<Series>& series) {
  const auto since = [&baseline](const Series& one, uint16_t shard, uint64_t value) {
    const auto at = baseline.find(shardKey(one, shard));
    return at == baseline.end() || at->second > value ? value : value - at->second;
  };
  for (Series& one : series) {
    if (one.kind != Kind::counter) {
      continue;
    }
    if (!one.per_shard) {
      one.value = since(one, 0, one.value);
      continue;
    }
    one.value = 0;
    for (Series::OfShard& shard : one.shards) {
      shard.value = since(one, shard.shard, shard.value);
      one.value += shard.value;
    }
  }
}

}  // namespace admin
