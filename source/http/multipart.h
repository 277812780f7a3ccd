// The content of a 206 with several ranges: multipart/byteranges (RFC 9110 14.6, 15.3.7.2).
//
//   --B CRLF  Content-Type, Content-Range  CRLF CRLF  bytes  CRLF
//   --B CRLF  ...                                            CRLF
//   --B-- CRLF
//
// The bytes of the parts are the caller's; everything around them is made here, so that the length
// of the whole is known before the first byte is sent.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "source/base/hash.h"
#include "source/http/range.h"

namespace http {

inline constexpr size_t kBoundarySize = 32;  // of the 70 that RFC 2046 5.1.1 allows

class MultipartRanges {
 public:
  // What the parts are of: `length` is the whole content's, `content_type` its field's value, which
  // may be empty. At most kMaxRanges ranges count.
  struct Of {
    std::span<const ByteRange> ranges;
    uint64_t length = 0;
    std::string_view content_type;
  };
  // The boundary is made of `random`, 128 bits that nobody who wrote the content could know.
  MultipartRanges(const Of& of, base::Hash128 random);

  std::span<const ByteRange> parts() const { return {ranges_.data(), count_}; }
  // Value of the response's Content-Type.
  std::string contentType() const;
  // Of the whole body, for Content-Length.
  uint64_t bodyBytes() const;
  // What stands before the bytes of part `number`, the end of the part before it included.
  void appendPartHead(size_t number, std::string& out) const;
  // What stands behind the last part's bytes.
  void appendEnd(std::string& out) const;

 private:
  std::string_view boundary() const { return {boundary_.data(), boundary_.size()}; }

  std::array<ByteRange, kMaxRanges> ranges_{};
  size_t count_ = 0;
  uint64_t length_ = 0;
  std::string content_type_;
  std::array<char, kBoundarySize> boundary_{};
};

}  // namespace http
