// How far two words are apart, for "did you mean".
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

namespace config {

inline constexpr size_t kMaxComparedWord = 64;

// Insertions, deletions, replacements and swaps of neighbours that turn one word into the other
// (optimal string alignment), without regard to letter case. Words longer than kMaxComparedWord are
// compared up to there.
size_t editDistance(std::string_view a, std::string_view b);

// The candidate that the word was most likely meant to be; empty when none is near. The first of
// equals wins. A third of the word may be wrong, and at least two letters of a word of four or
// more.
std::string_view nearest(std::string_view word, std::span<const std::string_view> candidates);

}  // namespace config
