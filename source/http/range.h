// Byte ranges (RFC 9110 section 14): Range, Content-Range and If-Range.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <variant>

#include "source/base/types.h"
#include "source/http/etag.h"

namespace http {

// More ranges than this in one request are refused (too_many): the whole object is the answer then.
inline constexpr size_t kMaxRanges = 16;

// Both ends included.
struct ByteRange {
  uint64_t first = 0;
  uint64_t last = 0;
  uint64_t length() const { return last - first + 1; }
  friend bool operator==(const ByteRange&, const ByteRange&) = default;
};

// closed: first-last; open: first-; suffix: the last `last` bytes.
enum class RangeKind : uint8_t { closed, open, suffix };
struct RangeSpec {
  RangeKind kind = RangeKind::closed;
  uint64_t first = 0;
  uint64_t last = 0;
  friend bool operator==(const RangeSpec&, const RangeSpec&) = default;
};

struct RangeSet {
  std::array<RangeSpec, kMaxRanges> specs;
  uint8_t count = 0;
  std::span<const RangeSpec> all() const { return {specs.data(), count}; }
};

// Why a Range field is to be ignored (RFC 9110 14.2 allows it for each).
enum class RangeRefusal : uint8_t { other_unit, malformed, too_many };

std::variant<RangeSet, RangeRefusal> parseRange(std::string_view value);

// Ranges against a length, those that select nothing left out, in the order requested. None left
// means 416. Of an object without bytes nothing can be selected, though RFC 9110 14.1.2 calls a
// suffix satisfiable then: answer that with the whole, empty object.
struct ResolvedRanges {
  std::array<ByteRange, kMaxRanges> ranges;
  uint8_t count = 0;
  bool overlapping = false;  // some two share a byte
  bool ascending = true;     // each begins behind the end of the one before
  uint64_t total_bytes = 0;  // the sum of their lengths, saturating
  std::span<const ByteRange> all() const { return {ranges.data(), count}; }
};
ResolvedRanges resolveRanges(const RangeSet& set, uint64_t length);

// Sorts, and joins ranges that overlap or lie at most `gap_bytes` apart (RFC 9110 15.3.7.2).
ResolvedRanges coalesceRanges(const ResolvedRanges& ranges, uint64_t gap_bytes);

// "bytes 0-4/10", "bytes 0-4/*" (length unknown), "bytes */10" (unsatisfied: no range).
struct ContentRange {
  std::optional<ByteRange> range;
  std::optional<uint64_t> length;
  friend bool operator==(const ContentRange&, const ContentRange&) = default;
};
// nullopt for other units and for what is malformed or contradicts itself.
std::optional<ContentRange> parseContentRange(std::string_view value);

inline constexpr size_t kContentRangeSize =
    70;  // "bytes " and three numbers of 20 digits, "-" and "/"
// Writes the value and returns the part of the buffer that was written.
std::string_view writeContentRange(const ContentRange& value,
                                   std::span<char, kContentRangeSize> out);

// nullopt when malformed: the condition is then false, the Range ignored.
using IfRange = std::variant<EntityTag, base::UnixSeconds>;
std::optional<IfRange> parseIfRange(std::string_view value, base::UnixSeconds now);

}  // namespace http
