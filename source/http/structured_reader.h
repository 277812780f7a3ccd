// The bare items of structured fields (RFC 9651 4.2.3.1 to 4.2.10). Internal to this module.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "source/http/structured.h"

namespace http::structured::internal {

// A cursor over one field value.
class Reader {
 public:
  explicit Reader(std::string_view text) : rest_(text) {}

  bool atEnd() const { return rest_.empty(); }
  // The next character, or NUL at the end.
  char peek() const { return rest_.empty() ? '\0' : rest_.front(); }
  // Consumes c if it is next.
  bool take(char c);
  void skipSpaces();
  void skipOws();

  // Each consumes what it returns; nullopt when there is none of that kind.
  std::optional<std::string> key();
  std::optional<std::string> token();
  std::optional<BareItem> bareItem();

 private:
  std::optional<BareItem> number();
  std::optional<BareItem> string();
  std::optional<BareItem> byteSequence();
  std::optional<BareItem> boolean();
  std::optional<BareItem> date();
  std::optional<BareItem> displayString();

  std::string_view rest_;
};

}  // namespace http::structured::internal
