// Goal: any format either compiles or is refused at a position inside it, and what compiles writes
// one whole line for any values: as text without a forged line end, as JSON that parses. Method:
// the input up to the first NUL is the format, the rest is the value of every field; the JSON is
// read by a small strict checker.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "source/base/check.h"
#include "source/telemetry/access_log.h"
#include "source/telemetry/escape.h"

namespace {

// Accepts what RFC 8259 does of objects whose values are strings, numbers and null.
class JsonChecker {
 public:
  explicit JsonChecker(std::string_view text) : text_(text) {}
  bool isObject() {
    if (!take('{')) {
      return false;
    }
    do {
      if (!string() || !take(':') || !value()) {
        return false;
      }
    } while (take(','));
    return take('}') && text_.empty();
  }

 private:
  bool take(char c) {
    if (text_.empty() || text_[0] != c) {
      return false;
    }
    text_.remove_prefix(1);
    return true;
  }
  bool value() {
    if (text_.starts_with("null")) {
      text_.remove_prefix(4);
      return true;
    }
    size_t digits = 0;
    while (digits < text_.size() && text_[digits] >= '0' && text_[digits] <= '9') {
      digits++;
    }
    if (digits > 0) {
      const bool fine = digits == 1 || text_[0] != '0';
      text_.remove_prefix(digits);
      return fine;
    }
    return string();
  }
  bool escape() {
    text_.remove_prefix(1);
    if (text_.empty()) {
      return false;
    }
    const char kind = text_[0];
    text_.remove_prefix(1);
    if (kind != 'u') {
      return std::string_view("\"\\/bfnrt").find(kind) != std::string_view::npos;
    }
    if (text_.size() < 4 ||
        text_.substr(0, 4).find_first_not_of("0123456789abcdefABCDEF") != std::string_view::npos) {
      return false;
    }
    text_.remove_prefix(4);
    return true;
  }
  bool string() {
    if (!take('"')) {
      return false;
    }
    while (!text_.empty() && text_[0] != '"') {
      if (text_[0] == '\\') {
        if (!escape()) {
          return false;
        }
        continue;
      }
      const size_t length = telemetry::utf8Length(text_);
      if (length == 0 || static_cast<uint8_t>(text_[0]) < 0x20) {
        return false;
      }
      text_.remove_prefix(length);
    }
    return take('"');
  }
  std::string_view text_;
};

std::optional<std::string_view> findAny(const void* head, std::string_view) {
  return *static_cast<const std::string_view*>(head);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const size_t nul = std::min(input.find('\0'), input.size());
  const std::string_view format = input.substr(0, nul);
  const std::string_view value = input.substr(std::min(nul + 1, input.size()));

  telemetry::AccessEntry entry;
  entry.start_unix_ms = static_cast<int64_t>(size) * 123456789;
  entry.method = entry.path = entry.remote_ip = entry.cache_status = value;
  entry.request = entry.response = telemetry::FieldSource{&value, findAny};

  telemetry::AccessFormat text;
  const auto refused = telemetry::AccessFormat::compileText(format, text);
  if (refused) {
    CHECK(refused->position <= format.size());
    CHECK(!refused->message.empty());
  } else {
    std::string line;
    text.append(entry, line);
    CHECK(line.ends_with('\n'));
    // Line ends come from the format, never from a value.
    CHECK(std::count(line.begin(), line.end(), '\n') <=
          std::count(format.begin(), format.end(), '\n') + 1);
  }

  const std::vector<std::pair<std::string, std::string>> members = {
      {std::string(value), std::string(format)}, {std::string(value) + "2", "%DURATION%"}};
  telemetry::AccessFormat object;
  const auto refused_json = telemetry::AccessFormat::compileJson(members, object);
  CHECK(refused_json.has_value() == refused.has_value());
  if (!refused_json) {
    std::string line;
    object.append(entry, line);
    CHECK(line.ends_with('\n'));
    line.pop_back();
    CHECK(JsonChecker(line).isObject());
  }
  return 0;
}
