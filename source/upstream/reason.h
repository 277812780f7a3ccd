// Why a request got no response head: for statistics, logs and the choice of a local reply.
#pragma once

#include <cstdint>
#include <string_view>

#include "source/base/result.h"

namespace upstream {

enum class Reason : uint8_t {
  none,
  connect_failure,
  connect_timeout,
  reset_before_head,
  response_timeout,
  protocol_error,
  no_healthy_endpoint,
  overflow,      // a limit of the cluster
  request_body,  // the body could not be had from its source: not the origin's fault
  interim_sink,  // an interim response could not be passed on: not the origin's fault
  cancelled,
};

constexpr std::string_view name(Reason reason) {
  switch (reason) {
    case Reason::none:
      return "none";
    case Reason::connect_failure:
      return "connect_failure";
    case Reason::connect_timeout:
      return "connect_timeout";
    case Reason::reset_before_head:
      return "reset_before_head";
    case Reason::response_timeout:
      return "response_timeout";
    case Reason::protocol_error:
      return "protocol_error";
    case Reason::no_healthy_endpoint:
      return "no_healthy_endpoint";
    case Reason::overflow:
      return "overflow";
    case Reason::request_body:
      return "request_body";
    case Reason::interim_sink:
      return "interim_sink";
    case Reason::cancelled:
      return "cancelled";
  }
  return "unknown";
}

// Reason::none means that there is no failure.
struct Failure {
  Reason reason = Reason::none;
  base::Error error;
  explicit operator bool() const { return reason != Reason::none; }
};

}  // namespace upstream
