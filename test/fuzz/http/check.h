// What a fuzz target says when a property does not hold.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "source/base/check.h"
#include "source/base/random.h"

namespace fuzz {

inline std::string_view textOf(const uint8_t* data, size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

// The view lies within the text, or is empty.
inline void expectWithin(std::string_view view, std::string_view text) {
  if (!view.empty()) {
    CHECK(view.data() >= text.data());
    CHECK(view.data() + view.size() <= text.data() + text.size());
  }
}

// Cuts that depend on the input alone, so that every finding replays.
inline base::Random cutsFor(std::string_view text) {
  uint64_t seed = text.size();
  for (const char c : text) {
    seed = seed * 31 + static_cast<uint8_t>(c);
  }
  return base::Random(seed);
}

}  // namespace fuzz
