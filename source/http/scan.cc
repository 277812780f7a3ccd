#include "source/http/scan.h"

namespace http::internal {

__m128i load16Tail(const char* p, Readable in) {
  const size_t left = static_cast<size_t>(in.end - p);
  if (in.end - in.floor >= 16) {
    // The last whole vector, shifted down by a table of indices whose high bit means zero.
    static constexpr std::array<uint8_t, 32> kSlide = {
        0,   1,   2,   3,   4,   5,   6,   7,   8,   9,   10,  11,  12,  13,  14,  15,
        128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128};
    const __m128i last = _mm_loadu_si128(reinterpret_cast<const __m128i*>(in.end - 16));
    const __m128i slide =
        _mm_loadu_si128(reinterpret_cast<const __m128i*>(kSlide.data() + (16 - left)));
    return _mm_shuffle_epi8(last, slide);
  }
  std::array<char, 16> bytes{};
  if (left != 0) {
    std::memcpy(bytes.data(), p, left);
  }
  return _mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes.data()));
}

}  // namespace http::internal
