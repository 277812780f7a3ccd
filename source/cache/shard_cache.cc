#include "source/cache/shard_cache.h"

#include <algorithm>
#include <type_traits>
#include <utility>

namespace cache {

ShardCache::ShardCache(const StripeServices& services, const CacheShared& shared, uint16_t index,
                       Begin begin)
    : services_(services),
      shared_(shared),
      index_(index),
      disks_(shared.disks.get()),
      max_object_bytes_(shared.limits.max_object_bytes),
      ram_(shared.limits.memory_bytes / shared.shard_count),
      stripes_(shared.stripes.size()) {
  services_.ram = &ram_;
  if (shared.sendfile) {
    verified_.emplace(kVerifiedRecords);
  }
  services_.max_object_bytes = &max_object_bytes_;
  for (uint16_t i = 0; i < stripes_.size() && begin == Begin::as_shared; i++) {
    if (shared.stripes[i] != nullptr) {
      registerFiles(i);
    }
    if (shared.stripes[i] != nullptr &&
        shared.ownerOf(base::StripeId{i}) == services.peers->self()) {
      stripes_[i] = std::make_unique<Stripe>(services_, shared, base::StripeId{i});
    }
  }
}

ShardCache::~ShardCache() {
  while (!registered_.empty()) {
    releaseFiles(registered_.back());
  }
}

// Every shard reads what is in every stripe.
void ShardCache::registerFiles(uint16_t stripe) {
  const store::StripeFiles& files = shared_.stripes[stripe]->files;
  services_.reactor->engine().registerFile(files.data_fd);
  registered_.push_back(stripe);
}

void ShardCache::releaseFiles(uint16_t stripe) {
  if (std::erase(registered_, stripe) > 0) {
    services_.reactor->engine().releaseFile(shared_.stripes[stripe]->files.data_fd);
  }
}

void ShardCache::start() {
  for (const CacheDisk& disk : disks_->disks()) {
    recover(disk);
  }
}

void ShardCache::recover(const CacheDisk& disk) {
  std::vector<Stripe*> own;
  for (uint16_t i = disk.first_stripe; i < disk.first_stripe + disk.stripe_count; i++) {
    if (stripes_[i] != nullptr) {
      own.push_back(stripes_[i].get());
    }
  }
  auto recovery =
      std::make_unique<Recovery>(*services_.reactor, services_.disk_events, disk.number);
  recovery->start(std::move(own));
  recoveries_.push_back(DiskRecovery{disk.stripes(), disk.number, std::move(recovery)});
}

rt::Task<void> ShardCache::awaitRecovery(base::MonoTime deadline) {
  for (const DiskRecovery& disk : recoveries_) {
    co_await disk.recovery->wait(deadline);
  }
}

void ShardCache::setLimits(const CacheLimits& limits) {
  max_object_bytes_ = limits.max_object_bytes;
  ram_.setBudget(limits.memory_bytes / shared_.shard_count);
  if (limits.write_bytes_per_s > 0) {
    shareWrites(limits.write_bytes_per_s);
  }
}

// Each disk has its share by size, and each of its stripes as much.
void ShardCache::shareWrites(uint64_t bytes_per_s) {
  unsigned __int128 weights = 0;
  for (const CacheDisk& disk : disks_->disks()) {
    weights += disk.share.weight;
  }
  for (const CacheDisk& disk : disks_->disks()) {
    const unsigned __int128 share = disk.share.weight * static_cast<unsigned __int128>(bytes_per_s);
    const auto each = static_cast<uint64_t>(share / weights / disk.stripe_count);
    for (uint16_t i = disk.first_stripe; i < disk.first_stripe + disk.stripe_count; i++) {
      if (stripes_[i] != nullptr) {
        stripes_[i]->setWriteRate(std::max<uint64_t>(each, 1));
      }
    }
  }
}

void ShardCache::setScrubRate(uint64_t bytes_per_s) {
  const std::vector<base::StripeId> scrubbed = disks_->stripeIds();
  const uint64_t each = (bytes_per_s + scrubbed.size() - 1) / scrubbed.size();
  for (const base::StripeId id : scrubbed) {
    if (Stripe* stripe = owned(id)) {
      stripe->store().setScrubRate(each);
    }
  }
}

void ShardCache::attach(const CacheDisk& disk) {
  for (uint16_t i = disk.first_stripe; i < disk.first_stripe + disk.stripe_count; i++) {
    registerFiles(i);
    const base::StripeId id{i};
    if (shared_.ownerOf(id) == services_.peers->self()) {
      stripes_[i] = std::make_unique<Stripe>(services_, shared_, id);
    }
  }
  recover(disk);
}

rt::Task<void> ShardCache::detach(StripeRange range) {
  const auto at = std::ranges::find_if(
      recoveries_, [&](const DiskRecovery& disk) { return disk.range.first == range.first; });
  if (at != recoveries_.end()) {
    const std::unique_ptr<Recovery> recovery = std::move(at->recovery);
    recoveries_.erase(at);
    co_await recovery->stop();
  }
  ram_.dropStripes(range.first, range.count);
  if (verified_.has_value()) {
    verified_.emplace(kVerifiedRecords);  // the stripes' numbers may come again
  }
  for (uint16_t i = range.first; i < range.first + range.count; i++) {
    if (stripes_[i] != nullptr) {
      co_await stripes_[i]->stop();
      stripes_[i].reset();
    }
    releaseFiles(i);
  }
}

void ShardCache::endFills() {
  for (const std::unique_ptr<Stripe>& stripe : stripes_) {
    if (stripe != nullptr) {
      stripe->endFills();
    }
  }
}

void ShardCache::locate(Keys& keys) const {
  keys.primary_hash = shared_.hash(keys.primary);
  keys.stripe =
      disks_->stripeOf(keys.by_path ? shared_.homeOf(keys.primary, true) : keys.primary_hash);
  keys.rule.reset();
  keys.search.reset();
  keys.asked = keys.by_path ? std::string_view(keys.primary) : std::string_view();
}

// A copy that the index still vouches for. `entry` is what the index has in any case.
RamObject* ShardCache::findInMemory(base::StripeId stripe, base::Hash128 hash, std::string_view key,
                                    std::optional<store::Entry>& entry) {
  entry = shared_.stripes[base::index(stripe)]->index->find(hash);
  RamObject* object = ram_.find(hash, key);
  if (object == nullptr) {
    return nullptr;
  }
  // Entries of two disks may be equal and mean different records.
  if (!entry.has_value() || object->stripe != stripe ||
      !store::sameVersion(*entry, object->entry)) {
    ram_.dropOutdated(*object);
    return nullptr;
  }
  ram_.hit(*object);
  return object;
}

void ShardCache::useRule(Keys& keys, VaryRule rule, const http::Fields& request) {
  keys.variant = keys.primary;
  appendVariant(rule, request, keys.variant);
  keys.rule = std::move(rule);
}

bool ShardCache::lookupMemory(Keys& keys, const http::Fields& request, Reader& reader,
                              LookupResult& result) {
  if (keys.by_path && searchInMemory(keys) != SearchRule::known) {
    return false;
  }
  return lookupKeyInMemory(keys, request, reader, result);
}

bool ShardCache::lookupKeyInMemory(Keys& keys, const http::Fields& request, Reader& reader,
                                   LookupResult& result) {
  RamObject* object = findInMemory(keys.stripe, keys.primary_hash, keys.primary, result.entry);
  base::Hash128 hash = keys.primary_hash;
  if (object != nullptr && object->kind == store::RecordKind::vary_rule) {
    std::optional<VaryRule> rule = decodeVaryRule(object->meta);
    if (!rule.has_value()) {
      return false;
    }
    useRule(keys, std::move(*rule), request);
    hash = shared_.hash(keys.variant);
    object = findInMemory(keys.stripe, hash, keys.variant, result.entry);
  }
  if (object == nullptr || object->kind == store::RecordKind::vary_rule) {
    return false;
  }
  found(keys, reader, result, reader.useMemory(ram_, *object));
  if (result.found != Found::object) {
    return false;
  }
  shared_.stripes[base::index(keys.stripe)]->index->touch(hash);
  stats_.memory_hits++;
  return true;
}

// What is stored under keys.primary, be it canonical or not.
rt::Task<LookupResult> ShardCache::lookupKey(Keys& keys, const http::Fields& request,
                                             Reader& reader, rt::CancelScope& scope,
                                             base::MonoTime deadline) {
  LookupResult result;
  if (lookupKeyInMemory(keys, request, reader, result)) {
    co_return result;
  }
  keys.rule.reset();
  // Once for the primary key, once more for a variant, and again for what was in a write buffer.
  for (int attempt = 0; attempt < 4; attempt++) {
    const base::Hash128 hash = shared_.hash(keys.key());
    result = LookupResult{};
    RamObject* object = findInMemory(keys.stripe, hash, keys.key(), result.entry);
    if (object != nullptr) {
      if (object->kind == store::RecordKind::vary_rule && takeRule(keys, object->meta, request)) {
        continue;
      }
      found(keys, reader, result, reader.useMemory(ram_, *object));
      stats_.memory_hits += result.found == Found::object ? 1 : 0;
      co_return result;
    }
    if (!result.entry.has_value()) {
      co_return result;
    }
    if (result.entry->kind() == store::EntryKind::hit_for_miss) {
      const auto now_s = policy::clampSeconds(services_.reactor->turn().wall.s);
      const store::IndexShard& index = *shared_.stripes[base::index(keys.stripe)]->index;
      const bool live = index.hint(*result.entry, now_s) == store::ExpiryHint::fresh;
      result.found = live ? Found::hit_for_miss : Found::absent;
      co_return result;
    }
    if (result.entry->inBuffer()) {
      stats_.flush_waits++;
      if (co_await awaitFlush(keys.stripe)) {
        continue;
      }
      co_return result;  // the disk does not take it
    }
    const bool again = co_await lookupDisk(keys, request, reader, result, scope, deadline);
    if (!again) {
      co_return result;
    }
  }
  result.found = Found::absent;
  co_return result;
}

// A record of the disk, where result.entry says. True: it was a vary rule, and the variant is to be
// looked up.
rt::Task<bool> ShardCache::lookupDisk(Keys& keys, const http::Fields& request, Reader& reader,
                                      LookupResult& result, rt::CancelScope& scope,
                                      base::MonoTime deadline) {
  store::StripeShared& stripe = *shared_.stripes[base::index(keys.stripe)];
  const base::Hash128 hash = shared_.hash(keys.key());
  const store::Entry entry = *result.entry;
  base::Result<store::RecordRef> read = co_await services_.reader->read(
      stripe.hitFile(), stripe.table->locate(entry), scope, deadline);
  if (!read.ok()) {
    result.broken = read.error().code == base::Code::corrupt ||
                    read.error().code == base::Code::stale_location ||
                    read.error().code == base::Code::io_error;
    stats_.broken_records += result.broken ? 1 : 0;
    co_return false;
  }
  store::RecordRef& record = read.value();
  if (!record.record().isFor(hash, keys.key())) {
    co_return false;  // another key with the same tag: absent here, and not to be dropped
  }
  const bool is_rule = record.record().kind() == store::RecordKind::vary_rule;
  stripe.index->touch(hash);
  if (is_rule || ram_.isWorthCopying(hash, record.bytes().size())) {
    ram_.insert(record.record(), record.bytes(), entry, keys.stripe);
  }
  if (is_rule) {
    result.broken = !takeRule(keys, record.record().meta, request);
    co_return !result.broken;
  }
  found(keys, reader, result, reader.useRecord(std::move(record)));
  stats_.disk_hits += result.found == Found::object ? 1 : 0;
  co_return false;
}

// False when it is no rule of ours, or stands where a variant should.
bool ShardCache::takeRule(Keys& keys, std::span<const std::byte> meta,
                          const http::Fields& request) {
  std::optional<VaryRule> rule = decodeVaryRule(meta);
  if (!rule.has_value() || keys.rule.has_value()) {
    return false;
  }
  useRule(keys, std::move(*rule), request);
  return true;
}

void ShardCache::found(const Keys& keys, Reader& reader, LookupResult& result, bool usable) {
  reader.stripe_ = keys.stripe;
  reader.cache_ = this;
  result.broken = !usable;
  if (usable) {
    reader.entry_ = result.entry;
    result.found = Found::object;
    result.stale_now = result.entry->staleNow();
  }
}

rt::Task<void> ShardCache::call(base::StripeId stripe, rt::CallHeader& call) {
  const base::ShardId owner = shared_.ownerOf(stripe);
  const uint64_t took_ns = co_await services_.peers->call(owner, call);
  if (owner != services_.peers->self()) {
    stats_.call_ns.record(took_ns);
  }
}

rt::Task<ShardCache::Acquired> ShardCache::acquire(const Keys& keys, const FillRequest& request,
                                                   const LookupResult& seen, Reader& reader) {
  AcquireCall call;
  call.cache = index_;
  call.stripe = base::index(keys.stripe);
  call.request = &request;
  call.seen = seen.entry;
  call.broken = seen.broken;
  call.subscription = &reader.subscription_;
  reader.stripe_ = keys.stripe;
  reader.cache_ = this;
  co_await this->call(keys.stripe, call);
  co_return Acquired{call.how, call.collapsed};
}

rt::Task<AcquireHow> ShardCache::refresh(const Keys& keys, const FillRequest& request,
                                         const LookupResult& seen) {
  AcquireCall call;
  call.cache = index_;
  call.stripe = base::index(keys.stripe);
  call.request = &request;
  call.seen = seen.entry;
  call.background = true;
  co_await this->call(keys.stripe, call);
  co_return call.how;
}

rt::Task<AwaitHeadCall> ShardCache::awaitHead(Reader& reader, const http::Fields& request,
                                              base::MonoTime deadline) {
  AwaitHeadCall call;
  call.subscription = &reader.subscription_;
  call.request_fields = &request;
  call.deadline_ns = deadline.ns;
  co_await this->call(reader.stripe_, call);
  if (call.how == FillHead::response) {
    reader.useFill(call.info);
  }
  co_return call;
}

rt::Task<void> ShardCache::forget(const Keys& keys, store::Entry entry) {
  InvalidateCall call;
  call.cache = index_;
  call.stripe = base::index(keys.stripe);
  call.hash = shared_.hash(keys.key());
  call.only = entry;
  co_await this->call(keys.stripe, call);
}

rt::Task<void> ShardCache::keep(const Keys& keys, KeepCall& call) {
  call.cache = index_;
  call.stripe = base::index(keys.stripe);
  co_await this->call(keys.stripe, call);
}

rt::Task<void> ShardCache::purgeStripe(PurgeCall* call) {
  const base::StripeId stripe{call->stripe};
  co_await this->call(stripe, *call);
}

rt::Task<ShardCache::Purged> ShardCache::purge(store::Selector selector) {
  const std::vector<base::StripeId> stripes = disks_->allStripeIds();
  std::vector<PurgeCall> calls(stripes.size());
  rt::TaskGroup group(*services_.reactor, static_cast<uint32_t>(calls.size()));
  for (size_t i = 0; i < calls.size(); i++) {
    calls[i].cache = index_;
    calls[i].stripe = base::index(stripes[i]);
    calls[i].selector = &selector;
    calls[i].patience_ns = kGroupPurgePatience_ns;
    const bool spawned = group.spawn(purgeStripe(&calls[i]));
    CHECK(spawned);
  }
  co_await group.join();
  Purged purged;
  for (const PurgeCall& call : calls) {
    purged.objects += call.purged;
    purged.not_durable += call.error.code == base::Code::ok ? 0 : 1;
  }
  co_return purged;
}

rt::Task<ShardCache::Invalidated> ShardCache::invalidateKey(base::StripeId stripe,
                                                            std::string_view key) {
  InvalidateCall call;
  call.cache = index_;
  call.stripe = base::index(stripe);
  call.hash = shared_.hash(key);
  call.key = key;
  co_await this->call(stripe, call);
  co_return Invalidated{call.found, call.epoch};
}

rt::Task<bool> ShardCache::awaitFlush(base::StripeId stripe) {
  AwaitFlushCall call;
  call.cache = index_;
  call.stripe = base::index(stripe);
  co_await this->call(stripe, call);
  co_return call.written;
}

// Serving.

template <class Call, void (Stripe::*kHandle)(Call&)>
void CallServer::serve(void* context, rt::CallHeader& header) {
  auto& self = *static_cast<CallServer*>(context);
  auto& call = static_cast<Call&>(header);
  Stripe* stripe = nullptr;
  if constexpr (requires { call.stripe; }) {
    stripe = self.stripeOf(call.cache, call.stripe);
  } else {
    stripe = &call.subscription->fill->stripe();
  }
  if (stripe == nullptr) {
    self.peers_.reply(call);  // of a disk that has left: nothing is there
    return;
  }
  (stripe->*kHandle)(call);
}

CallServer::CallServer(rt::Peers& peers, std::vector<std::unique_ptr<ShardCache>>& caches)
    : peers_(peers), caches_(caches) {
  peers.serve(verb(Verb::acquire), &serve<AcquireCall, &Stripe::acquire>, this);
  peers.serve(verb(Verb::await_head), &serve<AwaitHeadCall, &Stripe::awaitHead>, this);
  peers.serve(verb(Verb::pull), &serve<PullCall, &Stripe::pull>, this);
  peers.serve(verb(Verb::leave), &serve<LeaveCall, &Stripe::leave>, this);
  peers.serve(verb(Verb::await_flush), &serve<AwaitFlushCall, &Stripe::awaitFlush>, this);
  peers.serve(verb(Verb::purge), &serve<PurgeCall, &Stripe::purge>, this);
  peers.serve(verb(Verb::invalidate), &serve<InvalidateCall, &Stripe::invalidate>, this);
  peers.serve(verb(Verb::list), &serve<ListCall, &Stripe::list>, this);
  peers.serve(verb(Verb::keep), &serve<KeepCall, &Stripe::keep>, this);
  peers.serve(verb(Verb::resize), &serve<ResizeCall, &Stripe::resize>, this);
}

Stripe* CallServer::stripeOf(uint16_t cache, uint16_t stripe) {
  const bool has = cache < caches_.size() && caches_[cache] != nullptr;
  return has ? caches_[cache]->owned(base::StripeId{stripe}) : nullptr;
}

}  // namespace cache
