// The Cookie field of a request as a row of pairs (RFC 6265 4.2.1). Nothing is decoded: a value in
// quotes keeps them.
#pragma once

#include <algorithm>
#include <optional>
#include <string_view>

#include "source/http/grammar.h"
#include "source/http/head.h"

namespace http {

// Calls take(name, value) for each cookie in order, over all lines, until it returns false. A piece
// without "=" is a name without a value.
template <class Take>
void forEachCookie(const Fields& request, Take take) {
  for (const Field& field : request.all()) {
    if (field.id != Name::cookie) {
      continue;
    }
    std::string_view rest = field.value;
    while (!rest.empty()) {
      const size_t end = std::min(rest.find(';'), rest.size());
      const std::string_view pair = trimOws(rest.substr(0, end));
      rest.remove_prefix(std::min(end + 1, rest.size()));
      const size_t equals = std::min(pair.find('='), pair.size());
      const std::string_view value = pair.substr(std::min(equals + 1, pair.size()));
      if (!pair.empty() && !take(pair.substr(0, equals), value)) {
        return;
      }
    }
  }
}

// The value of the first cookie of that name.
inline std::optional<std::string_view> findCookie(const Fields& request, std::string_view name) {
  std::optional<std::string_view> found;
  forEachCookie(request, [&](std::string_view cookie, std::string_view value) {
    if (cookie == name) {
      found = value;
    }
    return !found.has_value();
  });
  return found;
}

}  // namespace http
