// Which field of a response governs its caching: a targeted one (RFC 9213), Surrogate-Control (W3C
// Edge Architecture, a note of 2001), or Cache-Control and Expires.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "source/http/head.h"
#include "source/policy/cache_control.h"
#include "source/policy/route_policy.h"

namespace policy {

inline constexpr std::string_view kSurrogateControl = "surrogate-control";
// Our name in Surrogate-Capability and in what a Surrogate-Control addresses to one surrogate.
inline constexpr std::string_view kSurrogateName = "ringfence";
// Surrogate-Capability as it is sent to origins of routes that listen to Surrogate-Control.
inline constexpr std::string_view kSurrogateCapability = "ringfence=\"Surrogate/1.0\"";

struct Governing {
  ResponseDirectives said;  // without what the operator ignores
  bool expires = true;      // Expires counts, if `said` has no lifetime
  std::string_view field;   // the targeted field, as the route names it; empty: none governed
};

// The first field of route.targeted that is there, valid and not empty; with one, Cache-Control,
// Expires and Pragma say nothing (RFC 9213 2.2). A field that is no dictionary is as if it were
// absent. A directive of the wrong type counts as Cache-Control's malformed ones do: it restricts
// and never permits. The views in `said` are of `response`.
Governing governing(const http::Fields& response, const RoutePolicy& route);

// Surrogate-Control is for surrogates alone: true when the route consumed it, so that it goes
// neither to clients nor to the store.
bool consumesSurrogateControl(const RoutePolicy& route);

// Names (lower case, sorted) of fields that leave with no response of this route.
std::vector<std::string> strippedFromAll(const RoutePolicy& route);

// One field each, for tests and explanations; false: absent, empty or invalid.
bool parseTargeted(const http::Fields& response, std::string_view name, ResponseDirectives& out);
bool parseSurrogateControl(const http::Fields& response, ResponseDirectives& out);

}  // namespace policy
