// Which bytes of a complete stored response a request wants (RFC 9110 section 14).
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "source/base/types.h"
#include "source/http/head.h"
#include "source/http/range.h"

namespace policy {

// Parts of a multipart answer are joined when the gap between them costs less than a part's head.
inline constexpr uint64_t kJoinGapBytes = 80;

struct RangePlan {
  enum class Kind : uint8_t {
    whole,          // no Range, or one that is to be ignored
    single,         // 206 with Content-Range
    multi,          // 206 multipart/byteranges
    unsatisfiable,  // 416 with Content-Range: bytes */length
  };
  // What happened to several ranges before there was a plan.
  enum class Note : uint8_t {
    none,
    joined,     // fewer are sent than were asked for and could be
    too_many,   // more than http::kMaxRanges: whole
    unordered,  // they go back and forth, and the content can only be read forward: whole
  };
  Kind kind = Kind::whole;
  Note note = Note::none;
  uint8_t count = 0;
  std::array<http::ByteRange, http::kMaxRanges> ranges{};
  std::span<const http::ByteRange> parts() const { return {ranges.data(), count}; }
};

// How the content can be read, for several ranges. anywhere: each gets its part, in the order
// requested. forward: while it still arrives; ranges that are not ascending get the whole (RFC 9110
// 14.2 allows it).
enum class Access : uint8_t { anywhere, forward };

// `length` is that of the whole stored content. Range counts only for GET on a stored 200 (RFC
// 9110 14.2), and with If-Range only if that still names this version (RFC 9110 13.1.5). Parts that
// overlap or nearly touch are joined, and then all are in ascending order; else they keep theirs.
RangePlan planRange(const http::RequestHead& request, const http::ResponseHead& stored,
                    uint64_t length, base::UnixSeconds now, Access access);

// If-Range is absent or true: its entity tag matches strongly, or its date is exactly a
// Last-Modified that is a strong validator (RFC 9110 8.8.2.2).
bool ifRangeHolds(const http::RequestHead& request, const http::ResponseHead& stored,
                  base::UnixSeconds now);

}  // namespace policy
