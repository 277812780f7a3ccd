// Content codings in pieces: gzip by zlib, br by brotli, zstd. A coder takes what it is given and
// writes into what it is given; it holds no more than its window. Pure, but for the memory that the
// libraries take when a coder is made.
//
// Limits, when decoding: kMaxGrowth bytes for each byte received once kFreeGrowth_bytes are
// exceeded, so that a few bytes cannot make the process work for ever; and the windows, kWindowLog
// for zstd (RFC 9659) and 24 bits for brotli (RFC 7932 9.1).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "source/policy/route_policy.h"

namespace coding {

// zlib cannot write more than 1032 for one, so no gzip is refused.
inline constexpr uint64_t kMaxGrowth = 1100;
inline constexpr uint64_t kFreeGrowth_bytes = 1 << 20;
inline constexpr int kWindowLog = 23;
// What an encoder looks back on, at most: a compromise between memory and density.
inline constexpr int kEncoderWindowLog = 19;

struct Step {
  size_t consumed = 0;
  size_t produced = 0;
  bool finished = false;  // the coded body is whole, and written
};

class Coder {
 public:
  virtual ~Coder() = default;
  // Takes some of `in`, writes some of `out`, which is not empty. last: no more will come. While it
  // is not finished, and what it was given last is consumed, a full `out` may mean that there is
  // more to write; it is then called again with what is left, which may be nothing. nullopt: the
  // input is no such coding, ends too early or grows too much; the coder is of no further use.
  virtual std::optional<Step> step(std::span<const std::byte> in, std::span<std::byte> out,
                                   bool last) = 0;
};

// nullptr: there is no memory for it. level: 1..9; none: 6, 5 and 3.
std::unique_ptr<Coder> makeEncoder(policy::Coding coding, std::optional<uint32_t> level);
std::unique_ptr<Coder> makeDecoder(policy::Coding coding);

// Of the libraries, one each. nullptr as above.
std::unique_ptr<Coder> makeZlibEncoder(int level);
std::unique_ptr<Coder> makeZlibDecoder();
std::unique_ptr<Coder> makeBrotliEncoder(int level);
std::unique_ptr<Coder> makeBrotliDecoder();
std::unique_ptr<Coder> makeZstdEncoder(int level);
std::unique_ptr<Coder> makeZstdDecoder();

}  // namespace coding
