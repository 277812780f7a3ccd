// The port through which the cache fetches. It is implemented by proxy/ on top of upstream/, so
// that the cache knows neither sockets nor clusters.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "source/base/result.h"
#include "source/config/model/snapshot.h"
#include "source/http/head.h"
#include "source/http/uri.h"
#include "source/policy/error.h"
#include "source/policy/upstream.h"
#include "source/rt/cancel.h"
#include "source/rt/task.h"

namespace cache {

// An ear for interim responses to a fetch (RFC 9110 15.2). The head is valid during the call only.
class InterimSink {
 public:
  virtual ~InterimSink() = default;
  virtual void onInterim(const http::ResponseHead& head) = 0;
};

// What to ask for. Everything is borrowed for the time of the fetch and its stream.
struct FetchPlan {
  const config::Snapshot* snapshot = nullptr;
  const config::VirtualHost* host = nullptr;
  const config::Route* route = nullptr;        // of the host, with a ForwardAction
  const http::RequestHead* request = nullptr;  // the client's
  const http::Effective* uri = nullptr;
  std::string_view client_address;
  std::string_view via;       // the listener's pseudonym; empty: no Via
  std::string_view cdn_loop;  // likewise for CDN-Loop
  policy::FetchKind kind = policy::FetchKind::fill;
  policy::Validators validators;   // for revalidate, and with an entity tag for rest
  std::string_view range;          // for rest; for the others empty: the whole
  InterimSink* interim = nullptr;  // nullptr: nobody listens
};

// A response whose head has arrived. close() is awaited before it is destroyed.
class OriginStream {
 public:
  virtual ~OriginStream() = default;
  virtual const http::ResponseHead& head() const = 0;  // valid until close()
  virtual std::optional<uint64_t> length() const = 0;  // of the body, if it is known
  // The next bytes of the body straight into `to`; 0 is its clean end. A body cut short is an
  // error.
  virtual rt::Task<base::Result<uint32_t>> read(std::span<std::byte> to,
                                                rt::CancelScope& scope) = 0;
  virtual rt::Task<void> close() = 0;
};

struct FetchOutcome {
  std::unique_ptr<OriginStream> stream;  // nullptr: failed
  policy::UpstreamFailure failure = policy::UpstreamFailure::connect;
  base::Error error;
};

class Origin {
 public:
  virtual ~Origin() = default;
  virtual rt::Task<FetchOutcome> fetch(const FetchPlan& plan, rt::CancelScope& scope) = 0;
};

}  // namespace cache
