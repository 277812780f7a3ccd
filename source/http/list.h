// Comma-separated lists, parameters and weights (RFC 9110 5.6.1, 5.6.4, 5.6.6, 12.4.2). Readers are
// cursors over the received text: they allocate nothing and hand out views.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "source/http/head.h"

namespace http {

// The elements of one field value, without surrounding white space; empty elements are skipped. A
// comma in a quoted-string does not divide.
class ListReader {
 public:
  ListReader() = default;
  explicit ListReader(std::string_view value) : rest_(value) {}

  std::optional<std::string_view> next();
  // A quoted-string was not closed: its element reached to the end of the value.
  bool malformed() const { return malformed_; }

 private:
  std::string_view rest_;
  bool malformed_ = false;
};

// The same over all field lines of a name, in order.
class FieldList {
 public:
  FieldList(const Fields& fields, Name id);

  std::optional<std::string_view> next();
  bool malformed() const { return malformed_ || reader_.malformed(); }

 private:
  const Fields& fields_;
  Name id_;
  size_t line_ = 0;
  ListReader reader_;
  bool malformed_ = false;
};

// The list holds that token, in any letter case.
bool listContains(const Fields& fields, Name id, std::string_view token);

// "name", "name=value" or "name=\"value\"": a cache directive, a parameter.
struct Directive {
  std::string_view name;
  std::string_view value;  // between the quotes when quoted, still escaped
  bool has_value = false;
  bool quoted = false;
};
// nullopt when the name is no token, or a value is neither a token nor one whole quoted-string. No
// white space may surround "=".
std::optional<Directive> parseDirective(std::string_view element);

// What follows the first ";" of an element, one parameter a call: `;name=value`, names in any
// letter case.
class ParameterReader {
 public:
  // element: "gzip;q=0.5"; head() is then "gzip".
  explicit ParameterReader(std::string_view element);

  std::string_view head() const { return head_; }
  // Empty parameters are skipped (RFC 9110 5.6.6). A malformed one ends the reading.
  std::optional<Directive> next();
  bool malformed() const { return malformed_; }

 private:
  std::string_view head_;
  std::string_view rest_;
  bool malformed_ = false;
};

// The value of a quoted-string without its escapes, written to out when there are any; out must be
// as long as value. The result is a view of value or of out.
std::string_view unescapeQuoted(std::string_view value, std::span<char> out);

// A qvalue in thousandths (RFC 9110 12.4.2); nullopt when malformed.
std::optional<uint16_t> parseQvalue(std::string_view text);

// An element of Accept-Encoding, TE or the like: its name and weight (1000 without a "q").
struct Weighted {
  std::string_view name;
  uint16_t weight = 1000;
};
// nullopt when the element or its weight is malformed. Parameters other than "q" are ignored.
std::optional<Weighted> parseWeighted(std::string_view element);

}  // namespace http
