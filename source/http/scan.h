// Sixteen bytes at a time: where does a token, a field value or a request-target end? Internal to
// this module. SSE4.2 is the least processor the build asks for.
#pragma once

#include <immintrin.h>

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>

#include "source/http/grammar.h"

namespace http::internal {

// What may be read: [floor, end). The floor lets the last bytes be loaded as part of a whole
// vector.
struct Readable {
  const char* floor;
  const char* end;
};

// load16() within 16 bytes of the end. Apart, so that the usual case stays in registers.
__m128i load16Tail(const char* p, Readable in);

// The bytes at p, zeros for those behind the end. Zero is in no class that is searched here, so a
// search that runs out of bytes stops at the end at the latest.
inline __m128i load16(const char* p, Readable in) {
  if (in.end - p >= 16) [[likely]] {
    return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
  }
  return load16Tail(p, in);
}

// A class of ASCII characters as two tables over the halves of a byte: a character belongs to it
// when both halves share a bit. Bytes above 0x7f never do, since a shuffle gives zero for them.
struct NibbleClass {
  alignas(16) std::array<uint8_t, 16> low{};
  alignas(16) std::array<uint8_t, 16> high{};
};
constexpr NibbleClass makeNibbleClass(CharClass wanted) {
  NibbleClass tables;
  for (unsigned c = 0; c < 128; c++) {
    if (is(wanted, static_cast<char>(c))) {
      tables.low[c & 15] |= static_cast<uint8_t>(1U << (c >> 4));
    }
  }
  for (unsigned high = 0; high < 8; high++) {
    tables.high[high] = static_cast<uint8_t>(1U << high);
  }
  return tables;
}
inline constexpr NibbleClass kTcharNibbles = makeNibbleClass(kTchar);
inline constexpr NibbleClass kRegNameNibbles = makeNibbleClass(kRegName);

// A bit for each byte equal to c.
inline uint32_t equalTo(__m128i x, char c) {
  return static_cast<uint32_t>(_mm_movemask_epi8(_mm_cmpeq_epi8(x, _mm_set1_epi8(c))));
}

// A bit for each letter in upper case.
inline uint32_t upperCase(__m128i x) {
  const __m128i above = _mm_cmpgt_epi8(x, _mm_set1_epi8('A' - 1));
  const __m128i below = _mm_cmplt_epi8(x, _mm_set1_epi8('Z' + 1));
  return static_cast<uint32_t>(_mm_movemask_epi8(_mm_and_si128(above, below)));
}

// CR LF stands at p.
inline bool isCrlf(const char* p, Readable in) {
  uint16_t two = 0;
  if (in.end - p < 2) {
    return false;
  }
  std::memcpy(&two, p, 2);
  return two == 0x0a0d;  // the processor is little-endian, as SSE4.2 implies
}

// A bit for each byte outside the class.
inline uint32_t outside(const NibbleClass& tables, __m128i x) {
  const __m128i low_table = _mm_load_si128(reinterpret_cast<const __m128i*>(tables.low.data()));
  const __m128i high_table = _mm_load_si128(reinterpret_cast<const __m128i*>(tables.high.data()));
  const __m128i high_half = _mm_and_si128(_mm_srli_epi16(x, 4), _mm_set1_epi8(15));
  const __m128i shared =
      _mm_and_si128(_mm_shuffle_epi8(low_table, x), _mm_shuffle_epi8(high_table, high_half));
  return static_cast<uint32_t>(_mm_movemask_epi8(_mm_cmpeq_epi8(shared, _mm_setzero_si128())));
}

// A bit for each byte that may not stand in a field value: CTL but HTAB.
inline uint32_t outsideValue(__m128i x) {
  const __m128i control = _mm_cmpeq_epi8(_mm_min_epu8(x, _mm_set1_epi8(0x1f)), x);
  const __m128i del = _mm_cmpeq_epi8(x, _mm_set1_epi8(0x7f));
  const __m128i tab = _mm_cmpeq_epi8(x, _mm_set1_epi8('\t'));
  return static_cast<uint32_t>(
      _mm_movemask_epi8(_mm_andnot_si128(tab, _mm_or_si128(control, del))));
}

// A bit for each byte outside kTargetChar.
inline uint32_t outsideTarget(__m128i x) {
  const __m128i visible = _mm_cmpgt_epi8(x, _mm_set1_epi8(0x20));  // signed: not above 0x7f either
  const __m128i bad =
      _mm_or_si128(_mm_cmpeq_epi8(x, _mm_set1_epi8(0x7f)), _mm_cmpeq_epi8(x, _mm_set1_epi8('#')));
  return static_cast<uint32_t>(_mm_movemask_epi8(_mm_andnot_si128(bad, visible))) ^ 0xffffU;
}

// The first byte at or behind p outside the class, at most in.end.
template <class Outside>
inline const char* scan(const char* p, Readable in, Outside outside_of) {
  while (true) {
    const uint32_t found = outside_of(load16(p, in));
    if (found != 0) {
      return p + std::countr_zero(found);
    }
    p += 16;
  }
}

inline const char* tokenEnd(const char* p, Readable in) {
  return scan(p, in, [](__m128i x) { return outside(kTcharNibbles, x); });
}
inline const char* valueEnd(const char* p, Readable in) {
  return scan(p, in, outsideValue);
}
inline const char* targetEnd(const char* p, Readable in) {
  return scan(p, in, outsideTarget);
}

}  // namespace http::internal
