// Goal: a text that makes no sense is refused where the sense is missing. Method: one good text;
// each case replaces one of its lines, and names the exact finding. Limits are tested at N, N + 1.
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "source/config/load/checks.h"
#include "source/config/load/compile_parts.h"
#include "source/config/load/load.h"

namespace config {
namespace {

constexpr std::string_view kGood =
    "admin: { address: { socket_address: { address: 127.0.0.1, port_value: 9901 } } }\n"  // 1
    "runtime: {}\n"                                                                       // 2
    "logging: {}\n"                                                                       // 3
    "static_resources:\n"                                                                 // 4
    "  listeners:\n"                                                                      // 5
    "  - name: web\n"                                                                     // 6
    "    address: { socket_address: { address: 127.0.0.1, port_value: 80 } }\n"           // 7
    "    route_config:\n"                                                                 // 8
    "      virtual_hosts:\n"                                                              // 9
    "      - name: all\n"                                                                 // 10
    "        domains: ['*']\n"                                                            // 11
    "        routes:\n"                                                                   // 12
    "        - match: { prefix: / }\n"                                                    // 13
    "          route: { cluster: app }\n"                                                 // 14
    "          cache: { store: main }\n"                                                  // 15
    "  clusters:\n"                                                                       // 16
    "  - name: app\n"                                                                     // 17
    "    load_assignment:\n"                                                              // 18
    "      endpoints:\n"                                                                  // 19
    "      - lb_endpoints:\n"                                                             // 20
    "        - endpoint: { address: { socket_address: { address: 10.0.0.1, port_value: 1 } } }\n"
    "  caches:\n"                        // 22
    "  - name: main\n"                   // 23
    "    path: cache\n"                  // 24
    "    max_size_bytes: 1073741824\n";  // 25

std::string withLine(uint32_t line, std::string_view text) {
  std::string out;
  std::string_view rest = kGood;
  for (uint32_t i = 1; !rest.empty(); i++) {
    const size_t end = rest.find('\n') + 1;
    out += i == line ? std::string(text) + "\n" : std::string(rest.substr(0, end));
    rest.remove_prefix(end);
  }
  return out;
}

std::string findingsOf(const std::string& yaml) {
  LoadReport report;
  static_cast<void>(load(Sources{"c.yaml", yaml, ""}, report));
  std::string out = report.text();
  for (const Finding& warning : report.warnings) {
    out += "warning: " + warning.text() + "\n";
  }
  return out;
}

struct Case {
  std::string_view name;
  uint32_t line;
  std::string_view text;
  std::string_view finding;  // after "c.yaml:"; the first
};

constexpr std::string_view kRoute =
    "static_resources.listeners[0].route_config.virtual_hosts[0].routes[0]";

// "@" stands for kRoute.
constexpr Case kCases[] = {
    {"AddressWithPort", 7, "    address: { socket_address: { address: '127.0.0.1:80' } }",
     "7:43: static_resources.listeners[0].address.socket_address.address: `127.0.0.1:80` is no IP "
     "address; did you mean `127.0.0.1`?"},
    {"AddressOfAHostName", 7, "    address: { socket_address: { address: localhost } }",
     "7:43: static_resources.listeners[0].address.socket_address.address: `localhost` is no IP "
     "address; did you mean `127.0.0.1`?"},
    {"AddressOfAStar", 7, "    address: { socket_address: { address: '*' } }",
     "7:43: static_resources.listeners[0].address.socket_address.address: `*` is no IP address; "
     "did "
     "you mean `0.0.0.0`?"},
    {"AddressInBrackets", 7, "    address: { socket_address: { address: '[::1]' } }",
     "7:43: static_resources.listeners[0].address.socket_address.address: `[::1]` is no IP "
     "address; "
     "did you mean `::1`?"},
    {"PortBeyondTheLast", 7,
     "    address: { socket_address: { address: '::', port_value: 65536 } }",
     "7:61: static_resources.listeners[0].address.socket_address.port_value: must be from 0 to "
     "65535, "
     "not 65536"},
    {"MissingAddress", 7, "    via: x", "6:5: static_resources.listeners[0].address: is required"},
    {"MissingSocketAddress", 7, "    address: {}",
     "7:14: static_resources.listeners[0].address.socket_address: is required"},
    {"AdminOnTheListenersAddress", 7,
     "    address: { socket_address: { address: 127.0.0.1, port_value: 9901 } }",
     "7:14: static_resources.listeners[0].address: the admin listens on 127.0.0.1 port 9901 as "
     "well"},
    {"TwoSpellingsOfOneAddress", 7,
     "    address: { socket_address: { address: '::1', port_value: 80 } }\n"
     "    additional_addresses: [ { address: { socket_address: { address: '0::1', port_value: 80 } "
     "} } ]",
     "8:40: static_resources.listeners[0].additional_addresses[0].address: listener `web` listens "
     "on "
     "::1 port 80 as well"},
    {"MissingName", 6, "  - via: x", "6:5: static_resources.listeners[0].name: is required"},
    {"NameWithASpace", 6, "  - name: my web",
     "6:11: static_resources.listeners[0].name: a name has at most 128 letters, digits, `_`, `-` "
     "and "
     "`.`; did you mean `my_web`?"},
    {"TwoListenersOfOneName", 16,
     "  - { name: web, address: { socket_address: { address: '::1' } }, route_config: { "
     "virtual_hosts: "
     "[ { name: a, domains: [a] } ] } }\n"
     "  clusters:",
     "16:13: static_resources.listeners[1].name: another listener is called `web`"},
    {"ShardsBeyondTheMost", 2, "runtime: { shards: 257 }",
     "2:20: runtime.shards: must be from 0 to 256, not 257; did you mean `256`?"},
    {"PoolBelowTheLeast", 2, "runtime: { buffer_pool_bytes_per_shard: 4194303 }",
     "2:41: runtime.buffer_pool_bytes_per_shard: must be from 4194304 to 68719476736, not 4194303; "
     "did "
     "you mean `4194304`?"},
    {"ConnectionsOfZero", 2, "runtime: { max_connections_per_shard: 0 }",
     "2:39: runtime.max_connections_per_shard: must be from 1 to 1048576, not 0; did you mean "
     "`1`?"},
    {"DrainTimeBeyondADay", 2, "runtime: { drain_time: 86401s }",
     "2:24: runtime.drain_time: must be from 0.001s to 86400s, or 0s, not 86401s; did you mean "
     "`86400s`?"},
    {"DurationBelowAMillisecond", 2, "runtime: { drain_time: 0.0005s }",
     "2:24: runtime.drain_time: must be from 0.001s to 86400s, or 0s, not 0.0005s; did you mean "
     "`0.001s`?"},
    {"AccessLogWithoutPath", 3, "logging: { access_log: {} }",
     "3:24: logging.access_log.path: is required"},
    {"AccessLogOfTwoFormats", 3,
     "logging: { access_log: { path: a, format: '-', json_format: { a: '-' } } }",
     "3:61: logging.access_log.json_format: cannot stand beside `format`"},
    {"AccessLogWithUnknownOperator", 3,
     "logging: { access_log: { path: a, format: '%RESPONSE_COD%' } }",
     "3:43: logging.access_log.format: has no command operator %RESPONSE_COD%; did you mean "
     "`RESPONSE_CODE`?"},
    {"AccessLogWithALonePercent", 3, "logging: { access_log: { path: a, format: '100%' } }",
     "3:43: logging.access_log.format: has a `%` without its partner; write `%%` for a per cent "
     "sign; "
     "did you mean `%%`?"},
    {"AccessLogHeaderWithoutName", 3, "logging: { access_log: { path: a, format: '%REQ%' } }",
     "3:43: logging.access_log.format: uses %REQ% wrongly: it needs a header, as in "
     "%REQ(User-Agent)%"},
    {"ViaOfTwoWords", 7, "    address: { socket_address: { address: '::' } }\n    via: my proxy",
     "8:10: static_resources.listeners[0].via: must be a token of at most 64 characters; did you "
     "mean "
     "`ringfence`?"},
    {"NoDomains", 11, "        #",
     "10:9: static_resources.listeners[0].route_config.virtual_hosts[0].domains: at least one "
     "domain is "
     "required"},
    {"DomainWithPort", 11, "        domains: ['a.com:8080']",
     "11:19: static_resources.listeners[0].route_config.virtual_hosts[0].domains[0]: `a.com:8080` "
     "is "
     "not a host name alone: scheme, port and path do not count; did you mean `a.com`?"},
    {"DomainOfAUrl", 11, "        domains: ['https://a.com/x']",
     "11:19: static_resources.listeners[0].route_config.virtual_hosts[0].domains[0]: "
     "`https://a.com/x` "
     "is not a host name alone: scheme, port and path do not count; did you mean `a.com`?"},
    {"DomainWithAStarInside", 11, "        domains: ['a.*.com']",
     "11:19: static_resources.listeners[0].route_config.virtual_hosts[0].domains[0]: a domain has "
     "one "
     "`*` at most, at its beginning or end"},
    {"DomainOfBareIpv6", 11, "        domains: ['::1']",
     "11:19: static_resources.listeners[0].route_config.virtual_hosts[0].domains[0]: an IPv6 "
     "address "
     "stands in brackets; did you mean `[::1]`?"},
    {"DomainTwice", 11, "        domains: [a.com, A.com]",
     "11:26: static_resources.listeners[0].route_config.virtual_hosts[0].domains[1]: `a.com` is a "
     "domain "
     "of virtual host `all` already"},
    {"NoMatch", 13, "        - name: x", "13:11: @.match: is required"},
    {"EmptyMatch", 13, "        - match: {}",
     "13:18: @.match: one of prefix, path, path_separated_prefix and safe_regex is required"},
    {"PrefixWithoutSlash", 13, "        - match: { prefix: api/ }",
     "13:28: @.match.prefix: a path begins with `/`; did you mean `/api/`?"},
    {"PathWithQuery", 13, "        - match: { path: '/a?b=c' }",
     "13:26: @.match.path: a path has no query; match it with query_parameters; did you mean "
     "`/a`?"},
    {"SeparatedPrefixWithSlash", 13, "        - match: { path_separated_prefix: /a/ }",
     "13:43: @.match.path_separated_prefix: must not end with `/`; did you mean `/a`?"},
    {"InvalidRegex", 13, "        - match: { safe_regex: { regex: '/(' } }",
     "13:41: @.match.safe_regex.regex: `/(` is not a regular expression: missing ): /("},
    {"HeaderWithoutName", 13, "        - match: { prefix: /, headers: [ { exact_match: a } ] }",
     "13:42: @.match.headers[0].name: is required"},
    {"HeaderPrefixOfNothing", 13,
     "        - match: { prefix: /, headers: [ { name: a, prefix_match: '' } ] }",
     "13:67: @.match.headers[0].prefix_match: must not be empty: it would match everything; use "
     "`present_match: true`"},
    {"IgnoreCaseOfARegex", 13,
     "        - match: { prefix: /, headers: [ { name: a, string_match: { safe_regex: { regex: a "
     "}, "
     "ignore_case: true } } ] }",
     "13:108: @.match.headers[0].string_match.ignore_case: has no effect on safe_regex; begin the "
     "expression with (?i)"},
    {"ParameterWithEquals", 13,
     "        - match: { prefix: /, query_parameters: [ { name: 'a=b' } ] }",
     "13:59: @.match.query_parameters[0].name: `a=b` cannot be a parameter's name"},
    {"UnknownCluster", 14, "          route: { cluster: ap }",
     "14:29: @.route.cluster: there is no cluster `ap`; did you mean `app`?"},
    {"MissingCluster", 14, "          route: {}", "14:18: @.route.cluster: is required"},
    {"RewriteWithoutSlash", 14, "          route: { cluster: app, prefix_rewrite: v2 }",
     "14:50: @.route.prefix_rewrite: begins with `/`; did you mean `/v2`?"},
    {"HostRewriteOfAUrl", 14, "          route: { cluster: app, host_rewrite_literal: 'a/b' }",
     "14:56: @.route.host_rewrite_literal: `a/b` cannot be a Host"},
    {"RetriesBeyondTheMost", 14,
     "          route: { cluster: app, retry_policy: { num_retries: 11 } }",
     "14:63: @.route.retry_policy.num_retries: must be from 0 to 10, not 11; did you mean `10`?"},
    {"RedirectToItself", 14, "          redirect: {}\n          #",
     "14:21: @.redirect: redirects a request to itself: give host_redirect, path_redirect, "
     "prefix_rewrite, port_redirect, https_redirect or strip_query"},
    {"RedirectToAUrl", 14, "          redirect: { host_redirect: 'https://a.com' }",
     "14:38: @.redirect.host_redirect: `https://a.com` is no host name without a port"},
    {"CachedRedirect", 14, "          redirect: { host_redirect: a.com }",
     "15:18: @.cache: only answers of a `route` are cached"},
    {"DirectResponseWithoutStatus", 14, "          direct_response: {}",
     "14:28: @.direct_response.status: is required"},
    {"DirectResponseOf100", 14, "          direct_response: { status: 100 }",
     "14:38: @.direct_response.status: must be from 200 to 599, not 100; did you mean `200`?"},
    {"BodyOf204", 14, "          direct_response: { status: 204, body: { inline_string: a } }",
     "14:66: @.direct_response.body.inline_string: a response with status 204 has no body"},
    {"NoAction", 14, "          name: x",
     "13:11: @: one of route, redirect and direct_response is required"},
    {"AddHost", 14,
     "          route: { cluster: app }\n"
     "          request_headers_to_add: [ { header: { key: Host, value: a } } ]",
     "15:54: @.request_headers_to_add[0].header.key: `Host` frames the message or belongs to one "
     "connection; see host_rewrite_literal"},
    {"RemoveContentLength", 14,
     "          route: { cluster: app }\n"
     "          response_headers_to_remove: [content-length]",
     "15:40: @.response_headers_to_remove[0]: `content-length` frames the message or belongs to "
     "one "
     "connection"},
    {"HeaderNameWithColon", 14,
     "          route: { cluster: app }\n"
     "          response_headers_to_remove: ['X-A:']",
     "15:40: @.response_headers_to_remove[0]: `X-A:` cannot be a header's name; did you mean "
     "`X-A`?"},
    {"HeaderValueWithALineBreak", 14,
     "          route: { cluster: app }\n"
     "          response_headers_to_add: [ { header: { key: a, value: \"b\\nc: d\" } } ]",
     "15:65: @.response_headers_to_add[0].header.value: a header's value has at most 8192 bytes "
     "and no "
     "control characters"},
    {"HeaderValueWithPercent", 14,
     "          route: { cluster: app }\n"
     "          response_headers_to_add: [ { header: { key: a, value: '%REQ(b)%' } } ]",
     "15:65: @.response_headers_to_add[0].header.value: values are not substituted here; write "
     "`%%` for "
     "a per cent sign; did you mean `%%REQ(b)%%`?"},
    {"UnknownStore", 15, "          cache: { store: mian }",
     "15:27: @.cache.store: there is no cache `mian`; did you mean `main`?"},
    {"MissingStore", 15, "          cache: {}", "15:18: @.cache.store: is required"},
    {"BothQueryLists", 15,
     "          cache: { store: main, key: { query_parameters_included: [a], "
     "query_parameters_excluded: "
     "[b] } }",
     "15:99: @.cache.key.query_parameters_excluded: cannot stand beside "
     "`query_parameters_included`"},
    {"StarInAnIncludedName", 15,
     "          cache: { store: main, key: { query_parameters_included: ['a*'] } }",
     "15:68: @.cache.key.query_parameters_included[0]: a `*` has no meaning here"},
    {"StatusTwice", 15,
     "          cache: { store: main, status_ttls: [ { status: 404, ttl: 1s }, { status: 404, ttl: "
     "2s } ] }",
     "15:84: @.cache.status_ttls[1].status: is given twice"},
    {"StatusOfAnUnknownClass", 15,
     "          cache: { store: main, status_ttls: [ { status: 6, ttl: 1s } ] }",
     "15:58: @.cache.status_ttls[0].status: must be a status from 200 to 599, or a class from 2 to "
     "5"},
    {"StatusWithoutTtl", 15, "          cache: { store: main, status_ttls: [ { status: 404 } ] }",
     "15:48: @.cache.status_ttls[0].ttl: is required"},
    {"TtlWithAFraction", 15, "          cache: { store: main, default_ttl: 1.5s }",
     "15:46: @.cache.default_ttl: must be whole seconds; did you mean `2s`?"},
    {"TtlBeyondTenYears", 15, "          cache: { store: main, max_ttl: 315360001s }",
     "15:42: @.cache.max_ttl: must be at most 315360000s (10 years); did you mean `315360000s`?"},
    {"MaxTtlBelowMinTtl", 15, "          cache: { store: main, min_ttl: 10s, max_ttl: 9s }",
     "15:56: @.cache.max_ttl: must not be below min_ttl, which is 10s"},
    {"ObjectBeyondTheCaches", 15, "          cache: { store: main, max_object_bytes: 536870913 }",
     "15:51: @.cache.max_object_bytes: must be from 0 to 536870912, not 536870913; did you mean "
     "`536870912`?"},
    {"FractionBeyondAHundred", 15,
     "          cache: { store: main, heuristic: { fraction_percent: 101 } }",
     "15:64: @.cache.heuristic.fraction_percent: must be from 0 to 100, not 101; did you mean "
     "`100`?"},
    {"HostNameInAStaticCluster", 21,
     "        - endpoint: { address: { socket_address: { address: app.local, port_value: 1 } } }",
     "21:61: "
     "static_resources.clusters[0].load_assignment.endpoints[0].lb_endpoints[0].endpoint.address."
     "socket_address.address: `app.local` is no IP address; a cluster of type STRICT_DNS takes "
     "host "
     "names"},
    {"EndpointWithoutPort", 21,
     "        - endpoint: { address: { socket_address: { address: 10.0.0.1 } } }",
     "21:50: "
     "static_resources.clusters[0].load_assignment.endpoints[0].lb_endpoints[0].endpoint.address."
     "socket_address.port_value: must be from 1 to 65535"},
    {"ConnectTimeoutOfZero", 17, "  - name: app\n    connect_timeout: 0s",
     "18:22: static_resources.clusters[0].connect_timeout: must be from 0.001s to 600s, not 0s; "
     "did you "
     "mean `0.001s`?"},
    {"WeightOfZero", 21,
     "        - { endpoint: { address: { socket_address: { address: 10.0.0.1, port_value: 1 } } }, "
     "load_balancing_weight: 0 }",
     "21:117: static_resources.clusters[0].load_assignment.endpoints[0].lb_endpoints[0]."
     "load_balancing_weight: must be from 1 to 65535, not 0; did you mean `1`?"},
    {"CacheWithoutPath", 24, "    #", "23:5: static_resources.caches[0].path: is required"},
    {"CacheOfNoSize", 25, "    #", "23:5: static_resources.caches[0].max_size_bytes: is required"},
    {"CacheBelowTheLeast", 25, "    max_size_bytes: 16777215",
     "25:21: static_resources.caches[0].max_size_bytes: must be from 16777216 to 17592186044416, "
     "not 16777215; did you mean `16777216`?"},
    {"TwoCachesOnOnePath", 25,
     "    max_size_bytes: 1073741824\n"
     "  - { name: other, path: ./x/../cache/, max_size_bytes: 1073741824 }",
     "26:26: static_resources.caches[1].path: cache `main` has the same path"},
    {"SegmentOfNoPowerOfTwo", 24, "    path: cache\n    segment_bytes: 3145728",
     "25:20: static_resources.caches[0].segment_bytes: must be a power of two; did you mean "
     "`2097152`?"},
    {"TagFieldWithoutName", 24, "    path: cache\n    tags: { fields: [ { separator: SPACE } ] }",
     "25:23: static_resources.caches[0].tags.fields[0].name: is required"},
    {"TagFieldOfUnknownSeparator", 24, "    path: cache\n    tags: { fields: [ { name: X-Tag } ] }",
     "25:23: static_resources.caches[0].tags.fields[0].separator: must be SPACE or COMMA for a "
     "field other than Surrogate-Key and Cache-Tag"},
    {"TagFieldTwice", 24,
     "    path: cache\n    tags: { fields: [ { name: cache-tag }, { name: Cache-Tag } ] }",
     "25:52: static_resources.caches[0].tags.fields[1].name: is there twice"},
    {"TagFieldOfNoName", 24, "    path: cache\n    tags: { fields: [ { name: \"a b\" } ] }",
     "25:31: static_resources.caches[0].tags.fields[0].name: is not a field name"},
    {"WriteBudget", 24, "    path: cache\n    admission: { write_bytes_per_second: 1099511627777 }",
     "25:42: static_resources.caches[0].admission.write_bytes_per_second: must be from 0 to "
     "1099511627776, not 1099511627777; did you mean `1099511627776`?"},
    {"TooFewSegments", 24, "    path: cache\n    segment_bytes: 16777216\n    stripes: 20",
     "25:20: static_resources.caches[0].segment_bytes: a stripe needs at least 5 segments: "
     "max_size_bytes would have to be 1677721600"},
    {"LibaioThroughThePageCache", 24, "    path: cache\n    disk_io: LIBAIO\n    direct_io: no",
     "26:16: static_resources.caches[0].direct_io: LIBAIO would block the shard on reads through "
     "the page cache; did you mean `true`?"},
    {"SendfilePastThePageCache", 24, "    path: cache\n    disk_io: SENDFILE",
     "25:14: static_resources.caches[0].disk_io: SENDFILE needs `direct_io: false` beside it"},
    {"SendfileWithDirectIo", 24, "    path: cache\n    disk_io: SENDFILE\n    direct_io: yes",
     "26:16: static_resources.caches[0].direct_io: SENDFILE reads through the page cache; did you "
     "mean "
     "`false`?"},
};

std::string expand(std::string_view text) {
  std::string out;
  for (const char c : text) {
    c == '@' ? out.append(kRoute) : out.append(1, c);
  }
  return out;
}

class CompileErrors : public testing::TestWithParam<Case> {};

TEST_P(CompileErrors, AreReportedInTheirPlace) {
  const Case& test = GetParam();
  const std::string findings = findingsOf(withLine(test.line, test.text));
  const std::string first = findings.substr(0, findings.find('\n'));
  EXPECT_EQ(first, "c.yaml:" + expand(test.finding));
}

INSTANTIATE_TEST_SUITE_P(Table, CompileErrors, testing::ValuesIn(kCases),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(CompileErrors, TheGoodConfigurationHasNone) {
  EXPECT_EQ(findingsOf(std::string(kGood)), "");
}

std::string replaced(std::string_view from, std::string_view to) {
  std::string text(kGood);
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

TEST(CompileErrors, DiskIoOfTheRingNeedsTheRing) {
  const std::string text = replaced("runtime: {}", "runtime: { engine: EPOLL }");
  for (const std::string_view fine : {"AUTO", "LIBAIO"}) {
    EXPECT_EQ(findingsOf(text + "    disk_io: " + std::string(fine) + "\n"), "");
  }
  EXPECT_EQ(findingsOf(text + "    disk_io: IO_URING\n"),
            "c.yaml:26:14: static_resources.caches[0].disk_io: IO_URING needs the io_uring engine, "
            "and runtime.engine is EPOLL; did you mean `LIBAIO`?\n");
}

TEST(CompileErrors, AClusterNeedsAnEndpoint) {
  const std::string text(kGood);
  const size_t begin = text.find("      endpoints:");
  const size_t end = text.find("  caches:");
  EXPECT_EQ(findingsOf(text.substr(0, begin) + text.substr(end)),
            "c.yaml:17:5: static_resources.clusters[0].load_assignment: at least one endpoint is "
            "required: load_assignment.endpoints[].lb_endpoints\n");
}

TEST(CompileErrors, AListenerNeedsAVirtualHost) {
  const std::string text(kGood);
  const size_t begin = text.find("      virtual_hosts:");
  const size_t end = text.find("  clusters:");
  EXPECT_EQ(findingsOf(text.substr(0, begin - 1) + " {}\n" + text.substr(end)).substr(0, 105),
            "c.yaml:8:19: static_resources.listeners[0].route_config.virtual_hosts: at least one "
            "virtual host is requi");
}

TEST(CompileErrors, ARegularExpressionMayNotBeHuge) {
  const auto withRepeats = [](int count) {
    std::string regex = "/";
    for (int i = 0; i < count; i++) {
      regex += "[a-z]{1000}";
    }
    return findingsOf(replaced("prefix: / }", "safe_regex: { regex: '" + regex + "' } }"));
  };
  EXPECT_EQ(withRepeats(3), "");
  EXPECT_NE(withRepeats(5).find("instructions when compiled, more than 4000"), std::string::npos);
}

TEST(CompileErrors, UnusedClustersAndCachesAreWarnedOf) {
  EXPECT_EQ(findingsOf(replaced("route: { cluster: app }\n          cache: { store: main }",
                                "direct_response: { status: 200 }")),
            "warning: c.yaml:16:5: static_resources.clusters[0]: no route uses this cluster\n"
            "warning: c.yaml:22:5: static_resources.caches[0]: no route uses this cache\n");
}

// The second route of a virtual host, behind one that matches `first`.
std::string findingsBehind(std::string_view first, std::string_view second) {
  return findingsOf(replaced("        - match: { prefix: / }\n          route: { cluster: app }\n",
                             "        - match: " + std::string(first) +
                                 "\n          direct_response: { status: 200 }\n        - match: " +
                                 std::string(second) + "\n          route: { cluster: app }\n"));
}

TEST(CompileErrors, RoutesThatNothingReachesAreWarnedOf) {
  const std::string warning =
      "warning: c.yaml:15:11: "
      "static_resources.listeners[0].route_config.virtual_hosts[0].routes[1]: is "
      "never reached: routes[0] takes all its requests\n";
  EXPECT_EQ(findingsBehind("{ prefix: / }", "{ path: /a }"), warning);
  EXPECT_EQ(findingsBehind("{ prefix: / }", "{ safe_regex: { regex: '.*' } }"), warning);
  EXPECT_EQ(findingsBehind("{ prefix: /a }", "{ prefix: /ab }"), warning);
  EXPECT_EQ(findingsBehind("{ prefix: /a, case_sensitive: false }", "{ prefix: /AB }"), warning);
  EXPECT_EQ(findingsBehind("{ path: /a }", "{ path: /a }"), warning);
}

TEST(CompileErrors, RoutesThatSomethingReachesAreNot) {
  EXPECT_EQ(findingsBehind("{ prefix: /a }", "{ prefix: / }"), "");
  EXPECT_EQ(findingsBehind("{ path: /a }", "{ path: /ab }"), "");
  EXPECT_EQ(findingsBehind("{ prefix: /a }", "{ prefix: /ab, case_sensitive: false }"), "");
  EXPECT_EQ(findingsBehind("{ prefix: /, headers: [ { name: x } ] }", "{ prefix: / }"), "");
  EXPECT_EQ(findingsBehind("{ prefix: /a }", "{ safe_regex: { regex: '/a.*' } }"), "");
}

TEST(CompileErrors, AMistakeInAClusterIsNotReportedAgainWhereItIsUsed) {
  EXPECT_EQ(findingsOf(replaced("  - name: app", "  - nmae: app")),
            "c.yaml:17:5: static_resources.clusters[0].nmae: unknown field `nmae`; did you mean "
            "`name`?\n");
}

TEST(CompileErrors, NamesAreLimited) {
  const auto named = [](size_t size) {
    return findingsOf(replaced("name: web", "name: " + std::string(size, 'a')));
  };
  EXPECT_EQ(named(kMaxNameBytes), "");
  EXPECT_NE(named(kMaxNameBytes + 1), "");
}

TEST(CompileErrors, DirectResponsesAreLimited) {
  const auto withBody = [](size_t size) {
    return findingsOf(replaced("route: { cluster: app }\n          cache: { store: main }",
                               "direct_response: { status: 200, body: { inline_string: " +
                                   std::string(size, 'a') + " } }"));
  };
  EXPECT_EQ(withBody(kMaxDirectResponseBytes).find("bytes"), std::string::npos);
  EXPECT_NE(withBody(kMaxDirectResponseBytes + 1)
                .find("direct_response.body.inline_string: has 65537 bytes, more than 65536"),
            std::string::npos);
}

TEST(CompileErrors, RoutesAreLimitedInNumber) {
  const auto withRoutes = [](int count) {
    std::string routes;
    for (int i = 0; i < count - 1; i++) {
      routes += "        - { match: { path: /r" + std::to_string(i) +
                " }, direct_response: { status: 200 } }\n";
    }
    return findingsOf(replaced("        routes:\n", "        routes:\n" + routes));
  };
  EXPECT_EQ(withRoutes(kMaxRoutes), "");
  EXPECT_NE(withRoutes(kMaxRoutes + 1).find("routes: has 4097 elements, more than 4096"),
            std::string::npos);
}

}  // namespace
}  // namespace config
