// Writing message heads, without formatting machinery: into a fixed buffer, or onto a string.
// Nothing is checked: values come from parsed heads or were checked with isToken() and
// isFieldValue().
#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

#include "source/http/head.h"

namespace http {

// The registered phrase of a status code, or an empty view.
std::string_view reasonPhrase(uint16_t status);

inline constexpr size_t kDecimalSize = 20;
// Decimal digits, right-aligned in out; returns the part used.
std::string_view writeDecimal(uint64_t value, std::span<char, kDecimalSize> out);

// Writes into a caller's buffer. Once something does not fit, nothing more is written and ok() is
// false; size() is then still what was written whole.
class HeadWriter {
 public:
  explicit HeadWriter(std::span<char> out)
      : begin_(out.data()), at_(out.data()), end_(out.data() + out.size()) {}

  // "HTTP/1.1 200 OK"; the registered phrase when reason is empty.
  void statusLine(uint16_t status, std::string_view reason = {});
  // "GET /path HTTP/1.1"
  void requestLine(std::string_view method, std::string_view target);
  void field(std::string_view name, std::string_view value);
  void field(std::string_view name, uint64_t value);
  void field(Name name, std::string_view value) { field(spelling(name), value); }
  void field(Name name, uint64_t value) { field(spelling(name), value); }
  void field(const Field& f) { field(f.name, f.value); }
  // The blank line.
  void end() { text("\r\n"); }
  // Bytes as they are.
  void text(std::string_view bytes);

  bool ok() const { return ok_; }
  size_t size() const { return static_cast<size_t>(at_ - begin_); }
  std::string_view written() const { return {begin_, size()}; }

 private:
  char* reserve(size_t bytes);

  char* begin_;
  char* at_;
  char* end_;
  bool ok_ = true;
};

// The same onto a string.
void appendStatusLine(std::string& out, uint16_t status, std::string_view reason = {});
void appendRequestLine(std::string& out, std::string_view method, std::string_view target);
void appendField(std::string& out, std::string_view name, std::string_view value);
void appendField(std::string& out, std::string_view name, uint64_t value);
inline void appendField(std::string& out, Name name, std::string_view value) {
  appendField(out, spelling(name), value);
}
inline void appendField(std::string& out, Name name, uint64_t value) {
  appendField(out, spelling(name), value);
}
void appendFields(std::string& out, const Fields& fields);
inline void appendHeadEnd(std::string& out) {
  out.append("\r\n", 2);
}

}  // namespace http
