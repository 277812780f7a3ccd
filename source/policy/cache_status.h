// The Cache-Status field (RFC 9211), written into a fixed buffer.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace policy {

// RFC 9211 2.2. Ours are the registered words.
enum class Forward : uint8_t {
  none,  // not forwarded
  bypass,
  method,
  uri_miss,
  vary_miss,
  miss,
  request,
  stale,
  partial,
};
inline constexpr size_t kForwardCount = 9;
std::string_view name(Forward forward);

struct CacheStatus {
  bool hit = false;  // excludes forward
  Forward forward = Forward::none;
  std::optional<uint16_t> fwd_status;  // of the forwarded request's response
  std::optional<int64_t> ttl_s;        // may be negative
  bool stored = false;
  bool collapsed = false;
  std::string_view detail;  // a reason's name(); characters outside the token grammar are dropped
};

// Enough for every combination with a detail of kMaxCacheStatusDetail bytes; a longer one is cut.
inline constexpr size_t kMaxCacheStatusDetail = 48;
inline constexpr size_t kCacheStatusSize = 192;
using CacheStatusBuffer = std::array<char, kCacheStatusSize>;

// "ringfence; hit; ttl=30". Returns the part of the buffer that was written.
std::string_view formatCacheStatus(const CacheStatus& status, CacheStatusBuffer& buffer);

}  // namespace policy
