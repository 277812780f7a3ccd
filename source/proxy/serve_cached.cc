// Requests that the cache may answer: what is stored and fresh is sent; anything else is asked of
// the stripe's owner, who fetches once for all; what fails may be covered by what is stale.
#include <utility>

#include "source/http/serialize.h"
#include "source/policy/cache_control.h"
#include "source/policy/error.h"
#include "source/policy/normalise.h"
#include "source/policy/serve.h"
#include "source/policy/slice.h"
#include "source/proxy/reasons.h"
#include "source/proxy/session.h"

namespace proxy {
namespace {

// What was seen can change between looking and asking; after this many rounds the request passes
// by.
constexpr int kRounds = 4;

constexpr LocalReply kOnlyIfCached{504, "", "only_if_cached"};

}  // namespace

cache::ShardCache& Session::cacheOf(const Request& request) const {
  return request.config.cache(request.route->cache);
}

cache::FillRequest Session::fillRequest(Request& request, const policy::Lookup& lookup) const {
  cache::FillRequest fill;
  fill.head = &request.head();
  fill.raw_head = request.raw_head;
  fill.uri = &request.uri;
  fill.client_address = peerIp();
  fill.via = request.listener->via;
  fill.cdn_loop = request.listener->cdn_loop;
  fill.snapshot = &request.config.shared();
  fill.host = request.host;
  fill.route = request.route;
  fill.directives = lookup.directives;
  fill.primary_key = request.scratch.keys.primary;
  fill.key = request.scratch.keys.key();
  fill.rule = request.scratch.keys.rule;
  fill.asked = request.scratch.keys.asked;
  fill.search = request.scratch.keys.search;
  fill.slice_bytes = request.route->policy.slice_block_bytes;
  if (fill.slice_bytes > 0) {
    fill.first_block = policy::firstBlockOf(request.head(), fill.slice_bytes);
  }
  return fill;
}

// The usual case, without a suspension: in memory, fresh, wanted whole.
bool Session::quickHit(Request& request, const policy::Lookup& lookup, cache::Reader& reader) {
  cache::Keys& keys = request.scratch.keys;
  policy::cacheKey(request.uri, request.route->policy.key, keys.primary);
  keys.by_path = request.route->policy.key.no_vary_search;
  cacheOf(request).locate(keys);
  cache::LookupResult result;
  if (!cacheOf(request).lookupMemory(keys, request.head().fields, reader, result)) {
    return false;
  }
  const cache::StoredHead& head = reader.head();
  const policy::ServeDecision decision =
      policy::decideServe(lookup.directives, head.times, head.traits, request.route->policy,
                          context_.reactor.turn().wall);
  if (decision.how != policy::Serve::fresh || result.stale_now) {
    return false;
  }
  request.outcome.cache.hit = true;
  request.outcome.cache.ttl_s = decision.ttl_s;
  context_.stats.cache_hit++;
  return true;
}

rt::Task<void> Session::serveCached(Request& request, const policy::Lookup& lookup) {
  // From here on, also if it is passed to the origin, the request is the normalised one.
  policy::normaliseRequest(request.route->policy, request.scratch.head.fields,
                           request.scratch.spare, request.scratch.normal);
  cache::Reader reader;
  if (quickHit(request, lookup, reader)) {
    co_await sendObject(request, lookup, reader);
    co_await reader.close();
    co_return;
  }
  Next after = Next::look_again;
  bool done = false;
  for (int round = 0; round < kRounds && !done; round++) {
    co_await reader.close();
    cache::LookupResult seen =
        co_await cacheOf(request).lookup(request.scratch.keys, request.head().fields, reader,
                                         scope_, context_.reactor.now() + store::kDiskPatience_ns);
    if (seen.found == cache::Found::object) {
      done = co_await serveStored(request, lookup, reader, seen, after);
      if (done) {
        break;
      }
    }
    if (policy::decideAbsent(lookup.directives, request.route->policy).how ==
        policy::Serve::gateway_timeout) {
      context_.stats.cache_gateway_timeout++;
      request.outcome.cache.detail = "only-if-cached";
      co_await sendLocal(request, kOnlyIfCached);
      done = true;
    } else if (seen.found == cache::Found::hit_for_miss ||
               (request.is_head && seen.found != cache::Found::object)) {
      if (seen.found == cache::Found::hit_for_miss) {
        request.note = seen.entry;
      }
      break;  // a HEAD of something unknown is no reason to fetch it whole
    } else {
      after = co_await fetchForCache(request, lookup, reader, seen);
      done = after == Next::done;
      if (after == Next::pass) {
        break;
      }
    }
  }
  co_await reader.close();
  if (!done) {
    if (request.outcome.cache.forward == policy::Forward::none) {
      request.outcome.cache.forward = policy::Forward::uri_miss;
    }
    context_.stats.cache_hit_for_miss++;
    co_await servePass(request, &lookup);
  }
}

// True when the stored object was the answer. After a fetch that validated or stored it for this
// request, it is, whatever its age.
rt::Task<bool> Session::serveStored(Request& request, const policy::Lookup& lookup,
                                    cache::Reader& reader, cache::LookupResult& seen, Next after) {
  const cache::StoredHead& head = reader.head();
  policy::ServeDecision decision =
      policy::decideServe(lookup.directives, head.times, head.traits, request.route->policy,
                          context_.reactor.turn().wall);
  if (seen.stale_now && decision.how == policy::Serve::fresh) {
    decision.how = policy::Serve::revalidate;
    decision.why = policy::NoReuseReason::stale;
  }
  policy::CacheStatus& status = request.outcome.cache;
  status.ttl_s = decision.ttl_s;
  if (after == Next::look_again_validated || after == Next::look_again_sliced) {
    const bool validated = after == Next::look_again_validated;
    if (!validated) {
      status.stored = true;  // for this request
      status.ttl_s.reset();
    }
    (validated ? context_.stats.cache_revalidated : context_.stats.cache_miss)++;
    co_await sendObject(request, lookup, reader, true);
    co_return true;
  }
  switch (decision.how) {
    case policy::Serve::fresh:
      status.hit = true;
      context_.stats.cache_hit++;
      break;
    case policy::Serve::stale:
      status.hit = true;
      status.detail = policy::name(decision.how);
      context_.stats.cache_hit_stale++;
      break;
    case policy::Serve::stale_while_revalidate: {
      status.hit = true;
      status.detail = policy::name(decision.how);
      context_.stats.cache_hit_stale++;
      context_.stats.cache_refresh++;
      cache::FillRequest fill = fillRequest(request, lookup);
      fill.stored_entry = seen.entry;
      fill.stored_head = head.text;
      fill.stored_weakened = head.weakened;
      static_cast<void>(co_await cacheOf(request).refresh(request.scratch.keys, fill, seen));
      break;
    }
    case policy::Serve::gateway_timeout:
      context_.stats.cache_gateway_timeout++;
      status.detail = "only-if-cached";
      co_await sendLocal(request, kOnlyIfCached);
      co_return true;
    case policy::Serve::revalidate:
    case policy::Serve::miss:
      status.forward = decision.why == policy::NoReuseReason::stale ||
                               decision.why == policy::NoReuseReason::response_no_cache
                           ? policy::Forward::stale
                           : policy::Forward::request;
      status.ttl_s.reset();
      status.detail = policy::name(decision.why);
      counterOf(context_.stats, decision.why)++;
      co_return false;
  }
  co_await sendObject(request, lookup, reader);
  co_return true;
}

// Asks the owner. `stored` is the object that was not fresh, if there is one.
rt::Task<Session::Next> Session::fetchForCache(Request& request, const policy::Lookup& lookup,
                                               cache::Reader& stored,
                                               const cache::LookupResult& seen) {
  const bool has_stored = seen.found == cache::Found::object;
  policy::CacheStatus& status = request.outcome.cache;
  if (!has_stored) {
    status.forward = request.scratch.keys.rule.has_value() ? policy::Forward::vary_miss
                                                           : policy::Forward::uri_miss;
  }
  cache::FillRequest fill = fillRequest(request, lookup);
  if (has_stored && stored.head().traits.hasValidator()) {
    fill.stored_entry = seen.entry;
    fill.stored_head = stored.head().text;
    fill.stored_weakened = stored.head().weakened;
  }
  cache::Reader live;
  const cache::ShardCache::Acquired acquired =
      co_await cacheOf(request).acquire(request.scratch.keys, fill, seen, live);
  switch (acquired.how) {
    case cache::AcquireHow::look_again:
      co_return Next::look_again;
    case cache::AcquireHow::hit_for_miss:
      co_return Next::pass;
    case cache::AcquireHow::busy:
    case cache::AcquireHow::started:
      co_return Next::pass;
    case cache::AcquireHow::joined:
      break;
  }
  const Next next =
      co_await serveFill(request, lookup, stored, live, has_stored, acquired.collapsed);
  co_await live.close();
  co_return next;
}

rt::Task<Session::Next> Session::serveFill(Request& request, const policy::Lookup& lookup,
                                           cache::Reader& stored, cache::Reader& live,
                                           bool stored_usable, bool collapsed) {
  policy::CacheStatus& status = request.outcome.cache;
  const uint64_t wait_ms = request.route->policy.collapse_timeout_ms;
  const base::MonoTime begun = context_.reactor.now();
  // Whoever started the fetch waits as long as the origin may take; those who joined, as
  // configured.
  const cache::AwaitHeadCall head = co_await awaitFill(
      request, live, collapsed ? begun + wait_ms * base::kMillisecond_ns : base::kNever);
  request.outcome.upstream_ns = context_.reactor.now().ns - begun.ns;
  status.collapsed = collapsed;
  switch (head.how) {
    case cache::FillHead::validated:
      status.fwd_status = 304;
      co_return Next::look_again_validated;
    case cache::FillHead::sliced:
      status.fwd_status = 206;
      co_return Next::look_again_sliced;
    case cache::FillHead::changed:  // of a block, which this is not
    case cache::FillHead::released:
    case cache::FillHead::timed_out:
      status.collapsed = false;
      co_return Next::pass;
    case cache::FillHead::failed: {
      const policy::ErrorAnswer answer =
          stored_usable
              ? policy::onUpstreamError(head.failure, stored.head().times, stored.head().traits,
                                        lookup.directives, request.route->policy,
                                        context_.reactor.turn().wall)
              : policy::onUpstreamError(head.failure);
      if (answer == policy::ErrorAnswer::serve_stale) {
        co_await sendStale(request, lookup, stored);
      } else {
        co_await sendLocal(request, replyFor(answer, head.failure));
      }
      co_return Next::done;
    }
    case cache::FillHead::interim:  // awaitFill() passed them on
    case cache::FillHead::response:
      break;
  }
  status.fwd_status = head.info.fwd_status;
  if (stored_usable && policy::isErrorStatus(head.info.head.status) &&
      policy::onUpstreamError(policy::UpstreamFailure::status, stored.head().times,
                              stored.head().traits, lookup.directives, request.route->policy,
                              context_.reactor.turn().wall) == policy::ErrorAnswer::serve_stale) {
    co_await sendStale(request, lookup, stored);
    co_return Next::done;
  }
  status.stored = head.info.stored;
  if (!head.info.stored) {
    status.detail = policy::name(head.info.why_not);
    counterOf(context_.stats, head.info.why_not)++;
  }
  (collapsed ? context_.stats.cache_collapsed : context_.stats.cache_miss)++;
  co_await sendObject(request, lookup, live);
  co_return Next::done;
}

// The head of the fill's response; interim responses go to the client as they come.
rt::Task<cache::AwaitHeadCall> Session::awaitFill(Request& request, cache::Reader& live,
                                                  base::MonoTime deadline) {
  while (true) {
    cache::AwaitHeadCall head =
        co_await cacheOf(request).awaitHead(live, request.head().fields, deadline);
    if (head.how != cache::FillHead::interim) {
      co_return head;
    }
    if (request.head().minor > 0) {  // HTTP/1.0 clients know none (RFC 9110 15.2)
      context_.stats.downstream_rq_1xx++;
      // A client that has gone is noticed when the response is written.
      static_cast<void>(co_await stream_.write(std::as_bytes(std::span(head.interim)), scope_,
                                               after(request.listener->stream_idle_timeout_ms)));
    }
  }
}

rt::Task<void> Session::sendStale(Request& request, const policy::Lookup& lookup,
                                  cache::Reader& stored) {
  context_.stats.cache_stale_if_error++;
  policy::CacheStatus& status = request.outcome.cache;
  status.hit = true;
  status.forward = policy::Forward::none;
  status.collapsed = false;
  status.detail = "stale-if-error";
  co_await sendObject(request, lookup, stored);
}

}  // namespace proxy
