#include "source/http/list.h"

#include "source/base/check.h"
#include "source/http/grammar.h"

namespace http {
namespace {

// The position of the first `separator` outside quoted-strings, or the size. Sets open when a
// quoted-string is not closed.
size_t findOutsideQuotes(std::string_view text, char separator, bool& open) {
  bool quoted = false;
  for (size_t at = 0; at < text.size(); at++) {
    const char c = text[at];
    if (c == '"') {
      quoted = !quoted;
    } else if (quoted && c == '\\') {
      at++;
    } else if (!quoted && c == separator) {
      return at;
    }
  }
  open |= quoted;
  return text.size();
}

// The text is one whole quoted-string (RFC 9110 5.6.4), quotes included.
bool isQuotedString(std::string_view text) {
  if (text.size() < 2 || text.front() != '"' || text.back() != '"') {
    return false;
  }
  text = text.substr(1, text.size() - 2);
  for (size_t at = 0; at < text.size(); at++) {
    if (text[at] == '\\') {
      at++;
      if (at == text.size()) {
        return false;
      }
    } else if (text[at] == '"') {
      return false;
    }
    if (!is(kValueChar, text[at])) {
      return false;
    }
  }
  return true;
}

size_t indexOf(const Fields& fields, Name id) {
  const Field* const field = fields.find(id);
  return field == nullptr ? fields.size() : static_cast<size_t>(field - fields.all().data());
}

}  // namespace

std::optional<std::string_view> ListReader::next() {
  while (!rest_.empty() && (isOws(rest_.front()) || rest_.front() == ',')) {
    rest_.remove_prefix(1);
  }
  if (rest_.empty()) {
    return std::nullopt;
  }
  const size_t end = findOutsideQuotes(rest_, ',', malformed_);
  const std::string_view element = trimOws(rest_.substr(0, end));
  rest_.remove_prefix(end);
  return element;
}

FieldList::FieldList(const Fields& fields, Name id)
    : fields_(fields), id_(id), line_(indexOf(fields, id)) {
  if (line_ < fields_.size()) {
    reader_ = ListReader(fields_.all()[line_].value);
  }
}

std::optional<std::string_view> FieldList::next() {
  while (line_ < fields_.size()) {
    const std::optional<std::string_view> element = reader_.next();
    if (element.has_value()) {
      return element;
    }
    malformed_ |= reader_.malformed();
    do {
      line_++;
    } while (line_ < fields_.size() && fields_.all()[line_].id != id_);
    reader_ = line_ < fields_.size() ? ListReader(fields_.all()[line_].value) : ListReader();
  }
  return std::nullopt;
}

bool listContains(const Fields& fields, Name id, std::string_view token) {
  FieldList list(fields, id);
  for (auto element = list.next(); element.has_value(); element = list.next()) {
    if (equalsIgnoreCase(*element, token)) {
      return true;
    }
  }
  return false;
}

std::optional<Directive> parseDirective(std::string_view element) {
  const size_t equals = element.find('=');
  Directive out;
  out.name = element.substr(0, equals);
  if (!isToken(out.name)) {
    return std::nullopt;
  }
  if (equals == element.npos) {
    return out;
  }
  out.has_value = true;
  out.value = element.substr(equals + 1);
  if (isQuotedString(out.value)) {
    out.quoted = true;
    out.value = out.value.substr(1, out.value.size() - 2);
    return out;
  }
  return isToken(out.value) ? std::optional<Directive>(out) : std::nullopt;
}

ParameterReader::ParameterReader(std::string_view element) {
  const size_t end = findOutsideQuotes(element, ';', malformed_);
  head_ = trimOws(element.substr(0, end));
  rest_ = element.substr(end);
}

std::optional<Directive> ParameterReader::next() {
  while (!rest_.empty() && (isOws(rest_.front()) || rest_.front() == ';')) {
    rest_.remove_prefix(1);
  }
  if (rest_.empty()) {
    return std::nullopt;
  }
  const size_t end = findOutsideQuotes(rest_, ';', malformed_);
  const std::optional<Directive> parameter = parseDirective(trimOws(rest_.substr(0, end)));
  rest_.remove_prefix(end);
  if (!parameter.has_value()) {
    malformed_ = true;
    rest_ = {};
  }
  return parameter;
}

std::string_view unescapeQuoted(std::string_view value, std::span<char> out) {
  if (value.find('\\') == value.npos) {
    return value;
  }
  CHECK(out.size() >= value.size());
  size_t size = 0;
  for (size_t at = 0; at < value.size(); at++) {
    if (value[at] == '\\' && at + 1 < value.size()) {
      at++;
    }
    out[size++] = value[at];
  }
  return std::string_view(out.data(), size);
}

std::optional<uint16_t> parseQvalue(std::string_view text) {
  if (text.empty() || text.size() > 5 || (text[0] != '0' && text[0] != '1') ||
      (text.size() > 1 && text[1] != '.')) {
    return std::nullopt;
  }
  uint16_t value = static_cast<uint16_t>((text[0] - '0') * 1000);
  uint16_t unit = 100;
  for (size_t at = 2; at < text.size(); at++) {
    if (!is(kDigit, text[at])) {
      return std::nullopt;
    }
    value = static_cast<uint16_t>(value + (text[at] - '0') * unit);
    unit /= 10;
  }
  return value <= 1000 ? std::optional<uint16_t>(value) : std::nullopt;
}

std::optional<Weighted> parseWeighted(std::string_view element) {
  ParameterReader reader(element);
  Weighted out{.name = reader.head()};
  for (const char c : out.name) {
    if (!is(kTchar, c) && c != '/') {
      return std::nullopt;
    }
  }
  bool weighted = false;
  for (auto parameter = reader.next(); parameter.has_value(); parameter = reader.next()) {
    if (!equalsIgnoreCase(parameter->name, "q")) {
      continue;
    }
    const std::optional<uint16_t> weight = parseQvalue(parameter->value);
    if (weighted || parameter->quoted || !weight.has_value()) {
      return std::nullopt;
    }
    weighted = true;
    out.weight = *weight;
  }
  if (out.name.empty() || reader.malformed()) {
    return std::nullopt;
  }
  return out;
}

}  // namespace http
