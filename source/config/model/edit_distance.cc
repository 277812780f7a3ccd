#include "source/config/model/edit_distance.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

#include "source/http/grammar.h"

namespace config {

size_t editDistance(std::string_view a, std::string_view b) {
  a = a.substr(0, kMaxComparedWord);
  b = b.substr(0, kMaxComparedWord);
  using Row = std::array<uint8_t, kMaxComparedWord + 1>;
  Row before{};
  Row previous{};
  Row row{};
  for (size_t j = 0; j <= b.size(); j++) {
    previous[j] = static_cast<uint8_t>(j);
  }
  for (size_t i = 1; i <= a.size(); i++) {
    row[0] = static_cast<uint8_t>(i);
    for (size_t j = 1; j <= b.size(); j++) {
      const char x = http::toLower(a[i - 1]);
      const char y = http::toLower(b[j - 1]);
      const int replaced = previous[j - 1] + (x == y ? 0 : 1);
      int best = std::min({replaced, previous[j] + 1, row[j - 1] + 1});
      const bool swapped =
          i > 1 && j > 1 && x == http::toLower(b[j - 2]) && http::toLower(a[i - 2]) == y;
      best = swapped ? std::min(best, before[j - 2] + 1) : best;
      row[j] = static_cast<uint8_t>(best);
    }
    before = previous;
    previous = row;
  }
  return previous[b.size()];
}

std::string_view nearest(std::string_view word, std::span<const std::string_view> candidates) {
  const size_t allowed = word.size() < 4 ? 1 : std::max<size_t>(2, word.size() / 3);
  std::string_view best;
  size_t best_distance = allowed + 1;
  for (const std::string_view candidate : candidates) {
    const size_t distance = editDistance(word, candidate);
    if (distance < best_distance && distance < std::max(word.size(), candidate.size())) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best;
}

}  // namespace config
