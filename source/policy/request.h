// What a request asks of the cache, and the key it looks under.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include "source/http/head.h"
#include "source/http/uri.h"
#include "source/policy/cache_control.h"
#include "source/policy/route_policy.h"

namespace policy {

enum class BypassReason : uint8_t {
  disabled,      // the route has no cache
  method,        // neither GET nor HEAD (RFC 9110 9.2.3)
  body_present,  // content in GET has no defined semantics (RFC 9110 9.3.1) and is in no key
  upgrade,       // the connection may stop being HTTP (RFC 9110 7.8)
  precondition,  // If-Match or If-Unmodified-Since: the origin's to judge (RFC 9111 4.3.2)
  cookie,        // the operator lets no request with cookies near the cache
  rule,          // one of the operator's bypass rules matched
};
inline constexpr size_t kBypassReasonCount = 7;
std::string_view name(BypassReason reason);

struct Bypass {
  BypassReason why;
  friend bool operator==(const Bypass&, const Bypass&) = default;
};
struct Lookup {
  RequestDirectives directives;  // all defaults when the route does not honour a client's
  bool is_head = false;
  bool has_range = false;         // GET with Range; on HEAD it means nothing (RFC 9110 14.2)
  bool has_conditionals = false;  // If-None-Match or If-Modified-Since
  friend bool operator==(const Lookup&, const Lookup&) = default;
};
using RequestClass = std::variant<Bypass, Lookup>;

// Authorization does not bypass: storing is decided on the response (RFC 9111 3.5).
RequestClass classifyRequest(const http::RequestHead& request, const RoutePolicy& route);

// GET, HEAD, OPTIONS, TRACE and the methods registered as safe (RFC 9110 9.2.1). A method that is
// not known is not safe.
bool isSafeMethod(std::string_view method);

// Longer queries are neither filtered nor sorted by more parameters than this: they are keyed as
// received.
inline constexpr size_t kMaxKeyedParameters = 256;

// Writes the primary key (RFC 9111 2): "http://host[:port]/path[?query]", the target URI as
// received, except for what `key` leaves out or sorts. Bytes that differ are never made equal:
// "/%61" and "/a" are two keys, for the origin sees two. The authority is already normal
// (http/uri.h). An excluded scheme gives "//host/path", an excluded host "http:///path". `out` is
// overwritten; its capacity is reused.
void cacheKey(const http::Effective& uri, const KeySpec& key, std::string& out);

}  // namespace policy
