#include "source/policy/error.h"

#include <algorithm>
#include <optional>

namespace policy {
namespace {

// What the operator said for this class of failures.
std::optional<uint32_t> operatorsWord(UpstreamFailure what, const StaleOn& on) {
  switch (what) {
    case UpstreamFailure::no_endpoint:
    case UpstreamFailure::connect:
    case UpstreamFailure::reset:
    case UpstreamFailure::truncated:
      return on.connect_failure_s;
    case UpstreamFailure::timeout:
      return on.timeout_s;
    case UpstreamFailure::bad_response:
    case UpstreamFailure::status:
      return on.server_error_s;
  }
  return std::nullopt;
}

// Fresh ones too: a client that only preferred validation (RFC 9111 5.2.1.4) is better served by
// them than by an error.
bool mayServe(UpstreamFailure what, Times times, Traits traits, const RequestDirectives& directives,
              const RoutePolicy& route, base::UnixSeconds now) {
  if (traits.has(Trait::hit_for_miss) || traits.has(Trait::no_cache)) {
    return false;
  }
  const int64_t left_s = freshnessLeft(times, now);
  if (left_s > 0) {
    return true;
  }
  // RFC 9111 4.2.4: must-revalidate and its like forbid it, disconnected or not.
  if (traits.forbidsStale() || traits.has(Trait::server_error)) {
    return false;
  }
  uint32_t allowed_s = traits.sie_s;
  if (!traits.has(Trait::own_stale_if_error)) {
    allowed_s = operatorsWord(what, route.stale_on).value_or(allowed_s);
  }
  if (route.honor_request_cache_control) {
    allowed_s = std::max(allowed_s, directives.stale_if_error.value_or(0));
  }
  return -left_s < int64_t{allowed_s};  // RFC 5861 4
}

}  // namespace

std::string_view name(UpstreamFailure failure) {
  switch (failure) {
    case UpstreamFailure::no_endpoint:
      return "no_endpoint";
    case UpstreamFailure::connect:
      return "connect";
    case UpstreamFailure::reset:
      return "reset";
    case UpstreamFailure::bad_response:
      return "bad_response";
    case UpstreamFailure::truncated:
      return "truncated";
    case UpstreamFailure::timeout:
      return "timeout";
    case UpstreamFailure::status:
      return "status";
  }
  return "unknown";
}

std::string_view name(ErrorAnswer answer) {
  switch (answer) {
    case ErrorAnswer::serve_stale:
      return "serve_stale";
    case ErrorAnswer::pass_response:
      return "pass_response";
    case ErrorAnswer::bad_gateway:
      return "bad_gateway";
    case ErrorAnswer::unavailable:
      return "unavailable";
    case ErrorAnswer::gateway_timeout:
      return "gateway_timeout";
  }
  return "unknown";
}

uint16_t statusOf(ErrorAnswer answer) {
  switch (answer) {
    case ErrorAnswer::bad_gateway:
      return 502;
    case ErrorAnswer::unavailable:
      return 503;
    case ErrorAnswer::gateway_timeout:
      return 504;
    case ErrorAnswer::serve_stale:
    case ErrorAnswer::pass_response:
      break;
  }
  return 0;
}

bool isErrorStatus(uint16_t status) {
  return status == 500 || status == 502 || status == 503 || status == 504;
}

ErrorAnswer onUpstreamError(UpstreamFailure what) {
  switch (what) {
    case UpstreamFailure::no_endpoint:
    case UpstreamFailure::connect:
      return ErrorAnswer::unavailable;  // RFC 9110 15.6.4
    case UpstreamFailure::reset:
    case UpstreamFailure::bad_response:
    case UpstreamFailure::truncated:
      return ErrorAnswer::bad_gateway;  // RFC 9110 15.6.3
    case UpstreamFailure::timeout:
      return ErrorAnswer::gateway_timeout;  // RFC 9110 15.6.5
    case UpstreamFailure::status:
      return ErrorAnswer::pass_response;  // RFC 9111 4.3.3
  }
  return ErrorAnswer::bad_gateway;
}

ErrorAnswer onUpstreamError(UpstreamFailure what, Times times, Traits traits,
                            const RequestDirectives& directives, const RoutePolicy& route,
                            base::UnixSeconds now) {
  return mayServe(what, times, traits, directives, route, now) ? ErrorAnswer::serve_stale
                                                               : onUpstreamError(what);
}

}  // namespace policy
