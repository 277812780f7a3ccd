#include "test/admin/fake_control.h"

namespace admin {

FakeControl::FakeControl() {
  server.state = State::live;
  server.version = "ringfence 0.1";
  server.uptime_s = 6;
  server.shards = 2;
  server.engine = "IO_URING";
  server.engine_reason = "as configured";
  server.command_line = {{"config_path", "/etc/ringfence.yaml"}, {"concurrency", "2"}};
  config.version = 0xabcdef;
  config::CacheConfig cache;
  cache.name = "main";
  cache.disks = {{"/var/cache/main", 1 << 30, false}, {"/mnt/b", 1 << 30, true}};
  config.caches.push_back(cache);
  config::ClusterConfig cluster;
  cluster.name = "origin";
  config.clusters.push_back(cluster);
  listening = {{"http", "127.0.0.1:8080", "HASH: lo has 1 RX queue for 2 shards"},
               {"six", "[::1]:8081", "CPU"}};
  ReloadReport first;
  first.number = 1;
  first.at_unix_s = 1700000000;
  first.ok = true;
  first.trigger = "start";
  first.version = config.version;
  attempts.push_back(first);
  directories = {{"main", "/var/cache/main", 1 << 30, "", 0, false},
                 {"main", "/mnt/b", 1 << 30, "/mnt/b: cannot make the cache directory", 2, false}};
  shards = twoShards();
}

rt::Task<std::vector<shard::ShardStats>> FakeControl::collectStats() {
  asked.push_back("stats");
  while (held) {
    co_await waiting.wait(never);
  }
  co_return shards;
}

rt::Task<ReloadReport> FakeControl::reload(std::string trigger) {
  asked.push_back("reload " + trigger);
  co_return next_reload;
}

rt::Task<PurgeReport> FakeControl::purge(PurgeRequest request) {
  const std::string prefix = request.prefix.has_value() ? "prefix " + *request.prefix : "";
  const std::string tag = request.tag.has_value() ? "tag " + *request.tag : "";
  const std::string named = request.url.value_or("") + prefix + tag;
  asked.push_back("purge " + request.cache + " " + (named.empty() ? "everything" : named) +
                  (request.soft ? " softly" : ""));
  co_return next_purge;
}

rt::Task<ListReport> FakeControl::list(ListRequest request) {
  asked.push_back("list " + request.cache + " " + request.prefix.value_or("") +
                  request.tag.value_or("") + " " + std::to_string(request.limit) + " " +
                  request.after);
  co_return next_list;
}

rt::Task<LookupReport> FakeControl::lookup(
    std::string cache, std::string url, std::vector<std::pair<std::string, std::string>> headers) {
  std::string what = "lookup " + cache + " " + url;
  for (const auto& [name, value] : headers) {
    what += " [" + name + "=" + value + "]";
  }
  asked.push_back(what);
  co_return next_lookup;
}

void FakeControl::failHealthcheck(bool fail) {
  asked.push_back(fail ? "fail" : "pass");
  server.state = fail ? State::draining : State::live;
}

rt::Task<void> FakeControl::drainListeners(bool graceful) {
  asked.push_back(graceful ? "drain gracefully" : "drain");
  while (held) {
    co_await waiting.wait(never);
  }
}

namespace {

shard::EndpointReport endpoint(std::string address, uint64_t requests) {
  shard::EndpointReport report;
  report.address = std::move(address);
  report.weight = 2;
  report.rq_active = 1;
  report.stats.rq_total = requests;
  report.stats.rq_success = requests;
  return report;
}

shard::ShardStats oneShard(uint16_t id) {
  shard::ShardStats stats;
  stats.id = base::ShardId{id};
  stats.proxy.downstream_rq_total = 100u + id;
  stats.proxy.downstream_cx_active = 5;
  stats.proxy.cache_hit = 70;
  stats.proxy.cache_hit_stale = 2;
  stats.proxy.cache_miss = 20;
  stats.proxy.request_ns.record(30 * base::kMicrosecond_ns);
  stats.proxy.request_ns.record(2 * base::kMillisecond_ns);
  stats.proxy.request_ns.record(3000 * base::kSecond_ns);
  stats.io.submissions = 400;
  stats.io.completions = 390;
  stats.io.enters = 100;
  stats.io.submission_batch_max = 10u + id;
  stats.io.in_flight = 10;
  stats.io.wait_ns = 1500 * base::kMillisecond_ns;
  stats.reads.reads = 7;
  stats.reads.bytes = 7000;
  stats.reads.latency_ns.record(80 * base::kMicrosecond_ns);
  stats.listeners.push_back({"http", {}});
  stats.listeners.back().acceptor.accepted = 11;
  stats.listeners.push_back({"http", {}});  // its other address
  stats.listeners.back().acceptor.accepted = 1;
  shard::ClusterReport cluster;
  cluster.name = "origin";
  cluster.stats.cx_total = 4;
  cluster.gauges.membership_total = 2;
  cluster.endpoints = {endpoint("127.0.0.1:8000", 9), endpoint("[::1]:8000", 1)};
  stats.clusters.push_back(std::move(cluster));
  shard::CacheReport cache;
  cache.name = "main";
  cache.stripes_owned = 4;
  cache.index_entries = 1000;
  cache.disk_used_bytes = 1 << 20;
  cache.writes.writes = 3;
  cache.writes.latency_ns.record(base::kMillisecond_ns);
  cache.lookups.memory_hits = 60;
  cache.lookups.disk_hits = 10;
  shard::DiskReport disk;
  disk.path = "/var/cache/main";
  disk.figures.stripes = 2;
  disk.figures.used_bytes = 1 << 20;
  cache.disks.push_back(std::move(disk));
  stats.caches.push_back(std::move(cache));
  return stats;
}

}  // namespace

std::vector<shard::ShardStats> twoShards() {
  std::vector<shard::ShardStats> shards;
  shards.push_back(oneShard(0));
  shards.push_back(oneShard(1));
  return shards;
}

}  // namespace admin
