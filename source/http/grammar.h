// Character classes of RFC 9110 section 5 as tables, and the predicates every parser here shares.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace http {

// Classes of a byte; a byte may be in several.
enum CharClass : uint8_t {
  kTchar = 1,      // RFC 9110 5.6.2
  kValueChar = 2,  // field-vchar, SP, HTAB and obs-text (RFC 9110 5.5)
  kDigit = 4,
  kHexDigit = 8,
  kUnreserved = 16,  // RFC 3986 2.3
  kRegName = 32,     // unreserved and sub-delims (RFC 3986 3.2.2)
  kTargetChar = 64,  // visible ASCII but '#', which no request-target carries
};

constexpr std::array<uint8_t, 256> makeCharTable() {
  std::array<uint8_t, 256> table{};
  constexpr std::string_view kMarks = "!#$%&'*+-.^_`|~";
  constexpr std::string_view kSubDelims = "!$&'()*+,;=";
  for (unsigned c = 0; c < 256; c++) {
    const bool digit = c >= '0' && c <= '9';
    const bool alpha = (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
    const bool hex = digit || (c >= 'A' && c <= 'F') || (c >= 'a' && c <= 'f');
    const char ch = static_cast<char>(c);
    const bool unreserved = digit || alpha || ch == '-' || ch == '.' || ch == '_' || ch == '~';
    uint8_t bits = 0;
    bits |= digit || alpha || (c < 128 && kMarks.find(ch) != kMarks.npos) ? kTchar : 0;
    bits |= c == '\t' || (c >= 0x20 && c != 0x7f) ? kValueChar : 0;
    bits |= digit ? kDigit : 0;
    bits |= hex ? kHexDigit : 0;
    bits |= unreserved ? kUnreserved : 0;
    bits |= unreserved || (c < 128 && kSubDelims.find(ch) != kSubDelims.npos) ? kRegName : 0;
    bits |= c > 0x20 && c < 0x7f && c != '#' ? kTargetChar : 0;
    table[c] = bits;
  }
  return table;
}
inline constexpr std::array<uint8_t, 256> kCharTable = makeCharTable();

constexpr bool is(CharClass wanted, char c) {
  return (kCharTable[static_cast<uint8_t>(c)] & wanted) != 0;
}
// Every byte is of that class. An empty text is.
constexpr bool all(CharClass wanted, std::string_view text) {
  uint8_t bits = wanted;
  for (const char c : text) {
    bits &= kCharTable[static_cast<uint8_t>(c)];
  }
  return bits != 0;
}

constexpr bool isToken(std::string_view text) {
  return !text.empty() && all(kTchar, text);
}
// What may stand behind the colon of a field line: also for values that come from a configuration.
constexpr bool isFieldValue(std::string_view text) {
  return all(kValueChar, text);
}

constexpr bool isOws(char c) {
  return c == ' ' || c == '\t';
}
constexpr std::string_view trimOws(std::string_view text) {
  while (!text.empty() && isOws(text.front())) {
    text.remove_prefix(1);
  }
  while (!text.empty() && isOws(text.back())) {
    text.remove_suffix(1);
  }
  return text;
}

constexpr char toLower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c;
}
constexpr char toUpper(char c) {
  return c >= 'a' && c <= 'z' ? static_cast<char>(c & ~0x20) : c;
}

// -1 when c is no hexadecimal digit.
constexpr int hexValue(char c) {
  if (c >= '0' && c <= '9') {
    return c - '0';
  }
  const char lower = toLower(c);
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

// 1*DIGIT and nothing else; nullopt also when the number does not fit 64 bits.
constexpr std::optional<uint64_t> parseDecimal(std::string_view text) {
  if (text.empty()) {
    return std::nullopt;
  }
  uint64_t value = 0;
  for (const char c : text) {
    const unsigned digit = static_cast<unsigned char>(c) - '0';
    if (digit > 9 || value > (UINT64_MAX - digit) / 10) {
      return std::nullopt;
    }
    value = value * 10 + digit;
  }
  return value;
}

}  // namespace http
