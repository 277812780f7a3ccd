#include "source/upstream/exchange.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "source/base/check.h"
#include "source/http/grammar.h"

namespace upstream {

Exchange::Exchange(Cluster& cluster, Connection& connection, rt::CancelScope& scope)
    : cluster_(cluster),
      connection_(&connection),
      scope_(scope),
      peer_(connection.endpoint().address),
      reused_(connection.reused()),
      sender_(cluster.context().reactor, scope),
      senders_(cluster.context().reactor, 1),
      held_(cluster.headBuffers().take()),
      buffer_(held_->bytes.get()),
      head_(held_->head) {}

Exchange::~Exchange() {
  CHECK(senders_.size() == 0);  // finish() was awaited, or nothing was being sent
  letGo();
  cluster_.headBuffers().give(std::move(held_));
}

rt::Task<Failure> Exchange::begin(OutgoingRequest request, ExchangeTimes times) {
  CHECK(state_ == State::awaiting_head);
  request_ = request;
  times_ = times;
  Failure failure;
  if (request.body == nullptr) {
    failure = co_await sendHeadOnly();
  } else {
    SendTimes send_times;
    send_times.expect_ns = times.expect_ns;
    send_times.idle_ns = times.idle_ns;
    send_times.deadline = times.deadline;
    const bool spawned = senders_.spawn(sender_.run(&connection_->stream(), request, send_times));
    CHECK(spawned);
  }
  if (!failure) {
    failure = co_await awaitHead();
  }
  if (!failure) {
    failure = judgeHead();
  }
  countOutcome(failure);
  if (failure) {
    state_ = State::failed;
    error_ = failure.error;
    co_await finish();
  } else {
    beginBody();
  }
  co_return failure;
}

rt::Task<Failure> Exchange::sendHeadOnly() {
  rt::Reactor& reactor = cluster_.context().reactor;
  const base::MonoTime deadline = std::min(times_.deadline, reactor.now() + times_.idle_ns);
  const base::Status sent = co_await connection_->stream().write(
      std::as_bytes(std::span(request_.head)), scope_, deadline);
  sent_at_ = reactor.now();
  // An origin may answer and close before it has read the request: then its answer counts.
  if (!sent.ok() && !connection_->hasBytes()) {
    co_return failureOf(sent.error());
  }
  co_return Failure{};
}

Failure Exchange::failureOf(const base::Error& error) const {
  Failure failure;
  failure.error = error;
  failure.error.retry = base::Retry::never;
  if (error.code == base::Code::cancelled) {
    failure.reason = Reason::cancelled;
  } else if (error.code == base::Code::timeout) {
    failure.reason = Reason::response_timeout;
  } else {
    failure.reason = Reason::reset_before_head;
    failure.error.retry =
        have_ == 0 && interim_ == 0 ? base::Retry::if_reused_connection : base::Retry::never;
  }
  return failure;
}

Failure Exchange::protocolError(base::Code code) const {
  return Failure{Reason::protocol_error, {code, base::Blame::upstream}};
}

rt::Task<Failure> Exchange::awaitHead() {
  while (true) {
    if (heldBytes() > 0) {
      const std::optional<Failure> taken = takeHead();
      if (taken.has_value() && (*taken || head_.status >= 200)) {
        co_return *taken;
      }
      if (taken.has_value()) {
        const Failure interim = co_await takeInterim();
        if (interim) {
          co_return interim;
        }
        continue;
      }
    }
    const Failure failure = co_await readMore();
    if (failure) {
      co_return failure;
    }
  }
}

// A head parsed, a failure, or nothing: more bytes are needed.
std::optional<Failure> Exchange::takeHead() {
  const http::Limits& limits = cluster_.context().head_limits;
  const std::span<const char> bytes(reinterpret_cast<const char*>(buffer_) + at_, heldBytes());
  // The first byte may already tell that this is no response; after that, only a whole head does.
  const bool first_look = searched_ == 0;
  const uint32_t end = http::findHeadEnd(bytes, searched_);
  searched_ = heldBytes();
  if (end == 0 && !first_look && heldBytes() <= limits.head_bytes) {
    return std::nullopt;
  }
  const http::ParseOutcome outcome = http::parseResponseHead(bytes, limits, head_);
  if (const auto* error = std::get_if<base::Error>(&outcome)) {
    return protocolError(error->code);
  }
  if (std::holds_alternative<http::NeedMore>(outcome)) {
    if (have_ == cluster_.headBuffers().bufferBytes()) {
      return protocolError(base::Code::head_too_large);
    }
    return std::nullopt;
  }
  at_ += std::get<http::Parsed>(outcome).consumed;
  searched_ = 0;
  if (head_.status == 101) {
    return protocolError(base::Code::unsupported);  // nobody asked for an upgrade
  }
  return Failure{};
}

rt::Task<Failure> Exchange::takeInterim() {
  if (++interim_ > kMaxInterim) {
    co_return protocolError(base::Code::no_capacity);
  }
  if (head_.status == 100) {
    sender_.goOn();
  }
  if (request_.interim != nullptr) {
    const base::Status passed = co_await request_.interim->onInterim(head_, scope_);
    if (!passed.ok()) {
      co_return Failure{Reason::interim_sink, passed.error()};
    }
  }
  head_.fields.clear();
  std::memmove(buffer_, buffer_ + at_, heldBytes());
  have_ = heldBytes();
  at_ = 0;
  co_return Failure{};
}

rt::Task<base::Result<uint32_t>> Exchange::readHeadBytes(rt::CancelScope& scope,
                                                         base::MonoTime deadline) {
  const std::span<std::byte> room(buffer_ + have_, cluster_.headBuffers().bufferBytes() - have_);
  if (first_taken_) {
    co_return co_await connection_->stream().readInto(room, scope, deadline);
  }
  const base::Result<std::span<const std::byte>> first =
      co_await connection_->first(scope, deadline);
  if (!first.ok()) {
    co_return first.error();
  }
  first_taken_ = true;
  std::memcpy(room.data(), first.value().data(), first.value().size());
  co_return static_cast<uint32_t>(first.value().size());
}

// The origin closed within a head, or before it. Parsed once more, what is there may turn out to be
// no response at all, however it was cut on its way.
Failure Exchange::cutHead() {
  const std::span<const char> bytes(reinterpret_cast<const char*>(buffer_) + at_, heldBytes());
  if (!bytes.empty()) {
    const http::ParseOutcome outcome =
        http::parseResponseHead(bytes, cluster_.context().head_limits, head_);
    if (const auto* error = std::get_if<base::Error>(&outcome)) {
      return protocolError(error->code);
    }
  }
  return failureOf({base::Code::peer_closed, base::Blame::upstream});
}

// Reads what comes next of the response while the request may still be on its way.
rt::Task<Failure> Exchange::readMore() {
  CHECK(have_ < cluster_.headBuffers().bufferBytes());
  while (true) {
    if (sender_.state() == RequestSender::State::source_failed) {
      co_return Failure{Reason::request_body, sender_.error()};
    }
    const bool sending = sender_.running();
    if (sender_.state() != RequestSender::State::idle && !sending) {
      sent_at_ = sender_.endedAt();
    }
    const base::MonoTime deadline =
        sending ? times_.deadline : std::min(times_.deadline, sent_at_ + times_.response_ns);
    rt::CancelScope reading(scope_);
    sender_.interruptAtEnd(sending ? &reading : nullptr);
    const base::Result<uint32_t> read = co_await readHeadBytes(reading, deadline);
    sender_.interruptAtEnd(nullptr);
    if (!read.ok()) {
      if (read.error().code == base::Code::cancelled && !scope_.requested()) {
        continue;  // the sender has ended
      }
      co_return failureOf(read.error());
    }
    if (read.value() == 0) {
      co_return cutHead();
    }
    have_ += read.value();
    co_return Failure{};
  }
}

// The final head is there: how does its body end?
Failure Exchange::judgeHead() {
  head_at_ = cluster_.context().reactor.now();
  const base::Result<http::Framing> framing = http::responseFraming(head_, request_.method);
  if (!framing.ok()) {
    return protocolError(framing.error().code);
  }
  framing_ = framing.value();
  return Failure{};
}

void Exchange::beginBody() {
  state_ = State::body;
  if (!sendingEnded()) {
    cluster_.stats().rq_early_response++;
    // An origin that refuses, or that will close, does not want the rest (RFC 9112 9.3, 9.6).
    // Others may answer as they read.
    if (head_.status >= 400 || !http::keepAlive(head_)) {
      sender_.stop();
    }
  }
  if (const auto* length = std::get_if<http::Length>(&framing_)) {
    remaining_ = length->n;
  }
  if (std::holds_alternative<http::NoBody>(framing_) ||
      (std::holds_alternative<http::Length>(framing_) && remaining_ == 0)) {
    endMessage();
  }
}

void Exchange::countOutcome(const Failure& failure) {
  ClusterStats& stats = cluster_.stats();
  EndpointStats& endpoint = connection_->endpoint().stats;
  const bool ours = failure.reason == Reason::cancelled || failure.reason == Reason::request_body ||
                    failure.reason == Reason::interim_sink;
  const bool answered = failure.reason == Reason::none;
  endpoint.rq_success += answered && head_.status < 500 ? 1 : 0;
  endpoint.rq_error += (answered && head_.status >= 500) || (!answered && !ours) ? 1 : 0;
  endpoint.rq_timeout += failure.reason == Reason::response_timeout ? 1 : 0;
  stats.rq_cancelled += ours ? 1 : 0;
  stats.rq_timeout += failure.reason == Reason::response_timeout ? 1 : 0;
  stats.rq_reset += failure.reason == Reason::reset_before_head ? 1 : 0;
  stats.rq_protocol_error += failure.reason == Reason::protocol_error ? 1 : 0;
  if (answered) {
    stats.rq_completed++;
    stats.rq_2xx += head_.status / 100 == 2 ? 1 : 0;
    stats.rq_3xx += head_.status / 100 == 3 ? 1 : 0;
    stats.rq_4xx += head_.status / 100 == 4 ? 1 : 0;
    stats.rq_5xx += head_.status >= 500 ? 1 : 0;
  }
}

std::optional<uint64_t> Exchange::bodyLength() const {
  if (const auto* length = std::get_if<http::Length>(&framing_)) {
    return length->n;
  }
  return std::holds_alternative<http::NoBody>(framing_) ? std::optional<uint64_t>(0) : std::nullopt;
}

}  // namespace upstream
