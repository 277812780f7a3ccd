// Purging, on behalf of the admin: which stripe is concerned, and the call to its owner.
#include <algorithm>
#include <utility>

#include "source/cache/labels.h"
#include "source/policy/invalidate.h"
#include "source/policy/request.h"
#include "source/server/key_rules.h"
#include "source/server/server.h"

namespace server {
const cache::CacheShared* Server::findCache(const std::string& name, uint16_t& index) const {
  for (uint16_t i = 0; i < caches_.size(); i++) {
    if (caches_[i]->name == name) {
      index = i;
      return caches_[i].get();
    }
  }
  return nullptr;
}

rt::Task<admin::PurgeReport> Server::purge(admin::PurgeRequest request) {
  admin::PurgeReport report;
  uint16_t index = 0;
  const cache::CacheShared* shared = findCache(request.cache, index);
  policy::OwnedUri uri;
  if (shared == nullptr) {
    report.error = "there is no cache named " + request.cache;
    co_return report;
  }
  if (request.url.has_value() && !policy::parseAbsoluteUri(*request.url, uri)) {
    report.error = "url: not an absolute http or https URL";
    co_return report;
  }
  if (request.prefix.has_value() && !policy::parseAbsoluteUri(*request.prefix, uri)) {
    report.error = "prefix: not an absolute http or https URL";
    co_return report;
  }
  std::vector<cache::PurgeCall> calls;
  std::vector<UrlKey> keys;
  if (request.url.has_value() || request.prefix.has_value()) {
    keys = keysOf(uri, keySpecs(*config_.snapshot, index));
  }
  std::vector<store::Selector> selectors;
  for (const UrlKey& key : keys) {
    selectors.push_back(cache::selectPrefix(key.text, shared->hash_seed));
  }
  if (request.tag.has_value()) {
    selectors.push_back(cache::selectTag(*request.tag, shared->hash_seed));
  }
  if (request.url.has_value()) {
    calls.resize(keys.size());
    for (size_t i = 0; i < keys.size(); i++) {
      calls[i].key = keys[i].text;
      calls[i].by_path = keys[i].by_path;
      calls[i].hash = shared->hash(keys[i].text);
      calls[i].stripe = base::index(shared->stripeOf(keys[i].text, keys[i].by_path));
    }
  } else {
    // One call to each stripe; for a prefix, one for each form of its key.
    const size_t stripes = shared->stripes.size();
    const size_t forms = std::max<size_t>(selectors.size(), 1);
    calls.resize(stripes * forms);
    for (size_t i = 0; i < calls.size(); i++) {
      calls[i].everything = selectors.empty();
      calls[i].selector = selectors.empty() ? nullptr : &selectors[i / stripes];
      calls[i].stripe = static_cast<uint16_t>(i % stripes);
    }
  }
  rt::TaskGroup group(*reactor_, static_cast<uint32_t>(calls.size()));
  for (cache::PurgeCall& call : calls) {
    call.cache = index;
    call.soft = request.soft;
    const base::ShardId owner = shared->ownerOf(base::StripeId{call.stripe});
    const bool spawned = group.spawn(callOne(base::index(owner), &call));
    CHECK(spawned);
  }
  co_await group.join();
  for (const cache::PurgeCall& call : calls) {
    report.purged += call.purged;
    if (call.error.code != base::Code::ok) {
      report.error = "the purge is in force but not durable: stripe " +
                     std::to_string(call.stripe) + ": " + std::string(base::name(call.error.code));
    }
  }
  report.ok = report.error.empty();
  co_return report;
}

}  // namespace server
