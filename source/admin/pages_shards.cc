// /shards: all that each shard tells of itself.
#include <algorithm>

#include "source/admin/figures.h"
#include "source/admin/json.h"
#include "source/admin/pages.h"

namespace admin {
namespace {

using shard::ShardStats;

double ratio(uint64_t part, uint64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

// Sums over a shard's caches and listeners.
template <class Item, class Get>
uint64_t total(const std::vector<Item>& items, Get get) {
  uint64_t sum = 0;
  for (const Item& item : items) {
    sum += get(item);
  }
  return sum;
}

telemetry::Histogram writeLatency(const ShardStats& stats) {
  telemetry::Histogram all;
  for (const shard::CacheReport& cache : stats.caches) {
    all.merge(cache.writes.latency_ns);
  }
  return all;
}

// Processor time outside the kernel that was not spent looking for work. (Looking enters the kernel
// too when that has something for it.)
uint64_t workUs(const ShardStats& stats) {
  return (stats.cpu_user_ns - std::min(stats.cpu_user_ns, stats.reactor.poll_ns)) / 1000;
}

// Asleep, or kept from its CPU by others.
uint64_t idleUs(const ShardStats& stats) {
  const uint64_t busy_ns = stats.cpu_user_ns + stats.cpu_kernel_ns;
  return (stats.alive_ns - std::min(stats.alive_ns, busy_ns)) / 1000;
}

// What people look at first; the same figures in text and in JSON.
struct Row {
  std::string_view name;
  uint64_t (*of)(const ShardStats&);
  bool adds_up = true;
};

using shard::CacheReport;
constexpr Row kRows[] = {
    {"connections", [](const ShardStats& s) { return s.proxy.downstream_cx_active; }},
    {"connections_accepted", [](const ShardStats& s) { return s.proxy.downstream_cx_total; }},
    {"connection_limit", [](const ShardStats& s) { return s.connection_limit; }},
    {"requests", [](const ShardStats& s) { return s.proxy.downstream_rq_total; }},
    {"requests_active", [](const ShardStats& s) { return s.proxy.downstream_rq_active; }},
    {"hits", [](const ShardStats& s) { return s.proxy.cache_hit + s.proxy.cache_hit_stale; }},
    {"misses", [](const ShardStats& s) { return s.proxy.cache_miss; }},
    {"collapsed", [](const ShardStats& s) { return s.proxy.cache_collapsed; }},
    {"revalidated", [](const ShardStats& s) { return s.proxy.cache_revalidated; }},
    {"bypassed", [](const ShardStats& s) { return s.proxy.cache_bypass; }},
    {"received_bytes", [](const ShardStats& s) { return s.proxy.downstream_rx_bytes; }},
    {"sent_bytes", [](const ShardStats& s) { return s.proxy.downstream_tx_bytes; }},
    {"index_entries",
     [](const ShardStats& s) {
       return total(s.caches, [](const CacheReport& c) { return c.index_entries; });
     }},
    {"index_bytes",
     [](const ShardStats& s) {
       return total(s.caches, [](const CacheReport& c) { return c.index_bytes; });
     }},
    {"memory_bytes",
     [](const ShardStats& s) {
       return total(s.caches, [](const CacheReport& c) { return c.memory_bytes; });
     }},
    {"memory_objects",
     [](const ShardStats& s) {
       return total(s.caches, [](const CacheReport& c) { return c.memory_objects; });
     }},
    {"disk_used_bytes",
     [](const ShardStats& s) {
       return total(s.caches, [](const CacheReport& c) { return c.disk_used_bytes; });
     }},
    {"ring_depth", [](const ShardStats& s) { return s.io.in_flight; }},
    {"ring_depth_max", [](const ShardStats& s) { return s.io.in_flight_max; }, false},
    {"enters", [](const ShardStats& s) { return s.io.enters; }},
    {"sleeps", [](const ShardStats& s) { return s.io.sleeps; }},
    {"wakeups_heard", [](const ShardStats& s) { return s.io.doorbells_heard; }},
    {"wakeups_sent", [](const ShardStats& s) { return s.io.doorbells_rung; }},
    {"polls", [](const ShardStats& s) { return s.reactor.polls; }},
    {"polls_found", [](const ShardStats& s) { return s.reactor.polls_found; }},
    {"time_polling_us", [](const ShardStats& s) { return s.reactor.poll_ns / 1000; }},
    {"time_work_us", workUs},
    {"time_kernel_us", [](const ShardStats& s) { return s.cpu_kernel_ns / 1000; }},
    {"time_idle_us", idleUs},
    {"submissions", [](const ShardStats& s) { return s.io.submissions; }},
    {"completions", [](const ShardStats& s) { return s.io.completions; }},
    {"submission_batch_max", [](const ShardStats& s) { return s.io.submission_batch_max; }, false},
    {"completion_batch_max", [](const ShardStats& s) { return s.io.completion_batch_max; }, false},
    {"cq_overflows", [](const ShardStats& s) { return s.io.cq_overflows; }},
    {"short_reads", [](const ShardStats& s) { return s.reads.short_reads; }},
    {"short_transfers", [](const ShardStats& s) { return s.io.short_transfers; }},
    {"retries", [](const ShardStats& s) { return s.io.retries; }},
    {"reads", [](const ShardStats& s) { return s.reads.reads; }},
    {"read_bytes", [](const ShardStats& s) { return s.reads.bytes; }},
    {"read_errors", [](const ShardStats& s) { return s.reads.errors; }},
    {"writes",
     [](const ShardStats& s) {
       return total(s.caches, [](const CacheReport& c) { return c.writes.writes; });
     }},
    {"written_bytes",
     [](const ShardStats& s) {
       return total(s.caches, [](const CacheReport& c) { return c.writes.written_bytes; });
     }},
    {"write_errors",
     [](const ShardStats& s) {
       return total(s.caches, [](const CacheReport& c) { return c.writes.errors; });
     }},
    {"calls_sent", [](const ShardStats& s) { return s.peers.calls_sent; }},
    {"calls_served", [](const ShardStats& s) { return s.peers.calls_served; }},
    {"calls_waited", [](const ShardStats& s) { return s.peers.waited; }},
};

void writeLatencyJson(JsonWriter& out, std::string_view name,
                      const telemetry::Histogram& histogram) {
  std::array<uint64_t, telemetry::kLatencyBounds.size()> bounds{};
  std::array<uint64_t, telemetry::kLatencyBounds.size()> counts{};
  std::ranges::transform(telemetry::kLatencyBounds, bounds.begin(), &telemetry::LatencyBound::ns);
  histogram.cumulative(bounds, counts);
  out.beginObject(name);
  out.member("count", histogram.count());
  out.member("sum_us", histogram.sum() / 1e3);
  for (const auto& [label, q] :
       {std::pair<std::string_view, double>{"p50_us", 0.5}, {"p90_us", 0.9}, {"p99_us", 0.99}}) {
    out.member(label, static_cast<double>(histogram.quantile(q)) / 1e3);
  }
  out.member("max_us", static_cast<double>(histogram.max()) / 1e3);
  out.beginArray("buckets");  // cumulative, as Prometheus'
  for (size_t i = 0; i < bounds.size(); i++) {
    out.beginObject();
    out.member("le_us", bounds[i] / base::kMicrosecond_ns);
    out.member("count", counts[i]);
    out.endObject();
  }
  out.endArray();
  out.endObject();
}

template <class Owner, class Number>
void putFigures(JsonWriter& out, std::span<const Figure<Owner, Number>> figures,
                const Owner& owner) {
  for (const Figure<Owner, Number>& figure : figures) {
    out.member(figure.name, uint64_t{owner.*figure.member});
  }
}

void writeCaches(JsonWriter& out, const ShardStats& stats) {
  out.beginArray("caches");
  for (const CacheReport& cache : stats.caches) {
    out.beginObject();
    out.member("name", cache.name);
    out.member("disk_io", cache.disk_io);
    out.member("stripes", cache.stripes_owned);
    putFigures(out, cacheFigures(), cache);
    putFigures(out, ramFigures(), cache.memory);
    putFigures(out, lookupFigures(), cache.lookups);
    putFigures(out, stripeFigures(), cache.stripe);
    putFigures(out, purgeFigures(), cache.purges);
    putFigures(out, scrubFigures(), cache.scrub);
    putFigures(out, writeFigures(), cache.writes);
    writeLatencyJson(out, "disk_write_latency", cache.writes.latency_ns);
    out.endObject();
  }
  out.endArray();
}

void writeListeners(JsonWriter& out, const ShardStats& stats,
                    const std::vector<ListenerInfo>& listeners) {
  out.beginArray("listeners");
  for (const shard::ListenerStats& listener : stats.listeners) {
    out.beginObject();
    out.member("name", listener.name);
    const auto info = std::ranges::find(listeners, listener.name, &ListenerInfo::name);
    out.member("steering", info == listeners.end() ? std::string_view() : info->steering);
    putFigures(out, acceptorFigures(), listener.acceptor);
    out.endObject();
  }
  out.endArray();
}

void writeClusters(JsonWriter& out, const ShardStats& stats) {
  out.beginArray("clusters");
  for (const shard::ClusterReport& cluster : stats.clusters) {
    out.beginObject();
    out.member("name", cluster.name);
    putFigures(out, clusterFigures(), cluster.stats);
    putFigures(out, clusterGauges(), cluster.gauges);
    out.beginArray("endpoints");
    for (const shard::EndpointReport& endpoint : cluster.endpoints) {
      out.beginObject();
      out.member("address", endpoint.address);
      out.member("weight", endpoint.weight);
      out.member("healthy", endpoint.healthy);
      out.member("cx_active", endpoint.cx_active);
      out.member("rq_active", endpoint.rq_active);
      putFigures(out, endpointFigures(), endpoint.stats);
      out.endObject();
    }
    out.endArray();
    out.endObject();
  }
  out.endArray();
}

template <class Owner>
void writeGroup(JsonWriter& out, std::string_view name, std::span<const Figure<Owner>> figures,
                const Owner& owner) {
  out.beginObject(name);
  putFigures(out, figures, owner);
  out.endObject();
}

void writeShard(JsonWriter& out, const ShardStats& stats,
                const std::vector<ListenerInfo>& listeners) {
  out.beginObject();
  out.member("shard", base::index(stats.id));
  for (const Row& row : kRows) {
    out.member(row.name, row.of(stats));
  }
  out.member("submission_batch_avg", ratio(stats.io.submissions, stats.io.enters));
  out.member("completion_batch_avg", ratio(stats.io.completions, stats.io.enters));
  writeLatencyJson(out, "request_latency", stats.proxy.request_ns);
  writeLatencyJson(out, "upstream_latency", stats.proxy.upstream_ns);
  writeLatencyJson(out, "read_latency", stats.reads.latency_ns);
  writeLatencyJson(out, "write_latency", writeLatency(stats));
  writeLatencyJson(out, "call_latency", stats.call_ns);
  out.member("config_version", formatVersion(stats.config_version));
  writeListeners(out, stats, listeners);
  writeCaches(out, stats);
  writeClusters(out, stats);
  out.beginObject("http");
  stats.proxy.forEach(
      [&out](const telemetry::Metric& metric, uint64_t value) { out.member(metric.name, value); });
  out.endObject();
  writeGroup(out, "io", ioFigures(), stats.io);
  writeGroup(out, "reactor", reactorFigures(), stats.reactor);
  writeGroup(out, "calls", callFigures(), stats.peers);
  writeGroup(out, "disk", readFigures(), stats.reads);
  writeGroup(out, "access_log", accessLogFigures(), stats.access_log);
  writeGroup(out, "runtime", shardFigures(), stats);
  out.endObject();
}

// A text table of figures in rows and shards in columns, so many shards at a time.
constexpr size_t kColumns = 8;
constexpr size_t kName_width = 24;
constexpr size_t kValue_width = 16;

class Table {
 public:
  void cell(std::string_view text, size_t width, bool left = false) {
    const std::string pad(text.size() < width ? width - text.size() : 0, ' ');
    out_ += left ? std::string(text) + pad : pad + std::string(text);
  }
  void name(std::string_view text) { cell(text, kName_width, true); }
  void value(std::string_view text) { cell(" " + std::string(text), kValue_width); }
  void endRow() { out_ += "\n"; }
  std::string take() { return std::move(out_); }

 private:
  std::string out_;
};

using Shards = std::span<const ShardStats>;

void tableLatency(Table& table, std::string_view name, Shards shards,
                  telemetry::Histogram (*of)(const ShardStats&), bool with_total) {
  std::vector<telemetry::Histogram> histograms;
  telemetry::Histogram all;
  for (const ShardStats& stats : shards) {
    histograms.push_back(of(stats));
    all.merge(histograms.back());
  }
  if (with_total) {
    histograms.push_back(all);
  }
  for (const auto& [suffix, q] : {std::pair<std::string_view, double>{"_p50_us", 0.5},
                                  {"_p90_us", 0.9},
                                  {"_p99_us", 0.99},
                                  {"_max_us", 1}}) {
    table.name(std::string(name) + std::string(suffix));
    for (const telemetry::Histogram& histogram : histograms) {
      const uint64_t ns = q < 1 ? histogram.quantile(q) : histogram.max();
      table.value(formatNumber(static_cast<double>(ns) / 1e3));
    }
    table.endRow();
  }
}

// How much one enter carries.
void tablePerEnter(Table& table, std::string_view name, Shards shards, uint64_t rt::IoStats::* what,
                   bool with_total) {
  table.name(name);
  uint64_t sum = 0;
  uint64_t enters = 0;
  for (const ShardStats& stats : shards) {
    table.value(formatNumber(ratio(stats.io.*what, stats.io.enters)));
    sum += stats.io.*what;
    enters += stats.io.enters;
  }
  table.value(with_total ? formatNumber(ratio(sum, enters)) : "");
  table.endRow();
}

std::string shardBlock(Shards shards, bool with_total) {
  Table table;
  table.name("shard");
  for (const ShardStats& stats : shards) {
    table.value(std::to_string(base::index(stats.id)));
  }
  table.value(with_total ? "all" : "");
  table.endRow();
  for (const Row& row : kRows) {
    table.name(row.name);
    uint64_t all = 0;
    for (const ShardStats& stats : shards) {
      const uint64_t value = row.of(stats);
      all = row.adds_up ? all + value : std::max(all, value);
      table.value(std::to_string(value));
    }
    table.value(with_total ? std::to_string(all) : "");
    table.endRow();
  }
  tablePerEnter(table, "submissions_per_enter", shards, &rt::IoStats::submissions, with_total);
  tablePerEnter(table, "completions_per_enter", shards, &rt::IoStats::completions, with_total);
  tableLatency(
      table, "request", shards, [](const ShardStats& s) { return s.proxy.request_ns; }, with_total);
  tableLatency(
      table, "read", shards, [](const ShardStats& s) { return s.reads.latency_ns; }, with_total);
  tableLatency(table, "write", shards, writeLatency, with_total);
  tableLatency(table, "call", shards, [](const ShardStats& s) { return s.call_ns; }, with_total);
  return table.take();
}

}  // namespace

rt::Task<Reply> shardsPage(Context& context, const Arguments& arguments) {
  const std::vector<ShardStats> shards = co_await context.control.collectStats();
  const std::vector<ListenerInfo> listeners = context.control.listeners();
  const ServerInfo info = context.control.info();
  if (!wantsJson(arguments)) {
    std::string out = "engine: " + info.engine + ": " + info.engine_reason + "\nsettings:";
    for (const auto& [name, value] : info.engine_settings) {
      out += " " + name + "=" + value;
    }
    out += "\n";
    for (const ListenerInfo& listener : listeners) {
      out += "listener " + listener.name + " " + listener.address + ": steering " +
             listener.steering + "\n";
    }
    for (const CacheReport& cache :
         shards.empty() ? std::vector<CacheReport>() : shards.front().caches) {
      out += "cache " + cache.name + ": " + cache.disk_io + "\n";
    }
    for (size_t at = 0; at < shards.size(); at += kColumns) {
      const Shards some = Shards(shards).subspan(at, std::min(kColumns, shards.size() - at));
      out += "\n" + shardBlock(some, some.size() == shards.size());
    }
    co_return text(200, std::move(out));
  }
  JsonWriter out;
  out.beginObject();
  out.member("engine", info.engine);
  out.member("engine_reason", info.engine_reason);
  out.beginObject("engine_settings");
  for (const auto& [name, value] : info.engine_settings) {
    out.member(name, value);
  }
  out.endObject();
  out.beginArray("steering");
  for (const ListenerInfo& listener : listeners) {
    out.beginObject();
    out.member("listener", listener.name);
    out.member("address", listener.address);
    out.member("steering", listener.steering);
    out.endObject();
  }
  out.endArray();
  out.beginArray("shards");
  for (const ShardStats& stats : shards) {
    writeShard(out, stats, listeners);
  }
  out.endArray();
  out.endObject();
  co_return json(out.take());
}

}  // namespace admin
