// Fuzzes Range, Content-Range, If-Range and lists of entity tags.
#include "source/http/range.h"

#include <array>

#include "source/http/etag.h"
#include "test/fuzz/http/check.h"

namespace {

void expectRanges(const http::RangeSet& set, uint64_t length) {
  const http::ResolvedRanges ranges = http::resolveRanges(set, length);
  CHECK(ranges.count <= set.count);
  for (const http::ByteRange& range : ranges.all()) {
    CHECK(range.first <= range.last);
    CHECK(range.last < length);
  }
  const http::ResolvedRanges joined = http::coalesceRanges(ranges, 10);
  CHECK(joined.count <= ranges.count);
  CHECK((joined.count == 0) == (ranges.count == 0));
  CHECK(joined.ascending);
  CHECK(!joined.overlapping);
  for (const http::ByteRange& range : ranges.all()) {
    bool covered = false;
    for (const http::ByteRange& wide : joined.all()) {
      covered |= wide.first <= range.first && range.last <= wide.last;
    }
    CHECK(covered);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text = fuzz::textOf(data, size);
  const auto parsed = http::parseRange(text);
  if (const auto* set = std::get_if<http::RangeSet>(&parsed); set != nullptr) {
    CHECK(set->count > 0);
    for (const uint64_t length : {uint64_t{0}, uint64_t{1}, uint64_t{1000}, UINT64_MAX}) {
      expectRanges(*set, length);
    }
  }
  if (const auto content = http::parseContentRange(text); content.has_value()) {
    std::array<char, http::kContentRangeSize> out;
    CHECK(http::parseContentRange(http::writeContentRange(*content, out)) == content);
  }
  static_cast<void>(http::parseIfRange(text, base::UnixSeconds{1700000000}));
  http::Fields fields;
  fields.add("If-None-Match", text);
  http::EntityTagList list(fields, http::Name::if_none_match);
  size_t tags = 0;
  for (auto tag = list.next(); tag.has_value(); tag = list.next()) {
    fuzz::expectWithin(tag->opaque, text);
    CHECK(tag->opaque.find('"') == tag->opaque.npos);
    tags++;
  }
  CHECK(!list.any() || (tags == 0 && !list.malformed()));
  CHECK(!http::parseEntityTag(text).has_value() || (tags == 1 && !list.malformed()));
  return 0;
}
