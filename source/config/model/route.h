// What a listener answers: virtual hosts, their routes, and what a route does. Compiled once,
// immutable, read by every shard.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "source/config/model/request_matcher.h"
#include "source/http/head.h"
#include "source/policy/route_policy.h"

namespace config {

// One change of a head.
struct HeaderMutation {
  enum class Kind : uint8_t { remove, append, add_if_absent, overwrite, overwrite_if_exists };
  Kind kind = Kind::append;
  http::Name id = http::Name::other;
  std::string name;   // as configured
  std::string value;  // empty for remove
  friend bool operator==(const HeaderMutation&, const HeaderMutation&) = default;
};
// Makes the changes in order. `scratch` is a second table whose memory is reused from call to call;
// what it holds is lost. Names and values that are added are views of `mutations`.
void apply(std::span<const HeaderMutation> mutations, http::Fields& fields, http::Fields& scratch);

inline constexpr uint32_t kNone = UINT32_MAX;

struct ForwardAction {
  uint32_t cluster = kNone;           // index into Snapshot::clusters
  uint64_t timeout_ms = 15000;        // end of the request to the response's head; 0: no limit
  uint64_t idle_timeout_ms = 300000;  // without a byte to or from the origin; 0: no limit
  uint64_t per_try_timeout_ms = 0;    // one attempt; 0: only timeout_ms
  uint32_t num_retries = 1;           // attempts after the first
  std::optional<std::string> prefix_rewrite;
  std::string host_rewrite;  // empty: the client's Host
  friend bool operator==(const ForwardAction&, const ForwardAction&) = default;
};

struct RedirectAction {
  uint16_t status = 301;
  bool https = false;
  bool strip_query = false;
  uint16_t port = 0;                          // 0: the request's
  std::string host;                           // empty: the request's
  std::optional<std::string> path;            // the whole path
  std::optional<std::string> prefix_rewrite;  // at most one of the two
  friend bool operator==(const RedirectAction&, const RedirectAction&) = default;
};

struct DirectResponseAction {
  uint16_t status = 200;
  std::string body;
  friend bool operator==(const DirectResponseAction&, const DirectResponseAction&) = default;
};

struct Route {
  std::string name;
  std::string virtual_host;
  RequestMatcher match;
  std::variant<ForwardAction, RedirectAction, DirectResponseAction> action;
  std::vector<HeaderMutation> request_headers;  // its own; see changeRequest
  std::vector<HeaderMutation> response_headers;
  uint32_t cache = kNone;                 // index into Snapshot::caches
  policy::RoutePolicy policy;             // enabled is false without a cache
  std::vector<CacheRule> bypass_rules;    // requests that pass the cache by
  std::vector<CacheRule> no_store_rules;  // responses that are not stored
  friend bool operator==(const Route&, const Route&) = default;
};

struct VirtualHost {
  std::string name;
  std::vector<Route> routes;
  std::vector<HeaderMutation> request_headers;
  std::vector<HeaderMutation> response_headers;
  friend bool operator==(const VirtualHost&, const VirtualHost&) = default;
};

// Domains to numbers: an equal name, else the longest "*.suffix", else the longest "prefix.*", else
// "*". A star stands for one character or more.
class DomainTable {
 public:
  // domain: in lower case, with at most one star, at its beginning or end. False if it is there.
  bool add(std::string_view domain, uint32_t value);
  std::optional<uint32_t> find(std::string_view host) const;
  friend bool operator==(const DomainTable&, const DomainTable&) = default;

 private:
  struct Hash {
    using is_transparent = void;
    size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };
  using Map = std::unordered_map<std::string, uint32_t, Hash, std::equal_to<>>;
  // The wildcards whose text without the star has that length; the longest first.
  using ByLength = std::vector<std::pair<size_t, Map>>;
  static bool addWildcard(ByLength& table, std::string_view text, uint32_t value);

  Map exact_;
  ByLength suffixes_;
  ByLength prefixes_;
  std::optional<uint32_t> any_;
};

struct RouteTable {
  std::string name;
  std::vector<VirtualHost> hosts;
  DomainTable domains;  // to an index into hosts

  // host: in lower case, without a port; an IPv6 literal in its brackets.
  const VirtualHost* findHost(std::string_view host) const;
  friend bool operator==(const RouteTable&, const RouteTable&) = default;
};

// The first route that matches, or nullptr. target: path and query as the client wrote them.
const Route* match(const VirtualHost& host, const http::RequestHead& head, std::string_view target);

// Makes the route's changes, then its virtual host's, so that the host has the last word: of the
// request as it is sent to the cluster, and of the response as it is sent to the client. See apply.
void changeRequest(const VirtualHost& host, const Route& route, http::Fields& fields,
                   http::Fields& scratch);
void changeResponse(const VirtualHost& host, const Route& route, http::Fields& fields,
                    http::Fields& scratch);

// Appends the target that `route` sends to its cluster: path rewritten, query kept. The route has a
// ForwardAction and has matched `target`.
void appendUpstreamTarget(const Route& route, std::string_view target, std::string& out);

struct RedirectFrom {
  std::string_view scheme;     // "http" or "https"
  std::string_view authority;  // the request's host, with its port if any; may be empty
  std::string_view target;     // path and query
};
// The Location of a redirect. The route has a RedirectAction and has matched.
std::string redirectLocation(const Route& route, const RedirectFrom& from);

}  // namespace config
