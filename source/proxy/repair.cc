// A stored body that cannot be read on: the record is dropped. If nothing was sent yet, the request
// goes to the origin as if nothing had been found; else the origin is asked for the rest of the
// same version (RFC 9110 13.1.5, 14.2); if it gives all of it, what the client has already is
// passed over, and if it gives anything else the response is cut off.
#include <algorithm>
#include <string>

#include "source/http/codec.h"
#include "source/policy/partial.h"
#include "source/proxy/session.h"

namespace proxy {
namespace {

constexpr uint32_t kPassOver_bytes = 64 << 10;

// The stored entity tag, if it is a strong one.
std::string strongTagOf(const cache::StoredHead& head) {
  http::ResponseHead stored;
  http::Limits limits;
  limits.head_bytes = limits.line_bytes = UINT32_MAX;
  limits.fields = UINT16_MAX;
  if (!std::holds_alternative<http::Parsed>(http::parseResponseHead(head.text, limits, stored))) {
    return {};
  }
  return std::string(policy::strongTagOf(stored.fields));
}

}  // namespace

rt::Task<bool> Session::sendRest(Request& request, cache::Reader& reader, std::string_view head,
                                 bool chunked, base::Error error) {
  const bool ours = error.blame == base::Blame::disk;
  if (ours && reader.entry().has_value() && error.code != base::Code::timeout &&
      error.code != base::Code::no_capacity) {
    co_await cacheOf(request).forget(request.scratch.keys, *reader.entry());
  }
  if (ours && !head_sent_ && !scope_.requested()) {
    request.outcome.cache = policy::CacheStatus{};
    request.outcome.cache.forward = policy::Forward::uri_miss;
    request.outcome.age_s.reset();
    context_.stats.cache_repaired++;
    co_await servePass(request, nullptr);
    co_return true;
  }
  const std::string etag = ours && !scope_.requested() ? strongTagOf(reader.head()) : "";
  bool done = false;
  if (!etag.empty()) {
    done = co_await fetchRest(request, reader, etag, head, chunked);
  }
  if (done) {
    context_.stats.cache_repaired++;
    request.outcome.details = "repaired";
  } else if (open_) {
    context_.stats.cache_cut_off += ours ? 1 : 0;
    if (!head_sent_) {
      static_cast<void>(co_await write(request, head, {}, false));
    }
    cutOff(request, false);
  }
  co_return done;
}

// Reads the next bytes of the origin's body and lets them go. False: they did not come.
rt::Task<bool> Session::passOver(OriginExchange& origin, uint64_t bytes) {
  base::Result<rt::Buffer> buffer = co_await context_.buffers.take(kPassOver_bytes, scope_);
  while (buffer.ok() && bytes > 0) {
    const std::span<std::byte> all = buffer.value().span();
    const std::span<std::byte> some = all.first(std::min<uint64_t>(bytes, all.size()));
    base::Result<uint32_t> read = co_await origin.exchange().readBody(
        some, scope_, context_.reactor.now() + origin.idle_ns());
    if (!read.ok() || read.value() == 0) {
      co_return false;
    }
    bytes -= read.value();
  }
  co_return buffer.ok();
}

rt::Task<bool> Session::fetchRest(Request& request, cache::Reader& reader, std::string_view etag,
                                  std::string_view head, bool chunked) {
  policy::Rest rest{reader.position(), std::nullopt, etag};
  std::string range = "bytes=" + std::to_string(rest.first) + "-";
  if (reader.end() != UINT64_MAX) {
    rest.end = reader.end();
    range += std::to_string(*rest.end - 1);
  }
  OriginRequest out;
  out.plan.snapshot = &*request.config;
  out.plan.host = request.host;
  out.plan.route = request.route;
  out.plan.request = &request.head();
  out.plan.uri = &request.uri;
  out.plan.client_address = peerIp();
  out.plan.via = request.listener->via;
  out.plan.kind = policy::FetchKind::rest;
  out.plan.validators.etag = etag;
  out.plan.range = range;
  OriginExchange origin(context_);
  bool sent = co_await origin.begin(std::move(out), scope_);
  if (sent) {
    upstream::Exchange& exchange = origin.exchange();
    sent = policy::isRest(exchange.head(), exchange.bodyLength(), rest);
    if (policy::endsWithRest(exchange.head(), exchange.bodyLength(), rest)) {
      sent = co_await passOver(origin, rest.first);
    }
    sent = sent && co_await relayBody(request, origin, head, chunked);
  }
  co_await origin.finish();
  co_return sent;
}

}  // namespace proxy
