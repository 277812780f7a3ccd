// Requests that go to the origin past the cache: the client's own request, body and interim
// responses included, and the origin's own answer.
#include <poll.h>

#include <algorithm>
#include <array>
#include <utility>

#include "source/cache/labels.h"
#include "source/cache/refusal.h"
#include "source/http/chunked.h"
#include "source/http/hop_by_hop.h"
#include "source/http/serialize.h"
#include "source/policy/compression.h"
#include "source/policy/error.h"
#include "source/policy/groups.h"
#include "source/policy/invalidate.h"
#include "source/policy/response.h"
#include "source/policy/tags.h"
#include "source/policy/targeted.h"
#include "source/proxy/reasons.h"
#include "source/proxy/session.h"

namespace proxy {
namespace {

constexpr uint32_t kRelay_bytes = 64 << 10;
constexpr uint64_t kPatience_ns = 100 * base::kMillisecond_ns;

bool hasNoBody(uint16_t status) {
  return status < 200 || status == 204 || status == 304;
}

}  // namespace

// The request's body, pulled from the client as the origin takes it. It can be sent again only
// while none of it has been taken.
class RequestBody final : public upstream::BodySource {
 public:
  RequestBody(Session& session, Request& request)
      : session_(session),
        request_(request),
        decoder_(base::Blame::downstream),
        chunked_(std::holds_alternative<http::Chunked>(request.framing)) {
    if (const auto* length = std::get_if<http::Length>(&request.framing)) {
      left_ = length->n;
    }
  }

  rt::Task<base::Result<std::optional<Chunk>>> next(rt::CancelScope& scope) override {
    if (!taken_ && session_.continue_due_) {
      // The body is wanted, and the origin has not said so itself (RFC 9110 10.1.1).
      session_.continue_due_ = false;
      const std::string_view go_on = "HTTP/1.1 100 Continue\r\n\r\n";
      base::Status sent =
          co_await session_.stream_.write(std::as_bytes(std::span(go_on)), scope, base::kNever);
      if (!sent.ok()) {
        co_return sent.error();
      }
    }
    taken_ = true;
    while (!ended_) {
      if (!chunked_ && left_ == 0) {
        ended_ = true;
        break;
      }
      if (session_.input_.unread().empty()) {
        base::Error error;
        if (!co_await session_.receive(session_.after(request_.listener->stream_idle_timeout_ms),
                                       error)) {
          co_return error;
        }
      }
      const std::span<const std::byte> unread = std::as_bytes(session_.input_.unread());
      if (!chunked_) {
        const size_t bytes = std::min<uint64_t>(left_, unread.size());
        session_.input_.consume(bytes);
        left_ -= bytes;
        request_.outcome.received_bytes += bytes;
        co_return std::optional<Chunk>(unread.first(bytes));
      }
      base::Result<http::ChunkDecoder::Step> step = decoder_.feed(unread);
      if (!step.ok()) {
        co_return step.error();
      }
      session_.input_.consume(step.value().consumed);
      if (step.value().end) {
        ended_ = true;
      } else if (!step.value().data.empty()) {
        request_.outcome.received_bytes += step.value().data.size();
        co_return std::optional<Chunk>(step.value().data);
      }
    }
    co_return std::optional<Chunk>();
  }
  bool rewind() override { return !taken_; }
  const http::Fields* trailers() const override {
    return chunked_ ? &decoder_.trailers() : nullptr;
  }
  bool ended() const { return ended_ || (!chunked_ && left_ == 0); }

 private:
  Session& session_;
  Request& request_;
  http::ChunkDecoder decoder_;
  bool chunked_;
  uint64_t left_ = 0;
  bool taken_ = false;
  bool ended_ = false;
};

// Passes 100 (Continue), 103 (Early Hints) and their like on to the client.
class InterimRelay final : public upstream::InterimSink {
 public:
  InterimRelay(net::Stream& stream, const Request& request, Context& context, bool& continue_due)
      : stream_(stream), request_(request), context_(context), continue_due_(continue_due) {}
  rt::Task<base::Status> onInterim(const http::ResponseHead& head,
                                   rt::CancelScope& scope) override {
    if (request_.head().minor == 0) {
      co_return base::Unit{};  // HTTP/1.0 clients know none
    }
    std::string text;
    http::appendStatusLine(text, head.status, head.reason);
    const http::HopByHop hop(head.fields);
    for (const http::Field& field : head.fields.all()) {
      if (!hop.covers(field)) {
        http::appendField(text, field.name, field.value);
      }
    }
    http::appendHeadEnd(text);
    context_.stats.downstream_rq_1xx++;
    if (head.status == 100) {
      continue_due_ = false;
    }
    co_return co_await stream_.write(std::as_bytes(std::span(text)), scope, base::kNever);
  }

 private:
  net::Stream& stream_;
  const Request& request_;
  Context& context_;
  bool& continue_due_;
};

// Receiving the body gives up the buffer that the head was parsed from: the request moves into
// memory of its own.
void Session::keepHead(Request& request) {
  std::string& copy = request.scratch.raw_head;
  copy.assign(request.raw_head);
  http::Limits limits;
  limits.head_bytes = limits.line_bytes = UINT32_MAX;
  limits.fields = UINT16_MAX;
  const http::ParseOutcome parsed = http::parseRequestHead(copy, limits, request.scratch.head);
  CHECK(std::holds_alternative<http::Parsed>(parsed));
  request.raw_head = copy;
  base::Result<http::Effective> uri =
      http::effectiveUri(request.head(), http::Scheme::http, request.scratch.authority);
  CHECK(uri.ok());
  request.uri = uri.value();
  request.scratch.target.assign(request.target);
  request.target = request.scratch.target;
}

rt::Task<void> Session::servePass(Request& request, const policy::Lookup* lookup) {
  const bool has_body = unread_body_;
  if (has_body) {
    keepHead(request);
  }
  RequestBody body(*this, request);
  continue_due_ = has_body && http::expectsContinue(request.head());
  InterimRelay interim(stream_, request, context_, continue_due_);
  OriginRequest out;
  out.plan.snapshot = &*request.config;
  out.plan.host = request.host;
  out.plan.route = request.route;
  out.plan.request = &request.head();
  out.plan.uri = &request.uri;
  out.plan.client_address = peerIp();
  out.plan.via = request.listener->via;
  out.plan.cdn_loop = request.listener->cdn_loop;
  out.plan.kind = policy::FetchKind::pass;
  out.body = has_body ? &body : nullptr;
  out.framing = request.framing;
  out.expect_continue = continue_due_;
  out.interim = &interim;
  policy::Exchange exchange{context_.reactor.turn().wall, {}};
  const base::MonoTime begun = context_.reactor.now();
  OriginExchange origin(context_);
  rt::CancelScope fetching(scope_);
  rt::TaskGroup watching(context_.reactor, 1, scope_);
  const bool watched = watching.spawn(watchClient(&fetching, &watching.scope()));
  CHECK(watched);
  const bool answered = co_await origin.begin(std::move(out), fetching);
  watching.cancelAll();
  co_await watching.join();
  request.outcome.upstream_ns = context_.reactor.now().ns - begun.ns;
  exchange.received = context_.reactor.turn().wall;
  if (has_body && body.ended()) {
    unread_body_ = false;
    request.reuse = request.keep_alive && !draining_ && !context_.draining;
  }
  if (!answered) {
    const LocalReply reply = replyFor(origin.failure());
    co_await origin.finish();
    co_await sendLocal(request, reply);
    co_return;
  }
  if (context_.access_log.enabled()) {
    request.outcome.upstream_host = origin.exchange().peer().text();
  }
  std::optional<KeptPost> kept;
  co_await afterPass(request, lookup, origin.exchange().head(), exchange, kept);
  http::ResponseHead recoded;
  std::string tag;
  const http::ResponseHead& head =
      asGetWould(request, lookup, origin.exchange().head(), exchange, recoded, tag);
  co_await relay(request, origin, head, kept);
  if (kept.has_value() && kept->whole) {
    co_await keepPost(request, origin.exchange().head(), *kept);
  }
  co_await origin.finish();
}

// What a passed response means for what is stored.
rt::Task<void> Session::afterPass(Request& request, const policy::Lookup* lookup,
                                  const http::ResponseHead& response, policy::Exchange exchange,
                                  std::optional<KeptPost>& kept) {
  request.outcome.cache.fwd_status = response.status;
  if (lookup != nullptr && !request.is_head) {
    const policy::StoreDecision decision =
        policy::decideStore(request.head(), lookup->directives, response, exchange,
                            request.route->policy, request.route->policy.set_cookie);
    if (const auto* why = std::get_if<policy::NoStoreReason>(&decision)) {
      request.outcome.cache.detail = policy::name(*why);
      counterOf(context_.stats, *why)++;
    } else if (const std::optional<cache::Refusal> refusal =
                   cache::operatorsRefusal(*request.route, request.head(), request.uri, response)) {
      request.outcome.cache.detail = policy::name(refusal->why);
      counterOf(context_.stats, refusal->why)++;
    } else if (request.note.has_value()) {
      // The note that this key is not stored is out of date: the next request fetches for the
      // cache.
      co_await cacheOf(request).forget(request.scratch.keys, *request.note);
    }
  }
  if (request.route->cache != config::kNone && !policy::isSafeMethod(request.head().method)) {
    co_await invalidateGroups(request, response);
    const uint64_t epoch = co_await invalidate(request, response);
    kept = planKeptPost(request, response, exchange, epoch);
  }
}

// HEAD says what GET would (RFC 9110 9.3.2), also where the route compresses what it stores. out
// borrows from response and text.
const http::ResponseHead& Session::asGetWould(Request& request, const policy::Lookup* lookup,
                                              const http::ResponseHead& response,
                                              policy::Exchange exchange, http::ResponseHead& out,
                                              std::string& text) const {
  const policy::RoutePolicy& route = request.route->policy;
  if (!request.is_head || lookup == nullptr || !route.compression.has_value()) {
    return response;
  }
  http::RequestHead get = request.head();
  get.method = "GET";
  const policy::StoreDecision decision =
      policy::decideStore(get, lookup->directives, response, exchange, route, route.set_cookie);
  const policy::CodingPlan plan =
      policy::planCoding(get.fields, response, http::contentLength(response), route);
  if (!std::holds_alternative<policy::Store>(decision) || !plan.negotiated ||
      cache::operatorsRefusal(*request.route, get, request.uri, response).has_value()) {
    return response;
  }
  policy::recodeHead(response, plan, out, text);
  return out;
}

// Gives a fetch up when the client resets its connection while it waits. (A client that only ends
// its sending half may still want the answer.) It looks only after a while, so that quick answers
// cost no system call.
rt::Task<void> Session::watchClient(rt::CancelScope* fetching, rt::CancelScope* scope) {
  if (!co_await rt::Sleep(context_.reactor.now() + kPatience_ns, *scope)) {
    co_return;
  }
  const rt::IoResult gone =
      co_await rt::Poll(stream_.fd(), POLLERR | POLLHUP, *scope, base::kNever);
  if (gone.ok()) {
    open_ = false;
    fetching->request();
  }
}

// Groups that the response says are out of date (RFC 9875 3): gone on every shard, durably, before
// the response is sent.
rt::Task<void> Session::invalidateGroups(Request& request, const http::ResponseHead& response) {
  const std::vector<std::string> groups = policy::invalidatedGroups(request.head(), response);
  for (const std::string& group : groups) {
    const std::string tag = policy::groupTag(request.uri, request.route->policy.key, group);
    const cache::ShardCache::Purged done = co_await cacheOf(request).purge(
        cache::selectGroup(tag, cacheOf(request).shared().hash_seed));
    context_.stats.cache_groups_invalidated++;
    context_.stats.cache_groups_not_durable += done.not_durable;
  }
}

// What an unsafe request has made untrustworthy (RFC 9111 4.4). Gives the epoch of its target's
// stripe, which comes first.
rt::Task<uint64_t> Session::invalidate(Request& request, const http::ResponseHead& response) {
  policy::Invalidation uris = policy::invalidatedBy(request.head(), request.uri, response);
  cache::Keys keys;
  uint64_t epoch = 0;
  for (uint8_t i = 0; i < uris.count; i++) {
    policy::cacheKey(uris.uris[i].parts(), request.route->policy.key, keys.primary);
    keys.by_path = request.route->policy.key.no_vary_search;
    cacheOf(request).locate(keys);
    const cache::ShardCache::Invalidated done = co_await cacheOf(request).invalidate(keys);
    context_.stats.cache_invalidations += done.found ? 1 : 0;
    epoch = i == 0 ? done.epoch : epoch;
  }
  co_return epoch;
}

// The origin's response as it is, without what was meant for the connection it came by.
rt::Task<void> Session::relay(Request& request, OriginExchange& origin,
                              const http::ResponseHead& response, std::optional<KeptPost>& kept) {
  http::Fields& fields = request.scratch.fields;
  fields.clear();
  const http::HopByHop hop(response.fields);
  const bool surrogate =
      request.route->policy.enabled && policy::consumesSurrogateControl(request.route->policy);
  const policy::TagRules* tags = nullptr;
  if (request.route->cache != config::kNone) {
    tags = &request.config->caches[request.route->cache].tags;
  }
  for (const http::Field& field : response.fields.all()) {
    if ((surrogate && field.id == http::Name::surrogate_control) ||
        (tags != nullptr && tags->strip && policy::isTagField(field, *tags))) {
      continue;
    }
    const bool second_age = field.id == http::Name::age && fields.has(http::Name::age);
    if (field.id != http::Name::content_length && field.id != http::Name::cache_status &&
        !second_age && !hop.covers(field)) {
      fields.add(field.id, field.name, field.value);
    }
  }
  if (!fields.has(http::Name::date)) {
    fields.add(http::Name::date, http::spelling(http::Name::date),
               context_.date.at(context_.reactor.turn().wall));
  }
  config::changeResponse(*request.host, *request.route, fields, request.scratch.spare);
  const bool bodiless = request.is_head || hasNoBody(response.status);
  const std::optional<uint64_t> length =
      bodiless ? http::contentLength(response) : origin.exchange().bodyLength();
  const bool chunked = !bodiless && !length.has_value() && request.head().minor > 0;
  std::string& text = request.scratch.text;
  text.clear();
  http::appendStatusLine(text, response.status, response.reason);
  http::appendFields(text, fields);
  if (length.has_value() && response.status != 204 && response.status != 304) {
    http::appendField(text, http::Name::content_length, *length);
  } else if (chunked) {
    http::appendField(text, http::Name::transfer_encoding, "chunked");
  } else if (!bodiless) {
    request.reuse = false;
  }
  std::array<char, 512> tail;
  text.append(tail.data(), writeTail(request, tail));
  request.outcome.status = response.status;
  if (bodiless) {
    static_cast<void>(co_await write(request, text, {}, false));
    co_return;
  }
  static_cast<void>(
      co_await relayBody(request, origin, text, chunked, kept.has_value() ? &*kept : nullptr));
}

// `head` goes out with the first piece; it may be empty.
rt::Task<bool> Session::relayBody(Request& request, OriginExchange& origin, std::string_view head,
                                  bool chunked, KeptPost* kept) {
  const uint64_t length = origin.exchange().bodyLength().value_or(kRelay_bytes);
  base::Result<rt::Buffer> buffer = co_await context_.buffers.take(
      static_cast<uint32_t>(std::clamp<uint64_t>(length, 1, kRelay_bytes)), scope_);
  if (!buffer.ok()) {
    cutOff(request, false);
    co_return false;
  }
  while (true) {
    base::Result<uint32_t> read = co_await origin.exchange().readBody(
        buffer.value().span(), scope_, context_.reactor.now() + origin.idle_ns());
    if (!read.ok()) {
      if (!head.empty()) {
        static_cast<void>(co_await write(request, head, {}, false));
      }
      cutOff(request, false);
      co_return false;
    }
    const std::span<const std::byte> bytes = buffer.value().span().first(read.value());
    if (kept != nullptr && !kept->add(bytes)) {
      kept = nullptr;
    }
    if (!bytes.empty() || !head.empty()) {
      if (!co_await write(request, head, bytes, chunked, {}, Held::pooled)) {
        co_return false;
      }
      head = {};
    }
    if (bytes.empty()) {
      break;
    }
  }
  if (kept != nullptr) {
    kept->whole = true;
  }
  if (!chunked) {
    co_return true;
  }
  std::string last;
  http::appendLastChunk(last, origin.exchange().trailers());
  base::Status sent = co_await stream_.write(std::as_bytes(std::span(last)), scope_,
                                             after(request.listener->stream_idle_timeout_ms));
  if (!sent.ok()) {
    cutOff(request, true);
  }
  co_return sent.ok();
}

}  // namespace proxy
