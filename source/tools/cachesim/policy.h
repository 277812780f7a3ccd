// What decides about hits: one object a policy and cache size. Policies of the literature work
// object by object; `segments` and `memory` are the product's own code (source/store/core).
//
// All are given the same capacity and charge an object the same bytes (storedBytes), so that they
// differ by what they decide and by what the product's log needs besides records.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "source/store/core/labels.h"
#include "source/store/core/layout.h"
#include "source/tools/cachesim/trace.h"

namespace cachesim {

// The key and the meta (labels and response head) that every record is taken to have.
inline constexpr uint32_t kKeyBytes = 64;
inline constexpr uint32_t kLabels = 2;  // directories of its URL
inline constexpr uint32_t kMetaBytes = 300 + kLabels * sizeof(store::Label);

// Bytes of the records of an object with this body.
uint64_t storedBytes(uint32_t body_bytes, uint32_t segment_bytes);

struct CacheSize {
  uint64_t bytes = 0;
  uint32_t objects = 0;        // that the trace has
  uint32_t segment_bytes = 0;  // of the product's log
};

class Policy {
 public:
  virtual ~Policy() = default;
  // Whether the request is a hit; a miss stores the object, if the policy wants it.
  virtual bool request(const Request& request) = 0;
  // Bytes of objects that were stored, and all that was written to the disk for it.
  virtual uint64_t storedTotal() const = 0;
  virtual uint64_t writtenTotal() const { return storedTotal(); }
};

struct PolicyOptions {
  CacheSize size;
  // For `segments`, the admission filter: its policy and its budget (0: no limit).
  bool second_request = false;
  uint64_t write_bytes_per_s = 0;
};

// Object by object. Each returns what `name` says:
//   fifo      the oldest goes
//   lru       the least recently used goes
//   sieve     SIEVE (Zhang et al., NSDI 2024)
//   s3fifo    S3-FIFO (Yang et al., SOSP 2023): small 10 %, main 90 %, ghost as long as main
//   wtinylfu  W-TinyLFU (Einziger et al., 2017): window 1 %, main SLRU with 80 % protected
//   belady    offline: whoever is needed latest goes, be it the newcomer. The optimum when all
//   sizes
//             are equal; else a good policy that knows the future, which is no bound
//   memory    the product's memory tier
//   segments  the product's disk: segments, reinsertion, and admission if there is a budget
// nullptr for another name.
std::unique_ptr<Policy> makePolicy(std::string_view name, const PolicyOptions& options);
const std::vector<std::string_view>& policyNames();

// One each, for makePolicy.
std::unique_ptr<Policy> makeFifo(const CacheSize& size);
std::unique_ptr<Policy> makeLru(const CacheSize& size);
std::unique_ptr<Policy> makeSieve(const CacheSize& size);
std::unique_ptr<Policy> makeS3Fifo(const CacheSize& size);
std::unique_ptr<Policy> makeWTinyLfu(const CacheSize& size);
std::unique_ptr<Policy> makeBelady(const CacheSize& size);
std::unique_ptr<Policy> makeMemory(const CacheSize& size);
std::unique_ptr<Policy> makeSegments(const PolicyOptions& options);

}  // namespace cachesim
