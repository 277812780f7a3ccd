// What all shards share of one cache: its stripes' indexes and files, read by everybody, each
// written by its owner alone. Made before the shards start; outlives them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "source/base/hash.h"
#include "source/base/types.h"
#include "source/store/core/admission.h"
#include "source/store/io/stripe_store.h"

namespace cache {

struct CacheShared {
  std::string name;
  uint64_t hash_seed = 0;
  uint64_t memory_bytes = 0;  // of all shards together
  uint64_t max_object_bytes = 0;
  store::AdmissionOptions admission;  // of each stripe
  uint16_t shard_count = 1;
  bool sendfile = false;  // chunks go from the page cache to sockets
  std::string disk_io;    // how the disk is reached, for the admin
  std::vector<std::unique_ptr<store::StripeShared>> stripes;

  base::Hash128 hash(std::string_view key) const { return base::hash128(key, hash_seed); }
  // All variants of a key live in the stripe of the primary key.
  base::StripeId stripeOf(base::Hash128 primary) const {
    return base::StripeId{
        static_cast<uint16_t>(store::stripeOf(primary, static_cast<uint32_t>(stripes.size())))};
  }
  // Of a primary key. With No-Vary-Search all queries of a path live in one stripe.
  base::StripeId stripeOf(std::string_view key, bool by_path) const {
    return stripeOf(hash(by_path ? key.substr(0, key.find('?')) : key));
  }
  base::ShardId ownerOf(base::StripeId stripe) const {
    return base::ShardId{static_cast<uint16_t>(base::index(stripe) % shard_count)};
  }
};

}  // namespace cache
