// Whether a stored response may answer a request now (RFC 9111 sections 4, 4.2.4 and 5.2.1, RFC
// 5861).
#pragma once

#include <cstdint>
#include <string_view>

#include "source/base/types.h"
#include "source/policy/cache_control.h"
#include "source/policy/route_policy.h"
#include "source/policy/times.h"

namespace policy {

enum class Serve : uint8_t {
  fresh,                   // as it is
  stale,                   // as it is: the client allowed it (max-stale)
  stale_while_revalidate,  // as it is, and one refresh in the background
  revalidate,              // after a conditional request
  miss,                    // not at all: fetch anew (no validator, or a hit-for-miss note)
  gateway_timeout,         // only-if-cached and not usable: 504 (RFC 9111 5.2.1.7)
};
std::string_view name(Serve how);

// Why a stored response was not simply fresh.
enum class NoReuseReason : uint8_t {
  none,
  absent,             // nothing stored
  hit_for_miss,       // responses of this key are not stored
  request_no_cache,   // RFC 9111 5.2.1.4
  request_max_age,    // RFC 9111 5.2.1.1
  request_min_fresh,  // RFC 9111 5.2.1.3
  response_no_cache,  // RFC 9111 5.2.2.4
  stale,              // RFC 9111 4.2
};
inline constexpr size_t kNoReuseReasonCount = 8;
std::string_view name(NoReuseReason reason);

struct ServeDecision {
  Serve how = Serve::miss;
  NoReuseReason why = NoReuseReason::none;
  uint32_t age_s = 0;  // for the Age field
  int64_t ttl_s = 0;   // freshness left, negative when stale
  friend bool operator==(const ServeDecision&, const ServeDecision&) = default;
};

ServeDecision decideServe(const RequestDirectives& directives, Times times, Traits traits,
                          const RoutePolicy& route, base::UnixSeconds now);

// The same when nothing is stored: miss or gateway_timeout.
ServeDecision decideAbsent(const RequestDirectives& directives, const RoutePolicy& route);

}  // namespace policy
