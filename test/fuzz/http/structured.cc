// Fuzzes structured fields and lists: parsers are total, an item is a list of one and, with a key
// before it, a dictionary of one, and what is serialised is read back.
#include "source/http/structured.h"

#include <string>
#include <vector>

#include "source/http/list.h"
#include "test/fuzz/http/check.h"

namespace {

using http::structured::Item;
using http::structured::Token;

void expectItem(std::string_view text) {
  const auto item = http::structured::parseItem(text);
  if (!item.has_value()) {
    return;
  }
  const auto list = http::structured::parseList(text);
  CHECK(list.has_value());
  CHECK(list->size() == 1);
  CHECK(std::get<Item>(list->front()) == *item);
  const std::string_view trimmed = text.substr(text.find_first_not_of(' '));
  const auto dictionary = http::structured::parseDictionary("k=" + std::string(trimmed));
  CHECK(dictionary.has_value());
  CHECK(dictionary->size() == 1);
  CHECK(std::get<Item>(dictionary->front().value) == *item);
}

void expectReadBack(std::string_view text) {
  std::string out;
  if (http::structured::appendString(out, text)) {
    const auto item = http::structured::parseItem(out);
    CHECK(item.has_value());
    CHECK(std::get<std::string>(item->value) == text);
  }
  out.clear();
  if (http::structured::appendToken(out, text)) {
    const auto item = http::structured::parseItem(out);
    CHECK(item.has_value());
    CHECK(std::get<Token>(item->value).text == text);
  }
}

// Lists of RFC 9110: elements are views in order, and no element is empty.
void expectLists(std::string_view text) {
  http::ListReader list(text);
  for (auto element = list.next(); element.has_value(); element = list.next()) {
    fuzz::expectWithin(*element, text);
    CHECK(!element->empty());
    const auto directive = http::parseDirective(*element);
    CHECK(!directive.has_value() || !directive->name.empty());
    if (directive.has_value() && directive->quoted) {
      std::vector<char> buffer(directive->value.size());
      CHECK(http::unescapeQuoted(directive->value, buffer).size() <= directive->value.size());
    }
    http::ParameterReader parameters(*element);
    while (parameters.next().has_value()) {
    }
    const auto weighted = http::parseWeighted(*element);
    CHECK(!weighted.has_value() || weighted->weight <= 1000);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text = fuzz::textOf(data, size);
  expectItem(text);
  static_cast<void>(http::structured::parseDictionary(text));
  expectReadBack(text);
  expectLists(text);
  return 0;
}
