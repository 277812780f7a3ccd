// What an operator decided about caching for one route, compiled: plain numbers and names,
// immutable once built. config/load fills it from ringfence.config.v1.CachePolicy; the functions of
// this module only read it. All durations are whole seconds; the configuration refuses fractions of
// a second in them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace policy {

// What of a request makes its cache key, beyond method class and path. At most one of the two lists
// is non-empty: included = only these query parameters count, excluded = all but these count.
struct KeySpec {
  bool exclude_scheme = false;  // http://a/ and https://a/ share objects
  bool exclude_host = false;    // every host of the virtual host shares objects
  bool sort_query =
      false;  // parameters are ordered by name, then by value, before they are compared
  std::vector<std::string>
      query_parameters_included;  // sorted; exact names, as in the query (not decoded)
  std::vector<std::string> query_parameters_excluded;  // sorted; a trailing '*' matches a prefix
  friend bool operator==(const KeySpec&, const KeySpec&) = default;
};

// The lifetime of responses with this status that say nothing of their own (negative caching).
struct StatusTtl {
  uint16_t status = 0;  // 100..599, or a class: 4 means 4xx and 5 means 5xx
  uint32_t ttl_s = 0;   // 0: such a response is not stored
  friend bool operator==(const StatusTtl&, const StatusTtl&) = default;
};

// RFC 9111 section 4.2.2: freshness from Last-Modified when a response gives no lifetime.
struct Heuristic {
  uint32_t fraction_percent = 10;  // of (Date - Last-Modified); 0 turns heuristics off
  uint32_t max_s = 86400;          // the longest lifetime that is guessed
  friend bool operator==(const Heuristic&, const Heuristic&) = default;
};

// Set-Cookie has no caching meaning (RFC 9111 7.3); what to do with it is the operator's choice.
enum class SetCookie : uint8_t {
  store_if_explicit,  // an origin that gave a lifetime is taken at its word
  strip,              // stored without its cookies
  refuse,
};

struct RoutePolicy {
  bool enabled = false;  // false: the route has no `cache`, requests pass by; nothing below is read
  KeySpec key;
  std::vector<StatusTtl>
      status_ttls;  // sorted by status, unique; an exact status wins over a class
  std::optional<uint32_t> default_ttl_s;  // no explicit lifetime: used instead of the heuristic
  uint32_t min_ttl_s = 0;                 // a shorter explicit lifetime is raised to this
  std::optional<uint32_t> max_ttl_s;      // a longer lifetime is cut to this
  bool honor_request_cache_control =
      true;  // false: a client's Cache-Control and Pragma change nothing
  std::optional<uint64_t> max_object_bytes;  // larger bodies pass unstored; none: the store's limit
  std::optional<uint32_t>
      stale_while_revalidate_s;              // when the response has no directive (RFC 5861)
  std::optional<uint32_t> stale_if_error_s;  // when the response has no directive (RFC 5861)
  Heuristic heuristic;
  SetCookie set_cookie = SetCookie::store_if_explicit;
  uint64_t collapse_timeout_ms =
      5000;  // wait for another's fetch this long, then fetch alone; 0: never wait
  friend bool operator==(const RoutePolicy&, const RoutePolicy&) = default;
};

}  // namespace policy
