// HTTP dates (RFC 9110 5.6.7): reads all three forms, writes the preferred one.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "source/base/types.h"

namespace http {

inline constexpr size_t kDateSize = 29;  // "Sun, 06 Nov 1994 08:49:37 GMT"

// nullopt unless the text is exactly one of the forms, in any letter case (RFC 9111 4.2), and names
// a date that exists. The weekday must be a weekday, but need not be that date's. A two-digit year
// is one that is at most 50 years after `now`.
std::optional<base::UnixSeconds> parseDate(std::string_view text, base::UnixSeconds now);

// IMF-fixdate. Times outside the years 0000 to 9999 are clamped to them.
void formatDate(base::UnixSeconds time, std::span<char, kDateSize> out);

// The current date as text, written anew only when the second has changed.
class DateCache {
 public:
  // Valid until the next call.
  std::string_view at(base::UnixSeconds now) {
    if (now != formatted_) {
      formatDate(now, text_);
      formatted_ = now;
    }
    return std::string_view(text_.data(), text_.size());
  }

 private:
  base::UnixSeconds formatted_{INT64_MIN};
  std::array<char, kDateSize> text_{};
};

}  // namespace http
