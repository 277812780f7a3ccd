// Slicing: a large representation is fetched and kept in aligned blocks, each by a range request of
// its own (RFC 9110 14.2, 15.3.7; RFC 9111 3.4). Which block to ask for, and whether what came is
// that block. Blocks are put together under the same strong entity tag alone.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "source/http/head.h"
#include "source/http/range.h"

namespace policy {

// How a representation of `length` bytes is cut: block n is the bytes from n * block_bytes on, the
// last one is what is left. Both are at least 1.
struct SliceLayout {
  uint64_t length = 0;
  uint64_t block_bytes = 0;

  uint64_t indexOf(uint64_t position) const { return position / block_bytes; }
  // `block` lies within the length.
  http::ByteRange rangeOf(uint64_t block) const {
    const uint64_t first = block * block_bytes;
    return http::ByteRange{first, first + std::min(block_bytes, length - first) - 1};
  }
  friend bool operator==(const SliceLayout&, const SliceLayout&) = default;
};

// The block that a request's first range begins in; 0 when that cannot be known before the length,
// or the request wants the whole.
uint64_t firstBlockOf(const http::RequestHead& request, uint64_t block_bytes);

// The value of Range.
std::string rangeText(http::ByteRange range);

// What was answered when a block of something unknown was asked for.
struct BlockAnswer {
  enum class Kind : uint8_t {
    block,     // exactly that block, of a version that has a name
    whole,     // that block, and it is all there is
    beyond,    // 416: the block lies behind the end, or there are no bytes at all
    unusable,  // a 206 of other bytes, of an unknown length, or that cannot be put together
    other,     // no answer to a range request
  };
  Kind kind = Kind::other;
  uint64_t length = 0;  // of the representation: for block and whole
};
BlockAnswer judgeBlock(const http::ResponseHead& response, std::optional<uint64_t> body_length,
                       uint64_t block, uint64_t block_bytes);

// Whether the response is this block of the version with the strong tag `etag`.
bool isBlock(const http::ResponseHead& response, std::optional<uint64_t> body_length,
             const SliceLayout& layout, uint64_t block, std::string_view etag);

// The head that a 200 would have had: `out` views `part`, a 206 with one range.
void wholeOf(const http::ResponseHead& part, http::ResponseHead& out);

}  // namespace policy
