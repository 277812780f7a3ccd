// Fuzzes answers to several ranges: whatever is asked for, the parts are those ranges, and the body
// is as long as it said. Input: two lines, a Range value and a Content-Type.
#include "source/http/multipart.h"

#include <algorithm>
#include <string>

#include "source/http/grammar.h"
#include "test/fuzz/http/check.h"

namespace {

// What a reader of the body finds: the content range of each part, by cutting at the boundary.
void expectBody(const http::MultipartRanges& ranges, std::string_view body, uint64_t length) {
  const std::string type = ranges.contentType();
  const std::string_view boundary = std::string_view(type).substr(type.find('=') + 1);
  const std::string delimiter = "--" + std::string(boundary);
  CHECK(body.starts_with(delimiter + "\r\n"));
  CHECK(body.ends_with("\r\n" + delimiter + "--\r\n"));
  for (const http::ByteRange& part : ranges.parts()) {
    body.remove_prefix(body.find(delimiter) + delimiter.size());
    const size_t blank = body.find("\r\n\r\n");
    const std::string_view head = body.substr(0, blank);
    const size_t at = head.rfind("\r\nContent-Range: ");
    CHECK(at != head.npos);
    const auto range = http::parseContentRange(head.substr(at + 17));
    CHECK(range.has_value() && range->range == part && range->length == length);
    const std::string_view bytes = body.substr(blank + 4, part.length());
    CHECK(bytes == std::string(part.length(), 'x'));
    body.remove_prefix(blank + 4 + part.length());
    CHECK(body.starts_with("\r\n" + delimiter));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  constexpr uint64_t kLength = 1000;
  const std::string_view text = fuzz::textOf(data, size);
  const size_t end = std::min(text.find('\n'), text.size());
  const auto parsed = http::parseRange(text.substr(0, end));
  const std::string_view type = http::trimOws(text.substr(std::min(end + 1, text.size())));
  const auto* set = std::get_if<http::RangeSet>(&parsed);
  if (set == nullptr || !http::isFieldValue(type)) {
    return 0;
  }
  const http::ResolvedRanges resolved = http::resolveRanges(*set, kLength);
  if (resolved.count == 0) {
    return 0;
  }
  const http::MultipartRanges ranges({resolved.all(), kLength, type}, base::Hash128{size, 1});
  std::string body;
  for (size_t i = 0; i < ranges.parts().size(); i++) {
    ranges.appendPartHead(i, body);
    body.append(ranges.parts()[i].length(), 'x');
  }
  ranges.appendEnd(body);
  CHECK(body.size() == ranges.bodyBytes());
  expectBody(ranges, body, kLength);
  return 0;
}
