#include "source/upstream/request_sender.h"

#include <algorithm>
#include <array>
#include <utility>

#include "source/http/chunked.h"

namespace upstream {
namespace {

iovec piece(const void* data, size_t size) {
  return iovec{const_cast<void*>(data), size};
}
iovec piece(std::string_view text) {
  return piece(text.data(), text.size());
}

}  // namespace

base::MonoTime RequestSender::pieceDeadline(const SendTimes& times) const {
  return std::min(times.deadline, reactor_.now() + times.idle_ns);
}

RequestSender::State RequestSender::fail(State state, const base::Error& error) {
  error_ = error;
  return scope_.requested() ? State::stopped : state;
}

rt::Task<void> RequestSender::run(net::Stream* stream, OutgoingRequest request, SendTimes times) {
  state_ = request.expect_continue ? State::waiting : State::sending;
  state_ = co_await send(*stream, request, times);
  ended_at_ = reactor_.now();
  if (interrupted_ != nullptr) {
    std::exchange(interrupted_, nullptr)->request();
  }
}

rt::Task<bool> RequestSender::sendPiece(net::Stream& stream, BodySource::Chunk bytes, bool chunked,
                                        base::MonoTime deadline) {
  std::array<char, http::kChunkHeadSize> chunk_head;
  std::array<iovec, 3> pieces;
  std::span<iovec> used = std::span(pieces).first(1);
  if (chunked) {
    pieces[0] = piece(http::writeChunkHead(bytes.size(), chunk_head));
    pieces[1] = piece(bytes.data(), bytes.size());
    pieces[2] = piece(http::kChunkEnd);
    used = pieces;
  } else {
    pieces[0] = piece(bytes.data(), bytes.size());
  }
  const base::Status sent = co_await stream.writev(used, scope_, deadline);
  if (!sent.ok()) {
    error_ = sent.error();
    co_return false;
  }
  body_bytes_ += bytes.size();
  co_return true;
}

rt::Task<RequestSender::State> RequestSender::send(net::Stream& stream,
                                                   const OutgoingRequest& request,
                                                   const SendTimes& times) {
  const base::Status head =
      co_await stream.write(std::as_bytes(std::span(request.head)), scope_, pieceDeadline(times));
  if (!head.ok()) {
    co_return fail(State::write_failed, head.error());
  }
  if (request.expect_continue) {
    // An origin that does not know the expectation says nothing (RFC 9110 10.1.1).
    const rt::WaitQueue::Woken how = co_await permission_.wait(
        scope_, std::min(times.deadline, reactor_.now() + times.expect_ns));
    if (how == rt::WaitQueue::Woken::cancelled) {
      co_return State::stopped;
    }
    state_ = State::sending;
  }
  const bool chunked = !request.body_bytes.has_value();
  while (chunked || body_bytes_ < *request.body_bytes) {
    const base::Result<std::optional<BodySource::Chunk>> next = co_await request.body->next(scope_);
    if (!next.ok()) {
      co_return fail(State::source_failed, next.error());
    }
    if (!next.value().has_value()) {
      break;
    }
    const BodySource::Chunk bytes = *next.value();
    if (!chunked && bytes.size() > *request.body_bytes - body_bytes_) {
      co_return fail(State::source_failed, {base::Code::bad_framing, base::Blame::downstream});
    }
    if (bytes.empty()) {
      continue;  // an empty chunk would end the body
    }
    const bool sent = co_await sendPiece(stream, bytes, chunked, pieceDeadline(times));
    if (!sent) {
      co_return fail(State::write_failed, error_);
    }
  }
  if (!chunked) {
    if (body_bytes_ < *request.body_bytes) {
      co_return fail(State::source_failed, {base::Code::bad_framing, base::Blame::downstream});
    }
    co_return State::done;
  }
  std::string last;
  const http::Fields* trailers = request.body->trailers();
  http::appendLastChunk(last, trailers != nullptr ? *trailers : http::Fields());
  const base::Status end =
      co_await stream.write(std::as_bytes(std::span(last)), scope_, pieceDeadline(times));
  if (!end.ok()) {
    co_return fail(State::write_failed, end.error());
  }
  co_return State::done;
}

}  // namespace upstream
