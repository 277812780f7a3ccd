#include "source/config/load/scalar.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <utility>

#include "source/http/grammar.h"
#include "source/http/head.h"

namespace config {
namespace {

constexpr uint64_t kNanosecondsPerSecond = 1000000000;

bool isDigit(char c) {
  return c >= '0' && c <= '9';
}

size_t digitsAt(std::string_view text, size_t at) {
  size_t end = at;
  while (end < text.size() && isDigit(text[end])) {
    end++;
  }
  return end - at;
}

// [-+] digits [ . digits ] [ e [-+] digits ], with a digit on one side of the point at least.
bool isDecimal(std::string_view text) {
  size_t at = text.starts_with('-') || text.starts_with('+') ? 1 : 0;
  const size_t whole = digitsAt(text, at);
  at += whole;
  size_t fraction = 0;
  if (at < text.size() && text[at] == '.') {
    fraction = digitsAt(text, at + 1);
    at += 1 + fraction;
  }
  if (whole + fraction == 0) {
    return false;
  }
  if (at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
    at++;
    at += at < text.size() && (text[at] == '-' || text[at] == '+') ? 1 : 0;
    const size_t exponent = digitsAt(text, at);
    at += exponent;
    if (exponent == 0) {
      return false;
    }
  }
  return at == text.size();
}

bool isPrefixed(std::string_view text) {
  return text.starts_with("0x") || text.starts_with("0X") || text.starts_with("0o");
}

std::optional<uint64_t> parseDigits(std::string_view text, int base) {
  uint64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value, base);
  if (text.empty() || error != std::errc() || stop != end) {
    return std::nullopt;
  }
  return value;
}

// A decimal number times `scale`, when that is whole and fits 64 bits; 18 digits at most, so that
// no product here leaves 128 bits.
std::optional<uint64_t> parseScaled(std::string_view text, uint64_t scale) {
  const size_t whole = digitsAt(text, 0);
  std::string_view fraction;
  if (whole < text.size()) {
    if (text[whole] != '.' || digitsAt(text, whole + 1) != text.size() - whole - 1) {
      return std::nullopt;
    }
    fraction = text.substr(whole + 1);
  }
  if (whole + fraction.size() == 0 || whole + fraction.size() > 18) {
    return std::nullopt;
  }
  unsigned __int128 value = 0;
  unsigned __int128 divisor = 1;
  for (const char c : text) {
    value = c == '.' ? value : value * 10 + static_cast<unsigned>(c - '0');
  }
  for (size_t i = 0; i < fraction.size(); i++) {
    divisor *= 10;
  }
  value *= scale;
  if (value % divisor != 0 || value / divisor > UINT64_MAX) {
    return std::nullopt;
  }
  return static_cast<uint64_t>(value / divisor);
}

using Unit = std::pair<std::string_view, uint64_t>;
template <size_t N>
const Unit* findUnit(const std::array<Unit, N>& units, std::string_view name) {
  const auto at = std::find_if(units.begin(), units.end(), [name](const Unit& unit) {
    return http::equalsIgnoreCase(unit.first, name);
  });
  return at == units.end() ? nullptr : &*at;
}

constexpr uint64_t kMinute_ns = 60 * kNanosecondsPerSecond;
constexpr std::array kDurationUnits = std::to_array<Unit>({
    {"", kNanosecondsPerSecond},
    {"ns", 1},
    {"us", 1000},
    {"ms", 1000000},
    {"s", kNanosecondsPerSecond},
    {"sec", kNanosecondsPerSecond},
    {"second", kNanosecondsPerSecond},
    {"seconds", kNanosecondsPerSecond},
    {"m", kMinute_ns},
    {"min", kMinute_ns},
    {"minute", kMinute_ns},
    {"minutes", kMinute_ns},
    {"h", 60 * kMinute_ns},
    {"hour", 60 * kMinute_ns},
    {"hours", 60 * kMinute_ns},
    {"d", 1440 * kMinute_ns},
    {"day", 1440 * kMinute_ns},
    {"days", 1440 * kMinute_ns},
    {"w", 10080 * kMinute_ns},
});

// An operator who writes 10GB for a cache means the binary unit as often as not; the suggestion
// shows the number, so that the choice is seen.
constexpr std::array kSizeUnits = std::to_array<Unit>({
    {"b", 1},
    {"k", uint64_t{1} << 10},
    {"kb", 1000},
    {"kib", uint64_t{1} << 10},
    {"m", uint64_t{1} << 20},
    {"mb", 1000000},
    {"mib", uint64_t{1} << 20},
    {"g", uint64_t{1} << 30},
    {"gb", 1000000000},
    {"gib", uint64_t{1} << 30},
    {"t", uint64_t{1} << 40},
    {"tb", 1000000000000},
    {"tib", uint64_t{1} << 40},
});

size_t numberBytes(std::string_view text) {
  return std::min(text.find_first_not_of("0123456789."), text.size());
}

std::string_view lettersOf(std::string_view text) {
  const auto end = std::find_if(text.begin(), text.end(),
                                [](char c) { return isDigit(c) || c == '.' || c == ' '; });
  return text.substr(0, end - text.begin());
}

std::string_view withoutSpaces(std::string_view text) {
  return text.substr(std::min(text.find_first_not_of(' '), text.size()));
}

}  // namespace

PlainType plainType(std::string_view text) {
  if (parseBool(text).has_value()) {
    return PlainType::boolean;
  }
  const bool prefixed = isPrefixed(text) && parseUnsigned(text).has_value();
  return prefixed || isDecimal(text) ? PlainType::number : PlainType::text;
}

std::optional<bool> parseBool(std::string_view text) {
  constexpr std::array kWords = std::to_array<std::pair<std::string_view, bool>>({{"true", true},
                                                                                  {"false", false},
                                                                                  {"yes", true},
                                                                                  {"no", false},
                                                                                  {"on", true},
                                                                                  {"off", false}});
  for (const auto& [word, value] : kWords) {
    const auto upper = [](char c) { return c >= 'A' && c <= 'Z'; };
    const std::string_view tail = text.substr(std::min<size_t>(1, text.size()));
    const bool lower_tail = std::none_of(tail.begin(), tail.end(), upper);
    if (http::equalsIgnoreCase(text, word) &&
        (lower_tail || std::all_of(text.begin(), text.end(), upper))) {
      return value;
    }
  }
  return std::nullopt;
}

std::optional<uint64_t> parseUnsigned(std::string_view text) {
  if (isPrefixed(text)) {
    return parseDigits(text.substr(2), text[1] == 'o' ? 8 : 16);
  }
  if (digitsAt(text, 0) == text.size()) {
    const bool octal_or_decimal = text.size() > 1 && text.front() == '0';
    return octal_or_decimal ? std::nullopt : parseDigits(text, 10);
  }
  if (!isDecimal(text)) {
    return std::nullopt;
  }
  double value = 0;
  const auto error = std::from_chars(text.data(), text.data() + text.size(), value).ec;
  constexpr double kExactIntegers = 9007199254740992.0;  // 2^53
  if (error != std::errc() || value < 0 || value > kExactIntegers || value != std::floor(value)) {
    return std::nullopt;
  }
  return static_cast<uint64_t>(value);
}

std::optional<int64_t> parseSigned(std::string_view text) {
  const bool negative = text.starts_with('-');
  const std::optional<uint64_t> magnitude = parseUnsigned(text.substr(negative ? 1 : 0));
  const uint64_t limit = static_cast<uint64_t>(INT64_MAX) + (negative ? 1 : 0);
  if (!magnitude.has_value() || *magnitude > limit) {
    return std::nullopt;
  }
  return static_cast<int64_t>(negative ? uint64_t{0} - *magnitude : *magnitude);
}

std::optional<ParsedDuration> parseDuration(std::string_view text) {
  if (!text.ends_with('s')) {
    return std::nullopt;
  }
  text.remove_suffix(1);
  const size_t point = std::min(text.find('.'), text.size());
  const std::optional<uint64_t> whole = parseDigits(text.substr(0, point), 10);
  if (!whole.has_value() || *whole > static_cast<uint64_t>(kMaxDuration_s)) {
    return std::nullopt;
  }
  ParsedDuration duration{static_cast<int64_t>(*whole), 0};
  if (point < text.size()) {
    std::string fraction(text.substr(point + 1));
    const std::optional<uint64_t> digits = parseDigits(fraction, 10);
    if (!digits.has_value() || fraction.size() > 9) {
      return std::nullopt;
    }
    fraction.resize(9, '0');
    duration.nanos = static_cast<int32_t>(*parseDigits(fraction, 10));
  }
  return duration;
}

std::string formatDuration(uint64_t ns) {
  std::string text = std::to_string(ns / kNanosecondsPerSecond);
  const uint64_t rest = ns % kNanosecondsPerSecond;
  if (rest != 0) {
    std::string fraction = std::to_string(kNanosecondsPerSecond + rest).substr(1);
    fraction.erase(fraction.find_last_not_of('0') + 1);
    text += "." + fraction;
  }
  return text + "s";
}

std::string formatDurationMs(uint64_t ms) {
  return formatDuration(ms * 1000000);
}

std::string guessDuration(std::string_view text) {
  unsigned __int128 total_ns = 0;
  bool any = false;
  while (!text.empty()) {
    const std::string_view number = text.substr(0, numberBytes(text));
    text = withoutSpaces(text.substr(number.size()));
    const std::string_view name = lettersOf(text);
    text = withoutSpaces(text.substr(name.size()));
    const Unit* unit = findUnit(kDurationUnits, name);
    if (number.empty() || unit == nullptr) {
      return "";
    }
    const std::optional<uint64_t> ns = parseScaled(number, unit->second);
    if (!ns.has_value()) {
      return "";
    }
    total_ns += *ns;
    any = true;
  }
  return any && total_ns <= UINT64_MAX ? formatDuration(static_cast<uint64_t>(total_ns)) : "";
}

std::string guessNumber(std::string_view text, uint64_t unit) {
  const std::string_view number = text.substr(0, numberBytes(text));
  if (!number.empty() && number.size() < text.size()) {
    const Unit* size = findUnit(kSizeUnits, withoutSpaces(text.substr(number.size())));
    const std::optional<uint64_t> bytes =
        size == nullptr ? std::nullopt : parseScaled(number, size->second);
    if (bytes.has_value() && *bytes % unit == 0) {
      return std::to_string(*bytes / unit);
    }
  }
  std::string bare(text);
  std::erase_if(bare, [](char c) { return c == '_' || c == ',' || c == '\'' || c == ' '; });
  const bool leading_zero = bare.size() > 1 && bare.front() == '0';
  const size_t first = leading_zero ? bare.find_first_not_of('0') : 0;
  bare.erase(0, first == std::string::npos ? bare.size() - 1 : first);
  return bare != text && parseUnsigned(bare).has_value() ? bare : "";
}

}  // namespace config
