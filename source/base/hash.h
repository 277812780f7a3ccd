// 128-bit hashes of cache keys: XXH3 with a seed. The hash places and finds; it never decides
// equality, since every record carries its full key. A crafted collision therefore costs a miss,
// not a wrong answer.
#pragma once

#include <xxhash.h>

#include <cstdint>
#include <string_view>

namespace base {

struct Hash128 {
  uint64_t hi = 0;
  uint64_t lo = 0;
  friend bool operator==(const Hash128&, const Hash128&) = default;
  friend auto operator<=>(const Hash128&, const Hash128&) = default;
};

inline Hash128 hash128(std::string_view bytes, uint64_t seed) {
  const XXH128_hash_t h = XXH3_128bits_withSeed(bytes.data(), bytes.size(), seed);
  return Hash128{h.high64, h.low64};
}

inline uint64_t hash64(std::string_view bytes, uint64_t seed) {
  return XXH3_64bits_withSeed(bytes.data(), bytes.size(), seed);
}

}  // namespace base
