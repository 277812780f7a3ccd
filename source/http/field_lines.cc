#include "source/http/field_lines.h"

#include "source/http/grammar.h"
#include "source/http/name_table.h"

namespace http::internal {
namespace {

bool isCrlf(const char* p, const char* end) {
  return end - p >= 2 && p[0] == '\r' && p[1] == '\n';
}

}  // namespace

const char* parseFieldLines(const char* p, Readable in, FieldLineLimits limits, Fields& out) {
  for (uint32_t count = 0;; count++) {
    if (isCrlf(p, in.end)) {
      return p + 2;
    }
    if (count == limits.fields) {
      return nullptr;
    }
    const char* const line = p;
    // A line that begins with white space (obs-fold), an empty name and white space before the
    // colon all end the token at something that is not a colon behind a name.
    const char* const colon = tokenEnd(line, in);
    if (colon == line || colon == in.end || *colon != ':') {
      return nullptr;
    }
    const char* value = colon + 1;
    while (value != in.end && isOws(*value)) {
      value++;
    }
    const char* const line_end = valueEnd(value, in);
    if (!isCrlf(line_end, in.end) || line_end - line > static_cast<ptrdiff_t>(limits.line_bytes)) {
      return nullptr;
    }
    const char* value_end = line_end;
    while (value_end != value && isOws(value_end[-1])) {
      value_end--;
    }
    const std::string_view name(line, static_cast<size_t>(colon - line));
    out.add(nameOfToken(name), name,
            std::string_view(value, static_cast<size_t>(value_end - value)));
    p = line_end + 2;
  }
}

}  // namespace http::internal
