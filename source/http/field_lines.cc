#include "source/http/field_lines.h"

#include <bit>

#include "source/http/grammar.h"
#include "source/http/name_table.h"

namespace http::internal {
const char* parseFieldLines(const char* p, Readable in, FieldLineLimits limits, Fields& out) {
  for (uint32_t count = 0; !isCrlf(p, in); count++) {
    if (count == limits.fields) {
      return nullptr;
    }
    // A line that begins with white space (obs-fold), an empty name and white space before the
    // colon all end the token at something that is not a colon behind a name.
    const __m128i head = load16(p, in);
    const uint32_t name_mask = outside(kTcharNibbles, head);
    size_t name_size = static_cast<size_t>(std::countr_zero(name_mask));
    bool colon = (name_mask & (0U - name_mask) & equalTo(head, ':')) != 0;
    if (name_mask == 0) [[unlikely]] {
      const char* const name_end = tokenEnd(p + 16, in);
      name_size = static_cast<size_t>(name_end - p);
      colon = name_end != in.end && *name_end == ':';
    }
    if (name_size == 0 || !colon) {
      return nullptr;
    }
    const char* value = p + name_size + 1;
    const char* const line_end = valueEnd(value, in);
    if (!isCrlf(line_end, in) || line_end - p > static_cast<ptrdiff_t>(limits.line_bytes)) {
      return nullptr;
    }
    while (value != line_end && isOws(*value)) {
      value++;
    }
    const char* value_end = line_end;
    while (value_end != value && isOws(value_end[-1])) {
      value_end--;
    }
    out.add(nameOfToken(p, name_size, head, in), std::string_view(p, name_size),
            std::string_view(value, static_cast<size_t>(value_end - value)));
    p = line_end + 2;
  }
  return p + 2;
}

}  // namespace http::internal
