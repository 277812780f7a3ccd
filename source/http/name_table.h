// The table behind nameOf(): open addressing over a hash of the length and three letters, built by
// the compiler. Internal to this module.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "source/http/head.h"

namespace http::internal {

inline constexpr std::array<std::string_view, kNameCount> kSpellings = {
    "",
    "Accept",
    "Accept-Encoding",
    "Accept-Language",
    "Accept-Ranges",
    "Age",
    "Allow",
    "Authorization",
    "Cache-Control",
    "Cache-Status",
    "CDN-Cache-Control",
    "CDN-Loop",
    "Connection",
    "Content-Encoding",
    "Content-Language",
    "Content-Length",
    "Content-Location",
    "Content-Range",
    "Content-Type",
    "Cookie",
    "Date",
    "ETag",
    "Expect",
    "Expires",
    "Forwarded",
    "Host",
    "HTTP2-Settings",
    "If-Match",
    "If-Modified-Since",
    "If-None-Match",
    "If-Range",
    "If-Unmodified-Since",
    "Keep-Alive",
    "Last-Modified",
    "Link",
    "Location",
    "Max-Forwards",
    "Origin",
    "Pragma",
    "Proxy-Authenticate",
    "Proxy-Authentication-Info",
    "Proxy-Authorization",
    "Proxy-Connection",
    "Range",
    "Referer",
    "Retry-After",
    "Server",
    "Set-Cookie",
    "Surrogate-Control",
    "Surrogate-Key",
    "Cache-Tag",
    "TE",
    "Trailer",
    "Transfer-Encoding",
    "Upgrade",
    "User-Agent",
    "Vary",
    "Via",
    "Warning",
    "WWW-Authenticate",
    "X-Forwarded-For",
    "X-Forwarded-Host",
    "X-Forwarded-Proto",
};

inline constexpr size_t kNameBytes = 32;  // of a padded lower-case name
inline constexpr size_t kNameSlots = 256;

constexpr uint8_t nameSlot(std::string_view name) {
  const uint32_t first = static_cast<uint8_t>(name.front()) | 0x20U;
  const uint32_t middle = static_cast<uint8_t>(name[name.size() / 2]) | 0x20U;
  const uint32_t last = static_cast<uint8_t>(name.back()) | 0x20U;
  const uint32_t mixed =
      static_cast<uint32_t>(name.size()) | first << 8 | middle << 16 | last << 24;
  return static_cast<uint8_t>((mixed * 0x9e3779b1U) >> 24);
}

struct NameTable {
  std::array<uint8_t, kNameSlots> ids{};  // a Name, 0 (other) for an empty slot
  std::array<uint8_t, kNameCount> sizes{};
  alignas(kNameBytes) std::array<std::array<char, kNameBytes>, kNameCount> lower{};
  size_t longest = 0;
};

constexpr NameTable makeNameTable() {
  NameTable table;
  for (size_t id = 1; id < kNameCount; id++) {
    const std::string_view text = kSpellings[id];
    table.sizes[id] = static_cast<uint8_t>(text.size());
    table.longest = text.size() > table.longest ? text.size() : table.longest;
    for (size_t i = 0; i < text.size(); i++) {
      const char c = text[i];
      table.lower[id][i] = c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c;
    }
    uint8_t slot = nameSlot(text);
    while (table.ids[slot] != 0) {
      slot++;
    }
    table.ids[slot] = static_cast<uint8_t>(id);
  }
  return table;
}
inline constexpr NameTable kNames = makeNameTable();
static_assert(kNames.longest < kNameBytes);

// The token's letters equal the padded lower-case name. Setting bit 0x20 maps no other token
// character onto a letter, digit or "-", so for tokens the comparison is exact.
inline bool tokenEquals(const char* token, const char* lower, size_t size) {
  constexpr uint64_t kCase = 0x2020202020202020ULL;
  const auto differs = [&](size_t at) {
    uint64_t a;
    uint64_t b;
    std::memcpy(&a, token + at, 8);
    std::memcpy(&b, lower + at, 8);
    return (a | kCase) ^ b;
  };
  if (size >= 8) {
    uint64_t difference = differs(size - 8);
    for (size_t at = 0; at + 8 < size; at += 8) {
      difference |= differs(at);
    }
    // The names hold only characters that have bit 0x20 set.
    return difference == 0;
  }
  uint8_t difference = 0;
  for (size_t i = 0; i < size; i++) {
    difference |= static_cast<uint8_t>((token[i] | 0x20) ^ lower[i]);
  }
  return difference == 0;
}

// nameOf() for a text known to be a token.
inline Name nameOfToken(std::string_view token) {
  if (token.empty() || token.size() > kNames.longest) {
    return Name::other;
  }
  for (uint8_t slot = nameSlot(token);; slot++) {
    const uint8_t id = kNames.ids[slot];
    if (id == 0) {
      return Name::other;
    }
    if (kNames.sizes[id] == token.size() &&
        tokenEquals(token.data(), kNames.lower[id].data(), token.size())) {
      return static_cast<Name>(id);
    }
  }
}

}  // namespace http::internal
