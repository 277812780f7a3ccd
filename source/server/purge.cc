// Purging, on behalf of the admin: which stripe is concerned, and the call to its owner.
#include <algorithm>
#include <map>
#include <utility>

#include "source/cache/labels.h"
#include "source/policy/invalidate.h"
#include "source/policy/request.h"
#include "source/server/key_rules.h"
#include "source/server/server.h"

namespace server {
namespace {

// On every disk: a key may have been stored there before disks changed.
std::vector<cache::PurgeCall> callsForKeys(const cache::CacheShared& shared,
                                           const std::vector<UrlKey>& keys) {
  const size_t disks = shared.disks->count();
  std::vector<cache::PurgeCall> calls(keys.size() * disks);
  for (size_t i = 0; i < calls.size(); i++) {
    const UrlKey& key = keys[i / disks];
    calls[i].key = key.text;
    calls[i].by_path = key.by_path;
    calls[i].hash = shared.hash(key.text);
    const base::Hash128 home = shared.homeOf(key.text, key.by_path);
    calls[i].stripe = base::index(shared.disks->stripeOn(i % disks, home));
  }
  return calls;
}

// One call to each stripe; for a prefix, one for each form of its key. No selector: everything.
std::vector<cache::PurgeCall> callsForAll(const cache::CacheShared& shared,
                                          const std::vector<store::Selector>& selectors) {
  const std::vector<base::StripeId> stripes = shared.disks->allStripeIds();
  const size_t forms = std::max<size_t>(selectors.size(), 1);
  std::vector<cache::PurgeCall> calls(stripes.size() * forms);
  for (size_t i = 0; i < calls.size(); i++) {
    calls[i].everything = selectors.empty();
    calls[i].selector = selectors.empty() ? nullptr : &selectors[i / stripes.size()];
    calls[i].stripe = base::index(stripes[i % stripes.size()]);
  }
  return calls;
}

// What was not done, by disk: whether it is in force, and why it is not durable. Empty: all is.
std::string troubleOf(const cache::CacheShared& shared,
                      const std::vector<cache::PurgeCall>& calls) {
  struct Trouble {
    size_t stripes = 0;
    size_t refused = 0;
    base::Error error;
  };
  std::map<std::string, Trouble> by_disk;
  uint64_t purged = 0;
  for (const cache::PurgeCall& call : calls) {
    purged += call.purged;
    if (call.error.code == base::Code::ok) {
      continue;
    }
    std::string path = "a disk that leaves";
    for (const cache::CacheDisk& disk : shared.disks->all()) {
      const bool on_it =
          call.stripe >= disk.first_stripe && call.stripe < disk.first_stripe + disk.stripe_count;
      path = on_it ? disk.path : path;
    }
    Trouble& trouble = by_disk[path];
    trouble.stripes++;
    trouble.refused += call.in_force ? 0 : 1;
    trouble.error = call.error;
  }
  std::string text;
  for (const auto& [path, trouble] : by_disk) {
    const bool late = trouble.error.code == base::Code::timeout;
    text += text.empty() ? "" : "; ";
    text += path + " (" + std::to_string(trouble.stripes) + " stripes): ";
    text += trouble.refused > 0 ? "refused, too many purges wait for this disk"
            : late              ? "the disk did not answer in time"
                                : std::string(base::name(trouble.error.code));
    if (trouble.error.sys != 0) {
      text += ", errno " + std::to_string(trouble.error.sys);
    }
    text += trouble.refused > 0
                ? "; nothing is purged there"
                : "; in force, not durable yet: a crash would undo it, ask again to know";
  }
  return text.empty() ? text
                      : "not all is purged for good. " + text + ". Elsewhere " +
                            std::to_string(purged) + " objects are, for good";
}

}  // namespace

Server::FoundCache Server::findCache(const std::string& name) const {
  FoundCache found;
  const std::optional<uint16_t> number = numberOf(name);
  if (number.has_value()) {
    found.shared = caches_[*number].get();
    found.number = *number;
    // A reload may have begun.
    const std::vector<config::CacheConfig>& configured = config_.snapshot->caches;
    const auto at = std::ranges::find(configured, name, &config::CacheConfig::name);
    found.index = static_cast<uint16_t>(at - configured.begin());
  }
  return found;
}

rt::Task<admin::PurgeReport> Server::purge(admin::PurgeRequest request) {
  admin::PurgeReport report;
  const AdminCall running = admin_calls_;
  const FoundCache found = findCache(request.cache);
  const cache::CacheShared* shared = found.shared;
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
  std::vector<UrlKey> keys;
  if (request.url.has_value() || request.prefix.has_value()) {
    keys = keysOf(uri, keySpecs(*config_.snapshot, found.index));
  }
  std::vector<store::Selector> selectors;
  for (const UrlKey& key : keys) {
    selectors.push_back(cache::selectPrefix(key.text, shared->hash_seed));
  }
  if (request.tag.has_value()) {
    selectors.push_back(cache::selectTag(*request.tag, shared->hash_seed));
  }
  std::vector<cache::PurgeCall> calls =
      request.url.has_value() ? callsForKeys(*shared, keys) : callsForAll(*shared, selectors);
  rt::TaskGroup group(*reactor_, static_cast<uint32_t>(calls.size()));
  for (cache::PurgeCall& call : calls) {
    call.cache = found.number;
    call.soft = request.soft;
    const base::ShardId owner = shared->ownerOf(base::StripeId{call.stripe});
    const bool spawned = group.spawn(callOne(base::index(owner), &call));
    CHECK(spawned);
  }
  co_await group.join();
  for (const cache::PurgeCall& call : calls) {
    report.purged += call.purged;
  }
  report.error = troubleOf(*shared, calls);
  report.ok = report.error.empty();
  co_return report;
}

}  // namespace server
