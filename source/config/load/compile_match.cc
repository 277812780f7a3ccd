// Which requests a route is for.
#include <utility>

#include "source/config/load/compile_parts.h"
#include "source/http/grammar.h"

namespace config {
namespace {

// The expression, or one that matches nothing after reporting what is wrong.
Regex compileRegex(const Place& place, const pb::RegexMatcher& from) {
  const Place field = place["regex"];
  if (from.regex().empty()) {
    field.missing();
    return {};
  }
  std::string problem;
  std::optional<Regex> regex = Regex::compile(from.regex(), problem);
  if (!regex.has_value()) {
    field.error("`" + from.regex().substr(0, 80) + "` " + problem);
    return {};
  }
  return std::move(*regex);
}

void literal(const Place& place, TextMatcher::Kind kind, const std::string& text,
             TextMatcher& out) {
  out.kind = kind;
  out.text = out.ignore_case ? lowerCase(text) : text;
  if (text.empty() && kind != TextMatcher::Kind::exact) {
    place.error("must not be empty: it would match everything; use `present_match: true`");
  }
}

TextMatcher compileString(const Place& place, const pb::StringMatcher& from) {
  TextMatcher matcher;
  matcher.ignore_case = from.ignore_case();
  switch (from.match_pattern_case()) {
    case pb::StringMatcher::kExact:
      literal(place["exact"], TextMatcher::Kind::exact, from.exact(), matcher);
      break;
    case pb::StringMatcher::kPrefix:
      literal(place["prefix"], TextMatcher::Kind::prefix, from.prefix(), matcher);
      break;
    case pb::StringMatcher::kSuffix:
      literal(place["suffix"], TextMatcher::Kind::suffix, from.suffix(), matcher);
      break;
    case pb::StringMatcher::kContains:
      literal(place["contains"], TextMatcher::Kind::contains, from.contains(), matcher);
      break;
    case pb::StringMatcher::kSafeRegex:
      matcher.kind = TextMatcher::Kind::regex;
      matcher.regex = compileRegex(place["safe_regex"], from.safe_regex());
      if (from.ignore_case()) {
        place["ignore_case"].error("has no effect on safe_regex; begin the expression with (?i)");
      }
      break;
    case pb::StringMatcher::MATCH_PATTERN_NOT_SET:
      place.missingOneOf("exact, prefix, suffix, contains and safe_regex");
      break;
  }
  return matcher;
}

ValueTest present(bool wanted) {
  return {wanted ? ValueTest::Kind::present : ValueTest::Kind::absent, {}};
}

ValueTest compileHeaderTest(const Place& place, const pb::HeaderMatcher& from) {
  ValueTest test{ValueTest::Kind::text, {}};
  switch (from.header_match_specifier_case()) {
    case pb::HeaderMatcher::kExactMatch:
      literal(place["exact_match"], TextMatcher::Kind::exact, from.exact_match(), test.text);
      return test;
    case pb::HeaderMatcher::kPrefixMatch:
      literal(place["prefix_match"], TextMatcher::Kind::prefix, from.prefix_match(), test.text);
      return test;
    case pb::HeaderMatcher::kSuffixMatch:
      literal(place["suffix_match"], TextMatcher::Kind::suffix, from.suffix_match(), test.text);
      return test;
    case pb::HeaderMatcher::kContainsMatch:
      literal(place["contains_match"], TextMatcher::Kind::contains, from.contains_match(),
              test.text);
      return test;
    case pb::HeaderMatcher::kSafeRegexMatch:
      test.text.kind = TextMatcher::Kind::regex;
      test.text.regex = compileRegex(place["safe_regex_match"], from.safe_regex_match());
      return test;
    case pb::HeaderMatcher::kStringMatch:
      test.text = compileString(place["string_match"], from.string_match());
      return test;
    case pb::HeaderMatcher::kPresentMatch:
      return present(from.present_match());
    case pb::HeaderMatcher::HEADER_MATCH_SPECIFIER_NOT_SET:
      break;
  }
  return present(true);
}

HeaderMatcher compileHeaderMatcher(const Place& place, const pb::HeaderMatcher& from) {
  HeaderMatcher matcher;
  matcher.name = lowerCase(from.name());
  matcher.test = compileHeaderTest(place, from);
  matcher.invert = from.invert_match();
  matcher.missing_is_empty = from.treat_missing_header_as_empty();
  if (matcher.name == ":method") {
    matcher.source = HeaderMatcher::Source::method;
  } else if (matcher.name == ":path") {
    matcher.source = HeaderMatcher::Source::path;
  } else if (matcher.name == ":authority") {
    matcher.source = HeaderMatcher::Source::authority;
  } else if (from.name().empty()) {
    place["name"].missing();
  } else if (!http::isToken(from.name())) {
    place["name"].error("`" + from.name() + "` cannot be a header's name");
  }
  matcher.id = http::nameOf(from.name());
  return matcher;
}

QueryParameterMatcher compileParameter(const Place& place, const pb::QueryParameterMatcher& from) {
  QueryParameterMatcher matcher;
  matcher.name = from.name();
  if (from.name().empty()) {
    place["name"].missing();
  } else if (from.name().find_first_of("&=#?") != std::string::npos) {
    place["name"].error("`" + from.name() + "` cannot be a parameter's name");
  }
  switch (from.query_parameter_match_specifier_case()) {
    case pb::QueryParameterMatcher::kStringMatch:
      matcher.test.kind = ValueTest::Kind::text;
      matcher.test.text = compileString(place["string_match"], from.string_match());
      break;
    case pb::QueryParameterMatcher::kPresentMatch:
      matcher.test = present(from.present_match());
      break;
    case pb::QueryParameterMatcher::QUERY_PARAMETER_MATCH_SPECIFIER_NOT_SET:
      break;
  }
  return matcher;
}

CookieMatcher compileCookie(const Place& place, const pb::CookieMatcher& from) {
  CookieMatcher matcher;
  matcher.name = from.name();
  if (from.name().empty()) {
    place["name"].missing();
  } else if (!http::isToken(from.name())) {
    place["name"].error("`" + from.name() + "` cannot be a cookie's name");
  }
  switch (from.cookie_match_specifier_case()) {
    case pb::CookieMatcher::kStringMatch:
      matcher.test.kind = ValueTest::Kind::text;
      matcher.test.text = compileString(place["string_match"], from.string_match());
      break;
    case pb::CookieMatcher::kPresentMatch:
      matcher.test = present(from.present_match());
      break;
    case pb::CookieMatcher::COOKIE_MATCH_SPECIFIER_NOT_SET:
      break;
  }
  return matcher;
}

// Compiles each element of a repeated field, at most kMaxMatchers.
template <class List, class Compile, class Out>
void compileEach(const Place& place, const List& from, Compile compile, std::vector<Out>& out) {
  const int count = countWithin(place, from.size(), kMaxMatchers);
  for (int i = 0; i < count; i++) {
    out.push_back(compile(place[i], from[i]));
  }
}

void literalPath(const Place& place, PathMatcher::Kind kind, const std::string& text,
                 PathMatcher& out) {
  out.kind = kind;
  out.text = out.ignore_case ? lowerCase(text) : text;
  const size_t outside = text.find_first_of("?# \t\r\n");
  if (!text.starts_with('/')) {
    place.error("a path begins with `/`", "/" + text.substr(0, outside));
  } else if (outside != std::string::npos) {
    place.error(text[outside] == '?'
                    ? "a path has no query; match it with query_parameters"
                    : "no request's path has this character: `" + text.substr(outside, 1) + "`",
                text.substr(0, outside));
  } else if (kind == PathMatcher::Kind::separated_prefix && text.ends_with('/')) {
    place.error("must not end with `/`", text.substr(0, text.find_last_not_of('/') + 1));
  }
}

void compilePath(const Place& place, const pb::RouteMatch& from, PathMatcher& out) {
  out.ignore_case = from.has_case_sensitive() && !from.case_sensitive();
  switch (from.path_specifier_case()) {
    case pb::RouteMatch::kPrefix:
      literalPath(place["prefix"], PathMatcher::Kind::prefix, from.prefix(), out);
      break;
    case pb::RouteMatch::kPath:
      literalPath(place["path"], PathMatcher::Kind::path, from.path(), out);
      break;
    case pb::RouteMatch::kPathSeparatedPrefix:
      literalPath(place["path_separated_prefix"], PathMatcher::Kind::separated_prefix,
                  from.path_separated_prefix(), out);
      break;
    case pb::RouteMatch::kSafeRegex:
      out.kind = PathMatcher::Kind::regex;
      out.regex = compileRegex(place["safe_regex"], from.safe_regex());
      if (out.ignore_case) {
        place["case_sensitive"].error(
            "has no effect on safe_regex; begin the expression with (?i)");
      }
      break;
    case pb::RouteMatch::PATH_SPECIFIER_NOT_SET:
      place.missingOneOf("prefix, path, path_separated_prefix and safe_regex");
      break;
  }
}

}  // namespace

RequestMatcher compileMatch(const Place& place, const pb::RouteMatch& from) {
  RequestMatcher matcher;
  compilePath(place, from, matcher.path);
  compileEach(place["headers"], from.headers(), compileHeaderMatcher, matcher.headers);
  compileEach(place["query_parameters"], from.query_parameters(), compileParameter,
              matcher.query_parameters);
  return matcher;
}

CacheRule compileRule(const Place& place, const pb::CacheRule& from, RuleAbout about) {
  CacheRule rule;
  const int methods = countWithin(place["methods"], from.methods_size(), kMaxRuleMethods);
  for (int i = 0; i < methods; i++) {
    if (!http::isToken(from.methods(i))) {
      place["methods"][i].error("`" + from.methods(i) + "` cannot be a method");
    }
    rule.methods.push_back(from.methods(i));
  }
  compileEach(place["headers"], from.headers(), compileHeaderMatcher, rule.headers);
  compileEach(place["cookies"], from.cookies(), compileCookie, rule.cookies);
  compileEach(place["query_parameters"], from.query_parameters(), compileParameter,
              rule.query_parameters);
  compileEach(place["response_headers"], from.response_headers(), compileHeaderMatcher,
              rule.response_headers);
  const bool of_response = !rule.response_headers.empty();
  if (of_response && about == RuleAbout::requests) {
    place["response_headers"].error("there is no response yet when requests are looked at");
  }
  for (size_t i = 0; i < rule.response_headers.size(); i++) {
    if (rule.response_headers[i].source != HeaderMatcher::Source::field) {
      place["response_headers"][static_cast<int>(i)]["name"].error(
          "a response has no `" + rule.response_headers[i].name + "`");
    }
  }
  if (rule == CacheRule{}) {
    place.missingOneOf("methods, headers, cookies, query_parameters and response_headers");
  }
  return rule;
}

}  // namespace config
