// The disks of a CacheWorld: which of them are used, their coming and going, and what goes to all.
#include <algorithm>
#include <utility>

#include "source/base/check.h"
#include "test/cache/cache_world.h"

namespace cache {

void CacheWorld::use(const std::vector<size_t>& disks) {
  std::vector<CacheDisk> used;
  std::vector<CacheDisk> others;
  for (size_t i = 0; i < disks_.size(); i++) {
    const bool is_used = std::find(disks.begin(), disks.end(), i) != disks.end();
    (is_used ? used : others).push_back(disks_[i]);
  }
  auto table = std::make_unique<const DiskTable>(std::move(used), others);
  for (const std::unique_ptr<Shard>& shard : shards_) {
    shard->caches[0]->use(*table);
  }
  shared_->disks = std::move(table);
}

rt::Task<void> CacheWorld::detaching(Shard* shard, StripeRange range) {
  co_await shard->caches[0]->detach(range);
}

void CacheWorld::detach(size_t disk) {
  for (const std::unique_ptr<Shard>& shard : shards_) {
    CHECK(shard->tasks.spawn(detaching(shard.get(), disks_[disk].stripes())));
  }
  finish();
}

void CacheWorld::attach(size_t disk) {
  // Another life of the process's would begin with an empty index as well.
  std::vector<std::unique_ptr<store::StripeShared>> stripes;
  const CacheDisk old = disks_[disk];
  for (uint16_t i = 0; i < old.stripe_count; i++) {
    base::Result<std::unique_ptr<store::StripeShared>> stripe =
        store::makeStripeShared(shared_->stripes[old.first_stripe + i]->files, 4096,
                                static_cast<uint32_t>(world.options().wall_start_s));
    CHECK(stripe.ok());
    stripes.push_back(std::move(stripe.value()));
  }
  shared_->remove(old);
  CHECK(shared_->add(std::move(stripes), disks_[disk]));
  for (const std::unique_ptr<Shard>& shard : shards_) {
    shard->caches[0]->attach(disks_[disk]);
  }
  world.runFor(base::kSecond_ns);
}

rt::Task<void> CacheWorld::invalidating(Shard* shard, std::string path, bool* found) {
  Keys keys;
  keys.primary = keyOf(path);
  shard->caches[0]->locate(keys);
  const ShardCache::Invalidated done = co_await shard->caches[0]->invalidate(keys);
  *found = done.found;
}

bool CacheWorld::invalidate(const std::string& path, uint16_t shard) {
  bool found = false;
  CHECK(shards_[shard]->tasks.spawn(invalidating(shards_[shard].get(), path, &found)));
  finish();
  return found;
}

rt::Task<void> CacheWorld::invalidatingOften(Shard* shard, std::string path, store::Entry stored,
                                             size_t count) {
  Keys keys;
  keys.primary = keyOf(path);
  shard->caches[0]->locate(keys);
  for (size_t i = 0; i < count; i++) {
    stripeOf(path).index().publish(keys.primary_hash, stored);
    const ShardCache::Invalidated done = co_await shard->caches[0]->invalidate(keys);
    CHECK(done.found);
  }
}

void CacheWorld::invalidateOften(const std::string& path, store::Entry stored, size_t count) {
  CHECK(shards_[0]->tasks.spawn(invalidatingOften(shards_[0].get(), path, stored, count)));
  finish();
}

rt::Task<void> CacheWorld::purgingOf(Shard* shard, What what, std::string name,
                                     PurgeOutcome* outcome) {
  co_await rt::Yield();  // started from outside, the clock may be that of the last turn
  const base::MonoTime begun = shard->reactor.now();
  const store::Selector selector = selectTag(name, shared_->hash_seed);
  const std::string key = keyOf(name);
  PurgeCall call;
  call.stripe = what == What::tag ? 0 : base::index(shared_->stripeOf(key, false));
  call.everything = what == What::everything;
  call.selector = what == What::tag ? &selector : nullptr;
  call.hash = shared_->hash(key);
  call.key = key;
  co_await shard->caches[0]->call(base::StripeId{call.stripe}, call);
  outcome->ended = true;
  outcome->code = call.error.code;
  outcome->in_force = call.in_force;
  outcome->took_ns = shard->reactor.now().ns - begun.ns;
}

void CacheWorld::startPurgeOf(What what, const std::string& name, PurgeOutcome* outcome) {
  CHECK(shards_[0]->tasks.spawn(purgingOf(shards_[0].get(), what, name, outcome)));
}

rt::Task<void> CacheWorld::listing(Shard* shard, ListOutcome* outcome) {
  co_await rt::Yield();
  ListCall call;
  call.limit = 1000;
  co_await shard->caches[0]->call(base::StripeId{0}, call);
  outcome->ended = true;
  outcome->code = call.error.code;
  outcome->objects = call.objects.size();
}

void CacheWorld::startList(ListOutcome* outcome) {
  CHECK(shards_[0]->tasks.spawn(listing(shards_[0].get(), outcome)));
}

rt::Task<void> CacheWorld::purgingGroup(Shard* shard, store::Selector selector, uint64_t* purged,
                                        bool* done) {
  const ShardCache::Purged result = co_await shard->caches[0]->purge(std::move(selector));
  *purged = result.objects;
  *done = result.not_durable == 0;
}

uint64_t CacheWorld::purgeGroup(const std::string& group, uint16_t shard) {
  uint64_t purged = 0;
  bool done = false;
  const std::string name = "http://h " + group;  // as policy::groupTag writes it
  const store::Selector selector = selectGroup(name, shared_->hash_seed);
  Shard* on = shards_[shard].get();
  CHECK(on->tasks.spawn(purgingGroup(on, selector, &purged, &done)));
  CHECK(run([&] { return done; }));
  return purged;
}

}  // namespace cache
