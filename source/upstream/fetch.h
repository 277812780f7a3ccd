// From a request to a response head: an endpoint, a connection, an exchange, and another attempt
// where that is safe:
//   - a connect that failed, on another endpoint, up to num_retries times: nothing was sent;
//   - a reused connection that died before any byte of a response, once, on a new connection, if
//     the method is idempotent and the body can be had again (RFC 9110 9.2.2, RFC 9112 9.3.1).
// A request that is not idempotent takes a pooled connection only if it was used a moment ago.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "source/rt/cancel.h"
#include "source/rt/task.h"
#include "source/upstream/cluster.h"
#include "source/upstream/exchange.h"
#include "source/upstream/reason.h"

namespace upstream {

// 0: no limit, except of expect_ms.
struct FetchTimeouts {
  uint64_t response_ms = 15000;  // from the end of the request to the end of the response head;
                                 // also to wait for a connection
  uint64_t idle_ms = 60000;      // for a piece of the request to be taken by the connection
  uint64_t expect_ms = 1000;     // to wait for 100-continue
  uint64_t per_try_ms = 0;       // of one attempt up to the response head
  base::MonoTime deadline = base::kNever;  // of all attempts up to the response head
};

struct FetchRequest {
  OutgoingRequest out;
  // The method is idempotent (RFC 9110 9.2.2), so that it may be sent twice.
  bool idempotent = false;
  uint32_t num_retries = 1;
  FetchTimeouts timeouts;
};

struct Fetched {
  std::unique_ptr<Exchange> exchange;  // its head has been received; null: see failure
  Failure failure;
  uint32_t attempts = 0;
};

// An unused connection that a request which is not idempotent may still take.
inline constexpr uint64_t kTrustedIdle_ns = 500 * base::kMillisecond_ns;

// What request points to and scope outlive the exchange, whose finish() is awaited before it is
// destroyed.
rt::Task<Fetched> fetch(Cluster& cluster, FetchRequest request, rt::CancelScope& scope);

// RFC 9110 9.2.2.
bool isIdempotent(std::string_view method);

}  // namespace upstream
