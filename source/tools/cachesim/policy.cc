#include "source/tools/cachesim/policy.h"

namespace cachesim {

const std::vector<std::string_view>& policyNames() {
  static const std::vector<std::string_view> names{"belady", "s3fifo", "wtinylfu", "sieve",
                                                   "lru",    "fifo",   "memory",   "segments"};
  return names;
}

std::unique_ptr<Policy> makePolicy(std::string_view name, const PolicyOptions& options) {
  if (name == "fifo") {
    return makeFifo(options.size);
  }
  if (name == "lru") {
    return makeLru(options.size);
  }
  if (name == "sieve") {
    return makeSieve(options.size);
  }
  if (name == "s3fifo") {
    return makeS3Fifo(options.size);
  }
  if (name == "wtinylfu") {
    return makeWTinyLfu(options.size);
  }
  if (name == "belady") {
    return makeBelady(options.size);
  }
  if (name == "memory") {
    return makeMemory(options.size);
  }
  return name == "segments" ? makeSegments(options) : nullptr;
}

}  // namespace cachesim
