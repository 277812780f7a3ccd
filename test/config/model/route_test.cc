// Goal: a request meets the virtual host and route that the schema promises, and routes do to
// heads, paths and locations what they say. Method: tables over hand-made matchers; expectations
// from the comments of route.proto, and from RFC 9110 section 5.3 for repeated fields.
#include "source/config/model/route.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace config {
namespace {

using Kind = TextMatcher::Kind;

TextMatcher textMatcher(Kind kind, std::string text, bool ignore_case = false) {
  TextMatcher matcher;
  matcher.kind = kind;
  matcher.text = std::move(text);
  matcher.ignore_case = ignore_case;
  return matcher;
}

Regex regex(std::string_view pattern) {
  std::string problem;
  std::optional<Regex> compiled = Regex::compile(pattern, problem);
  EXPECT_TRUE(compiled.has_value()) << problem;
  return std::move(*compiled);
}

TEST(TextMatcher, ComparesInFiveWays) {
  EXPECT_TRUE(textMatcher(Kind::exact, "ab").matches("ab"));
  EXPECT_FALSE(textMatcher(Kind::exact, "ab").matches("abc"));
  EXPECT_TRUE(textMatcher(Kind::prefix, "ab").matches("abc"));
  EXPECT_FALSE(textMatcher(Kind::prefix, "ab").matches("a"));
  EXPECT_TRUE(textMatcher(Kind::suffix, "bc").matches("abc"));
  EXPECT_FALSE(textMatcher(Kind::suffix, "abc").matches("bc"));
  EXPECT_TRUE(textMatcher(Kind::contains, "b").matches("abc"));
  EXPECT_FALSE(textMatcher(Kind::contains, "d").matches("abc"));
  TextMatcher expression = textMatcher(Kind::regex, "");
  expression.regex = regex("a+");
  EXPECT_TRUE(expression.matches("aa"));
  EXPECT_FALSE(expression.matches("aab"));  // the whole text, not a part
}

TEST(TextMatcher, IgnoresTheCaseOfAscii) {
  EXPECT_TRUE(textMatcher(Kind::exact, "ab", true).matches("aB"));
  EXPECT_TRUE(textMatcher(Kind::prefix, "ab", true).matches("ABC"));
  EXPECT_TRUE(textMatcher(Kind::suffix, "bc", true).matches("ABC"));
  EXPECT_TRUE(textMatcher(Kind::contains, "b", true).matches("ABC"));
  EXPECT_FALSE(textMatcher(Kind::contains, "bb", true).matches("ABC"));
}

TEST(Regex, NothingMatchesAnEmptyOne) {
  EXPECT_FALSE(Regex().matches(""));
}

TEST(Regex, LimitsItsText) {
  std::string problem;
  EXPECT_TRUE(Regex::compile(std::string(kMaxRegexBytes / 2, 'a'), problem).has_value());
  EXPECT_FALSE(Regex::compile(std::string(kMaxRegexBytes + 1, 'a'), problem).has_value());
  EXPECT_EQ(problem, "is longer than 4096 bytes");
}

PathMatcher path(PathMatcher::Kind kind, std::string text, bool ignore_case = false) {
  PathMatcher matcher;
  matcher.kind = kind;
  matcher.text = std::move(text);
  matcher.ignore_case = ignore_case;
  return matcher;
}

TEST(PathMatcher, MatchesByPrefixPathAndSegment) {
  using PathKind = PathMatcher::Kind;
  EXPECT_TRUE(path(PathKind::prefix, "/a").matches("/ab"));
  EXPECT_FALSE(path(PathKind::prefix, "/a").matches("/"));
  EXPECT_TRUE(path(PathKind::path, "/a").matches("/a"));
  EXPECT_FALSE(path(PathKind::path, "/a").matches("/ab"));
  EXPECT_TRUE(path(PathKind::separated_prefix, "/a").matches("/a"));
  EXPECT_TRUE(path(PathKind::separated_prefix, "/a").matches("/a/b"));
  EXPECT_FALSE(path(PathKind::separated_prefix, "/a").matches("/ab"));
  EXPECT_TRUE(path(PathKind::prefix, "/a", true).matches("/AB"));
  EXPECT_FALSE(path(PathKind::prefix, "/a").matches("/AB"));
}

// A request with the given fields.
struct Request {
  http::RequestHead head;
  Request(std::initializer_list<std::pair<std::string_view, std::string_view>> fields) {
    head.method = "GET";
    for (const auto& [name, value] : fields) {
      head.fields.add(name, value);
    }
  }
};

HeaderMatcher header(std::string name, ValueTest test) {
  HeaderMatcher matcher;
  matcher.id = http::nameOf(name);
  matcher.name = std::move(name);
  matcher.test = std::move(test);
  return matcher;
}

ValueTest isText(Kind kind, std::string text) {
  return {ValueTest::Kind::text, textMatcher(kind, std::move(text))};
}

TEST(HeaderMatcher, FindsKnownAndUnknownNamesInAnyCase) {
  const Request request({{"ACCEPT", "a"}, {"X-Thing", "b"}});
  EXPECT_TRUE(header("accept", isText(Kind::exact, "a")).matches(request.head, "/"));
  EXPECT_TRUE(header("x-thing", isText(Kind::exact, "b")).matches(request.head, "/"));
  EXPECT_FALSE(header("x-other", isText(Kind::exact, "b")).matches(request.head, "/"));
}

TEST(HeaderMatcher, JoinsRepeatedFieldsByCommas) {
  const Request request(
      {{"Accept", "a"}, {"X-T", "1"}, {"accept", "b"}, {"x-t", "2"}, {"X-T", "3"}});
  EXPECT_TRUE(header("accept", isText(Kind::exact, "a,b")).matches(request.head, "/"));
  EXPECT_TRUE(header("x-t", isText(Kind::exact, "1,2,3")).matches(request.head, "/"));
}

TEST(HeaderMatcher, TellsPresenceFromAbsence) {
  const Request request({{"X-A", ""}});
  EXPECT_TRUE(header("x-a", {ValueTest::Kind::present, {}}).matches(request.head, "/"));
  EXPECT_FALSE(header("x-b", {ValueTest::Kind::present, {}}).matches(request.head, "/"));
  EXPECT_TRUE(header("x-b", {ValueTest::Kind::absent, {}}).matches(request.head, "/"));
  EXPECT_FALSE(header("x-a", {ValueTest::Kind::absent, {}}).matches(request.head, "/"));
}

TEST(HeaderMatcher, AnAbsentFieldMatchesNoTextEvenInverted) {
  const Request request({});
  HeaderMatcher matcher = header("x-a", isText(Kind::exact, "a"));
  EXPECT_FALSE(matcher.matches(request.head, "/"));
  matcher.invert = true;
  EXPECT_FALSE(matcher.matches(request.head, "/"));
  matcher.missing_is_empty = true;
  EXPECT_TRUE(matcher.matches(request.head, "/"));
}

TEST(HeaderMatcher, InvertsPresence) {
  const Request request({});
  HeaderMatcher matcher = header("x-a", {ValueTest::Kind::present, {}});
  matcher.invert = true;
  EXPECT_TRUE(matcher.matches(request.head, "/"));
}

TEST(HeaderMatcher, LooksAtMethodPathAndAuthority) {
  const Request request({{"Host", "a.com"}});
  HeaderMatcher matcher = header(":method", isText(Kind::exact, "GET"));
  matcher.source = HeaderMatcher::Source::method;
  EXPECT_TRUE(matcher.matches(request.head, "/"));
  matcher = header(":path", isText(Kind::exact, "/a?b"));
  matcher.source = HeaderMatcher::Source::path;
  EXPECT_TRUE(matcher.matches(request.head, "/a?b"));
  matcher = header(":authority", isText(Kind::exact, "a.com"));
  matcher.source = HeaderMatcher::Source::authority;
  EXPECT_TRUE(matcher.matches(request.head, "/"));
}

TEST(QueryParameterMatcher, TakesTheFirstOfTheName) {
  const QueryParameterMatcher is_one{"a", isText(Kind::exact, "1")};
  EXPECT_TRUE(is_one.matches("a=1"));
  EXPECT_TRUE(is_one.matches("b=2&a=1&a=2"));
  EXPECT_FALSE(is_one.matches("a=2&a=1"));
  EXPECT_FALSE(is_one.matches("aa=1"));
  EXPECT_FALSE(is_one.matches(""));
  const QueryParameterMatcher is_empty{"a", isText(Kind::exact, "")};
  EXPECT_TRUE(is_empty.matches("a"));
  EXPECT_TRUE(is_empty.matches("a=&b"));
  const QueryParameterMatcher absent{"a", {ValueTest::Kind::absent, {}}};
  EXPECT_TRUE(absent.matches("b=a"));
  EXPECT_FALSE(absent.matches("b&a"));
}

TEST(CookieMatcher, TakesTheFirstOfTheName) {  // RFC 6265 4.2.1
  http::RequestHead head;
  head.fields.add("Cookie", "a=1; b=2;a=3");
  head.fields.add("Cookie", "c");
  CookieMatcher matcher;
  matcher.name = "a";
  EXPECT_TRUE(matcher.matches(head));
  matcher.test = {ValueTest::Kind::text, textMatcher(Kind::exact, "1")};
  EXPECT_TRUE(matcher.matches(head));
  matcher.test.text.text = "3";
  EXPECT_FALSE(matcher.matches(head));
  matcher.name = "c";
  matcher.test.text.text = "";
  EXPECT_TRUE(matcher.matches(head));
  matcher.name = "A";
  EXPECT_FALSE(matcher.matches(head));
  matcher.test = {ValueTest::Kind::absent, {}};
  EXPECT_TRUE(matcher.matches(head));
}

struct RuleNames {
  std::string header = "x-preview";
  std::string cookie = "session";
  std::string parameter = "draft";
  std::string response_header;
};
CacheRule ruleOf(const RuleNames& names) {
  CacheRule rule;
  rule.headers.emplace_back().name = names.header;
  rule.cookies.emplace_back().name = names.cookie;
  rule.query_parameters.emplace_back().name = names.parameter;
  if (!names.response_header.empty()) {
    rule.response_headers.emplace_back().name = names.response_header;
  }
  return rule;
}

TEST(CacheRule, AllItsConditionsHold) {
  http::RequestHead head;
  head.method = "GET";
  head.fields.add("X-Preview", "1");
  head.fields.add("Cookie", "session=a");
  http::ResponseHead response;
  response.fields.add("X-No-Cache", "1");
  const std::string_view target = "/a?draft=1";

  RuleNames names;
  EXPECT_TRUE(ruleOf(names).matches(head, target, nullptr));
  EXPECT_TRUE(ruleOf(names).matches(head, target, &response));
  EXPECT_FALSE(ruleOf(names).matches(head, "/a?drafts=1", nullptr));
  EXPECT_FALSE(ruleOf(names).matches(head, "/a", nullptr));
  names.header = "x-other";
  EXPECT_FALSE(ruleOf(names).matches(head, target, nullptr));
  names = RuleNames();
  names.cookie = "other";
  EXPECT_FALSE(ruleOf(names).matches(head, target, nullptr));
  names = RuleNames();
  names.response_header = "x-no-cache";
  EXPECT_FALSE(ruleOf(names).matches(head, target, nullptr));  // there is none yet
  EXPECT_TRUE(ruleOf(names).matches(head, target, &response));
  names.response_header = "x-other";
  EXPECT_FALSE(ruleOf(names).matches(head, target, &response));
}

TEST(CacheRule, AnyMethodOfTheListAndAnyRule) {
  http::RequestHead head;
  head.method = "GET";
  std::vector<CacheRule> rules;
  EXPECT_FALSE(anyMatches(rules, head, "/", nullptr));
  rules.emplace_back().methods = {"HEAD", "POST"};
  EXPECT_FALSE(anyMatches(rules, head, "/", nullptr));
  rules.emplace_back().methods = {"HEAD", "GET"};
  EXPECT_TRUE(anyMatches(rules, head, "/", nullptr));
}

TEST(DomainTable, TheMostSpecificDomainWins) {
  DomainTable table;
  const std::vector<std::string> domains = {"*",         "a.com", "*.a.com", "*.b.a.com",
                                            "*-x.a.com", "a.*",   "a.b.*"};
  for (size_t i = 0; i < domains.size(); i++) {
    EXPECT_TRUE(table.add(domains[i], static_cast<uint32_t>(i)));
    EXPECT_FALSE(table.add(domains[i], 99));
  }
  const auto found = [&](std::string_view host) { return domains[table.find(host).value_or(99)]; };
  EXPECT_EQ(found("a.com"), "a.com");
  EXPECT_EQ(found("c.a.com"), "*.a.com");
  EXPECT_EQ(found("c.b.a.com"), "*.b.a.com");
  EXPECT_EQ(found("c-x.a.com"), "*-x.a.com");
  EXPECT_EQ(found("-x.a.com"), "*.a.com");  // a star stands for one character or more
  EXPECT_EQ(found(".a.com"), "*");
  EXPECT_EQ(found("a.org"), "a.*");
  EXPECT_EQ(found("a.b.org"), "a.b.*");
  EXPECT_EQ(found("a."), "*");
  EXPECT_EQ(found("other"), "*");
  EXPECT_EQ(found(""), "*");
}

TEST(DomainTable, WithoutAStarAloneHostsMayHaveNone) {
  DomainTable table;
  table.add("a.com", 1);
  EXPECT_EQ(table.find("b.com"), std::nullopt);
  EXPECT_EQ(table.find(""), std::nullopt);
}

Route route(PathMatcher matcher) {
  Route made;
  made.match.path = std::move(matcher);
  return made;
}

TEST(Routes, TheFirstThatMatchesIsTakenWithoutTheQuery) {
  VirtualHost host;
  host.routes.push_back(route(path(PathMatcher::Kind::path, "/a")));
  host.routes.push_back(route(path(PathMatcher::Kind::prefix, "/a")));
  const Request request({});
  EXPECT_EQ(match(host, request.head, "/a?b"), &host.routes[0]);
  EXPECT_EQ(match(host, request.head, "/ab"), &host.routes[1]);
  EXPECT_EQ(match(host, request.head, "/b"), nullptr);
}

TEST(Routes, AllConditionsHold) {
  VirtualHost host;
  host.routes.push_back(route(path(PathMatcher::Kind::prefix, "/")));
  host.routes[0].match.headers.push_back(header("x-a", {ValueTest::Kind::present, {}}));
  host.routes[0].match.query_parameters.push_back({"q", {ValueTest::Kind::present, {}}});
  EXPECT_EQ(match(host, Request({{"X-A", "1"}}).head, "/?q"), &host.routes[0]);
  EXPECT_EQ(match(host, Request({{"X-A", "1"}}).head, "/"), nullptr);
  EXPECT_EQ(match(host, Request({}).head, "/?q"), nullptr);
}

std::string upstreamTarget(PathMatcher matcher, std::optional<std::string> rewrite,
                           std::string_view target) {
  Route made = route(std::move(matcher));
  ForwardAction action;
  action.prefix_rewrite = std::move(rewrite);
  made.action = std::move(action);
  std::string out;
  appendUpstreamTarget(made, target, out);
  return out;
}

TEST(Routes, RewriteThePartThatMatched) {
  using PathKind = PathMatcher::Kind;
  EXPECT_EQ(upstreamTarget(path(PathKind::prefix, "/a/"), "/b/", "/a/c?d=/a/"), "/b/c?d=/a/");
  EXPECT_EQ(upstreamTarget(path(PathKind::path, "/a"), "/b", "/a?"), "/b?");
  EXPECT_EQ(upstreamTarget(path(PathKind::separated_prefix, "/a"), "/b", "/a/c"), "/b/c");
  PathMatcher expression = path(PathKind::regex, "");
  expression.regex = regex("/a.*");
  EXPECT_EQ(upstreamTarget(std::move(expression), "/b", "/abc?d"), "/b?d");
  EXPECT_EQ(upstreamTarget(path(PathKind::prefix, "/a/"), std::nullopt, "/a/c?d"), "/a/c?d");
}

std::string location(RedirectAction action, RedirectFrom from) {
  Route made = route(path(PathMatcher::Kind::prefix, "/old/"));
  made.action = std::move(action);
  return redirectLocation(made, from);
}

TEST(Redirects, ChangeWhatTheySay) {
  const RedirectFrom from{"http", "a.com:8080", "/old/x?q=1"};
  RedirectAction action;
  action.https = true;
  EXPECT_EQ(location(action, from), "https://a.com:8080/old/x?q=1");
  EXPECT_EQ(location(action, {"http", "a.com:80", "/"}), "https://a.com/");
  EXPECT_EQ(location(action, {"http", "[::1]", "/"}), "https://[::1]/");
  action = {};
  action.host = "b.com";
  EXPECT_EQ(location(action, from), "http://b.com/old/x?q=1");
  action.port = 81;
  EXPECT_EQ(location(action, from), "http://b.com:81/old/x?q=1");
  action.port = 80;
  EXPECT_EQ(location(action, from), "http://b.com/old/x?q=1");
  action = {};
  action.path = "/new";
  EXPECT_EQ(location(action, from), "http://a.com:8080/new?q=1");
  action.path = "/new?own";
  EXPECT_EQ(location(action, from), "http://a.com:8080/new?own");
  action = {};
  action.prefix_rewrite = "/new/";
  action.strip_query = true;
  EXPECT_EQ(location(action, from), "http://a.com:8080/new/x");
}

TEST(Redirects, WithoutAHostAreRelative) {
  RedirectAction action;
  action.path = "/new";
  EXPECT_EQ(location(action, {"http", "", "/old/"}), "/new");
}

std::vector<std::string> changed(const std::vector<HeaderMutation>& mutations) {
  http::Fields fields;
  fields.add("A", "1");
  fields.add("Etag", "2");
  fields.add("a", "3");
  http::Fields scratch;
  apply(mutations, fields, scratch);
  std::vector<std::string> out;
  for (const http::Field& field : fields.all()) {
    out.push_back(std::string(field.name) + "=" + std::string(field.value));
  }
  return out;
}

HeaderMutation mutation(HeaderMutation::Kind kind, std::string name, std::string value = "") {
  return {kind, http::nameOf(name), std::move(name), std::move(value)};
}

TEST(HeaderMutations, EachKindDoesItsWork) {
  using Change = HeaderMutation::Kind;
  using List = std::vector<std::string>;
  EXPECT_EQ(changed({mutation(Change::remove, "A")}), List({"Etag=2"}));
  EXPECT_EQ(changed({mutation(Change::remove, "ETag")}), List({"A=1", "a=3"}));
  EXPECT_EQ(changed({mutation(Change::append, "A", "4")}), List({"A=1", "Etag=2", "a=3", "A=4"}));
  EXPECT_EQ(changed({mutation(Change::add_if_absent, "A", "4")}), List({"A=1", "Etag=2", "a=3"}));
  EXPECT_EQ(changed({mutation(Change::add_if_absent, "B", "4")}),
            List({"A=1", "Etag=2", "a=3", "B=4"}));
  EXPECT_EQ(changed({mutation(Change::overwrite, "A", "4")}), List({"Etag=2", "A=4"}));
  EXPECT_EQ(changed({mutation(Change::overwrite, "B", "4")}),
            List({"A=1", "Etag=2", "a=3", "B=4"}));
  EXPECT_EQ(changed({mutation(Change::overwrite_if_exists, "A", "4")}), List({"Etag=2", "A=4"}));
  EXPECT_EQ(changed({mutation(Change::overwrite_if_exists, "B", "4")}),
            List({"A=1", "Etag=2", "a=3"}));
}

TEST(HeaderMutations, TheVirtualHostHasTheLastWord) {
  Route made;
  made.response_headers.push_back(mutation(HeaderMutation::Kind::overwrite, "X", "route"));
  VirtualHost host;
  host.response_headers.push_back(mutation(HeaderMutation::Kind::overwrite, "X", "host"));
  http::Fields fields;
  http::Fields scratch;
  changeResponse(host, made, fields, scratch);
  ASSERT_EQ(fields.size(), 1u);
  EXPECT_EQ(fields.find("x")->value, "host");
}

}  // namespace
}  // namespace config
