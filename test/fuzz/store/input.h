// The input of the store's fuzz targets: one byte of mode, then the bytes of the format. With the
// lowest bit set the target makes the checksums right before it decodes: a mutation then reaches
// what lies behind them, as if a writer with honest checksums had written nonsense.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <vector>

#include "source/base/check.h"
#include "source/base/crc32c.h"
#include "source/store/core/layout.h"

namespace fuzz {

struct Input {
  uint8_t mode = 0;
  std::vector<std::byte> bytes;
  bool repaired() const { return (mode & 1) != 0; }
};

inline Input take(const uint8_t* data, size_t size) {
  Input input;
  if (size > 0) {
    input.mode = data[0];
    const auto* first = reinterpret_cast<const std::byte*>(data + 1);
    input.bytes.assign(first, first + size - 1);
  }
  return input;
}

// Puts the checksum of all but its own four bytes at `at`.
inline void seal(std::span<std::byte> block, size_t at, uint32_t salt) {
  store::storeStruct(block,
                     base::crc32c(block.subspan(at + 4), base::crc32c(block.first(at), salt)), at);
}

inline bool inside(std::span<const std::byte> part, std::span<const std::byte> whole) {
  return part.empty() ||
         (part.data() >= whole.data() && part.data() + part.size() <= whole.data() + whole.size());
}

}  // namespace fuzz
