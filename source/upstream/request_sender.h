// The sending side of one exchange whose request has a body: head, then the body as its source
// gives it, framed by Content-Length or chunked. It runs beside the reader, which may stop it.
//
//   waiting (for 100-continue) -> sending -> done | source_failed | write_failed | stopped
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "source/base/result.h"
#include "source/net/stream.h"
#include "source/rt/cancel.h"
#include "source/rt/reactor.h"
#include "source/rt/task.h"
#include "source/rt/wait.h"
#include "source/upstream/body_source.h"

namespace upstream {

// A request as it goes out. What it points to outlives the exchange.
struct OutgoingRequest {
  // The serialised head with its blank line. It carries the framing fields that fit the body.
  std::string_view head;
  std::string_view method;
  BodySource* body = nullptr;
  // What Content-Length says; nullopt: the body goes out chunked. A source that gives more or less
  // ends the request.
  std::optional<uint64_t> body_bytes;
  // The head carries Expect: 100-continue: the body waits for 100, but not for ever.
  bool expect_continue = false;
  InterimSink* interim = nullptr;
};

struct SendTimes {
  uint64_t expect_ns = base::kSecond_ns;  // to wait for 100-continue
  uint64_t idle_ns = 0;                   // for a piece to be taken by the connection
  base::MonoTime deadline = base::kNever;
};

class RequestSender {
 public:
  enum class State : uint8_t { idle, waiting, sending, done, source_failed, write_failed, stopped };

  // scope is the request's.
  RequestSender(rt::Reactor& reactor, rt::CancelScope& scope) : reactor_(reactor), scope_(scope) {}

  rt::Task<void> run(net::Stream* stream, OutgoingRequest request, SendTimes times);
  // 100 has come.
  void goOn() { permission_.wakeAll(); }
  void stop() { scope_.request(); }
  // A scope to cancel when the sender ends, so that its reader looks again.
  void interruptAtEnd(rt::CancelScope* scope) { interrupted_ = scope; }

  State state() const { return state_; }
  bool running() const { return state_ == State::waiting || state_ == State::sending; }
  const base::Error& error() const { return error_; }  // source_failed or write_failed
  uint64_t bodyBytes() const { return body_bytes_; }   // sent
  base::MonoTime endedAt() const { return ended_at_; }

 private:
  rt::Task<State> send(net::Stream& stream, const OutgoingRequest& request, const SendTimes& times);
  rt::Task<bool> sendPiece(net::Stream& stream, BodySource::Chunk piece, bool chunked,
                           base::MonoTime deadline);
  State fail(State state, const base::Error& error);
  base::MonoTime pieceDeadline(const SendTimes& times) const;

  rt::Reactor& reactor_;
  rt::CancelScope scope_;
  rt::WaitQueue permission_;
  State state_ = State::idle;
  base::Error error_;
  uint64_t body_bytes_ = 0;
  base::MonoTime ended_at_;
  rt::CancelScope* interrupted_ = nullptr;
};

}  // namespace upstream
