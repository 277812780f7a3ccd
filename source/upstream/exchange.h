// One request and its response over one connection (HTTP/1.1, RFC 9112). The response body is
// pulled, straight into the caller's memory. Success is only what arrived whole: a body cut short
// is an error at its end, never a short success.
//
// The connection goes back to its pool as soon as both messages have ended; the head stays readable
// until the exchange is destroyed. Await finish() before that: it stops what is still being sent.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "source/base/result.h"
#include "source/http/chunked.h"
#include "source/http/codec.h"
#include "source/http/head.h"
#include "source/net/address.h"
#include "source/rt/cancel.h"
#include "source/rt/frame_pool.h"
#include "source/rt/task.h"
#include "source/rt/task_group.h"
#include "source/upstream/cluster.h"
#include "source/upstream/reason.h"
#include "source/upstream/request_sender.h"

namespace upstream {

struct ExchangeTimes {
  uint64_t response_ns = 0;  // from the end of the request to the end of the final head
  uint64_t idle_ns = 0;      // for a piece of the request to be taken
  uint64_t expect_ns = base::kSecond_ns;
  base::MonoTime deadline = base::kNever;  // of all before the response's body
};

class Exchange : public rt::FramePooled {
 public:
  // More interim responses than this to one request are a protocol error.
  static constexpr uint32_t kMaxInterim = 16;

  // The connection is leased from the cluster; scope is the request's and outlives the exchange.
  Exchange(Cluster& cluster, Connection& connection, rt::CancelScope& scope);
  ~Exchange();
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

  // Sends the request and awaits the final response head, once. On failure only finish() remains
  // to be done. error.retry is if_reused_connection while no byte of a response has been seen.
  rt::Task<Failure> begin(OutgoingRequest request, ExchangeTimes times);

  const http::ResponseHead& head() const { return head_; }
  const http::Framing& framing() const { return framing_; }
  // The body's length if it is known beforehand.
  std::optional<uint64_t> bodyLength() const;

  // The next bytes of the body, at least one; 0: it has ended, and whole. `to` is not empty; with a
  // chunked body its size also bounds what is read at once. Errors repeat.
  rt::Task<base::Result<uint32_t>> readBody(std::span<std::byte> to, rt::CancelScope& scope,
                                            base::MonoTime deadline);
  bool ended() const { return state_ == State::ended; }
  // Of a chunked body that has ended.
  const http::Fields& trailers() const { return decoder_.trailers(); }

  // Stops what is being sent and lets go of the connection.
  rt::Task<void> finish();
  // Keeps the request's place in the cluster until the exchange is destroyed.
  void hold(Ticket ticket) { ticket_ = std::move(ticket); }

  const net::Address& peer() const { return peer_; }
  bool reused() const { return reused_; }
  uint64_t bodyBytes() const { return body_bytes_; }  // received so far
  uint64_t requestBodyBytes() const { return sender_.bodyBytes(); }
  base::MonoTime headAt() const { return head_at_; }

 private:
  enum class State : uint8_t { awaiting_head, body, ended, failed };

  rt::Task<Failure> awaitHead();
  rt::Task<Failure> sendHeadOnly();
  std::optional<Failure> takeHead();
  rt::Task<Failure> takeInterim();
  rt::Task<Failure> readMore();
  rt::Task<base::Result<uint32_t>> readHeadBytes(rt::CancelScope& scope, base::MonoTime deadline);
  Failure cutHead();
  Failure failureOf(const base::Error& error) const;
  Failure protocolError(base::Code code) const;
  Failure judgeHead();
  void countOutcome(const Failure& failure);
  void beginBody();

  rt::Task<base::Result<uint32_t>> readPlain(std::span<std::byte> to, rt::CancelScope& scope,
                                             base::MonoTime deadline);
  rt::Task<base::Result<uint32_t>> readChunked(std::span<std::byte> to, rt::CancelScope& scope,
                                               base::MonoTime deadline);
  base::Result<uint32_t> decode(std::span<std::byte> raw);
  rt::Task<base::Result<uint32_t>> receive(std::span<std::byte> to, rt::CancelScope& scope,
                                           base::MonoTime deadline);
  base::Error failBody(const base::Error& error);
  void endMessage();
  void letGo();

  uint32_t heldBytes() const { return have_ - at_; }
  bool sendingEnded() const { return !sender_.running(); }
  bool requestSent() const {
    return sender_.state() == RequestSender::State::idle ||
           sender_.state() == RequestSender::State::done;
  }

  Cluster& cluster_;
  Ticket ticket_;
  Connection* connection_;  // null once it has been given back
  rt::CancelScope& scope_;
  net::Address peer_;
  bool reused_;
  State state_ = State::awaiting_head;
  RequestSender sender_;
  rt::TaskGroup senders_;
  OutgoingRequest request_;
  ExchangeTimes times_;

  std::unique_ptr<HeadBuffer> held_;
  std::byte* buffer_;         // held_'s bytes: [0, at_) have been used, [at_, have_) not yet
  http::ResponseHead& head_;  // held_'s head
  uint32_t at_ = 0;
  uint32_t have_ = 0;
  uint32_t searched_ = 0;  // of the bytes from at_ on, for the end of a head
  bool first_taken_ = false;
  uint32_t interim_ = 0;
  http::Framing framing_ = http::NoBody{};
  base::MonoTime sent_at_;
  base::MonoTime head_at_;

  uint64_t remaining_ = 0;  // of a body with a length
  bool counted_ = false;    // the request's body
  bool surplus_ = false;    // bytes came behind a chunked body
  uint64_t body_bytes_ = 0;
  http::ChunkDecoder decoder_;
  base::Error error_;  // state_ failed
};

// How long the origin says it keeps an unused connection (Keep-Alive: timeout=N), less half a
// second in which a request may be under way; UINT64_MAX when it does not say.
uint64_t announcedIdle_ns(const http::ResponseHead& head);

}  // namespace upstream
