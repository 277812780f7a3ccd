// Lookups where a route heeds No-Vary-Search: first the rule of the path, then the key that the
// rule makes of the URL's. A response that says something else than the rule is under the URL's own
// key.
#include <utility>

#include "source/cache/shard_cache.h"

namespace cache {

void ShardCache::useSearch(Keys& keys, std::optional<VaryRule> rule) const {
  keys.primary = rule.has_value() ? searchKey(*rule, keys.asked) : keys.asked;
  keys.primary_hash = shared_.hash(keys.primary);
  keys.rule.reset();
  keys.search = std::move(rule);
}

ShardCache::SearchRule ShardCache::searchInMemory(Keys& keys) {
  const std::string key = searchRuleKey(keys.asked);
  const base::Hash128 hash = shared_.hash(key);
  std::optional<store::Entry> entry;
  const RamObject* object = findInMemory(keys.stripe, hash, key, entry);
  std::optional<VaryRule> rule;
  if (object != nullptr && object->kind == store::RecordKind::vary_rule) {
    rule = decodeVaryRule(object->meta);
  }
  if (entry.has_value() && !rule.has_value()) {
    return SearchRule::not_in_memory;
  }
  if (rule.has_value()) {
    shared_.stripes[base::index(keys.stripe)]->index->touch(hash);
  }
  useSearch(keys, std::move(rule));
  return SearchRule::known;
}

rt::Task<ShardCache::SearchRule> ShardCache::findSearch(Keys& keys, rt::CancelScope& scope,
                                                        base::MonoTime deadline) {
  const std::string key = searchRuleKey(keys.asked);
  const base::Hash128 hash = shared_.hash(key);
  store::StripeShared& stripe = *shared_.stripes[base::index(keys.stripe)];
  for (int attempt = 0; attempt < 3; attempt++) {
    if (searchInMemory(keys) == SearchRule::known) {
      co_return SearchRule::known;
    }
    const std::optional<store::Entry> entry = stripe.index->find(hash);
    if (!entry.has_value()) {
      continue;  // it has just gone
    }
    if (entry->inBuffer()) {
      if (!co_await awaitFlush(keys.stripe)) {
        break;
      }
      continue;
    }
    base::Result<store::RecordRef> read = co_await services_.reader->read(
        stripe.recordFile(), stripe.table->locate(*entry), scope, deadline);
    if (!read.ok()) {
      co_await dropBroken(keys.stripe, hash, *entry, read.error());
      break;
    }
    if (!read.value().record().isFor(hash, key)) {
      break;
    }
    const store::RecordRef& record = read.value();
    std::optional<VaryRule> rule = decodeVaryRule(record.record().meta);
    if (record.record().kind() != store::RecordKind::vary_rule || !rule.has_value()) {
      break;
    }
    stripe.index->touch(hash);
    ram_.insert(record.record(), record.bytes(), *entry);
    useSearch(keys, std::move(rule));
    co_return SearchRule::known;
  }
  useSearch(keys, std::nullopt);
  co_return SearchRule::unreadable;
}

// A rule whose record is damaged would be read again by every request.
rt::Task<void> ShardCache::dropBroken(base::StripeId stripe, base::Hash128 hash, store::Entry entry,
                                      base::Error error) {
  if (error.code != base::Code::corrupt && error.code != base::Code::stale_location &&
      error.code != base::Code::io_error) {
    co_return;
  }
  stats_.broken_records++;
  InvalidateCall call;
  call.cache = index_;
  call.stripe = base::index(stripe);
  call.hash = hash;
  call.only = entry;
  co_await this->call(stripe, call);
}

rt::Task<LookupResult> ShardCache::lookup(Keys& keys, const http::Fields& request, Reader& reader,
                                          rt::CancelScope& scope, base::MonoTime deadline) {
  if (keys.by_path) {
    static_cast<void>(co_await findSearch(keys, scope, deadline));
  }
  LookupResult result = co_await lookupKey(keys, request, reader, scope, deadline);
  if (!keys.search.has_value() || result.found != Found::absent || result.entry.has_value()) {
    co_return result;
  }
  Keys own;
  own.by_path = true;
  own.asked = keys.asked;
  own.stripe = keys.stripe;
  useSearch(own, std::nullopt);
  const LookupResult other = co_await lookupKey(own, request, reader, scope, deadline);
  if (other.found == Found::object) {
    keys = std::move(own);
    co_return other;
  }
  co_return result;
}

rt::Task<LookupResult> ShardCache::lookupBlock(Keys& keys, Reader& reader, rt::CancelScope& scope) {
  const http::Fields none;  // blocks have no variants
  co_return co_await lookupKey(keys, none, reader, scope, patience());
}

bool ShardCache::isIndexed(const Keys& keys) const {
  return shared_.stripes[base::index(keys.stripe)]->index->find(keys.primary_hash).has_value();
}

// With the URL's own key goes the one that its path's rule makes of it. A rule that cannot be read
// goes itself, and so does one on a disk where the URL had its place before disks changed: nothing
// that was stored under it is found again.
rt::Task<ShardCache::Invalidated> ShardCache::invalidate(Keys& keys) {
  const std::string own = keys.by_path ? keys.asked : keys.primary;
  const base::Hash128 home = shared_.homeOf(own, keys.by_path);
  std::vector<base::StripeId> elsewhere;
  for (size_t disk = 0; disk < disks_->count(); disk++) {
    elsewhere.push_back(disks_->stripeOn(disk, home));
  }
  std::erase(elsewhere, keys.stripe);
  bool found = false;
  for (const base::StripeId stripe : elsewhere) {
    const Invalidated there = co_await invalidateKey(stripe, own);
    found = found || there.found;
    if (keys.by_path) {
      static_cast<void>(co_await invalidateKey(stripe, searchRuleKey(own)));
    }
  }
  Invalidated done = co_await invalidateKey(keys.stripe, own);
  done.found = done.found || found;
  if (!keys.by_path) {
    co_return done;
  }
  rt::CancelScope never;
  const SearchRule rule = co_await findSearch(keys, never, patience());
  if (rule == SearchRule::known && !keys.search.has_value()) {
    co_return done;
  }
  const std::string key = rule == SearchRule::known ? keys.primary : searchRuleKey(keys.asked);
  const Invalidated shared = co_await invalidateKey(keys.stripe, key);
  co_return Invalidated{done.found || shared.found, shared.epoch};
}

}  // namespace cache
