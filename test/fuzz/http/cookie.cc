// Fuzzes the Cookie field: every piece lies within its line, in order, and is found again.
#include "source/http/cookie.h"

#include <algorithm>
#include <string>

#include "test/fuzz/http/check.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text = fuzz::textOf(data, size);
  http::Fields fields;
  std::string_view rest = text;
  while (!rest.empty()) {
    const size_t end = std::min(rest.find('\n'), rest.size());
    fields.add("Cookie", rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  size_t count = 0;
  const char* before = text.data();
  http::forEachCookie(fields, [&](std::string_view name, std::string_view value) {
    fuzz::expectWithin(name, text);
    fuzz::expectWithin(value, text);
    CHECK(name.find('=') == name.npos && name.find(';') == name.npos);
    CHECK(value.find(';') == value.npos);
    if (!name.empty()) {
      CHECK(name.data() >= before);
      before = name.data() + name.size();
    }
    const auto found = http::findCookie(fields, name);
    CHECK(found.has_value());
    count++;
    return true;
  });
  CHECK(count <= static_cast<size_t>(std::count(text.begin(), text.end(), ';')) + fields.size());
  // The first of a name counts, and stopping stops.
  size_t taken = 0;
  http::forEachCookie(fields, [&](std::string_view, std::string_view) {
    taken++;
    return false;
  });
  CHECK(taken == std::min<size_t>(count, 1));
  return 0;
}
