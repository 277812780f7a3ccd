#include "source/config/model/request_matcher.h"

#include <algorithm>
#include <optional>

#include "source/http/cookie.h"
#include "source/http/grammar.h"

namespace config {
namespace {

bool startsWith(std::string_view path, std::string_view text, bool ignore_case) {
  if (path.size() < text.size()) {
    return false;
  }
  if (!ignore_case) {
    return path.starts_with(text);
  }
  for (size_t i = 0; i < text.size(); i++) {
    if (http::toLower(path[i]) != text[i]) {
      return false;
    }
  }
  return true;
}

// The value of the first parameter of that name; nullopt when there is none. "a" has the value "".
std::optional<std::string_view> parameter(std::string_view query, std::string_view name) {
  while (!query.empty()) {
    const std::string_view pair = query.substr(0, query.find('&'));
    query.remove_prefix(std::min(query.size(), pair.size() + 1));
    const size_t equals = pair.find('=');
    if (pair.substr(0, equals) == name) {
      return equals == pair.npos ? std::string_view() : pair.substr(equals + 1);
    }
  }
  return std::nullopt;
}

bool isNamed(const http::Field& field, const HeaderMatcher& matcher) {
  return matcher.id != http::Name::other ? field.id == matcher.id
                                         : http::equalsIgnoreCase(field.name, matcher.name);
}

// The value that a matcher looks at. Fields of one name make one list (RFC 9110 section 5.3); only
// a repeated field is copied, into `list`.
std::optional<std::string_view> fieldValue(const http::Fields& fields, const HeaderMatcher& matcher,
                                           std::string& list) {
  if (matcher.id != http::Name::other && !fields.has(matcher.id)) {
    return std::nullopt;
  }
  const http::Field* first = nullptr;
  for (const http::Field& field : fields.all()) {
    if (!isNamed(field, matcher)) {
      continue;
    }
    if (first == nullptr) {
      first = &field;
      continue;
    }
    if (list.empty()) {
      list = first->value;
    }
    list.append(",").append(field.value);
  }
  if (first == nullptr) {
    return std::nullopt;
  }
  return list.empty() ? first->value : std::string_view(list);
}

bool matchesValue(const HeaderMatcher& matcher, std::optional<std::string_view> value) {
  if (matcher.test.kind != ValueTest::Kind::text) {
    return ((matcher.test.kind == ValueTest::Kind::present) == value.has_value()) != matcher.invert;
  }
  if (!value.has_value()) {
    if (!matcher.missing_is_empty) {
      return false;
    }
    value = std::string_view();
  }
  return matcher.test.text.matches(*value) != matcher.invert;
}

bool passes(const ValueTest& test, std::optional<std::string_view> value) {
  switch (test.kind) {
    case ValueTest::Kind::present:
      return value.has_value();
    case ValueTest::Kind::absent:
      return !value.has_value();
    case ValueTest::Kind::text:
      return value.has_value() && test.text.matches(*value);
  }
  return false;
}

}  // namespace

bool PathMatcher::matches(std::string_view path) const {
  switch (kind) {
    case Kind::prefix:
      return startsWith(path, text, ignore_case);
    case Kind::path:
      return path.size() == text.size() && startsWith(path, text, ignore_case);
    case Kind::separated_prefix:
      return startsWith(path, text, ignore_case) &&
             (path.size() == text.size() || path[text.size()] == '/');
    case Kind::regex:
      return regex.matches(path);
  }
  return false;
}

size_t PathMatcher::matchedBytes(std::string_view path) const {
  return kind == Kind::regex ? path.size() : std::min(path.size(), text.size());
}

bool HeaderMatcher::matches(const http::RequestHead& head, std::string_view path) const {
  std::optional<std::string_view> value;
  switch (source) {
    case Source::method:
      value = head.method;
      break;
    case Source::path:
      value = path;
      break;
    case Source::authority:
      value = head.fields.value(http::Name::host);
      break;
    case Source::field:
      return matchesField(head.fields);
  }
  return matchesValue(*this, value);
}

bool HeaderMatcher::matchesField(const http::Fields& fields) const {
  std::string list;
  return matchesValue(*this, fieldValue(fields, *this, list));
}

bool QueryParameterMatcher::matches(std::string_view query) const {
  return passes(test, parameter(query, name));
}

bool CookieMatcher::matches(const http::RequestHead& head) const {
  return passes(test, http::findCookie(head.fields, name));
}

bool CacheRule::matches(const http::RequestHead& head, std::string_view target,
                        const http::ResponseHead* response) const {
  const size_t mark = target.find('?');
  const std::string_view query = mark == target.npos ? "" : target.substr(mark + 1);
  const auto all = [](const auto& list, auto holds) {
    return std::all_of(list.begin(), list.end(), holds);
  };
  if (!methods.empty() && std::find(methods.begin(), methods.end(), head.method) == methods.end()) {
    return false;
  }
  if (!response_headers.empty() && response == nullptr) {
    return false;
  }
  return all(headers, [&](const HeaderMatcher& m) { return m.matches(head, target); }) &&
         all(cookies, [&](const CookieMatcher& m) { return m.matches(head); }) &&
         all(query_parameters, [&](const QueryParameterMatcher& m) { return m.matches(query); }) &&
         all(response_headers,
             [&](const HeaderMatcher& m) { return m.matchesField(response->fields); });
}

bool anyMatches(const std::vector<CacheRule>& rules, const http::RequestHead& head,
                std::string_view target, const http::ResponseHead* response) {
  return std::any_of(rules.begin(), rules.end(),
                     [&](const CacheRule& rule) { return rule.matches(head, target, response); });
}

bool RequestMatcher::matches(const http::RequestHead& head, std::string_view target) const {
  const size_t mark = target.find('?');
  const std::string_view query = mark == target.npos ? "" : target.substr(mark + 1);
  if (!path.matches(target.substr(0, mark))) {
    return false;
  }
  for (const HeaderMatcher& matcher : headers) {
    if (!matcher.matches(head, target)) {
      return false;
    }
  }
  for (const QueryParameterMatcher& matcher : query_parameters) {
    if (!matcher.matches(query)) {
      return false;
    }
  }
  return true;
}

}  // namespace config
