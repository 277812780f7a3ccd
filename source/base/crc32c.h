// CRC-32C (Castagnoli, RFC 3720 appendix B.4), by the processor's instruction.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace base {

// The checksum of `bytes` appended to data whose checksum is `crc` (0 to begin).
uint32_t crc32c(std::span<const std::byte> bytes, uint32_t crc = 0);

// The checksum of `a` followed by `b`, from their checksums and the length of `b`.
uint32_t crc32cCombine(uint32_t crc_a, uint32_t crc_b, uint64_t length_b);

}  // namespace base
