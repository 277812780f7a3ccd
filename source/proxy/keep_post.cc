#include "source/proxy/keep_post.h"

#include <utility>

#include "source/cache/labels.h"
#include "source/cache/refusal.h"
#include "source/http/codec.h"
#include "source/proxy/session.h"

namespace proxy {

bool KeptPost::add(std::span<const std::byte> bytes) {
  if (bytes.size() > kMaxBody - body.size()) {
    return false;
  }
  body.insert(body.end(), bytes.begin(), bytes.end());
  return true;
}

// What is to be kept of the response that has begun to arrive, if anything.
std::optional<KeptPost> Session::planKeptPost(Request& request, const http::ResponseHead& response,
                                              policy::Exchange exchange, uint64_t epoch) const {
  const config::Route& route = *request.route;
  if (request.head().method != "POST" ||
      http::contentLength(response).value_or(0) > KeptPost::kMaxBody) {
    return std::nullopt;
  }
  policy::StoreDecision decision =
      policy::decideStoreOfPost(request.head(), request.uri, response, exchange, route.policy);
  policy::Store* store = std::get_if<policy::Store>(&decision);
  // A vary rule is made by fills alone: what varies is left to the next GET.
  if (store == nullptr || !store->vary.empty() ||
      cache::operatorsRefusal(route, request.head(), request.uri, response).has_value()) {
    return std::nullopt;
  }
  const policy::TagRules& rules = request.config->caches[route.cache].tags;
  std::optional<std::string> tags = cache::joinTags(response.fields, rules);
  if (!tags.has_value()) {
    return std::nullopt;
  }
  policy::hideTagFields(rules, store->strip);
  KeptPost kept;
  policy::cacheKey(request.uri, route.policy.key, kept.keys.primary);
  kept.keys.by_path = route.policy.key.no_vary_search;
  cacheOf(request).locate(kept.keys);
  kept.store = std::move(*store);
  kept.tags = std::move(*tags);
  cache::appendGroupLabels(request.uri, route.policy.key, response.fields,
                           cacheOf(request).shared().hash_seed, kept.groups);
  kept.exchange = exchange;
  kept.epoch = epoch;
  return kept;
}

rt::Task<void> Session::keepPost(Request& request, const http::ResponseHead& response,
                                 const KeptPost& kept) {
  const cache::HeadText text =
      cache::makeHeadText(response, policy::StoredFields(response.fields, kept.store),
                          kept.body.size(), kept.exchange.received);
  cache::StoredHead head;
  head.status = response.status;
  head.length_in_head = text.has_length;
  head.times = kept.store.times;
  head.traits = kept.store.traits;
  head.received_s = policy::clampSeconds(kept.exchange.received.s);
  head.text = text.text;
  head.tags = kept.tags;
  cache::KeepCall call;
  call.key = kept.keys.primary;  // the URL's own
  call.head = &head;
  call.groups = kept.groups;
  call.body = kept.body;
  call.epoch = kept.epoch;
  co_await cacheOf(request).keep(kept.keys, call);
  context_.stats.cache_posts_stored += call.stored ? 1 : 0;
}

}  // namespace proxy
