// Answers to the client: heads, bodies from the cache, local replies.
#include <algorithm>
#include <array>
#include <utility>

#include "source/http/range.h"
#include "source/http/serialize.h"
#include "source/policy/conditional.h"
#include "source/policy/range_plan.h"
#include "source/proxy/session.h"

namespace proxy {
namespace {

constexpr size_t kTailSize = 512;
// A body up to this long is copied behind its head: one piece costs the kernel less than two, and
// more than the copy.
constexpr size_t kJoined_bytes = 4096;

http::Limits noLimits() {
  http::Limits limits;
  limits.head_bytes = UINT32_MAX;
  limits.line_bytes = UINT32_MAX;
  limits.fields = UINT16_MAX;
  return limits;
}

bool hasNoBody(uint16_t status) {
  return status < 200 || status == 204 || status == 304;
}

iovec piece(std::string_view text) {
  return iovec{const_cast<char*>(text.data()), text.size()};
}

iovec piece(std::span<const std::byte> bytes) {
  return iovec{const_cast<std::byte*>(bytes.data()), bytes.size()};
}

}  // namespace

LocalReply replyFor(const base::Error& error) {
  switch (error.code) {
    case base::Code::head_too_large:
      return LocalReply{431, "DPE", "request_head_too_large"};
    case base::Code::unsupported:
      return LocalReply{501, "DPE", "unsupported"};
    case base::Code::bad_framing:
      return LocalReply{400, "DPE", "bad_framing"};
    default:
      return LocalReply{400, "DPE", "bad_head"};
  }
}

LocalReply replyFor(policy::ErrorAnswer answer, policy::UpstreamFailure failure) {
  LocalReply reply;
  reply.status = policy::statusOf(answer);
  reply.details = policy::name(failure);
  switch (failure) {
    case policy::UpstreamFailure::no_endpoint:
      reply.flags = "UH";
      break;
    case policy::UpstreamFailure::connect:
      reply.flags = "UF";
      break;
    case policy::UpstreamFailure::timeout:
      reply.flags = "UT";
      break;
    case policy::UpstreamFailure::bad_response:
      reply.flags = "UPE";
      break;
    default:
      reply.flags = "UC";
  }
  return reply;
}

LocalReply replyFor(const upstream::Failure& failed) {
  if (failed.reason == upstream::Reason::request_body) {
    return failed.error.code == base::Code::timeout ? LocalReply{408, "DT", "request_body_timeout"}
                                                    : replyFor(failed.error);
  }
  const policy::UpstreamFailure failure = failureOf(failed.reason);
  LocalReply reply = replyFor(policy::onUpstreamError(failure), failure);
  if (failed.reason == upstream::Reason::overflow) {
    reply.flags = "UO";
  }
  return reply;
}

void Session::countStatus(uint16_t status) {
  uint64_t* const counters[] = {
      &context_.stats.downstream_rq_1xx, &context_.stats.downstream_rq_2xx,
      &context_.stats.downstream_rq_3xx, &context_.stats.downstream_rq_4xx,
      &context_.stats.downstream_rq_5xx};
  if (status >= 100 && status < 600) {
    (*counters[status / 100 - 1])++;
  }
}

// The fields that every answer ends with: Cache-Status, Connection, and the blank line.
size_t Session::writeTail(Request& request, std::span<char> out) {
  http::HeadWriter tail(out);
  const Outcome& outcome = request.outcome;
  if (outcome.age_s.has_value()) {
    tail.field(http::Name::age, *outcome.age_s);
  }
  if (request.route != nullptr &&
      std::holds_alternative<config::ForwardAction>(request.route->action)) {
    policy::CacheStatusBuffer buffer;
    tail.field(http::Name::cache_status, policy::formatCacheStatus(outcome.cache, buffer));
  }
  if (request.listener != nullptr && !request.listener->via.empty()) {
    tail.text("Via: 1.1 ");
    tail.text(request.listener->via);
    tail.text("\r\n");
  }
  if (!request.reuse) {
    tail.field(http::Name::connection, "close");
  } else if (request.head().minor == 0) {
    tail.field(http::Name::connection, "keep-alive");
  }
  tail.end();
  CHECK(tail.ok());
  return tail.size();
}

void Session::cutOff(Request& request, bool by_client) {
  (by_client ? context_.stats.downstream_rq_aborted : context_.stats.downstream_rq_truncated)++;
  request.outcome.flags = by_client ? "DC" : "UC";
  request.reuse = false;
  open_ = false;
  if (stream_.isOpen()) {
    stream_.abort();
  }
}

void Session::noteHead(Request& request, std::string_view head) {
  if (head_sent_) {
    return;  // the rest of one
  }
  head_sent_ = true;
  countStatus(request.outcome.status);
  if (context_.access_log.enabled()) {
    request.outcome.sent_head = head;
  }
}

// Head and a first piece of the body, or another piece; `before` is of the body too and goes first.
// False: the client has gone or stalled.
rt::Task<bool> Session::write(Request& request, std::string_view head,
                              std::span<const std::byte> body, bool chunked,
                              std::string_view before, Held held) {
  std::array<iovec, 5> pieces;
  size_t count = 0;
  std::array<char, http::kChunkHeadSize> size_line;
  if (!head.empty()) {
    pieces[count++] = piece(head);
    noteHead(request, head);
  }
  std::string& text = request.scratch.text;
  const size_t body_bytes = before.size() + body.size();
  if (!head.empty() && head.data() == text.data() && head.size() == text.size() && before.empty() &&
      !chunked && body.size() <= kJoined_bytes) {
    const size_t head_bytes = head.size();
    text.append(reinterpret_cast<const char*>(body.data()), body.size());
    pieces[0] = piece(std::string_view(text));
    head = std::string_view(text).substr(0, head_bytes);
    body = {};
  }
  if (!before.empty()) {
    pieces[count++] = piece(before);
  }
  if (!body.empty()) {
    if (chunked) {
      pieces[count++] = piece(http::writeChunkHead(body.size(), size_line));
    }
    pieces[count++] = piece(body);
    if (chunked) {
      pieces[count++] = piece(http::kChunkEnd);
    }
  }
  if (count == 0) {
    co_return true;
  }
  const uint64_t idle_ms =
      request.listener == nullptr ? 60000 : request.listener->stream_idle_timeout_ms;
  base::Status sent = base::Unit{};
  if (held == Held::pooled && !body.empty()) {
    const Sent all = co_await sendPooled(request, std::span(pieces).first(count), false);
    if (!all.ok) {
      co_return false;
    }
  } else if (count == 1) {
    const std::span<const std::byte> whole(static_cast<const std::byte*>(pieces[0].iov_base),
                                           pieces[0].iov_len);
    sent = co_await stream_.write(whole, scope_, after(idle_ms));
  } else {
    sent = co_await stream_.writev(std::span(pieces).first(count), scope_, after(idle_ms));
  }
  if (!sent.ok()) {
    cutOff(request, true);
    co_return false;
  }
  request.outcome.head_bytes += head.size();
  request.outcome.body_bytes += body_bytes;
  context_.stats.downstream_tx_bytes += head.size() + body_bytes;
  co_return true;
}

rt::Task<void> Session::sendLocal(Request& request, LocalReply reply, std::string_view body) {
  context_.stats.local_replies++;
  if (reply.details == "bad_head") {
    context_.stats.downstream_rq_bad_head++;
  } else if (reply.status == 431) {
    context_.stats.downstream_rq_head_too_large++;
  }
  request.outcome.flags = reply.flags;
  request.outcome.details = reply.details;
  request.outcome.age_s.reset();
  if (request.outcome.cache.detail.empty()) {
    request.outcome.cache.detail = reply.details;
  }
  request.outcome.status = reply.status;
  std::string text;
  std::string content(body);
  if (content.empty()) {
    content.append(http::reasonPhrase(reply.status)).append("\n");
  }
  http::appendStatusLine(text, reply.status);
  http::appendField(text, http::Name::date, context_.date.at(context_.reactor.turn().wall));
  http::appendField(text, http::Name::content_type, "text/plain");
  http::appendField(text, http::Name::content_length, content.size());
  if (reply.status == 503) {
    http::appendField(text, http::Name::retry_after, 1);
  } else if (reply.status == 405) {
    http::appendField(text, http::Name::allow, "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS");
  }
  std::array<char, kTailSize> tail;
  text.append(tail.data(), writeTail(request, tail));
  const std::span<const std::byte> bytes =
      request.is_head ? std::span<const std::byte>() : std::as_bytes(std::span(content));
  static_cast<void>(co_await write(request, text, bytes, false));
}

// Redirects and direct responses of the configuration.
rt::Task<void> Session::sendDirect(Request& request) {
  context_.stats.direct_responses++;
  std::string_view body;
  std::string location;
  uint16_t status = 200;
  http::Fields& fields = request.scratch.fields;
  fields.clear();
  fields.add(http::Name::date, http::spelling(http::Name::date),
             context_.date.at(context_.reactor.turn().wall));
  if (const auto* redirect = std::get_if<config::RedirectAction>(&request.route->action)) {
    config::RedirectFrom from;
    from.scheme = http::name(request.uri.scheme);
    from.authority = request.uri.authority;
    from.target = request.target;
    location = config::redirectLocation(*request.route, from);
    status = redirect->status;
    fields.add(http::Name::location, http::spelling(http::Name::location), location);
    request.outcome.details = "redirect";
  } else {
    const auto& direct = std::get<config::DirectResponseAction>(request.route->action);
    status = direct.status;
    body = direct.body;
    request.outcome.details = "direct_response";
    if (!body.empty()) {
      fields.add(http::Name::content_type, http::spelling(http::Name::content_type), "text/plain");
    }
  }
  config::changeResponse(*request.host, *request.route, fields, request.scratch.spare);
  request.outcome.status = status;
  std::string& text = request.scratch.raw_head;
  text.clear();
  http::appendStatusLine(text, status);
  http::appendFields(text, fields);
  if (!hasNoBody(status)) {
    http::appendField(text, http::Name::content_length, body.size());
  }
  std::array<char, kTailSize> tail;
  text.append(tail.data(), writeTail(request, tail));
  const bool bodiless = request.is_head || hasNoBody(status);
  static_cast<void>(co_await write(
      request, text, bodiless ? std::span<const std::byte>() : std::as_bytes(std::span(body)),
      false));
}

// Writes the head of a changed answer to scratch.text, without the tail: 304, 206, 416, or the
// route's changes.
Session::Shape Session::shapeHead(Request& request, const policy::Lookup& lookup,
                                  cache::Reader& reader) {
  const cache::StoredHead& head = reader.head();
  const base::UnixSeconds now = context_.reactor.turn().wall;
  Shape shape{head.status, reader.length(), nullptr};
  http::ResponseHead& stored = request.scratch.stored;
  const http::ParseOutcome parsed = http::parseResponseHead(head.text, noLimits(), stored);
  CHECK(std::holds_alternative<http::Parsed>(parsed));  // we wrote it, and its checksum was right
  std::string range;  // the value of Content-Range, or of Content-Type for several
  if (lookup.has_conditionals &&
      policy::evaluateConditional(request.head(), stored, base::UnixSeconds{head.received_s},
                                  now) == policy::Condition::not_modified) {
    shape.status = 304;
  } else if (lookup.has_range && shape.length.has_value() &&
             !(head.recoded && request.head().fields.has(http::Name::if_range))) {
    // What was coded here has no strong validator, and its date is that of other bytes too (RFC
    // 9110 13.1.5): If-Range is false then.
    range = shapeRange(request, reader, shape);
  }
  const http::Name range_field =
      shape.parts == nullptr ? http::Name::content_range : http::Name::content_type;
  http::Fields& fields = request.scratch.fields;
  fields.clear();
  for (const http::Field& field : stored.fields.all()) {
    if (field.id != http::Name::content_length && (range.empty() || field.id != range_field) &&
        (shape.status != 304 || policy::keptIn304(field))) {
      fields.add(field.id, field.name, field.value);
    }
  }
  if (!range.empty()) {
    fields.add(range_field, http::spelling(range_field), range);
  }
  config::changeResponse(*request.host, *request.route, fields, request.scratch.spare);
  std::string& text = request.scratch.text;
  http::appendStatusLine(text, shape.status,
                         shape.status == head.status ? stored.reason : std::string_view());
  http::appendFields(text, fields);
  if (shape.length.has_value() && !hasNoBody(shape.status)) {
    http::appendField(text, http::Name::content_length, *shape.length);
  }
  return shape;
}

// A response of the cache: stored, or streaming from a fill. reader has its head.
rt::Task<void> Session::sendObject(Request& request, const policy::Lookup& lookup,
                                   cache::Reader& reader, bool validated) {
  const cache::StoredHead& head = reader.head();
  // Age says that the response was not made or validated for this request (RFC 9111 5.1).
  const uint32_t age_s = policy::ageOf(head.times, context_.reactor.turn().wall);
  const bool made_now = reader.firsthand() && request.begun_wall.s <= int64_t{head.received_s};
  if (!made_now && !(validated && age_s == 0)) {
    request.outcome.age_s = age_s;
  }
  std::string& text = request.scratch.text;
  text.clear();
  Shape shape{head.status, reader.length(), nullptr};
  if (lookup.has_conditionals || lookup.has_range || !request.route->response_headers.empty() ||
      !request.host->response_headers.empty()) {
    shape = shapeHead(request, lookup, reader);
  } else {
    text.append(head.open());
    if (!head.length_in_head && shape.length.has_value() && !hasNoBody(shape.status)) {
      http::appendField(text, http::Name::content_length, *shape.length);
    }
  }
  const bool bodiless = request.is_head || hasNoBody(shape.status);
  if (reader.source() == cache::Reader::Source::sliced && !bodiless &&
      shape.length != uint64_t{0}) {
    if (shape.parts != nullptr) {
      const http::ByteRange& first = shape.parts->parts()[0];
      reader.setRange(first.first, first.last);
    }
    const bool opened = co_await openSliced(request, lookup, reader);
    if (!opened) {
      co_return;
    }
  }
  const bool chunked = !bodiless && !shape.length.has_value() && request.head().minor > 0;
  if (chunked) {
    http::appendField(text, http::Name::transfer_encoding, "chunked");
  } else if (!bodiless && !shape.length.has_value()) {
    request.reuse = false;  // HTTP/1.0: the end of the connection is the end of the body
  }
  std::array<char, kTailSize> tail;
  text.append(tail.data(), writeTail(request, tail));
  request.outcome.status = shape.status;
  if (bodiless || shape.length == uint64_t{0}) {
    static_cast<void>(co_await write(request, text, {}, false));
    co_return;
  }
  if (shape.parts != nullptr) {
    co_await sendParts(request, reader, *shape.parts);
    co_return;
  }
  static_cast<void>(co_await sendBody(request, reader, chunked));
}

// The head in scratch.text goes out with the first piece.
rt::Task<bool> Session::sendBody(Request& request, cache::Reader& reader, bool chunked) {
  std::string_view head = request.scratch.text;
  while (true) {
    if (!chunked && reader.sendsFile()) {
      const bool goes_on = co_await sendFromFile(request, head, reader);
      if (!goes_on) {
        co_return false;
      }
    }
    base::Result<std::span<const std::byte>> next = co_await reader.next(scope_);
    if (!next.ok()) {
      co_return co_await sendRest(request, reader, head, chunked, next.error());
    }
    const bool end = next.value().empty();
    if (end && head.empty()) {
      break;
    }
    if (!chunked && reader.canLetGo() && next.value().size() > kJoined_bytes) {
      const bool goes_on = co_await sendPiece(request, head, reader, next.value());
      if (!goes_on) {
        co_return false;
      }
      continue;
    }
    const Held held = reader.isPooled() ? Held::pooled : Held::own;
    if (!co_await write(request, head, next.value(), chunked, {}, held)) {
      co_return false;
    }
    head = {};
    if (end) {
      break;
    }
  }
  if (!chunked) {
    co_return true;
  }
  const std::string_view last = http::kLastChunk;
  std::array<iovec, 1> pieces{piece(last)};
  base::Status sent = co_await stream_.writev(pieces, scope_, after(60000));
  if (!sent.ok()) {
    cutOff(request, true);
  }
  co_return sent.ok();
}

}  // namespace proxy
