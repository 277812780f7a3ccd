// What the side of a request that is not the origin's must offer: the request's body, and an ear
// for interim responses. Both are pulled or awaited, so that a slow side slows the other.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "source/base/result.h"
#include "source/http/head.h"
#include "source/rt/cancel.h"
#include "source/rt/task.h"

namespace upstream {

class BodySource {
 public:
  using Chunk = std::span<const std::byte>;

  virtual ~BodySource() = default;
  // The next bytes, at least one, valid until the next call; nullopt is the end. An error ends the
  // request, which is then not retried and whose failure is Reason::request_body.
  virtual rt::Task<base::Result<std::optional<Chunk>>> next(rt::CancelScope& scope) = 0;
  // Goes back to the beginning for another attempt; false if that is not possible, since bytes were
  // taken and not kept.
  virtual bool rewind() = 0;
  // What followed a chunked body, after its end; nullptr: nothing. Valid like the last chunk.
  virtual const http::Fields* trailers() const { return nullptr; }
};

class InterimSink {
 public:
  virtual ~InterimSink() = default;
  // A 1xx head other than 101; its views are valid until the task has ended. An error ends the
  // request.
  virtual rt::Task<base::Status> onInterim(const http::ResponseHead& head,
                                           rt::CancelScope& scope) = 0;
};

}  // namespace upstream
