// The directories of one cache, which are one as far as purges are concerned: opened each for
// itself, so that one that cannot be used leaves the others in use, and then told of each other, so
// that one that was away does not bring back what was purged meanwhile. On the control thread.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "source/store/io/cache_files.h"

namespace store {

struct OpenedDisk {
  std::unique_ptr<CacheFiles> files;  // null: `error` says why, for an operator
  std::string error;
  std::string warning;
  bool given_up = false;  // it was away while the others were used, and begins empty
};

// One entry a layout, in order; their hash_seed is set here. `in_use`: the disks that the cache has
// already; whoever joins them begins empty.
std::vector<OpenedDisk> openDisks(std::span<CacheFiles* const> in_use,
                                  std::vector<CacheLayout> layouts);

// After a change of who is in use: noted on every disk that can be written. An error means that it
// could be noted on none, and that the change must not be made.
std::string noteCompany(std::span<CacheFiles* const> disks);

}  // namespace store
