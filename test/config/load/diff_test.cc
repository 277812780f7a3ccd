// Goal: a reload knows what changed and refuses exactly what a running process cannot take over.
// Method: one configuration and variations of single fields; the lists that the difference must
// hold.
#include "source/config/load/diff.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "source/config/load/load.h"

namespace config {
namespace {

constexpr std::string_view kBefore =
    "admin: { address: { socket_address: { address: 127.0.0.1, port_value: 9901 } } }\n"
    "runtime: { shards: 2, engine: AUTO, drain_time: 1s, max_connections_per_shard: 100, "
    "buffer_pool_bytes_per_shard: 8388608, ring: { sq_entries: 64 }, "
    "busy_poll: { duration: 0.00001s }, max_disk_reads_per_shard: 9 }\n"
    "logging: { level: INFO, path: log, access_log: { path: access } }\n"
    "static_resources:\n"
    "  listeners:\n"
    "  - { name: web, address: { socket_address: { address: '::', port_value: 80 } }, "
    "idle_timeout: 5s, "
    "route_config: { virtual_hosts: [ { name: v, domains: ['*'], routes: [ { match: { prefix: / }, "
    "route: { cluster: app }, cache: { store: main, max_ttl: 60s } } ] } ] } }\n"
    "  clusters:\n"
    "  - { name: app, connect_timeout: 1s, load_assignment: { endpoints: [ { lb_endpoints: [ { "
    "endpoint: "
    "{ address: { socket_address: { address: 10.0.0.1, port_value: 80 } } } } ] } ] } }\n"
    "  caches:\n"
    "  - { name: main, path: /m, max_size_bytes: 1073741824, memory_bytes: 1048576, stripes: 2 }\n"
    "  - { name: spare, path: /s, max_size_bytes: 1073741824 }\n";

std::shared_ptr<const Snapshot> snapshotOf(const std::string& text) {
  LoadReport report;
  auto snapshot = loadSnapshot(Sources{"c.yaml", text, ""}, report);
  EXPECT_NE(snapshot, nullptr) << report.text();
  return snapshot;
}

// The difference when `from` is replaced by `to`.
Difference after(std::string_view from, std::string_view to) {
  std::string text(kBefore);
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  text.replace(at, from.size(), to);
  const auto before = snapshotOf(std::string(kBefore));
  const auto now = snapshotOf(text);
  return before == nullptr || now == nullptr ? Difference{} : diff(*before, *now);
}

struct Case {
  std::string_view from;
  std::string_view to;
  std::string_view path;
  std::string_view what;
  bool restart;
};

constexpr Case kCases[] = {
    {"9901", "9902", "admin.address", "changed", true},
    {"shards: 2", "shards: 3", "runtime.shards", "changed from 2 to 3", true},
    {"engine: AUTO", "engine: IO_URING", "runtime.engine", "changed", true},
    {"shard: 100", "shard: 101", "runtime.max_connections_per_shard", "changed from 100 to 101",
     true},
    {"8388608", "8388609", "runtime.buffer_pool_bytes_per_shard", "changed from 8388608 to 8388609",
     true},
    {"sq_entries: 64", "sq_entries: 128", "runtime.ring", "changed", true},
    {"0.00001s", "0.00002s", "runtime.busy_poll", "changed", true},
    {"reads_per_shard: 9", "reads_per_shard: 8", "runtime.max_disk_reads_per_shard", "changed",
     true},
    {"drain_time: 1s", "drain_time: 2s", "runtime.drain_time", "changed", false},
    {"INFO", "DEBUG", "logging.level", "changed", false},
    {"path: log", "path: log2", "logging.path", "changed", false},
    {"path: access", "path: access2", "logging.access_log", "changed", false},
    {"idle_timeout: 5s", "idle_timeout: 6s", "static_resources.listeners[web].idle_timeout",
     "changed", false},
    {"port_value: 80 } }, idle", "port_value: 81 } }, idle",
     "static_resources.listeners[web].address", "changed", false},
    {"60s", "61s", "static_resources.listeners[web].route_config", "changed", false},
    {"connect_timeout: 1s", "connect_timeout: 2s", "static_resources.clusters[app]", "changed",
     false},
    {"path: /m", "path: /n", "static_resources.caches[main].path", "added: /n", false},
    {"path: /s", "disks: [{path: /t, max_size_bytes: 1073741824}], path: /s",
     "static_resources.caches[spare].disks[/t]", "added", false},
    {"1073741824, memory", "1073741832, memory", "static_resources.caches[main].max_size_bytes",
     "changed from 1073741824 to 1073741832", false},
    {"1048576", "0", "static_resources.caches[main].memory_bytes", "changed from 1048576 to 0",
     false},
    {"stripes: 2", "stripes: 3", "static_resources.caches[main].stripes", "changed from 2 to 3",
     true},
    {"path: /s", "direct_io: false, path: /s", "static_resources.caches[spare].direct_io",
     "changed", true},
    {"path: /s", "disk_io: LIBAIO, path: /s", "static_resources.caches[spare].disk_io", "changed",
     true},
    {"path: /s", "segment_bytes: 1048576, path: /s", "static_resources.caches[spare].segment_bytes",
     "changed from 0 to 1048576", true},
    {"path: /s", "admission: { policy: SECOND_HIT }, path: /s",
     "static_resources.caches[spare].admission.policy", "changed", true},
    {"path: /s", "admission: { write_bytes_per_second: 7 }, path: /s",
     "static_resources.caches[spare].admission.write_bytes_per_second", "changed from 0 to 7",
     true},
};

TEST(Diff, EveryChangeHasItsPathAndEffect) {
  for (const Case& test : kCases) {
    const Difference difference = after(test.from, test.to);
    const Change change{std::string(test.path), std::string(test.what)};
    ASSERT_FALSE(difference.changed.empty()) << test.path;
    EXPECT_EQ(difference.changed.front(), change) << test.path;
    EXPECT_EQ(difference.needs_restart.empty(), !test.restart) << test.path;
    EXPECT_EQ(difference.reloadable(), !test.restart) << test.path;
    if (test.restart) {
      EXPECT_EQ(difference.needs_restart.front(), change);
    }
  }
}

TEST(Diff, NothingDiffersFromItself) {
  const Difference difference = after("name: main", "name: main");
  EXPECT_TRUE(difference.changed.empty());
  EXPECT_TRUE(difference.reloadable());
}

TEST(Diff, ACacheThatIsRenamedIsOneThatWentAndOneThatCame) {
  const Difference difference = after("name: spare", "name: other");
  EXPECT_EQ(difference.changed,
            std::vector<Change>({{"static_resources.caches[other]", "added"},
                                 {"static_resources.caches[spare]", "removed"}}));
  EXPECT_TRUE(difference.reloadable());
}

TEST(Diff, ListenersComeAndGoByReload) {
  const Difference difference = after("name: web", "name: site");
  EXPECT_EQ(difference.changed,
            std::vector<Change>({{"static_resources.listeners[site]", "added"},
                                 {"static_resources.listeners[web]", "removed"}}));
  EXPECT_TRUE(difference.reloadable());
}

TEST(Diff, TheOrderOfCachesMeansNothing) {
  std::string text(kBefore);
  const size_t at = text.find("  - { name: spare");
  const std::string spare = text.substr(at);
  text.erase(at);
  text.insert(text.find("  - { name: main"), spare);
  EXPECT_TRUE(diff(*snapshotOf(std::string(kBefore)), *snapshotOf(text)).changed.empty());
}

}  // namespace
}  // namespace config
