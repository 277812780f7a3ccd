#include "source/http/range.h"

#include <algorithm>
#include <cstring>

#include "source/http/date.h"
#include "source/http/grammar.h"
#include "source/http/list.h"
#include "source/http/serialize.h"

namespace http {
namespace {

constexpr std::string_view kBytes = "bytes";

// A position that does not fit lies behind every object, like the largest that does.
std::optional<uint64_t> parsePosition(std::string_view text) {
  if (text.empty() || !all(kDigit, text)) {
    return std::nullopt;
  }
  return parseDecimal(text).value_or(UINT64_MAX);
}

std::optional<RangeSpec> parseSpec(std::string_view text) {
  const size_t dash = text.find('-');
  if (dash == text.npos) {
    return std::nullopt;
  }
  const std::string_view first_text = text.substr(0, dash);
  const std::string_view last_text = text.substr(dash + 1);
  const std::optional<uint64_t> first = parsePosition(first_text);
  const std::optional<uint64_t> last = parsePosition(last_text);
  if (first_text.empty()) {
    if (!last.has_value()) {
      return std::nullopt;
    }
    return RangeSpec{.kind = RangeKind::suffix, .last = *last};
  }
  if (first.has_value() && last_text.empty()) {
    return RangeSpec{.kind = RangeKind::open, .first = *first};
  }
  if (!first.has_value() || !last.has_value() || *last < *first) {
    return std::nullopt;
  }
  return RangeSpec{.kind = RangeKind::closed, .first = *first, .last = *last};
}

std::optional<ByteRange> resolve(const RangeSpec& spec, uint64_t length) {
  if (spec.kind == RangeKind::suffix) {
    if (spec.last == 0 || length == 0) {
      return std::nullopt;
    }
    return ByteRange{spec.last < length ? length - spec.last : 0, length - 1};
  }
  if (spec.first >= length) {
    return std::nullopt;
  }
  const bool open = spec.kind == RangeKind::open;
  return ByteRange{spec.first, open ? length - 1 : std::min(spec.last, length - 1)};
}

void append(ResolvedRanges& out, const ByteRange& range) {
  for (const ByteRange& other : out.all()) {
    out.overlapping |= range.first <= other.last && other.first <= range.last;
    out.ascending &= other.last < range.first;
  }
  out.ranges[out.count++] = range;
  const uint64_t room = UINT64_MAX - out.total_bytes;
  out.total_bytes += std::min(room, range.length());
}

}  // namespace

std::variant<RangeSet, RangeRefusal> parseRange(std::string_view value) {
  const size_t equals = value.find('=');
  const std::string_view unit = value.substr(0, equals);
  if (equals == value.npos || !isToken(unit)) {
    return RangeRefusal::malformed;
  }
  if (!equalsIgnoreCase(unit, kBytes)) {
    return RangeRefusal::other_unit;
  }
  RangeSet set;
  ListReader list(value.substr(equals + 1));
  size_t count = 0;
  for (auto element = list.next(); element.has_value(); element = list.next()) {
    const std::optional<RangeSpec> spec = parseSpec(*element);
    if (!spec.has_value()) {
      return RangeRefusal::malformed;
    }
    if (count < kMaxRanges) {
      set.specs[count] = *spec;
    }
    count++;
  }
  if (count == 0) {
    return RangeRefusal::malformed;
  }
  if (count > kMaxRanges) {
    return RangeRefusal::too_many;
  }
  set.count = static_cast<uint8_t>(count);
  return set;
}

ResolvedRanges resolveRanges(const RangeSet& set, uint64_t length) {
  ResolvedRanges out;
  for (const RangeSpec& spec : set.all()) {
    const std::optional<ByteRange> range = resolve(spec, length);
    if (range.has_value()) {
      append(out, *range);
    }
  }
  return out;
}

ResolvedRanges coalesceRanges(const ResolvedRanges& ranges, uint64_t gap_bytes) {
  std::array<ByteRange, kMaxRanges> sorted = ranges.ranges;
  std::sort(sorted.begin(), sorted.begin() + ranges.count,
            [](const ByteRange& a, const ByteRange& b) { return a.first < b.first; });
  ResolvedRanges out;
  for (size_t at = 0; at < ranges.count;) {
    ByteRange joined = sorted[at++];
    while (at < ranges.count &&
           (sorted[at].first <= joined.last || sorted[at].first - joined.last - 1 <= gap_bytes)) {
      joined.last = std::max(joined.last, sorted[at++].last);
    }
    append(out, joined);
  }
  return out;
}

std::optional<ContentRange> parseContentRange(std::string_view value) {
  if (value.size() <= kBytes.size() || value[kBytes.size()] != ' ' ||
      !equalsIgnoreCase(value.substr(0, kBytes.size()), kBytes)) {
    return std::nullopt;
  }
  value.remove_prefix(kBytes.size() + 1);
  const size_t slash = value.find('/');
  if (slash == value.npos) {
    return std::nullopt;
  }
  const std::string_view range_text = value.substr(0, slash);
  const std::string_view length_text = value.substr(slash + 1);
  ContentRange out;
  if (length_text != "*") {
    out.length = parseDecimal(length_text);
    if (!out.length.has_value()) {
      return std::nullopt;
    }
  }
  if (range_text == "*") {
    return out.length.has_value() ? std::optional<ContentRange>(out) : std::nullopt;
  }
  const size_t dash = range_text.find('-');
  if (dash == range_text.npos) {
    return std::nullopt;
  }
  const std::optional<uint64_t> first = parseDecimal(range_text.substr(0, dash));
  const std::optional<uint64_t> last = parseDecimal(range_text.substr(dash + 1));
  if (!first.has_value() || !last.has_value() || *last < *first || *last == UINT64_MAX ||
      (out.length.has_value() && *last >= *out.length)) {
    return std::nullopt;
  }
  out.range = ByteRange{*first, *last};
  return out;
}

std::string_view writeContentRange(const ContentRange& value,
                                   std::span<char, kContentRangeSize> out) {
  std::array<char, kDecimalSize> digits;
  HeadWriter writer(out);
  writer.text("bytes ");
  if (value.range.has_value()) {
    writer.text(writeDecimal(value.range->first, digits));
    writer.text("-");
    writer.text(writeDecimal(value.range->last, digits));
  } else {
    writer.text("*");
  }
  writer.text("/");
  writer.text(value.length.has_value() ? writeDecimal(*value.length, digits) : "*");
  return writer.written();
}

std::optional<IfRange> parseIfRange(std::string_view value, base::UnixSeconds now) {
  if (const std::optional<EntityTag> tag = parseEntityTag(value); tag.has_value()) {
    return IfRange(*tag);
  }
  if (const std::optional<base::UnixSeconds> date = parseDate(value, now); date.has_value()) {
    return IfRange(*date);
  }
  return std::nullopt;
}

}  // namespace http
