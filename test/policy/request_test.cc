// Goal: requests are classified as RFC 9111 and 9110 say, and keys tell apart whatever differs.
// Method: one row a rule; keys are compared with texts written by hand.
#include "source/policy/request.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "test/policy/heads.h"

namespace policy {
namespace {

using testing::enabledRoute;
using testing::get;
using testing::request;

std::string_view bypassOf(const http::RequestHead& head,
                          const RoutePolicy& route = enabledRoute()) {
  const RequestClass result = classifyRequest(head, route);
  const Bypass* bypass = std::get_if<Bypass>(&result);
  return bypass == nullptr ? "lookup" : name(bypass->why);
}

TEST(ClassifyRequest, OnlyGetAndHeadAreLookedUp) {  // RFC 9111 3, RFC 9110 9.2.3
  EXPECT_EQ(bypassOf(get()), "lookup");
  EXPECT_EQ(bypassOf(request("HEAD")), "lookup");
  for (const std::string_view method :
       {"POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "CONNECT", "M-SEARCH", "get", ""}) {
    EXPECT_EQ(bypassOf(request(method)), "method") << method;
  }
}

TEST(ClassifyRequest, ARouteWithoutCacheIsPassed) {
  EXPECT_EQ(bypassOf(get(), RoutePolicy{}), "disabled");
}

TEST(ClassifyRequest, ContentBypasses) {  // RFC 9110 9.3.1
  EXPECT_EQ(bypassOf(get({{"Content-Length", "9"}})), "body_present");
  EXPECT_EQ(bypassOf(get({{"Content-Length", "10"}})), "body_present");
  EXPECT_EQ(bypassOf(get({{"Transfer-Encoding", "chunked"}})), "body_present");
  EXPECT_EQ(bypassOf(get({{"Content-Length", "0"}})), "lookup");
  EXPECT_EQ(bypassOf(get({{"Content-Length", "00"}})), "lookup");
}

TEST(ClassifyRequest, UpgradesBypassButAnOfferOfH2cDoesNot) {  // RFC 9110 7.8
  EXPECT_EQ(bypassOf(get({{"Upgrade", "websocket"}, {"Connection", "upgrade"}})), "upgrade");
  EXPECT_EQ(bypassOf(get({{"Upgrade", "h2c, websocket"}})), "upgrade");
  EXPECT_EQ(bypassOf(get({{"Upgrade", "h2c"}, {"Connection", "upgrade, http2-settings"}})),
            "lookup");
}

TEST(ClassifyRequest, OriginsPreconditionsBypass) {  // RFC 9111 4.3.2
  EXPECT_EQ(bypassOf(get({{"If-Match", "\"a\""}})), "precondition");
  EXPECT_EQ(bypassOf(get({{"If-Unmodified-Since", "Sun, 06 Nov 1994 08:49:37 GMT"}})),
            "precondition");
}

TEST(ClassifyRequest, AuthorizationAndCookiesAreLookedUp) {  // RFC 9111 3.5, 7.3
  EXPECT_EQ(bypassOf(get({{"Authorization", "Bearer 1"}})), "lookup");
  EXPECT_EQ(bypassOf(get({{"Cookie", "a=b"}})), "lookup");
}

TEST(ClassifyRequest, SaysWhatTheRequestHas) {
  const Lookup plain = std::get<Lookup>(classifyRequest(get(), enabledRoute()));
  EXPECT_EQ(plain, Lookup{});
  const Lookup full = std::get<Lookup>(classifyRequest(
      get({{"Range", "bytes=0-1"}, {"If-None-Match", "\"a\""}, {"Cache-Control", "max-age=3"}}),
      enabledRoute()));
  EXPECT_TRUE(full.has_range);
  EXPECT_TRUE(full.has_conditionals);
  EXPECT_EQ(full.directives.max_age, 3U);
  const Lookup head =
      std::get<Lookup>(classifyRequest(request("HEAD", {{"Range", "bytes=0-1"}}), enabledRoute()));
  EXPECT_TRUE(head.is_head);
  EXPECT_FALSE(head.has_range);  // RFC 9110 14.2
}

TEST(ClassifyRequest, ARouteMayIgnoreClientsDirectives) {
  RoutePolicy route = enabledRoute();
  route.honor_request_cache_control = false;
  const http::RequestHead head =
      get({{"Cache-Control", "no-cache, no-store, only-if-cached"}, {"Pragma", "no-cache"}});
  EXPECT_EQ(std::get<Lookup>(classifyRequest(head, route)).directives, RequestDirectives{});
}

TEST(SafeMethods, AreThoseRegisteredAsSafe) {  // RFC 9110 9.2.1, 16.1.1
  for (const std::string_view method :
       {"GET", "HEAD", "OPTIONS", "TRACE", "PROPFIND", "REPORT", "SEARCH"}) {
    EXPECT_TRUE(isSafeMethod(method)) << method;
  }
  for (const std::string_view method : {"POST", "PUT", "DELETE", "PATCH", "M-SEARCH", "get", ""}) {
    EXPECT_FALSE(isSafeMethod(method)) << method;
  }
}

struct Uri {
  std::string_view authority;
  std::string_view path;
  std::optional<std::string_view> query;
  http::Scheme scheme = http::Scheme::http;
};

std::string keyOf(const Uri& uri, const KeySpec& spec = {}) {
  http::Effective parts;
  parts.scheme = uri.scheme;
  parts.authority = uri.authority;
  parts.path = uri.path;
  parts.query = uri.query.value_or("");
  parts.has_query = uri.query.has_value();
  std::string key = "left over";
  cacheKey(parts, spec, key);
  return key;
}

TEST(CacheKey, IsTheTargetUri) {  // RFC 9111 2
  EXPECT_EQ(keyOf({"a.example", "/p/q", "x=1&y"}), "http://a.example/p/q?x=1&y");
  EXPECT_EQ(keyOf({"a.example:8080", "/", std::nullopt, http::Scheme::https}),
            "https://a.example:8080/");
}

TEST(CacheKey, NeverMakesDifferentBytesEqual) {
  const Uri uris[] = {{"a", "/get", "name=x"}, {"a", "/", "getname=x"},
                      {"a", "/", "a=1&b=2"},   {"a", "/", "b=2&a=1"},
                      {"a", "/%61", {}},       {"a", "/a", {}},
                      {"a", "/a", ""},         {"a", "/A", {}},
                      {"ab", "/c", {}},        {"a", "/b/c", {}},
                      {"a", "/%2f", {}},       {"a", "/%2F", {}},
                      {"a", "/a/../b", {}},    {"a", "/b", {}},
                      {"b", "/a", {}},         {"a", "/a", {}, http::Scheme::https}};
  std::set<std::string> keys;
  for (const Uri& uri : uris) {
    EXPECT_TRUE(keys.insert(keyOf(uri)).second) << uri.authority << " " << uri.path;
  }
}

TEST(ClassifyRequest, CookiesBypassWhereTheOperatorSaysSo) {
  RoutePolicy route = enabledRoute();
  route.request_cookies = RequestCookies::bypass;
  EXPECT_EQ(bypassOf(get({{"Cookie", "a=1"}}), route), "cookie");
  EXPECT_EQ(bypassOf(get(), route), "lookup");
  route.request_cookies = RequestCookies::strip;
  EXPECT_EQ(bypassOf(get({{"Cookie", "a=1"}}), route), "lookup");
}

TEST(CacheKey, NormalisesThePathWhereTheOperatorSaysSo) {  // RFC 3986 6.2.2.1, 6.2.2.2
  KeySpec spec;
  spec.normalise_path = true;
  EXPECT_EQ(keyOf({"a", "/%61%2f%C3%a4%zz%", "x=%61"}, spec), "http://a/a%2F%C3%A4%zz%?x=%61");
  EXPECT_EQ(keyOf({"a", "/a%2F", {}}, spec), "http://a/a%2F");
  EXPECT_EQ(keyOf({"a", "/a", {}}, spec), "http://a/a");
  EXPECT_EQ(keyOf({"a", "/%7Eb/%41", ""}, spec), keyOf({"a", "/~b/A", ""}, spec));
}

TEST(CacheKey, LeavesOutSchemeOrHost) {
  KeySpec spec;
  spec.exclude_scheme = true;
  EXPECT_EQ(keyOf({"a", "/x", "q"}, spec), "//a/x?q");
  spec.exclude_host = true;
  EXPECT_EQ(keyOf({"a", "/x", "q"}, spec), "///x?q");
  spec.exclude_scheme = false;
  EXPECT_EQ(keyOf({"a", "/x", "q"}, spec), "http:///x?q");
}

TEST(CacheKey, IncludesOnlyListedParameters) {
  KeySpec spec;
  spec.query_parameters_included = {"id", "page"};
  EXPECT_EQ(keyOf({"a", "/", "utm=1&page=2&id=3&ids=4"}, spec), "http://a/?page=2&id=3");
  EXPECT_EQ(keyOf({"a", "/", "id"}, spec), "http://a/?id");
  EXPECT_EQ(keyOf({"a", "/", "utm=1"}, spec), "http://a/");
  EXPECT_EQ(keyOf({"a", "/", ""}, spec), "http://a/");
  EXPECT_EQ(keyOf({"a", "/", {}}, spec), "http://a/");
}

TEST(CacheKey, ExcludesByNameAndPrefix) {
  KeySpec spec;
  spec.query_parameters_excluded = {"fbclid", "utm_*"};
  EXPECT_EQ(keyOf({"a", "/", "utm_source=x&q=1&fbclid=2&utm=3"}, spec), "http://a/?q=1&utm=3");
  EXPECT_EQ(keyOf({"a", "/", "fbclid&utm_"}, spec), "http://a/");
  spec.query_parameters_excluded = {"*"};
  EXPECT_EQ(keyOf({"a", "/", "q=1&&r"}, spec), "http://a/");
}

TEST(CacheKey, SortsByNameThenValue) {
  KeySpec spec;
  spec.sort_query = true;
  EXPECT_EQ(keyOf({"a", "/", "b=2&a=2&ab=0&a=1&a"}, spec), "http://a/?a&a=1&a=2&ab=0&b=2");
  EXPECT_EQ(keyOf({"a", "/", "b=2&a=1"}, spec), keyOf({"a", "/", "a=1&b=2"}, spec));
}

TEST(CacheKey, TakesLongQueriesAsReceived) {
  KeySpec spec;
  spec.sort_query = true;
  std::string query = "z=1";
  for (size_t i = 1; i < kMaxKeyedParameters; i++) {
    query += "&a=1";
  }
  EXPECT_TRUE(keyOf({"a", "/", query}, spec).ends_with("&a=1&z=1"));
  query += "&a=1";
  EXPECT_EQ(keyOf({"a", "/", query}, spec), "http://a/?" + query);
}

}  // namespace
}  // namespace policy
