// Purges and invalidations, as the control thread and unsafe requests make them.
#include <algorithm>
#include <utility>

#include "source/base/check.h"
#include "test/cache/cache_world.h"

namespace cache {

rt::Task<void> CacheWorld::purging(Shard* shard, std::string path, bool soft, bool* done) {
  const std::string key = keyOf(path);
  PurgeCall call;
  call.hash = shared_->hash(key);
  call.by_path = cut_.no_vary_search;
  call.stripe = base::index(shared_->stripeOf(key, call.by_path));
  call.key = key;
  call.soft = soft;
  co_await shard->caches[0]->call(base::StripeId{call.stripe}, call);
  *done = call.error.code == base::Code::ok;
}

void CacheWorld::startPurge(const std::string& path, bool soft, bool* done) {
  CHECK(shards_[0]->tasks.spawn(purging(shards_[0].get(), path, soft, done)));
}

bool CacheWorld::purge(const std::string& path, bool soft) {
  bool done = false;
  startPurge(path, soft, &done);
  finish();
  return done;
}

rt::Task<void> CacheWorld::purgingAll(Shard* shard, uint16_t stripe, bool* done) {
  PurgeCall call;
  call.everything = true;
  call.stripe = stripe;
  co_await shard->caches[0]->call(base::StripeId{stripe}, call);
  *done = *done && call.error.code == base::Code::ok;
}

bool CacheWorld::purgeAll() {
  bool done = true;
  for (const base::StripeId stripe : shared_->disks->stripeIds()) {
    CHECK(shards_[0]->tasks.spawn(purgingAll(shards_[0].get(), base::index(stripe), &done)));
  }
  finish();
  return done;
}

rt::Task<void> CacheWorld::purgingSelected(Shard* shard, uint16_t stripe,
                                           const store::Selector* selector, bool soft,
                                           std::optional<uint64_t>* purged) {
  PurgeCall call;
  call.selector = selector;
  call.soft = soft;
  call.stripe = stripe;
  co_await shard->caches[0]->call(base::StripeId{stripe}, call);
  if (call.error.code != base::Code::ok) {
    purged->reset();
  } else if (purged->has_value()) {
    **purged += call.purged;
  }
}

std::optional<uint64_t> CacheWorld::purgeSelected(const store::Selector& selector, bool soft) {
  std::optional<uint64_t> purged = 0;
  uint16_t answered = 0;
  const std::vector<base::StripeId> stripes = shared_->disks->stripeIds();
  for (const base::StripeId stripe : stripes) {
    CHECK(shards_[0]->tasks.spawn(
        counted(purgingSelected(shards_[0].get(), base::index(stripe), &selector, soft, &purged),
                &answered)));
  }
  CHECK(run([&] { return answered == stripes.size(); }));
  return purged;
}

rt::Task<void> CacheWorld::counted(rt::Task<void> task, uint16_t* ended) {
  co_await std::move(task);
  (*ended)++;
}

void CacheWorld::forgetMemory() {
  for (uint16_t shard = 0; shard < cut_.shards; shard++) {
    cache(shard).ram().dropStripes(0, kMaxStripes);
  }
}

}  // namespace cache
