// What a client gets when the origin fails (RFC 5861 4, RFC 9111 4.2.4 and 4.3.3, RFC 9110 15.6).
#pragma once

#include <cstdint>
#include <string_view>

#include "source/base/types.h"
#include "source/policy/cache_control.h"
#include "source/policy/route_policy.h"
#include "source/policy/times.h"

namespace policy {

enum class UpstreamFailure : uint8_t {
  no_endpoint,   // nothing healthy to connect to, or the cluster's limit is reached: 503
  connect,       // refused, unreachable, timed out while connecting: 503
  reset,         // the connection ended before a complete response head: 502
  bad_response,  // it was no HTTP, or framed ambiguously: 502
  truncated,     // the content ended early and nothing has been sent to the client: 502
  timeout,       // no response in time: 504
  status,        // a response with 500, 502, 503 or 504: passed on unless something stale serves
};
std::string_view name(UpstreamFailure failure);

enum class ErrorAnswer : uint8_t {
  serve_stale,
  pass_response,    // what the origin sent
  bad_gateway,      // 502
  unavailable,      // 503
  gateway_timeout,  // 504
};
std::string_view name(ErrorAnswer answer);
// 502, 503 or 504; 0 for the others.
uint16_t statusOf(ErrorAnswer answer);

// A status that counts as a failure of the origin (RFC 5861 4).
bool isErrorStatus(uint16_t status);

// With nothing stored.
ErrorAnswer onUpstreamError(UpstreamFailure what);
// With a stored response, fresh or stale, that was to be validated or replaced.
ErrorAnswer onUpstreamError(UpstreamFailure what, Times times, Traits traits,
                            const RequestDirectives& directives, const RoutePolicy& route,
                            base::UnixSeconds now);

}  // namespace policy
