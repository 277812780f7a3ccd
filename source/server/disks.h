// The directories of caches as the control thread has them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "source/cache/shared.h"
#include "source/config/model/snapshot.h"
#include "source/store/io/cache_files.h"

namespace server {

// A directory of a cache that the configuration names.
struct Directory {
  config::DiskConfig config;
  std::unique_ptr<store::CacheFiles> files;  // null: it is not used, and why_not says why
  std::optional<cache::CacheDisk> disk;      // with files
  std::string why_not;
  uint64_t failures = 0;       // times that it could not be opened
  uint64_t index_objects = 0;  // that the index of a stripe has room for
  uint32_t segments_used = 0;  // of each stripe; what the shards know, if they have been told
  bool resizing = false;
};

// A directory that becomes larger or smaller.
struct SizeChange {
  config::DiskConfig config;  // as it is to be
  uint32_t segments_before = 0;
  uint32_t segments = 0;  // of a stripe
};

// What the stripes of a directory are told: so many segments; later, that it is on the disk.
struct SizeOrder {
  uint32_t segments = 0;
  bool cut = false;
};

// What caches a reload brings, changes and takes away.
struct CacheChange {
  uint16_t number = 0;
  bool is_new = false;
  std::vector<Directory> joined;                     // opened, and attached to the shards
  std::vector<Directory> not_used;                   // tried before, and again in vain
  std::vector<std::string> removed;                  // paths that the configuration has no more
  std::vector<SizeChange> sizes;                     // of those that stay
  std::unique_ptr<const cache::DiskTable> replaced;  // until every shard has another one
};

// Directories that no new request uses.
struct Leaving {
  uint16_t cache = 0;
  bool whole_cache = false;
  std::vector<Directory> directories;
  std::vector<std::weak_ptr<const void>> users;  // configurations and calls that may use them
  bool detaching = false;
};

// How a directory's disk is after a change of its size: its share of the keys, and what fits in.
cache::CacheDisk resized(cache::CacheDisk disk, const store::CacheFiles& files, uint32_t segments);

}  // namespace server
