// Goal: a mistake in the text is reported where it stands, with its field's path and what was
// meant. Method: a table of texts, each with one mistake, and the exact line that it must give.
// Lines and columns were counted by hand; the messages are what an operator reads.
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "source/config/load/load.h"

namespace config {
namespace {

struct Case {
  std::string_view name;
  std::string_view yaml;
  std::string_view error;  // after "c.yaml:"
};

std::string errorsOf(std::string_view yaml) {
  LoadReport report;
  const auto loaded = load(Sources{"c.yaml", std::string(yaml), ""}, report);
  EXPECT_EQ(loaded.has_value(), report.ok());
  return report.text();
}

// Texts whose mistake hides everything else, so that nothing more is reported than it.
constexpr Case kCases[] = {
    {"UnknownFieldNearAnother",
     "static_resources:\n"
     "  listeners:\n"
     "  - name: a\n"
     "    adress: {}\n",
     "4:5: static_resources.listeners[0].adress: unknown field `adress`; did you mean `address`?"},
    {"UnknownFieldAtTheRoot", "adminn: {}\nstatic_resources: {}\n",
     "1:1: adminn: unknown field `adminn`; did you mean `admin`?"},
    {"UnknownFieldFromEnvoy",
     "static_resources:\n"
     "  listeners:\n"
     "  - filter_chains: []\n",
     "3:5: static_resources.listeners[0].filter_chains: unknown field `filter_chains`: a listener "
     "has "
     "its route_config without filters around it"},
    {"UnknownFieldOfAnInnerMessage",
     "static_resources:\n"
     "  listeners:\n"
     "  - name: a\n"
     "    virtual_hosts: []\n",
     "4:5: static_resources.listeners[0].virtual_hosts: unknown field `virtual_hosts`: it belongs "
     "into "
     "`route_config`"},
    {"UnknownFieldOfAnotherMessage",
     "static_resources:\n"
     "  listeners:\n"
     "  - name: a\n"
     "    lb_policy: ROUND_ROBIN\n",
     "4:5: static_resources.listeners[0].lb_policy: unknown field `lb_policy`: it is a field of "
     "Cluster, not of Listener"},
    {"UnknownFieldNearNothing", "admin: { zzzzzzzz: 1 }\n",
     "1:10: admin.zzzzzzzz: unknown field `zzzzzzzz`: Admin has address"},
    {"DuplicateKey", "runtime:\n  shards: 1\n  engine: AUTO\n  shards: 2\n",
     "4:3: runtime.shards: is given twice; the first is on line 2"},
    {"DuplicateKeyInTheOtherSpelling", "runtime:\n  drain_time: 1s\n  drainTime: 2s\n",
     "3:3: runtime.drain_time: is given twice; the first is on line 2"},
    {"DuplicateKeyInAMap",
     "logging:\n  access_log:\n    path: a\n    json_format: { x: \"1\", x: \"2\" }\n",
     "4:28: logging.access_log.json_format[\"x\"]: is given twice"},
    {"NumberForADuration", "runtime:\n  drain_time: 30\n",
     "2:15: runtime.drain_time: a duration needs its unit; did you mean `30s`?"},
    {"QuotedNumberForADuration", "runtime: { drain_time: \"30\" }\n",
     "1:24: runtime.drain_time: a duration needs its unit; did you mean `30s`?"},
    {"MinutesForADuration", "runtime: { drain_time: 5m }\n",
     "1:24: runtime.drain_time: expected a duration in seconds such as `1.5s`, not `5m`; did you "
     "mean "
     "`300s`?"},
    {"MillisecondsForADuration", "runtime: { drain_time: 250ms }\n",
     "1:24: runtime.drain_time: expected a duration in seconds such as `1.5s`, not `250ms`; did "
     "you "
     "mean `0.25s`?"},
    {"MixedUnitsForADuration", "runtime: { drain_time: 1h30m }\n",
     "1:24: runtime.drain_time: expected a duration in seconds such as `1.5s`, not `1h30m`; did "
     "you "
     "mean `5400s`?"},
    {"NegativeDuration", "runtime: { drain_time: -1s }\n",
     "1:24: runtime.drain_time: a duration cannot be negative"},
    {"ListForADuration", "runtime: { drain_time: [1s] }\n",
     "1:24: runtime.drain_time: expected a duration in seconds such as `1.5s`, not a list"},
    {"TextForANumber", "runtime:\n  shards: two\n",
     "2:11: runtime.shards: expected a whole number, not `two`"},
    {"FractionForANumber", "runtime: { shards: 1.5 }\n",
     "1:20: runtime.shards: expected a whole number, not `1.5`"},
    {"NegativeNumber", "runtime: { shards: -1 }\n",
     "1:20: runtime.shards: expected a whole number from 0 to 4294967295, not `-1`"},
    {"NumberBeyond32Bits", "runtime: { shards: 4294967296 }\n",
     "1:20: runtime.shards: expected a whole number from 0 to 4294967295, not `4294967296`"},
    {"LeadingZero", "runtime: { shards: 010 }\n",
     "1:20: runtime.shards: expected a whole number, not `010`; did you mean `10`?"},
    {"UnitForBytes", "runtime: { buffer_pool_bytes_per_shard: 64MiB }\n",
     "1:41: runtime.buffer_pool_bytes_per_shard: expected a whole number of bytes, not `64MiB`; "
     "did you "
     "mean `67108864`?"},
    {"UnderscoresInBytes", "runtime: { buffer_pool_bytes_per_shard: 67_108_864 }\n",
     "1:41: runtime.buffer_pool_bytes_per_shard: expected a whole number of bytes, not "
     "`67_108_864`; "
     "did you mean `67108864`?"},
    {"UnitForKibibytes", "static_resources: { listeners: [ { max_request_headers_kb: 32KiB } ] }\n",
     "1:60: static_resources.listeners[0].max_request_headers_kb: expected a whole number of KiB, "
     "not "
     "`32KiB`; did you mean `32`?"},
    {"MapForANumber", "runtime: { shards: {} }\n",
     "1:20: runtime.shards: expected a whole number, not a map"},
    {"UnknownEnumerator", "runtime:\n  engine: IO_URNG\n",
     "2:11: runtime.engine: expected one of AUTO, IO_URING, EPOLL, not `IO_URNG`; did you mean "
     "`IO_URING`?"},
    {"UnknownEnumeratorNumber", "runtime: { engine: 7 }\n",
     "1:20: runtime.engine: expected one of AUTO, IO_URING, EPOLL, not `7`"},
    {"NumberForAString", "static_resources: { clusters: [ { name: 1 } ] }\n",
     "1:41: static_resources.clusters[0].name: expected a string, not the number 1, which has to "
     "be "
     "quoted; did you mean `\"1\"`?"},
    {"BooleanForAString", "static_resources: { clusters: [ { name: on } ] }\n",
     "1:41: static_resources.clusters[0].name: expected a string, not the boolean on, which has to "
     "be "
     "quoted; did you mean `\"on\"`?"},
    {"ListForAString", "static_resources: { clusters: [ { name: [a] } ] }\n",
     "1:41: static_resources.clusters[0].name: expected a string, not a list"},
    {"TextForABoolean", "static_resources: { clusters: [ { respect_dns_ttl: ture } ] }\n",
     "1:52: static_resources.clusters[0].respect_dns_ttl: expected true or false, not `ture`; did "
     "you "
     "mean `true`?"},
    {"NumberForABoolean", "static_resources: { clusters: [ { respect_dns_ttl: 1 } ] }\n",
     "1:52: static_resources.clusters[0].respect_dns_ttl: expected true or false, not `1`; did you "
     "mean `true`?"},
    {"QuotedBoolean", "static_resources: { clusters: [ { respect_dns_ttl: \"no\" } ] }\n",
     "1:52: static_resources.clusters[0].respect_dns_ttl: expected true or false, not the string "
     "`no`; did you mean `false`?"},
    {"MapForAList", "static_resources:\n  listeners: { name: a }\n",
     "2:14: static_resources.listeners: expected a list, not a map"},
    {"StringForAList",
     "static_resources: { listeners: [ { route_config: { virtual_hosts: [ { domains: a.com } ] } } "
     "] }\n",
     "1:80: static_resources.listeners[0].route_config.virtual_hosts[0].domains: expected a list, "
     "not "
     "`a.com`; did you mean `[a.com]`?"},
    {"ListForAMap", "admin: []\n",
     "1:8: admin: expected a map with the fields of Admin, not a list"},
    {"StringForAMap", "admin: 127.0.0.1:9901\n",
     "1:8: admin: expected a map with the fields of Admin, not `127.0.0.1:9901`"},
    {"EmptyElement", "static_resources:\n  listeners:\n  -\n  - name: a\n",
     "3:3: static_resources.listeners[0]: a list's element cannot be empty"},
    {"ListAtTheRoot", "- a\n", "1:1: expected a map with the fields of Bootstrap, not a list"},
    {"MapAsAKey", "{ {a: b}: c }\n", "1:3: a key must be a name, not a map"},
    {"TwoOfAOneof",
     "static_resources:\n"
     "  listeners:\n"
     "  - route_config:\n"
     "      virtual_hosts:\n"
     "      - routes:\n"
     "        - match:\n"
     "            prefix: /\n"
     "            path: /a\n",
     "8:13: static_resources.listeners[0].route_config.virtual_hosts[0].routes[0].match.path: "
     "cannot "
     "stand beside `prefix` on line 7"},
    {"MergeOfAString", "runtime: { <<: x }\n",
     "1:16: runtime: `<<` merges a map or a list of maps, not a string"},
};

class BadYaml : public testing::TestWithParam<Case> {};

TEST_P(BadYaml, IsReportedInItsPlace) {
  const std::string errors = errorsOf(GetParam().yaml);
  const std::string first = errors.substr(0, errors.find('\n'));
  EXPECT_EQ(first, "c.yaml:" + std::string(GetParam().error));
}

INSTANTIATE_TEST_SUITE_P(Table, BadYaml, testing::ValuesIn(kCases),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(BadYaml, SyntaxErrorsHaveTheirPlace) {
  const std::string errors = errorsOf("admin:\n  address: [\n");
  EXPECT_EQ(errors.rfind("c.yaml:3:1: is not YAML: ", 0), 0u) << errors;
}

TEST(BadYaml, ASecondDocumentIsRefused) {
  EXPECT_EQ(errorsOf("runtime: {}\n---\nadmin: {}\n"),
            "c.yaml:3:1: a second document begins here; a configuration is one\n");
}

TEST(BadYaml, TextThatIsNotUtf8IsRefused) {
  EXPECT_EQ(errorsOf("runtime: {}\nadmin: { x: \xff }\n"),
            "c.yaml:2:13: the text is not UTF-8 here\n");
}

TEST(BadYaml, ControlCharactersAreRefused) {
  EXPECT_EQ(errorsOf(std::string_view("a: \0", 4)),
            "c.yaml:1:4: the text has a control character here\n");
}

TEST(BadYaml, AZeroByteByEscapeIsRefused) {
  EXPECT_EQ(errorsOf("logging: { path: \"a\\0b\" }\n").substr(0, 65),
            "c.yaml:1:18: logging.path: a string cannot hold a zero byte\nc.yam");
}

TEST(BadYaml, UnknownTagsAreRefused) {
  EXPECT_EQ(errorsOf("runtime: { shards: !env X }\n"),
            "c.yaml:1:20: the tag `!env` has no meaning here\n");
}

TEST(BadYaml, ManyMistakesAreReportedInOnePass) {
  const std::string errors = errorsOf(
      "runtime:\n"
      "  shards: many\n"
      "  drain_time: 5\n"
      "loging: {}\n"
      "static_resources:\n"
      "  clusters:\n"
      "  - nam: a\n");
  EXPECT_EQ(
      errors,
      "c.yaml:2:11: runtime.shards: expected a whole number, not `many`\n"
      "c.yaml:3:15: runtime.drain_time: a duration needs its unit; did you mean `5s`?\n"
      "c.yaml:4:1: loging: unknown field `loging`; did you mean `logging`?\n"
      "c.yaml:7:5: static_resources.clusters[0].nam: unknown field `nam`; did you mean `name`?\n"
      "c.yaml:6:3: static_resources.listeners: at least one listener is required\n");
}

TEST(BadYaml, FindingsAreBounded) {
  const auto unknown = [](size_t count) {  // and one for the listeners that are missing
    std::string yaml;
    for (size_t i = 0; i < count; i++) {
      yaml += "zzzzzzzz" + std::to_string(i) + ": 1\n";
    }
    LoadReport report;
    EXPECT_FALSE(load(Sources{"c.yaml", yaml, ""}, report).has_value());
    return std::pair(report.errors.size(), report.dropped);
  };
  EXPECT_EQ(unknown(kMaxFindings - 1), std::pair(kMaxFindings, 0u));
  EXPECT_EQ(unknown(kMaxFindings), std::pair(kMaxFindings, 1u));
}

TEST(BadYaml, AMissingFileIsNamed) {
  LoadReport report;
  EXPECT_FALSE(load(Sources{"no/such/file.yaml", {}, ""}, report).has_value());
  EXPECT_EQ(report.text(), "no/such/file.yaml: cannot be opened: No such file or directory\n");
}

TEST(BadYaml, ADirectoryIsNoFile) {
  LoadReport report;
  EXPECT_FALSE(load(Sources{"/", {}, ""}, report).has_value());
  EXPECT_EQ(report.text(), "/: is not a file\n");
}

TEST(BadYaml, AnEmptyTextLacksItsListeners) {
  EXPECT_EQ(errorsOf(""),
            "c.yaml:1:1: static_resources.listeners: at least one listener is required\n");
  EXPECT_EQ(errorsOf("# nothing\n"),
            "c.yaml:1:1: static_resources.listeners: at least one listener is required\n");
}

}  // namespace
}  // namespace config
