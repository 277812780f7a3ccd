// Strong identifiers and units. Monotonic time is for timers, Unix time is for HTTP; they never
// mix.
#pragma once

#include <compare>
#include <cstdint>

namespace base {

enum class ShardId : uint16_t {};
enum class StripeId : uint16_t {};
enum class SegmentId : uint32_t {};

constexpr uint16_t index(ShardId id) {
  return static_cast<uint16_t>(id);
}
constexpr uint16_t index(StripeId id) {
  return static_cast<uint16_t>(id);
}
constexpr uint32_t index(SegmentId id) {
  return static_cast<uint32_t>(id);
}

// Nanoseconds of a clock that never goes back. kNever is later than every time.
struct MonoTime {
  uint64_t ns = 0;
  friend auto operator<=>(const MonoTime&, const MonoTime&) = default;
};
inline constexpr MonoTime kNever{UINT64_MAX};

// Saturates at kNever.
constexpr MonoTime operator+(MonoTime t, uint64_t ns) {
  return ns > UINT64_MAX - t.ns ? kNever : MonoTime{t.ns + ns};
}

inline constexpr uint64_t kMicrosecond_ns = 1000;
inline constexpr uint64_t kMillisecond_ns = 1000 * 1000;
inline constexpr uint64_t kSecond_ns = 1000 * 1000 * 1000;

// Seconds since 1970-01-01 UTC, without leap seconds.
struct UnixSeconds {
  int64_t s = 0;
  friend auto operator<=>(const UnixSeconds&, const UnixSeconds&) = default;
};

// Nothing, as a value: Result<Unit> is success or an error.
struct Unit {};

}  // namespace base
