// What is remembered of a stored response to decide its reuse later: two instants and a few bits.
// Both structs are written to disk as they are (little-endian, no padding).
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "source/base/types.h"

namespace policy {

// A delta-seconds above this means this (RFC 9111 1.2.2).
inline constexpr uint32_t kMaxDelta_s = 2147483648U;

// birth = response time - corrected initial age (RFC 9111 4.2.3), so that current_age is always
// now - birth and freshness is always now < fresh_until. Unix seconds, clamped to 32 bits: an age
// beyond 1970 is cut to 1970, an expiry beyond 2106 to 2106.
struct Times {
  uint32_t birth_s = 0;
  uint32_t fresh_until_s = 0;
  friend bool operator==(const Times&, const Times&) = default;
};
static_assert(sizeof(Times) == 8 && std::is_trivially_copyable_v<Times>);

enum class Trait : uint32_t {
  no_cache = 1U << 0,         // unqualified (RFC 9111 5.2.2.4)
  must_revalidate = 1U << 1,  // RFC 9111 5.2.2.2, 5.2.2.8, or s-maxage, which implies the latter
  has_etag = 1U << 2,
  has_strong_etag = 1U << 3,
  has_last_modified = 1U << 4,
  immutable = 1U << 5,            // RFC 8246
  heuristic = 1U << 6,            // the lifetime was guessed (RFC 9111 4.2.2)
  operators = 1U << 7,            // the lifetime is the route's (default, by status, raised or cut)
  server_error = 1U << 8,         // status 5xx: never served stale, lest it outlive the fault
  hit_for_miss = 1U << 9,         // no response: a note that this key's responses are not stored
  own_stale_if_error = 1U << 10,  // stale-if-error is the response's, not the route's
  targeted = 1U << 11,            // a targeted field governed (RFC 9213 2.2)
};

struct Traits {
  uint32_t bits = 0;
  uint32_t swr_s = 0;  // stale-while-revalidate (RFC 5861 3): 0 = not allowed
  uint32_t sie_s = 0;  // stale-if-error (RFC 5861 4): 0 = not allowed

  bool has(Trait t) const { return (bits & static_cast<uint32_t>(t)) != 0; }
  void set(Trait t) { bits |= static_cast<uint32_t>(t); }
  void clear(Trait t) { bits &= ~static_cast<uint32_t>(t); }
  bool hasValidator() const { return has(Trait::has_etag) || has(Trait::has_last_modified); }
  // No one may be given this response stale (RFC 9111 4.2.4).
  bool forbidsStale() const { return has(Trait::no_cache) || has(Trait::must_revalidate); }
  friend bool operator==(const Traits&, const Traits&) = default;
};
static_assert(sizeof(Traits) == 12 && std::is_trivially_copyable_v<Traits>);

// 64-bit seconds into the range of Times.
constexpr uint32_t clampSeconds(int64_t s) {
  return static_cast<uint32_t>(std::clamp<int64_t>(s, 0, UINT32_MAX));
}

// current_age (RFC 9111 4.2.3); never negative, though clocks may be set back.
constexpr uint32_t ageOf(Times times, base::UnixSeconds now) {
  return static_cast<uint32_t>(
      std::clamp<int64_t>(now.s - static_cast<int64_t>(times.birth_s), 0, kMaxDelta_s));
}

// Seconds of freshness left; zero or less once stale (RFC 9111 4.2).
constexpr int64_t freshnessLeft(Times times, base::UnixSeconds now) {
  return static_cast<int64_t>(times.fresh_until_s) - now.s;
}

// The note that makes requests for a key pass each other for ttl_s, after a response that could not
// be stored.
struct Remembered {
  Times times;
  Traits traits;
};
constexpr Remembered hitForMiss(base::UnixSeconds now, uint32_t ttl_s) {
  return Remembered{Times{clampSeconds(now.s), clampSeconds(now.s + ttl_s)},
                    Traits{static_cast<uint32_t>(Trait::hit_for_miss), 0, 0}};
}

}  // namespace policy
