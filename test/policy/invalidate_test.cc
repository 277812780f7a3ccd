// Goal: unsafe requests invalidate what RFC 9111 4.4 names and nothing of another origin.
// Method: one row a clause; reference resolution against the examples of RFC 3986 5.4 that have
// the http scheme's shape.
#include "source/policy/invalidate.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "test/policy/heads.h"

namespace policy {
namespace {

using testing::FieldRows;
using testing::request;
using testing::response;

http::Effective target(std::string_view authority, std::string_view path) {
  http::Effective uri;
  uri.authority = authority;
  uri.path = path;
  return uri;
}

std::vector<std::string> invalidated(std::string_view method, uint16_t status,
                                     FieldRows fields = {}) {
  const Invalidation result =
      invalidatedBy(request(method), target("a", "/p/x"), response(status, fields));
  std::vector<std::string> texts;
  for (uint8_t i = 0; i < result.count; i++) {
    texts.push_back(result.uris[i].text());
  }
  return texts;
}

using Texts = std::vector<std::string>;

TEST(InvalidatedBy, UnsafeMethodsThatSucceed) {
  const Texts own = {"http://a/p/x"};
  for (const std::string_view method : {"POST", "PUT", "DELETE", "PATCH", "M-SEARCH"}) {
    EXPECT_EQ(invalidated(method, 200), own) << method;
    EXPECT_EQ(invalidated(method, 204), own) << method;
    EXPECT_EQ(invalidated(method, 302), own) << method;
    for (const uint16_t failed : {400, 404, 500, 503}) {
      EXPECT_EQ(invalidated(method, failed), Texts{}) << method;
    }
  }
  for (const std::string_view method : {"GET", "HEAD", "OPTIONS", "TRACE"}) {
    EXPECT_EQ(invalidated(method, 200), Texts{}) << method;
  }
}

TEST(InvalidatedBy, LocationsOfTheSameOrigin) {
  EXPECT_EQ(invalidated("POST", 201, {{"Location", "/new"}, {"Content-Location", "y?q"}}),
            (Texts{"http://a/p/x", "http://a/new", "http://a/p/y?q"}));
  EXPECT_EQ(invalidated("POST", 201, {{"Location", "http://A:80/new#part"}}),
            (Texts{"http://a/p/x", "http://a/new"}));
  EXPECT_EQ(invalidated("POST", 201, {{"Location", "/p/x"}, {"Content-Location", "x"}}),
            (Texts{"http://a/p/x"}));
}

TEST(InvalidatedBy, NothingOfAnotherOrigin) {
  for (const std::string_view other : {"http://b/", "http://a:81/", "https://a/", "//b/x",
                                       "mailto:x@a", "http://a@b/", "http://a b/", "http:x"}) {
    EXPECT_EQ(invalidated("POST", 201, {{"Location", other}}), (Texts{"http://a/p/x"})) << other;
  }
}

TEST(ResolveReference, FollowsRfc3986) {  // 5.4.1, 5.4.2
  http::Effective base = target("a", "/b/c/d;p");
  base.query = "q";
  base.has_query = true;
  struct Row {
    std::string_view reference;
    std::string_view expected;
  };
  const Row rows[] = {
      {"g", "http://a/b/c/g"},
      {"./g", "http://a/b/c/g"},
      {"g/", "http://a/b/c/g/"},
      {"/g", "http://a/g"},
      {"//g", "http://g/"},
      {"?y", "http://a/b/c/d;p?y"},
      {"g?y", "http://a/b/c/g?y"},
      {"#s", "http://a/b/c/d;p?q"},
      {"g#s", "http://a/b/c/g"},
      {";x", "http://a/b/c/;x"},
      {"", "http://a/b/c/d;p?q"},
      {".", "http://a/b/c/"},
      {"..", "http://a/b/"},
      {"../g", "http://a/b/g"},
      {"../..", "http://a/"},
      {"../../../g", "http://a/g"},
      {"/./g", "http://a/g"},
      {"/../g", "http://a/g"},
      {"g;x=1/../y", "http://a/b/c/y"},
      {"g?y/../x", "http://a/b/c/g?y/../x"},
      {"HTTPS://G:443/x", "https://g/x"},
      {"http://g?y", "http://g/?y"},
  };
  for (const Row& row : rows) {
    OwnedUri uri;
    ASSERT_TRUE(resolveReference(base, row.reference, uri)) << row.reference;
    EXPECT_EQ(uri.text(), row.expected) << row.reference;
  }
}

TEST(ResolveReference, RefusesWhatNoRequestCouldAskFor) {
  OwnedUri uri;
  for (const std::string_view bad : {"ftp://a/", "http:///x", "http://", "/a b", "/a\x7f",
                                     "/\xc3\xa9", "http://u@h/", "//:80/", "http://a:99999/"}) {
    EXPECT_FALSE(resolveReference(target("a", "/"), bad, uri)) << bad;
  }
}

TEST(ParseAbsoluteUri, TakesHttpUrlsOnly) {
  OwnedUri uri;
  ASSERT_TRUE(parseAbsoluteUri("http://Example.com:80/a?b", uri));
  EXPECT_EQ(uri.text(), "http://example.com/a?b");
  EXPECT_EQ(uri.parts().authority, "example.com");
  EXPECT_EQ(uri.parts().path, "/a");
  EXPECT_TRUE(uri.parts().has_query);
  for (const std::string_view bad : {"/a", "a", "", "//a/b", "?x", "file:///x"}) {
    EXPECT_FALSE(parseAbsoluteUri(bad, uri)) << bad;
  }
}

}  // namespace
}  // namespace policy
