// Whether a response may be stored, until when it is fresh, and which of its fields are kept
// (RFC 9111 sections 3, 4.2 and 5.2.2).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "source/base/types.h"
#include "source/http/head.h"
#include "source/http/hop_by_hop.h"
#include "source/http/uri.h"
#include "source/policy/cache_control.h"
#include "source/policy/route_policy.h"
#include "source/policy/targeted.h"
#include "source/policy/times.h"

namespace policy {

// When the request was sent and the response's head had arrived.
struct Exchange {
  base::UnixSeconds sent;
  base::UnixSeconds received;
  uint32_t draw = 0;  // a random number, for RoutePolicy::ttl_jitter_percent
};

enum class NoStoreReason : uint8_t {
  disabled,          // the route has no cache
  method,            // not a GET (a HEAD response has no content to keep: RFC 9111 4.3.5)
  request_no_store,  // RFC 9111 5.2.1.5
  status,            // 1xx, 206, 304, 407, 412, 416, 428, 429, 431, 511
  not_understood,    // must-understand on a status we do not know (RFC 9111 5.2.2.3)
  no_store,          // RFC 9111 5.2.2.5
  private_response,  // RFC 9111 5.2.2.7
  authorization,     // RFC 9111 3.5
  vary_any,          // RFC 9111 4.1
  set_cookie,        // a cookie without explicit freshness, or refused by the operator
  route_ttl,         // the operator's lifetime for it is 0
  no_freshness,      // neither lifetime nor validator: it could never be reused
  too_large,
  too_many_tags,  // tags.h
  unavailable,    // the store takes nothing now: starting, stopping, or without a working disk
  rule,           // one of the operator's no-store rules matched
  min_uses,       // asked for too seldom yet
  content_type,   // the path's extension promises another kind of content
  admission,      // the cache stores what was asked for before, and this was not
  write_budget,   // the write budget is used up
};
inline constexpr size_t kNoStoreReasonCount = 20;
std::string_view name(NoStoreReason reason);

struct Store {
  Times times;
  Traits traits;
  std::vector<std::string> vary;   // names in lower case, sorted, unique
  std::vector<std::string> strip;  // the same of fields not to be stored: qualified private and
                                   // no-cache, and cookies by policy
};
using StoreDecision = std::variant<NoStoreReason, Store>;

// `request` is the client's, `directives` what classifyRequest made of it.
StoreDecision decideStore(const http::RequestHead& request, const RequestDirectives& directives,
                          const http::ResponseHead& response, Exchange exchange,
                          const RoutePolicy& route,
                          SetCookie cookies = SetCookie::store_if_explicit);

// Whether a response to POST may be stored to answer a later GET of the same URI: only one with a
// lifetime of its own and a Content-Location that is the target (RFC 9110 9.3.3). Else
// NoStoreReason::method, or what decideStore() would say of a GET.
StoreDecision decideStoreOfPost(const http::RequestHead& request, const http::Effective& target,
                                const http::ResponseHead& response, Exchange exchange,
                                const RoutePolicy& route);

// Which fields of a response are kept with it. Not kept: hop-by-hop fields (RFC 9111 3.1), Age
// (generated anew on every use), and those in Store::strip.
class StoredFields {
 public:
  StoredFields(const http::Fields& response, const Store& store)
      : hop_by_hop_(response), store_(store) {}
  bool keeps(const http::Field& field) const;

 private:
  http::HopByHop hop_by_hop_;
  const Store& store_;
};

// Status codes whose caching semantics are implemented here (RFC 9111 3, "understood").
bool isUnderstoodStatus(uint16_t status);
// RFC 9110 15.1. 206 is one, but is not stored as a whole response.
bool isHeuristicallyCacheable(uint16_t status);

// Freshness by the message alone, exposed for explanations.
enum class LifetimeSource : uint8_t {
  none,
  s_maxage,
  max_age,
  expires,
  status_ttl,
  default_ttl,
  heuristic
};
std::string_view name(LifetimeSource source);
struct Lifetime {
  LifetimeSource source = LifetimeSource::none;
  uint32_t seconds = 0;   // after the route's minimum, maximum and jitter
  bool adjusted = false;  // one of these changed it
};
Lifetime freshnessLifetime(const http::ResponseHead& response, const Governing& governing,
                           Exchange exchange, const RoutePolicy& route);

// age_value (RFC 9111 4.2.3, 5.1). One field line: its first member counts. Several lines, a member
// repeated, or a first member that is no delta-seconds leave the age unknown: nullopt, and the
// response is stale on arrival. (RFC 9111 5.1 says such a value SHOULD be ignored; taking it for
// fresh would trust a message that a broken intermediary has touched.)
struct AgeValue {
  bool known = true;
  uint32_t seconds = 0;  // 0 without the field
};
AgeValue ageValue(const http::Fields& response);

// corrected_initial_age (RFC 9111 4.2.3).
uint32_t correctedInitialAge(const http::ResponseHead& response, Exchange exchange);

}  // namespace policy
