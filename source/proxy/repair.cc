// A stored body that cannot be read on: the record is dropped. If nothing was sent yet, the request
// goes to the origin as if nothing had been found; else the origin is asked for the rest of the
// same version (RFC 9110 13.1.5, 14.2), and if it does not give exactly that the response is cut
// off.
#include <string>

#include "source/http/codec.h"
#include "source/policy/partial.h"
#include "source/proxy/session.h"

namespace proxy {
namespace {

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
    done = co_await fetchRest(request, reader, etag, chunked);
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

rt::Task<bool> Session::fetchRest(Request& request, cache::Reader& reader, std::string_view etag,
                                  bool chunked) {
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
    sent = policy::isRest(exchange.head(), exchange.bodyLength(), rest) &&
           co_await relayBody(request, origin, {}, chunked);
  }
  co_await origin.finish();
  co_return sent;
}

}  // namespace proxy
