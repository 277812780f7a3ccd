// What an operator decided about caching for one route, compiled: plain numbers and names,
// immutable once built. config/load fills it from ringfence.config.v1.CachePolicy; the functions of
// this module only read it. All durations are whole seconds; the configuration refuses fractions of
// a second in them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
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
  bool normalise_path = false;       // "/%61" and "/a" share objects (RFC 3986 6.2.2)
  bool no_vary_search = false;       // heed the response field of that name (search.h)
  std::vector<std::string> headers;  // count as if every response named them in Vary: lower case
  std::vector<std::string> cookies;  // likewise, cookies of these names: sorted, case-sensitive
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

// How long past its time a response is served when the origin fails in one of three ways, where it
// does not say so itself (RFC 5861 4). Without a value RoutePolicy::stale_if_error_s counts.
struct StaleOn {
  std::optional<uint32_t> connect_failure_s;  // no endpoint, no connection, or it broke
  std::optional<uint32_t> timeout_s;          // no response in time
  std::optional<uint32_t> server_error_s;     // 500, 502, 503, 504, or no valid HTTP
  friend bool operator==(const StaleOn&, const StaleOn&) = default;
};

// Directives of the origin that an operator does not want to hear: bits of
// RoutePolicy::ignored_directives.
enum class Ignored : uint32_t {
  no_store = 1U << 0,
  no_cache = 1U << 1,
  private_response = 1U << 2,
  must_revalidate = 1U << 3,  // proxy-revalidate too
  max_age = 1U << 4,
  s_maxage = 1U << 5,
  expires = 1U << 6,
  stale_while_revalidate = 1U << 7,
  stale_if_error = 1U << 8,
};

// What happens to the Cookie field of a request that the cache may answer.
enum class RequestCookies : uint8_t {
  forward,  // it reaches the origin, and counts only as far as the key or Vary names it
  strip,    // only the cookies of the key reach the origin
  bypass,   // a request with cookies passes the cache by
};

// Set-Cookie has no caching meaning (RFC 9111 7.3); what to do with it is the operator's choice.
enum class SetCookie : uint8_t {
  store_if_explicit,  // an origin that gave a lifetime is taken at its word
  strip,              // stored without its cookies
  refuse,
};

// Content codings that can be made and undone here (RFC 9110 8.4.1, RFC 7932, RFC 8878).
enum class Coding : uint8_t { gzip, br, zstd };
inline constexpr size_t kCodingCount = 3;
constexpr std::string_view name(Coding coding) {
  constexpr std::string_view kNames[kCodingCount] = {"gzip", "br", "zstd"};
  return kNames[static_cast<size_t>(coding)];
}

// Which responses are compressed when they are stored (compression.h).
struct Compression {
  std::vector<Coding> algorithms;          // in the order of preference, each once
  uint32_t min_length = 1024;              // a shorter body, if its length is known, stays as it is
  std::vector<std::string> content_types;  // lower case, without parameters; "text/" is a prefix
  std::optional<uint32_t> level;           // 1..9; none: one for each algorithm
  friend bool operator==(const Compression&, const Compression&) = default;
};

// Of a slice block, where the operator does not say.
inline constexpr uint64_t kSliceBlock_bytes = 1 << 20;

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
  // Response fields that govern in place of Cache-Control and Expires, the first usable one (RFC
  // 9213 2.2); lower case. "surrogate-control" has the syntax of the Edge Architecture note.
  std::vector<std::string> targeted;
  StaleOn stale_on;
  uint32_t ignored_directives = 0;  // bits of Ignored
  RequestCookies request_cookies = RequestCookies::forward;
  uint32_t ttl_jitter_percent = 0;  // a lifetime is shortened by a random part of it, at most this
  uint32_t min_uses = 1;            // requests of a key, of late, before it is stored
  bool check_content_type = false;  // a path's extension must fit the Content-Type
  // In place of what clients send: the first of these that a client accepts, or nothing. In the
  // order of preference; lower case. Empty: as received.
  std::vector<std::string> accept_encodings;
  std::vector<std::string> accept_languages;
  // None: bodies are kept as they come. accept_encodings has every one of its algorithms.
  std::optional<Compression> compression;
  uint64_t slice_block_bytes = 0;  // objects are fetched and kept in blocks of this size; 0: whole

  bool ignores(Ignored what) const {
    return (ignored_directives & static_cast<uint32_t>(what)) != 0;
  }
  bool normalisesRequests() const {
    return !accept_encodings.empty() || !accept_languages.empty() ||
           request_cookies == RequestCookies::strip;
  }
  friend bool operator==(const RoutePolicy&, const RoutePolicy&) = default;
};

}  // namespace policy
