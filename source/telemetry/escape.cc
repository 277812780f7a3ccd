#include "source/telemetry/escape.h"

#include <cstdint>

namespace telemetry {

namespace {

constexpr char kHex[] = "0123456789abcdef";

bool isContinuation(char c) {
  return (static_cast<uint8_t>(c) & 0xc0) == 0x80;
}

void appendJsonByte(uint8_t byte, std::string& out) {
  switch (byte) {
    case '"':
      out += "\\\"";
      return;
    case '\\':
      out += "\\\\";
      return;
    case '\n':
      out += "\\n";
      return;
    case '\r':
      out += "\\r";
      return;
    case '\t':
      out += "\\t";
      return;
    default:
      out += "\\u00";
      out += kHex[byte >> 4];
      out += kHex[byte & 15];
  }
}

// Bytes that `keeps` keeps stay, the others become \xHH.
template <class Keeps>
void appendHexEscaped(std::string_view bytes, Keeps keeps, std::string& out) {
  size_t begin = 0;
  for (size_t i = 0; i < bytes.size(); i++) {
    const uint8_t byte = static_cast<uint8_t>(bytes[i]);
    if (!keeps(byte)) {
      out.append(bytes.substr(begin, i - begin));
      out += "\\x";
      out += kHex[byte >> 4];
      out += kHex[byte & 15];
      begin = i + 1;
    }
  }
  out.append(bytes.substr(begin));
}

bool isPlain(uint8_t byte) {
  return byte >= 0x20 && byte < 0x7f && byte != '"' && byte != '\\';
}

}  // namespace

size_t utf8Length(std::string_view bytes) {
  if (bytes.empty()) {
    return 0;
  }
  const uint8_t lead = static_cast<uint8_t>(bytes[0]);
  if (lead < 0x80) {
    return 1;
  }
  const size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || bytes.size() < length) {
    return 0;
  }
  for (size_t i = 1; i < length; i++) {
    if (!isContinuation(bytes[i])) {
      return 0;
    }
  }
  // Overlong forms, surrogates and what lies above U+10FFFF show in the second byte.
  const uint8_t second = static_cast<uint8_t>(bytes[1]);
  const bool wrong = (lead == 0xe0 && second < 0xa0) || (lead == 0xed && second > 0x9f) ||
                     (lead == 0xf0 && second < 0x90) || (lead == 0xf4 && second > 0x8f);
  return wrong ? 0 : length;
}

std::string_view cutUtf8(std::string_view bytes, size_t limit) {
  if (bytes.size() <= limit) {
    return bytes;
  }
  size_t begin = limit;  // of the sequence that the cut would split
  while (begin > 0 && limit - begin < 3 && isContinuation(bytes[begin])) {
    begin--;
  }
  const size_t length = utf8Length(bytes.substr(begin));
  return bytes.substr(0, begin < limit && begin + length > limit ? begin : limit);
}

void appendJsonEscaped(std::string_view bytes, std::string& out) {
  size_t begin = 0;
  size_t i = 0;
  while (i < bytes.size()) {
    const uint8_t byte = static_cast<uint8_t>(bytes[i]);
    const size_t keep = isPlain(byte) ? 1 : byte < 0x80 ? 0 : utf8Length(bytes.substr(i));
    if (keep > 0) {
      i += keep;
      continue;
    }
    out.append(bytes.substr(begin, i - begin));
    appendJsonByte(byte, out);
    begin = ++i;
  }
  out.append(bytes.substr(begin));
}

void appendTextEscaped(std::string_view bytes, std::string& out) {
  appendHexEscaped(bytes, isPlain, out);
}

void appendControlEscaped(std::string_view bytes, std::string& out) {
  appendHexEscaped(bytes, [](uint8_t byte) { return byte >= 0x20 && byte != 0x7f; }, out);
}

}  // namespace telemetry
