#include "source/policy/search.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "source/http/structured.h"

namespace policy {
namespace {

using http::structured::Dictionary;
using http::structured::InnerList;
using http::structured::Item;
using http::structured::Member;

constexpr std::string_view kHex = "0123456789ABCDEF";

std::optional<uint8_t> hexValue(char c) {
  if (c >= '0' && c <= '9') {
    return static_cast<uint8_t>(c - '0');
  }
  const char lower = static_cast<char>(c | 0x20);
  if (lower >= 'a' && lower <= 'f') {
    return static_cast<uint8_t>(lower - 'a' + 10);
  }
  return std::nullopt;
}

bool standsForItself(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '*' ||
         c == '-' || c == '.' || c == '_';
}

// Decodes a name or value of a query and writes it as application/x-www-form-urlencoded has it, so
// that two texts are the same exactly if they mean the same bytes.
void appendCanonical(std::string_view text, std::string& out) {
  for (size_t i = 0; i < text.size(); i++) {
    char c = text[i];
    if (c == '+') {
      c = ' ';
    } else if (c == '%' && i + 2 < text.size()) {
      const std::optional<uint8_t> high = hexValue(text[i + 1]);
      const std::optional<uint8_t> low = hexValue(text[i + 2]);
      if (high && low) {
        c = static_cast<char>(*high << 4 | *low);
        i += 2;
      }
    }
    if (standsForItself(c)) {
      out.push_back(c);
    } else if (c == ' ') {
      out.push_back('+');
    } else {
      const auto byte = static_cast<uint8_t>(c);
      out.push_back('%');
      out.push_back(kHex[byte >> 4]);
      out.push_back(kHex[byte & 15]);
    }
  }
}

const bool* boolOf(const Member& member) {
  const auto* item = std::get_if<Item>(&member);
  return item == nullptr ? nullptr : std::get_if<bool>(&item->value);
}

// The strings of an inner list as canonical names, sorted, each once; nullopt when it is none.
std::optional<std::vector<std::string>> namesOf(const Member& member) {
  const auto* list = std::get_if<InnerList>(&member);
  if (list == nullptr) {
    return std::nullopt;
  }
  std::vector<std::string> names;
  for (const Item& item : list->items) {
    const auto* text = std::get_if<std::string>(&item.value);
    if (text == nullptr) {
      return std::nullopt;
    }
    appendCanonical(*text, names.emplace_back());
  }
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

struct View {
  bool ignores_order = false;
  bool ignores_all = false;
  std::string_view names;  // each behind a line feed

  bool lists(std::string_view name) const {
    std::string_view left = names;
    while (!left.empty()) {
      left.remove_prefix(1);
      const size_t end = std::min(left.find('\n'), left.size());
      if (left.substr(0, end) == name) {
        return true;
      }
      left.remove_prefix(end);
    }
    return false;
  }
};

View viewOf(std::string_view variance) {
  View view;
  const size_t end = std::min(variance.find('\n'), variance.size());
  view.ignores_order = variance.substr(0, end).find('o') != std::string_view::npos;
  view.ignores_all = variance.substr(0, end).find('*') != std::string_view::npos;
  view.names = variance.substr(end);
  return view;
}

std::string_view nameIn(std::string_view parameter) {
  return parameter.substr(0, parameter.find('='));
}

// The parameters that count, canonical, one behind the other in `text`. False when there are too
// many.
bool collect(const View& view, std::string_view query, std::string& text,
             std::vector<std::pair<size_t, size_t>>& out) {
  while (!query.empty()) {
    const size_t end = std::min(query.find('&'), query.size());
    const std::string_view parameter = query.substr(0, end);
    query.remove_prefix(std::min(end + 1, query.size()));
    if (parameter.empty()) {
      continue;
    }
    const size_t begin = text.size();
    const size_t equals = std::min(parameter.find('='), parameter.size());
    appendCanonical(parameter.substr(0, equals), text);
    if (view.lists(std::string_view(text).substr(begin)) != view.ignores_all) {
      text.resize(begin);
      continue;
    }
    if (out.size() == kMaxSearchParameters) {
      return false;
    }
    text.push_back('=');
    appendCanonical(parameter.substr(std::min(equals + 1, parameter.size())), text);
    out.emplace_back(begin, text.size() - begin);
  }
  return true;
}

}  // namespace

std::string searchVarianceOf(const http::Fields& response) {
  std::string buffer;
  bool present = false;
  for (const http::Field& field : response.all()) {
    if (http::equalsIgnoreCase(field.name, "no-vary-search")) {
      buffer.append(present ? ", " : "").append(field.value);
      present = true;
    }
  }
  const std::optional<Dictionary> fields = http::structured::parseDictionary(buffer);
  if (!present || !fields.has_value()) {
    return {};
  }
  std::string variance;
  if (const Member* order = http::structured::find(*fields, "key-order")) {
    const bool* ignored = boolOf(*order);
    if (ignored == nullptr) {
      return {};
    }
    variance = *ignored ? "o" : "";
  }
  const Member* params = http::structured::find(*fields, "params");
  const Member* except = http::structured::find(*fields, "except");
  const bool* all = params == nullptr ? nullptr : boolOf(*params);
  const bool wildcard = all != nullptr && *all;
  std::optional<std::vector<std::string>> names = std::vector<std::string>();
  if (except != nullptr) {
    names = wildcard ? namesOf(*except) : std::nullopt;
  } else if (params != nullptr && all == nullptr) {
    names = namesOf(*params);
  }
  if (!names.has_value() || names->size() > kMaxSearchNames) {
    return {};
  }
  variance.append(wildcard ? "*" : "");
  for (const std::string& name : *names) {
    variance.append("\n").append(name);
  }
  return variance.size() > kMaxSearchBytes ? std::string() : variance;
}

std::string describeSearch(std::string_view variance) {
  const View view = viewOf(variance);
  std::string text = view.ignores_order ? "key-order" : "";
  if (!view.ignores_all && view.names.empty()) {
    return text;
  }
  text.append(text.empty() ? "" : ", ").append("params");
  if (view.names.empty()) {
    return text;
  }
  text.append(view.ignores_all ? ", except=(" : "=(");
  std::string_view left = view.names;
  while (!left.empty()) {
    left.remove_prefix(1);
    const size_t end = std::min(left.find('\n'), left.size());
    text.append("\"").append(left.substr(0, end)).append(end < left.size() ? "\" " : "\")");
    left.remove_prefix(end);
  }
  return text;
}

void appendCanonicalQuery(std::string_view variance, std::string_view query, std::string& out) {
  const View view = viewOf(variance);
  std::string text;
  std::vector<std::pair<size_t, size_t>> places;
  if (!collect(view, query, text, places)) {
    out.append("?").append(query);
    return;
  }
  const auto at = [&text](const std::pair<size_t, size_t>& place) {
    return std::string_view(text).substr(place.first, place.second);
  };
  if (view.ignores_order) {
    // Among parameters of one name the order of their values counts.
    std::sort(places.begin(), places.end(), [&at](const auto& a, const auto& b) {
      return std::pair(nameIn(at(a)), a.first) < std::pair(nameIn(at(b)), b.first);
    });
  }
  for (size_t i = 0; i < places.size(); i++) {
    out.append(i == 0 ? "?" : "&").append(at(places[i]));
  }
}

}  // namespace policy
