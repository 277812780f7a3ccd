// Goal: what the cache policy of a route says reaches the model, and what makes no sense in it is
// refused by name. Method: one small configuration with a policy put in; limits at N and N + 1.
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "source/config/load/compile_parts.h"
#include "source/config/load/load.h"

namespace config {
namespace {

std::string withPolicy(std::string_view policy, std::string_view listener = "") {
  return "static_resources:\n"
         "  listeners:\n"
         "  - name: web\n"
         "    address: { socket_address: { address: 0.0.0.0 } }\n" +
         std::string(listener) +
         "    route_config:\n"
         "      virtual_hosts:\n"
         "      - name: all\n"
         "        domains: ['*']\n"
         "        routes:\n"
         "        - match: { prefix: / }\n"
         "          route: { cluster: app }\n"
         "          cache:\n"
         "            store: main\n" +
         std::string(policy) +
         "  clusters:\n"
         "  - name: app\n"
         "    load_assignment: { endpoints: [ { lb_endpoints: [ { endpoint: { address: { "
         "socket_address: { address: 10.0.0.1, port_value: 80 } } } } ] } ] }\n"
         "  caches:\n"
         "  - { name: main, path: /c, max_size_bytes: 1073741824 }\n";
}

std::shared_ptr<const Snapshot> loaded(const std::string& yaml) {
  LoadReport report;
  std::optional<LoadedConfig> config = load(Sources{"c.yaml", yaml, ""}, report);
  EXPECT_TRUE(config.has_value()) << report.text();
  return config.has_value() ? config->snapshot : std::make_shared<Snapshot>();
}

const Route& routeOf(const Snapshot& snapshot) {
  return snapshot.listeners.at(0).routes.hosts.at(0).routes.at(0);
}

std::string findings(std::string_view policy, std::string_view listener = "") {
  LoadReport report;
  static_cast<void>(load(Sources{"c.yaml", withPolicy(policy, listener), ""}, report));
  return report.text();
}

std::string listOf(int count, std::string_view stem) {
  std::string out = "[";
  for (int i = 0; i < count; i++) {
    out.append(i == 0 ? "" : ", ").append(stem).append(std::to_string(i));
  }
  return out + "]";
}

using Names = std::vector<std::string>;

TEST(CachePolicy, Defaults) {
  const auto snapshot = loaded(withPolicy(""));
  const Route& route = routeOf(*snapshot);
  policy::RoutePolicy expected;
  expected.enabled = true;
  EXPECT_EQ(route.policy, expected);
  EXPECT_TRUE(route.bypass_rules.empty());
  EXPECT_TRUE(route.no_store_rules.empty());
}

TEST(CachePolicy, EachFieldReachesTheModel) {
  const auto snapshot = loaded(withPolicy(
      "            key: { normalize_path: true, headers: [X-B, X-A], cookies: [b, A] }\n"
      "            targeted_cache_control: [Ringfence-Cache-Control, CDN-Cache-Control]\n"
      "            stale_on: { connect_failure: 3s, timeout: 2s, server_error: 0s }\n"
      "            ignore_directives: { no_store: true, expires: true }\n"
      "            request_cookies: STRIP_COOKIES\n"
      "            ttl_jitter_percent: 7\n"
      "            min_uses: 3\n"
      "            check_content_type: true\n"
      "            accept_encodings: [BR, gzip]\n"
      "            accept_languages: [de-CH, fr]\n"
      "            compression: { algorithms: [GZIP, BR], min_length: 9, level: 2,\n"
      "                           content_types: ['text/*', Application/JSON] }\n"
      "            slice: { block_bytes: 65536 }\n"
      "            bypass: [ { methods: [GET], cookies: [ { name: S } ] } ]\n"
      "            no_store: [ { response_headers: [ { name: X-Y, exact_match: z } ] } ]\n"));
  const Route& route = routeOf(*snapshot);
  const policy::RoutePolicy& policy = route.policy;
  EXPECT_TRUE(policy.key.normalise_path);
  EXPECT_EQ(policy.key.headers, (Names{"x-a", "x-b"}));
  EXPECT_EQ(policy.key.cookies, (Names{"A", "b"}));
  EXPECT_EQ(policy.targeted, (Names{"ringfence-cache-control", "cdn-cache-control"}));
  EXPECT_EQ(policy.stale_on,
            (policy::StaleOn{.connect_failure_s = 3, .timeout_s = 2, .server_error_s = 0}));
  EXPECT_TRUE(policy.ignores(policy::Ignored::no_store));
  EXPECT_TRUE(policy.ignores(policy::Ignored::expires));
  EXPECT_FALSE(policy.ignores(policy::Ignored::max_age));
  EXPECT_EQ(policy.request_cookies, policy::RequestCookies::strip);
  EXPECT_EQ(policy.ttl_jitter_percent, 7u);
  EXPECT_EQ(policy.min_uses, 3u);
  EXPECT_TRUE(policy.check_content_type);
  EXPECT_EQ(policy.accept_encodings, (Names{"br", "gzip"}));
  EXPECT_EQ(policy.accept_languages, (Names{"de-ch", "fr"}));
  const policy::Compression compression{.algorithms = {policy::Coding::gzip, policy::Coding::br},
                                        .min_length = 9,
                                        .content_types = {"text/", "application/json"},
                                        .level = 2};
  EXPECT_EQ(policy.compression, compression);
  EXPECT_EQ(policy.slice_block_bytes, 65536U);
  const auto sliced = loaded(withPolicy("            slice: {}\n"));
  EXPECT_EQ(routeOf(*sliced).policy.slice_block_bytes, 1048576U);
  ASSERT_EQ(route.bypass_rules.size(), 1u);
  EXPECT_EQ(route.bypass_rules[0].methods, (Names{"GET"}));
  EXPECT_EQ(route.bypass_rules[0].cookies[0].name, "S");
  ASSERT_EQ(route.no_store_rules.size(), 1u);
  EXPECT_EQ(route.no_store_rules[0].response_headers[0].name, "x-y");
}

TEST(CachePolicy, RequestsAreReducedToTheAlgorithms) {
  const auto alone = loaded(withPolicy("            compression: { algorithms: [ZSTD, GZIP] }\n"));
  const policy::RoutePolicy& policy = routeOf(*alone).policy;
  EXPECT_EQ(policy.accept_encodings, (Names{"zstd", "gzip"}));
  ASSERT_TRUE(policy.compression.has_value());
  EXPECT_EQ(policy.compression->min_length, 1024U);
  EXPECT_EQ(policy.compression->level, std::nullopt);
  EXPECT_EQ(policy.compression->content_types.front(), "text/");
  const auto both =
      loaded(withPolicy("            accept_encodings: [br, gzip]\n"
                        "            compression: { algorithms: [GZIP] }\n"));
  EXPECT_EQ(routeOf(*both).policy.accept_encodings, (Names{"br", "gzip"}));
  EXPECT_NE(findings("            accept_encodings: [br]\n"
                     "            compression: { algorithms: [BR, GZIP] }\n")
                .find(".cache.compression.algorithms[1]: is not in accept_encodings"),
            std::string::npos);
}

TEST(CachePolicy, MistakesAreNamed) {
  struct Row {
    std::string_view policy;
    std::string_view finding;
  };
  const Row rows[] = {
      {"key: { headers: ['a b'] }", "key.headers[0]: `a b` cannot be a header's name"},
      {"key: { headers: [A, a] }", "key.headers[1]: is given twice"},
      {"key: { cookies: ['a;b'] }", "key.cookies[0]: `a;b` cannot be a cookie's name"},
      {"targeted_cache_control: ['']", "targeted_cache_control[0]: `` cannot be a field's name"},
      {"ttl_jitter_percent: 101", "ttl_jitter_percent: must be from 0 to 100, not 101"},
      {"min_uses: 0", "min_uses: must be from 1 to 15, not 0"},
      {"min_uses: 16", "min_uses: must be from 1 to 15, not 16"},
      {"accept_encodings: ['*']", "accept_encodings[0]: `*` cannot be a content coding"},
      {"accept_languages: [a, A]", "accept_languages[1]: is given twice"},
      {"compression: { level: 2 }", "compression.algorithms: is required"},
      {"compression: { algorithms: [GZIP, GZIP] }", "compression.algorithms[1]: is given twice"},
      {"compression: { algorithms: [ALGORITHM_UNSPECIFIED] }",
       "compression.algorithms[0]: must be GZIP, BR or ZSTD"},
      {"compression: { algorithms: [BR], level: 0 }",
       "compression.level: must be from 1 to 9, not 0"},
      {"compression: { algorithms: [BR], level: 10 }",
       "compression.level: must be from 1 to 9, not 10"},
      {"compression: { algorithms: [BR], content_types: ['*/*'] }",
       "compression.content_types[0]: `*/*` is no media type"},
      {"compression: { algorithms: [BR], content_types: ['text/h*'] }",
       "compression.content_types[0]: `text/h*` is no media type"},
      {"compression: { algorithms: [BR], content_types: [text] }",
       "compression.content_types[0]: `text` is no media type"},
      {"slice: { block_bytes: 65535 }",
       "slice.block_bytes: must be from 65536 to 16777216, not 65535"},
      {"slice: { block_bytes: 16777217 }",
       "slice.block_bytes: must be from 65536 to 16777216, not 16777217"},
      {"bypass: [ {} ]", "bypass[0]: "},
      {"bypass: [ { response_headers: [ { name: a } ] } ]",
       "bypass[0].response_headers: there is no response yet when requests are looked at"},
      {"no_store: [ { response_headers: [ { name: ':path' } ] } ]",
       "no_store[0].response_headers[0].name: a response has no `:path`"},
      {"no_store: [ { methods: ['G T'] } ]", "no_store[0].methods[0]: `G T` cannot be a method"},
      {"no_store: [ { cookies: [ {} ] } ]", "no_store[0].cookies[0].name: is required"},
      {"no_store: [ { cookies: [ { name: 'a=' } ] } ]",
       "no_store[0].cookies[0].name: `a=` cannot be a cookie's name"},
      {"stale_on: { timeout: 1.5s }", "stale_on.timeout: must be whole seconds"},
      {"{ key: { cookies: [a] }, request_cookies: BYPASS }", ""},
  };
  for (const Row& row : rows) {
    const bool whole = row.policy.starts_with('{');
    const std::string text =
        whole ? "            key: { cookies: [a] }\n            request_cookies: BYPASS\n"
              : "            " + std::string(row.policy) + "\n";
    const std::string expected =
        whole ? "request_cookies: with BYPASS no cookie of key.cookies is ever looked at"
              : std::string(row.finding);
    EXPECT_NE(findings(text).find(".cache." + expected), std::string::npos) << row.policy << "\n"
                                                                            << findings(text);
  }
}

TEST(CachePolicy, ListsAreLimited) {
  struct Row {
    std::string_view before;
    std::string_view stem;
    std::string_view after;
    int most;
  };
  const Row rows[] = {
      {"targeted_cache_control: ", "a", "", kMaxTargetedFields},
      {"key: { headers: ", "a", " }", kMaxKeyParts},
      {"key: { cookies: ", "a", " }", kMaxKeyParts},
      {"accept_encodings: ", "a", "", kMaxEncodings},
      {"accept_languages: ", "a", "", kMaxLanguages},
      {"bypass: [ { methods: ", "A", " } ]", kMaxRuleMethods},
  };
  for (const Row& row : rows) {
    const auto with = [&row](int count) {
      return findings("            " + std::string(row.before) + listOf(count, row.stem) +
                      std::string(row.after) + "\n");
    };
    EXPECT_EQ(with(row.most), "") << row.before;
    EXPECT_NE(with(row.most + 1).find("more than " + std::to_string(row.most)), std::string::npos)
        << row.before;
  }
  const auto rules = [](std::string_view list, int count) {
    std::string text = "            " + std::string(list) + ":\n";
    for (int i = 0; i < count; i++) {
      text += "            - { methods: [GET] }\n";
    }
    return findings(text);
  };
  for (const std::string_view list : {"bypass", "no_store"}) {
    EXPECT_EQ(rules(list, kMaxRules), "");
    EXPECT_NE(rules(list, kMaxRules + 1).find("more than 64"), std::string::npos);
  }
}

TEST(Loops, AreFoundByNamesThatAreTokens) {
  const auto snapshot =
      loaded(withPolicy("", "    via: us\n    cdn_loop: me\n    max_loops: 16\n"));
  ASSERT_EQ(snapshot->listeners.size(), 1u);
  EXPECT_EQ(snapshot->listeners[0].cdn_loop, "me");
  EXPECT_EQ(snapshot->listeners[0].max_loops, 16u);
  EXPECT_NE(findings("", "    cdn_loop: 'a b'\n").find("cdn_loop: must be a token of at most 64"),
            std::string::npos);
  EXPECT_NE(findings("", "    via: us\n    max_loops: 17\n").find("must be from 0 to 16, not 17"),
            std::string::npos);
  EXPECT_NE(findings("", "    max_loops: 1\n").find("max_loops: needs via or cdn_loop"),
            std::string::npos);
}

}  // namespace
}  // namespace config
