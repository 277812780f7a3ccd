// The table behind nameOf(): open addressing over a hash of the length and three letters, built by
// the compiler. Internal to this module.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "source/http/head.h"
#include "source/http/scan.h"

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

// The letters at `token` equal the name. Setting bit 0x20 maps no other token character onto a
// letter, digit or "-", so for tokens the comparison is exact. head holds the first 16 bytes at
// token.
inline bool tokenEquals(const char* token, __m128i head, uint8_t id, Readable in) {
  const __m128i case_bit = _mm_set1_epi8(0x20);
  const auto* const lower = reinterpret_cast<const __m128i*>(kNames.lower[id].data());
  const uint32_t wanted = (1U << kNames.sizes[id]) - 1;
  uint32_t equal = static_cast<uint32_t>(
      _mm_movemask_epi8(_mm_cmpeq_epi8(_mm_or_si128(head, case_bit), _mm_load_si128(lower))));
  if (wanted > 0xffff) {
    const __m128i rest = _mm_or_si128(load16(token + 16, in), case_bit);
    equal |=
        static_cast<uint32_t>(_mm_movemask_epi8(_mm_cmpeq_epi8(rest, _mm_load_si128(lower + 1))))
        << 16;
  }
  return (equal & wanted) == wanted;
}

// nameOf() for the token of that size at `token`. head holds the first 16 bytes there.
inline Name nameOfToken(const char* token, size_t size, __m128i head, Readable in) {
  if (size > kNames.longest) {
    return Name::other;
  }
  for (uint8_t slot = nameSlot({token, size});; slot++) {
    const uint8_t id = kNames.ids[slot];
    if (id == 0) {
      return Name::other;
    }
    if (kNames.sizes[id] == size && tokenEquals(token, head, id, in)) {
      return static_cast<Name>(id);
    }
  }
}

}  // namespace http::internal
