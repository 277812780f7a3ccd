// What the control thread, and in one case another shard, asks of a shard: a closed set of calls
// (rt/peers.h), each in the caller's frame.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "source/cache/calls.h"
#include "source/config/model/snapshot.h"
#include "source/rt/peers.h"
#include "source/shard/stats.h"
#include "source/upstream/cluster.h"

namespace shard {

enum class Verb : rt::Verb {
  apply_config = cache::kVerbCount,
  set_endpoints,
  collect_stats,
  drain,
  stop,
  lookup,
  attach_disk,
  detach_disk,
  take_connection,
};
static_assert(static_cast<rt::Verb>(Verb::take_connection) < rt::kVerbs);
constexpr rt::Verb verb(Verb v) {
  return static_cast<rt::Verb>(v);
}

// A listening socket of this shard, borrowed from the control thread until a later configuration
// leaves it out and its reply has come.
struct ListenerSocket {
  std::string listener;
  int fd = -1;
};

// A cache of a configuration: its number on every shard, and where its keys go.
struct CacheUse {
  uint16_t cache = 0;
  const cache::DiskTable* disks = nullptr;
  cache::CacheLimits limits;
};

// Replies when the shard uses the configuration and no longer accepts on sockets that are left out.
struct ApplyConfig : rt::CallHeader {
  ApplyConfig() { rt::CallHeader::verb = shard::verb(Verb::apply_config); }
  std::shared_ptr<const config::Snapshot> snapshot;
  std::vector<CacheUse> caches;  // in the order of the snapshot's
  std::vector<ListenerSocket> sockets;
  int access_log_fd = -1;  // -1: none
};

// The addresses of a strict_dns cluster.
struct SetEndpoints : rt::CallHeader {
  SetEndpoints() { rt::CallHeader::verb = shard::verb(Verb::set_endpoints); }
  std::string cluster;
  std::vector<upstream::ResolvedEndpoint> endpoints;
};

struct CollectStats : rt::CallHeader {
  CollectStats() { rt::CallHeader::verb = shard::verb(Verb::collect_stats); }
  ShardStats* stats = nullptr;  // the caller's
};

// Stops accepting, closes idle connections, and replies when the last request has ended or the time
// is over.
struct Drain : rt::CallHeader {
  Drain() { rt::CallHeader::verb = shard::verb(Verb::drain); }
  uint64_t deadline_ns = 0;       // of the monotonic clock
  bool keep_connections = false;  // only stop accepting
  // Reply.
  uint32_t open = 0;  // connections that were left
};

// Ends everything, in order, and leaves the loop after the reply. Phase 1 ends sessions (on all
// shards, before any shard's stripes stop), phase 2 the rest.
struct Stop : rt::CallHeader {
  Stop() { rt::CallHeader::verb = shard::verb(Verb::stop); }
  uint8_t phase = 1;
  // Reply.
  uint64_t invalidations_lost = 0;  // that the next start may undo
  // Stripes whose disk does not answer: the kernel has memory of theirs. The shard goes on, and
  // cannot be destroyed before a later call finds none.
  uint32_t stripes_hung = 0;
};

// A disk comes, perhaps as the first of a new cache: the shard makes the stripes that it owns, and
// uses the table, in which no key goes to the disk yet. Without a disk, only the table comes.
struct AttachDisk : rt::CallHeader {
  AttachDisk() { rt::CallHeader::verb = shard::verb(Verb::attach_disk); }
  uint16_t cache = 0;
  const cache::CacheShared* shared = nullptr;
  const cache::CacheDisk* disk = nullptr;
  const cache::DiskTable* disks = nullptr;
};

// A disk has left, and no request uses it any more. Replies when its stripes have ended; with
// `whole_cache` the shard's part of the cache has as well.
struct DetachDisk : rt::CallHeader {
  DetachDisk() { rt::CallHeader::verb = shard::verb(Verb::detach_disk); }
  uint16_t cache = 0;
  cache::StripeRange stripes;
  bool whole_cache = false;
};

// From shard to shard: a connection that the caller has accepted for this listener, and has not
// begun to read. Replies at once; once taken, the descriptor is the callee's.
struct TakeConnection : rt::CallHeader {
  TakeConnection() { rt::CallHeader::verb = shard::verb(Verb::take_connection); }
  std::string_view listener;
  int fd = -1;
  // Reply. False: no place, or no such listener; the caller keeps it.
  bool taken = false;
};

// What a GET would find, without fetching anything. Asked of the stripe's owner.
struct LookupObject : rt::CallHeader {
  LookupObject() { rt::CallHeader::verb = shard::verb(Verb::lookup); }
  uint16_t cache = 0;
  std::string_view key;
  bool by_path = false;  // the rule of the key heeds No-Vary-Search
  const http::Fields* request = nullptr;
  // Reply.
  cache::Found found = cache::Found::absent;
  bool in_memory = false;
  bool stale_now = false;
  std::string stored_key;
  std::string vary;
  std::string search;  // the path's No-Vary-Search, as policy/search.h keeps it
  uint16_t status = 0;
  std::string head;
  policy::Times times;
  policy::Traits traits;
  std::optional<uint64_t> length;
  store::Entry entry;
  bool large = false;
  uint64_t block_bytes = 0;  // of a sliced object; else 0
};

}  // namespace shard
