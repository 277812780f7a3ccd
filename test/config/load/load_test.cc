// Goal: what YAML may say reaches the snapshot by the rules of the proto3 JSON mapping, defaults
// are those that the schema documents, text merges over a file as messages do, and hostile
// documents are refused within limits. Method: load small texts and look at the snapshot.
#include "source/config/load/load.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "source/config/load/yaml_tree.h"

namespace config {
namespace {

constexpr std::string_view kSmall =
    "static_resources:\n"
    "  listeners:\n"
    "  - name: web\n"
    "    address: { socket_address: { address: 0.0.0.0 } }\n"
    "    route_config:\n"
    "      virtual_hosts:\n"
    "      - { name: all, domains: ['*'], routes: [ { match: { prefix: / }, route: { cluster: app "
    "}, "
    "cache: { store: main } } ] }\n"
    "  clusters:\n"
    "  - name: app\n"
    "    load_assignment: { endpoints: [ { lb_endpoints: [ { endpoint: { address: { "
    "socket_address: { "
    "address: 10.0.0.1, port_value: 80 } } } } ] } ] }\n"
    "  caches:\n"
    "  - { name: main, path: /c, max_size_bytes: 1073741824 }\n";

LoadedConfig loaded(const Sources& sources) {
  LoadReport report;
  std::optional<LoadedConfig> config = load(sources, report);
  EXPECT_TRUE(config.has_value()) << report.text();
  return config.has_value() ? std::move(*config) : LoadedConfig{std::make_shared<Snapshot>(), ""};
}

// The small configuration with `text` before it.
Sources with(std::string_view text) {
  return Sources{"c.yaml", std::string(text) + std::string(kSmall), ""};
}

TEST(Load, FillsInTheDefaults) {
  const auto snapshot = loaded(with("")).snapshot;
  EXPECT_FALSE(snapshot->admin.has_value());
  EXPECT_EQ(snapshot->runtime, RuntimeConfig{});
  EXPECT_EQ(snapshot->logging, LoggingConfig{});
  const ListenerConfig& listener = snapshot->listeners.at(0);
  EXPECT_EQ(listener.addresses, std::vector<SocketAddress>({{"0.0.0.0", 0}}));
  EXPECT_EQ(listener.max_request_head_bytes, 16384u);
  EXPECT_EQ(listener.max_headers, 100u);
  EXPECT_EQ(listener.idle_timeout_ms, 60000u);
  const Route& route = listener.routes.hosts.at(0).routes.at(0);
  const auto& action = std::get<ForwardAction>(route.action);
  EXPECT_EQ(action.cluster, 0u);
  EXPECT_EQ(action.timeout_ms, 15000u);
  EXPECT_EQ(action.num_retries, 1u);
  EXPECT_EQ(route.cache, 0u);
  policy::RoutePolicy policy;
  policy.enabled = true;
  EXPECT_EQ(route.policy, policy);
  const CacheConfig& cache = snapshot->caches.at(0);
  EXPECT_EQ(cache.memory_bytes, 67108864u);
  EXPECT_EQ(cache.max_object_bytes, 536870912u);
  EXPECT_TRUE(cache.direct_io);
  const std::vector<policy::TagField> fields{{"Surrogate-Key", policy::TagSeparator::space},
                                             {"Cache-Tag", policy::TagSeparator::comma}};
  EXPECT_EQ(cache.tags.fields, fields);
  EXPECT_FALSE(cache.tags.strip);
  EXPECT_EQ(cache.admission, AdmissionConfig{});
}

TEST(Load, TakesTheAdmissionOfACache) {
  const std::string spare =
      "  - { name: spare, path: /s, max_size_bytes: 1073741824, admission: { policy: SECOND_HIT, "
      "write_bytes_per_second: 1099511627776 } }\n";
  const LoadedConfig config = loaded(Sources{"c.yaml", std::string(kSmall) + spare, ""});
  const AdmissionConfig& admission = config.snapshot->caches.at(1).admission;
  EXPECT_EQ(admission.policy, AdmissionPolicy::second_hit);
  EXPECT_EQ(admission.write_bytes_per_second, uint64_t{1} << 40);
}

TEST(Load, TakesNamesInLowerCamelCase) {
  const auto config = loaded(with("runtime: { drainTime: 1.5s, maxConnectionsPerShard: 7 }\n"));
  EXPECT_EQ(config.snapshot->runtime.drain_time_ms, 1500u);
  EXPECT_EQ(config.snapshot->runtime.max_connections_per_shard, 7u);
}

TEST(Load, TakesEnumeratorsByNameInAnyCaseAndByNumber) {
  EXPECT_EQ(loaded(with("runtime: { engine: epoll }\n")).snapshot->runtime.engine, Engine::epoll);
  EXPECT_EQ(loaded(with("runtime: { engine: 1 }\n")).snapshot->runtime.engine, Engine::io_uring);
  EXPECT_EQ(loaded(with("logging: { level: off }\n")).snapshot->logging.level, LogLevel::off);
}

TEST(Load, TakesWholeNumbersInEverySpelling) {
  const auto pool = [](std::string_view text) {
    return loaded(with("runtime: { buffer_pool_bytes_per_shard: " + std::string(text) + " }\n"))
        .snapshot->runtime.buffer_pool_bytes_per_shard;
  };
  EXPECT_EQ(pool("8388608"), 8388608u);
  EXPECT_EQ(pool("\"8388608\""), 8388608u);
  EXPECT_EQ(pool("0x800000"), 8388608u);
  EXPECT_EQ(pool("0o40000000"), 8388608u);
  EXPECT_EQ(pool("8.388608e6"), 8388608u);
}

TEST(Load, NullIsNotSet) {
  EXPECT_EQ(loaded(with("runtime:\nlogging: ~\nadmin: null\n")).snapshot->runtime, RuntimeConfig{});
  EXPECT_EQ(loaded(with("runtime: { drain_time: null }\n")).snapshot->runtime.drain_time_ms,
            600000u);
}

TEST(Load, FollowsAnchorsAndMergeKeys) {
  const auto config =
      loaded(with("!ignore templates:\n"
                  "  slow: &slow { drain_time: 9s, shards: 3 }\n"
                  "  many: &many { shards: 4, max_connections_per_shard: 5 }\n"
                  "runtime: { <<: [*slow, *many], drain_time: 2s }\n"));
  const RuntimeConfig& runtime = config.snapshot->runtime;
  EXPECT_EQ(runtime.drain_time_ms, 2000u);  // what is written wins
  EXPECT_EQ(runtime.shards, 3u);            // then the earlier map
  EXPECT_EQ(runtime.max_connections_per_shard, 5u);
}

TEST(Load, ReadsJson) {
  const auto config = loaded(Sources{
      "c.json",
      R"({"runtime": {"shards": 2}, "static_resources": {"listeners": [{"name": "a", )"
      R"("address": {"socket_address": {"address": "::1", "port_value": 1}}, "route_config": )"
      R"({"virtual_hosts": [{"name": "v", "domains": ["*"]}]}}]}})",
      ""});
  EXPECT_EQ(config.snapshot->runtime.shards, 2u);
}

TEST(Load, AnOverlayReplacesScalarsAndAppendsLists) {
  Sources sources = with("runtime: { shards: 2, drain_time: 1s }\n");
  sources.overlay_yaml =
      "runtime: { shards: 5 }\n"
      "static_resources: { caches: [ { name: b, path: /b, max_size_bytes: 16777216 } ] }\n";
  const auto config = loaded(sources);
  EXPECT_EQ(config.snapshot->runtime.shards, 5u);
  EXPECT_EQ(config.snapshot->runtime.drain_time_ms, 1000u);
  ASSERT_EQ(config.snapshot->caches.size(), 2u);
}

TEST(Load, AnOverlayAloneIsAConfiguration) {
  EXPECT_EQ(loaded(Sources{"", {}, std::string(kSmall)}).snapshot->listeners.size(), 1u);
}

TEST(Load, AMistakeInAnOverlayIsNamedAfterIt) {
  Sources sources = with("");
  sources.overlay_yaml =
      "static_resources:\n  caches:\n  - { name: b, path: /c, max_size_bytes: 16777216 }\n";
  LoadReport report;
  EXPECT_FALSE(load(sources, report).has_value());
  EXPECT_EQ(
      report.text(),
      "--config-yaml:3:22: static_resources.caches[1].path: cache `main` has the same path\n");
}

TEST(Load, EqualContentHasTheSameVersionWhateverItsSpelling) {
  const uint64_t version = loaded(with("runtime: { shards: 2 }\n")).snapshot->version;
  EXPECT_EQ(version, loaded(with("# a comment\nruntime: { 'shards': 0x2 }\n")).snapshot->version);
  EXPECT_NE(version, loaded(with("runtime: { shards: 3 }\n")).snapshot->version);
}

TEST(Load, CachesAreInTheOrderOfTheirNames) {
  Sources sources = with("");
  sources.overlay_yaml =
      "static_resources: { caches: [ { name: a, path: /a, max_size_bytes: 16777216 } ] }\n";
  const auto config = loaded(sources);
  EXPECT_EQ(config.snapshot->caches.at(0).name, "a");
  const Route& route = config.snapshot->listeners.at(0).routes.hosts.at(0).routes.at(0);
  EXPECT_EQ(config.snapshot->caches.at(route.cache).name, "main");
}

TEST(Load, KeepsTheMessagesAsJson) {
  const std::string json = loaded(with("runtime: { shards: 2 }\n")).bootstrap_json;
  EXPECT_NE(json.find("\"shards\": 2"), std::string::npos) << json;
  EXPECT_NE(json.find("\"static_resources\""), std::string::npos);
}

std::string problemOf(const std::string& text) {
  YamlTree tree;
  return parseYaml(text, tree).message;
}

std::string nested(size_t levels) {
  return std::string(levels, '[') + std::string(levels, ']');
}

TEST(YamlLimits, DepthEndsAtItsLimit) {
  EXPECT_EQ(problemOf(nested(kMaxYamlDepth)), "");
  EXPECT_EQ(problemOf(nested(kMaxYamlDepth + 1)), "nodes are nested more than 64 levels deep");
  EXPECT_EQ(problemOf(nested(100000)), "nodes are nested more than 64 levels deep");
}

TEST(YamlLimits, DepthCountsThroughAliases) {
  const auto doubled = [](size_t levels) {
    return problemOf("a: &a " + nested(levels) + "\nb: " + std::string(levels, '[') + "*a" +
                     std::string(levels, ']') + "\n");
  };
  EXPECT_EQ(doubled(31), "");  // the map, 31 and 31
  EXPECT_EQ(doubled(32), "nodes are nested more than 64 levels deep");
}

TEST(YamlLimits, AliasesDoNotMultiplyWithoutEnd) {
  std::string text = "a0: &a0 x\n";
  for (int i = 1; i < 20; i++) {
    const std::string last = "*a" + std::to_string(i - 1);
    text += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [" + last;
    for (int j = 1; j < 10; j++) {
      text += ", " + last;
    }
    text += "]\n";
  }
  EXPECT_EQ(
      problemOf(text),
      "the document has more than 500000 nodes or 67108864 bytes once its aliases are expanded");
}

TEST(YamlLimits, AliasesDoNotMultiplyText) {
  std::string text = "a: &a " + std::string(1 << 20, 'x') + "\nb: [";
  const auto withAliases = [&text](int count) {
    std::string all = text;
    for (int i = 0; i < count; i++) {
      all += "*a, ";
    }
    return problemOf(all + "]\n");
  };
  EXPECT_EQ(withAliases(62), "");
  EXPECT_NE(withAliases(64), "");
}

TEST(YamlLimits, ANodeCannotContainItself) {
  EXPECT_EQ(problemOf("a: &a [ *a ]\n"), "an alias refers to a node that it is part of");
}

TEST(YamlLimits, SizeEndsAtItsLimit) {
  const std::string line = "# a comment\n";
  std::string text = line;
  text.resize(kMaxYamlBytes - 1, '#');
  text += '\n';
  EXPECT_EQ(problemOf(text), "");
  EXPECT_EQ(problemOf(text + "\n"), "is larger than 4194304 bytes");
}

}  // namespace
}  // namespace config
