#include "source/http/structured_reader.h"

#include "source/http/grammar.h"

namespace http::structured::internal {
namespace {

constexpr size_t kMaxIntegerDigits = 15;
constexpr size_t kMaxDecimalWholeDigits = 12;
constexpr size_t kMaxDecimalFractionDigits = 3;

bool isLowerAlpha(char c) {
  return c >= 'a' && c <= 'z';
}
bool isAlpha(char c) {
  return isLowerAlpha(toLower(c));
}

size_t countDigits(std::string_view text) {
  size_t count = 0;
  while (count < text.size() && is(kDigit, text[count])) {
    count++;
  }
  return count;
}

int base64Value(char c) {
  if (c >= 'A' && c <= 'Z') {
    return c - 'A';
  }
  if (c >= 'a' && c <= 'z') {
    return c - 'a' + 26;
  }
  if (is(kDigit, c)) {
    return c - '0' + 52;
  }
  return c == '+' ? 62 : c == '/' ? 63 : -1;
}

// Padding may be missing and the bits left over may be anything (RFC 9651 4.2.7).
std::optional<std::string> decodeBase64(std::string_view text) {
  size_t padding = 0;
  while (padding < 2 && text.ends_with('=')) {
    text.remove_suffix(1);
    padding++;
  }
  const size_t tail = text.size() % 4;
  if (tail == 1 || (padding != 0 && (tail + padding) != 4)) {
    return std::nullopt;
  }
  std::string out;
  uint32_t bits = 0;
  uint32_t held = 0;
  for (const char c : text) {
    const int value = base64Value(c);
    if (value < 0) {
      return std::nullopt;
    }
    bits = bits << 6 | static_cast<uint32_t>(value);
    held += 6;
    if (held >= 8) {
      held -= 8;
      out.push_back(static_cast<char>(bits >> held));
    }
  }
  return out;
}

// The number of bytes of the UTF-8 sequence that begins with this byte, 0 for none (RFC 3629
// section 4).
size_t sequenceSize(uint8_t lead) {
  if (lead < 0x80) {
    return 1;
  }
  if (lead >= 0xc2 && lead <= 0xdf) {
    return 2;
  }
  if ((lead & 0xf0) == 0xe0) {
    return 3;
  }
  return lead >= 0xf0 && lead <= 0xf4 ? 4 : 0;
}

bool isUtf8(std::string_view text) {
  while (!text.empty()) {
    const uint8_t lead = static_cast<uint8_t>(text[0]);
    const size_t size = sequenceSize(lead);
    if (size == 0 || size > text.size()) {
      return false;
    }
    for (size_t at = 1; at < size; at++) {
      if ((static_cast<uint8_t>(text[at]) & 0xc0) != 0x80) {
        return false;
      }
    }
    const uint8_t second = size > 1 ? static_cast<uint8_t>(text[1]) : 0x80;
    // Overlong forms, surrogates, and what lies above U+10FFFF.
    if ((lead == 0xe0 && second < 0xa0) || (lead == 0xed && second > 0x9f) ||
        (lead == 0xf0 && second < 0x90) || (lead == 0xf4 && second > 0x8f)) {
      return false;
    }
    text.remove_prefix(size);
  }
  return true;
}

int lowerHexValue(char c) {
  return c >= 'A' && c <= 'F' ? -1 : hexValue(c);
}

}  // namespace

bool Reader::take(char c) {
  if (rest_.empty() || rest_.front() != c) {
    return false;
  }
  rest_.remove_prefix(1);
  return true;
}

void Reader::skipSpaces() {
  while (take(' ')) {
  }
}

void Reader::skipOws() {
  while (take(' ') || take('\t')) {
  }
}

// RFC 9651 4.2.3.3
std::optional<std::string> Reader::key() {
  if (!isLowerAlpha(peek()) && peek() != '*') {
    return std::nullopt;
  }
  size_t size = 1;
  while (size < rest_.size()) {
    const char c = rest_[size];
    if (!isLowerAlpha(c) && !is(kDigit, c) && c != '_' && c != '-' && c != '.' && c != '*') {
      break;
    }
    size++;
  }
  std::string out(rest_.substr(0, size));
  rest_.remove_prefix(size);
  return out;
}

// RFC 9651 4.2.6
std::optional<std::string> Reader::token() {
  if (!isAlpha(peek()) && peek() != '*') {
    return std::nullopt;
  }
  size_t size = 1;
  while (size < rest_.size() &&
         (is(kTchar, rest_[size]) || rest_[size] == ':' || rest_[size] == '/')) {
    size++;
  }
  std::string out(rest_.substr(0, size));
  rest_.remove_prefix(size);
  return out;
}

// RFC 9651 4.2.3.1
std::optional<BareItem> Reader::bareItem() {
  const char c = peek();
  if (c == '-' || is(kDigit, c)) {
    return number();
  }
  switch (c) {
    case '"':
      return string();
    case ':':
      return byteSequence();
    case '?':
      return boolean();
    case '@':
      return date();
    case '%':
      return displayString();
    default:
      break;
  }
  std::optional<std::string> text = token();
  return text.has_value() ? std::optional<BareItem>(Token{std::move(*text)}) : std::nullopt;
}

// RFC 9651 4.2.4
std::optional<BareItem> Reader::number() {
  const int64_t sign = take('-') ? -1 : 1;
  const size_t whole = countDigits(rest_);
  const std::string_view whole_text = rest_.substr(0, whole);
  if (whole == 0 || whole > kMaxIntegerDigits) {
    return std::nullopt;
  }
  const int64_t value = static_cast<int64_t>(*parseDecimal(whole_text));
  rest_.remove_prefix(whole);
  if (!take('.')) {
    return BareItem(sign * value);
  }
  const size_t fraction = countDigits(rest_);
  if (whole > kMaxDecimalWholeDigits || fraction == 0 || fraction > kMaxDecimalFractionDigits) {
    return std::nullopt;
  }
  int64_t thousandths = value * 1000;
  int64_t unit = 100;
  for (const char c : rest_.substr(0, fraction)) {
    thousandths += (c - '0') * unit;
    unit /= 10;
  }
  rest_.remove_prefix(fraction);
  return BareItem(Decimal{sign * thousandths});
}

// RFC 9651 4.2.5
std::optional<BareItem> Reader::string() {
  rest_.remove_prefix(1);
  std::string out;
  while (!rest_.empty()) {
    char c = rest_.front();
    rest_.remove_prefix(1);
    if (c == '"') {
      return BareItem(std::move(out));
    }
    if (c == '\\') {
      c = peek();
      if (c != '"' && c != '\\') {
        return std::nullopt;
      }
      rest_.remove_prefix(1);
    } else if (c < 0x20 || c == 0x7f) {
      return std::nullopt;  // a char is signed here: bytes above 0x7f are below 0x20
    }
    out.push_back(c);
  }
  return std::nullopt;
}

// RFC 9651 4.2.7
std::optional<BareItem> Reader::byteSequence() {
  const size_t end = rest_.find(':', 1);
  if (end == rest_.npos) {
    return std::nullopt;
  }
  std::optional<std::string> bytes = decodeBase64(rest_.substr(1, end - 1));
  rest_.remove_prefix(end + 1);
  return bytes.has_value() ? std::optional<BareItem>(ByteSequence{std::move(*bytes)})
                           : std::nullopt;
}

// RFC 9651 4.2.8
std::optional<BareItem> Reader::boolean() {
  rest_.remove_prefix(1);
  if (take('1')) {
    return BareItem(true);
  }
  return take('0') ? std::optional<BareItem>(BareItem(false)) : std::nullopt;
}

// RFC 9651 4.2.9
std::optional<BareItem> Reader::date() {
  rest_.remove_prefix(1);
  const std::optional<BareItem> value = number();
  if (!value.has_value() || !std::holds_alternative<int64_t>(*value)) {
    return std::nullopt;
  }
  return BareItem(Date{std::get<int64_t>(*value)});
}

// RFC 9651 4.2.10
std::optional<BareItem> Reader::displayString() {
  rest_.remove_prefix(1);
  if (!take('"')) {
    return std::nullopt;
  }
  std::string out;
  while (!rest_.empty()) {
    const char c = rest_.front();
    rest_.remove_prefix(1);
    if (c == '"') {
      return isUtf8(out) ? std::optional<BareItem>(DisplayString{std::move(out)}) : std::nullopt;
    }
    if (c < 0x20 || c == 0x7f) {
      return std::nullopt;
    }
    if (c != '%') {
      out.push_back(c);
      continue;
    }
    const int high = rest_.size() >= 2 ? lowerHexValue(rest_[0]) : -1;
    const int low = high >= 0 ? lowerHexValue(rest_[1]) : -1;
    if (low < 0) {
      return std::nullopt;
    }
    out.push_back(static_cast<char>(high << 4 | low));
    rest_.remove_prefix(2);
  }
  return std::nullopt;
}

}  // namespace http::structured::internal
