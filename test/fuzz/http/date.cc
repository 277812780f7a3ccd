// Fuzzes dates: what is read is written in the preferred form and read again as the same instant.
#include "source/http/date.h"

#include <array>

#include "test/fuzz/http/check.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text = fuzz::textOf(data, size);
  for (const int64_t now : {int64_t{0}, int64_t{1700000000}, INT64_MAX, INT64_MIN}) {
    const auto parsed = http::parseDate(text, base::UnixSeconds{now});
    if (!parsed.has_value()) {
      continue;
    }
    std::array<char, http::kDateSize> out;
    http::formatDate(*parsed, out);
    const auto again = http::parseDate(std::string_view(out.data(), out.size()), {});
    CHECK(again.has_value());
    // A two-digit year far from the years that can be written is clamped.
    CHECK(*again == *parsed || now == INT64_MAX || now == INT64_MIN);
  }
  return 0;
}
