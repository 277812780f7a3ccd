// Which requests a route is for: path, header fields and query parameters.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "source/config/model/text_matcher.h"
#include "source/http/head.h"

namespace config {

struct PathMatcher {
  // separated_prefix: the text, or the text followed by '/'.
  enum class Kind : uint8_t { prefix, path, separated_prefix, regex };
  Kind kind = Kind::prefix;
  bool ignore_case = false;  // then `text` is in lower case
  std::string text;
  Regex regex;

  // path: as the client wrote it, without the query.
  bool matches(std::string_view path) const;
  // How much of a path that matches is replaced by a prefix_rewrite.
  size_t matchedBytes(std::string_view path) const;
  // No path at all is refused.
  bool matchesEverything() const { return kind == Kind::prefix && text == "/"; }
  friend bool operator==(const PathMatcher&, const PathMatcher&) = default;
};

// What is looked for in a header field or a query parameter.
struct ValueTest {
  enum class Kind : uint8_t { present, absent, text };
  Kind kind = Kind::present;
  TextMatcher text;
  friend bool operator==(const ValueTest&, const ValueTest&) = default;
};

struct HeaderMatcher {
  enum class Source : uint8_t { field, method, path, authority };
  Source source = Source::field;
  http::Name id = http::Name::other;
  std::string name;  // in lower case
  ValueTest test;
  bool invert = false;
  bool missing_is_empty = false;

  // path: with the query.
  bool matches(const http::RequestHead& head, std::string_view path) const;
  // Of a source that is a field.
  bool matchesField(const http::Fields& fields) const;
  friend bool operator==(const HeaderMatcher&, const HeaderMatcher&) = default;
};

struct QueryParameterMatcher {
  std::string name;
  ValueTest test;

  bool matches(std::string_view query) const;
  friend bool operator==(const QueryParameterMatcher&, const QueryParameterMatcher&) = default;
};

struct CookieMatcher {
  std::string name;
  ValueTest test;

  bool matches(const http::RequestHead& head) const;
  friend bool operator==(const CookieMatcher&, const CookieMatcher&) = default;
};

// What an operator keeps from the cache. All of its conditions hold for what it matches; one
// without any is refused by the configuration.
struct CacheRule {
  std::vector<std::string> methods;  // any of them; empty: all
  std::vector<HeaderMatcher> headers;
  std::vector<CookieMatcher> cookies;
  std::vector<QueryParameterMatcher> query_parameters;
  std::vector<HeaderMatcher> response_headers;  // none in rules about requests

  // target: path and query as the client wrote them. response: nullptr while there is none.
  bool matches(const http::RequestHead& head, std::string_view target,
               const http::ResponseHead* response) const;
  friend bool operator==(const CacheRule&, const CacheRule&) = default;
};
bool anyMatches(const std::vector<CacheRule>& rules, const http::RequestHead& head,
                std::string_view target, const http::ResponseHead* response);

struct RequestMatcher {
  PathMatcher path;
  std::vector<HeaderMatcher> headers;
  std::vector<QueryParameterMatcher> query_parameters;

  // target: path and query as the client wrote them ("/a/b?c=d"). All conditions hold.
  bool matches(const http::RequestHead& head, std::string_view target) const;
  // True when no later route can match what this one refuses.
  bool matchesEverything() const {
    return path.matchesEverything() && headers.empty() && query_parameters.empty();
  }
  friend bool operator==(const RequestMatcher&, const RequestMatcher&) = default;
};

}  // namespace config
