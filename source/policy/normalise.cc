#include "source/policy/normalise.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "source/http/cookie.h"
#include "source/http/list.h"

namespace policy {
namespace {

// The weight that the request gives a coding; "*" stands for those it does not name.
uint16_t weightOfEncoding(const http::Fields& request, std::string_view coding) {
  uint16_t any = 0;
  http::FieldList members(request, http::Name::accept_encoding);
  while (const std::optional<std::string_view> member = members.next()) {
    const std::optional<http::Weighted> weighted = http::parseWeighted(*member);
    if (!weighted) {
      continue;
    }
    if (http::equalsIgnoreCase(weighted->name, coding)) {
      return weighted->weight;
    }
    if (weighted->name == "*") {
      any = weighted->weight;
    }
  }
  return any;
}

// "de" fits "de" and "de-CH" (RFC 4647 3.3.1).
bool rangeFits(std::string_view range, std::string_view tag) {
  return tag.size() >= range.size() && http::equalsIgnoreCase(tag.substr(0, range.size()), range) &&
         (tag.size() == range.size() || tag[range.size()] == '-');
}

uint16_t weightOfLanguage(const http::Fields& request, std::string_view tag) {
  size_t longest = 0;
  uint16_t weight = 0;
  http::FieldList members(request, http::Name::accept_language);
  while (const std::optional<std::string_view> member = members.next()) {
    const std::optional<http::Weighted> weighted = http::parseWeighted(*member);
    if (!weighted) {
      continue;
    }
    const bool any = weighted->name == "*";
    const size_t length = any ? 1 : weighted->name.size() + 1;
    if (length > longest && (any || rangeFits(weighted->name, tag))) {
      longest = length;
      weight = weighted->weight;
    }
  }
  return weight;
}

}  // namespace

std::string_view chooseEncoding(const http::Fields& request,
                                const std::vector<std::string>& offered) {
  for (const std::string& coding : offered) {
    if (weightOfEncoding(request, coding) > 0) {
      return coding;
    }
  }
  return {};
}

std::string_view chooseLanguage(const http::Fields& request,
                                const std::vector<std::string>& offered) {
  std::string_view best;
  uint16_t best_weight = 0;
  for (const std::string& tag : offered) {
    const uint16_t weight = weightOfLanguage(request, tag);
    if (weight > best_weight) {
      best_weight = weight;
      best = tag;
    }
  }
  return best;
}

void appendCookies(const http::Fields& request, const std::vector<std::string>& names,
                   std::string& out) {
  bool first = true;
  http::forEachCookie(request, [&](std::string_view name, std::string_view value) {
    if (std::binary_search(names.begin(), names.end(), name, std::less<>())) {
      out.append(first ? "" : "; ").append(name).append("=").append(value);
      first = false;
    }
    return true;
  });
}

void normaliseRequest(const RoutePolicy& route, http::Fields& request, http::Fields& spare,
                      std::string& text) {
  if (!route.normalisesRequests()) {
    return;
  }
  spare.clear();
  text.clear();
  if (route.request_cookies == RequestCookies::strip) {
    appendCookies(request, route.key.cookies, text);
  }
  const auto put = [&spare](http::Name id, std::string_view value) {
    if (!value.empty()) {
      spare.add(id, http::spelling(id), value);
    }
  };
  const auto replaced = [&](http::Name id) {
    return (id == http::Name::accept_encoding && !route.accept_encodings.empty()) ||
           (id == http::Name::accept_language && !route.accept_languages.empty()) ||
           (id == http::Name::cookie && route.request_cookies == RequestCookies::strip);
  };
  for (const http::Field& field : request.all()) {
    if (!replaced(field.id)) {
      spare.add(field.id, field.name, field.value);
    }
  }
  put(http::Name::accept_encoding, replaced(http::Name::accept_encoding)
                                       ? chooseEncoding(request, route.accept_encodings)
                                       : std::string_view());
  put(http::Name::accept_language, replaced(http::Name::accept_language)
                                       ? chooseLanguage(request, route.accept_languages)
                                       : std::string_view());
  put(http::Name::cookie, text);
  std::swap(request, spare);
}

}  // namespace policy
