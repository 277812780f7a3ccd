// Goal: request targets, authorities and normal forms (RFC 9112 3.2, RFC 3986). Method: tables with
// one row a clause; RFC 3986's own examples for dot segments.
#include "source/http/uri.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace http {
namespace {

std::string authority(std::string_view text, Scheme scheme = Scheme::http) {
  const auto parsed = parseAuthority(text);
  if (!parsed.has_value()) {
    return "none";
  }
  AuthorityBuffer buffer;
  return std::string(normaliseAuthority(*parsed, scheme, buffer));
}

TEST(Authority, ValidAndNormalised) {
  EXPECT_EQ(authority(""), "");
  EXPECT_EQ(authority("example.com"), "example.com");
  EXPECT_EQ(authority("EXAMPLE.Com"), "example.com");     // RFC 3986 6.2.2.1
  EXPECT_EQ(authority("example.com:80"), "example.com");  // 6.2.3
  EXPECT_EQ(authority("example.com:"), "example.com");    // 6.2.3
  EXPECT_EQ(authority("example.com:080"), "example.com");
  EXPECT_EQ(authority("example.com:443"), "example.com:443");
  EXPECT_EQ(authority("example.com:443", Scheme::https), "example.com");
  EXPECT_EQ(authority("example.com:80", Scheme::https), "example.com:80");
  EXPECT_EQ(authority("Example.com:08080"), "example.com:8080");
  EXPECT_EQ(authority("example.com."), "example.com");
  EXPECT_EQ(authority("example.com.:81"), "example.com:81");
  EXPECT_EQ(authority("a:65535"), "a:65535");
  EXPECT_EQ(authority("a:1"), "a:1");
  EXPECT_EQ(authority("127.0.0.1:8080"), "127.0.0.1:8080");
  EXPECT_EQ(authority("a_b-c~d"), "a_b-c~d");
  EXPECT_EQ(authority("[::1]"), "[::1]");
  EXPECT_EQ(authority("[::1]:80"), "[::1]");
  EXPECT_EQ(authority("[2001:DB8::A]:81"), "[2001:db8::a]:81");
  EXPECT_EQ(authority("[1:2:3:4:5:6:7:8]"), "[1:2:3:4:5:6:7:8]");
  EXPECT_EQ(authority("[::ffff:192.0.2.1]"), "[::ffff:192.0.2.1]");
  EXPECT_EQ(authority("[1:2:3:4:5:6:192.0.2.1]"), "[1:2:3:4:5:6:192.0.2.1]");
  EXPECT_EQ(authority("[1:2:3:4:5:6:7::]"), "[1:2:3:4:5:6:7::]");
  EXPECT_EQ(authority("[::]"), "[::]");
}

TEST(Authority, NormalTextIsReturnedAsItIs) {
  const std::string text = "example.com:80";
  const auto parsed = parseAuthority(text);
  AuthorityBuffer buffer;
  EXPECT_EQ(normaliseAuthority(*parsed, Scheme::http, buffer).data(), text.data());
}

TEST(Authority, Refused) {
  for (const std::string_view bad : {":80",
                                     "a:b",
                                     "a:0",
                                     "a:65536",
                                     "a:000080",
                                     "a:-1",
                                     "a:1 ",
                                     "a b",
                                     "a/b",
                                     "a?b",
                                     "a#b",
                                     "user@a",
                                     "user:pass@a",
                                     "a,b:1:2",
                                     "a:1:2",
                                     "a\"b",
                                     "<a>",
                                     "a\\b",
                                     "a%41",
                                     "a%2eb",
                                     "%",
                                     ".",
                                     "..",
                                     ".a",
                                     "a..b",
                                     "a..",
                                     "\xc3\xa4",
                                     "a\x01",
                                     "a\x7f",
                                     "a^b",
                                     "a|b",
                                     "a{b}",
                                     "a`b",
                                     "::1",
                                     "[",
                                     "]",
                                     "[]",
                                     "[:]",
                                     "[:::]",
                                     "[::1",
                                     "::1]",
                                     "[::1]x",
                                     "[::1]:x",
                                     "[1:2:3]",
                                     "[1:2:3:4:5:6:7:8:9]",
                                     "[1:2:3:4:5:6:7:8::]",
                                     "[1::2::3]",
                                     "[12345::]",
                                     "[g::]",
                                     "[:1::]",
                                     "[1:]",
                                     "[1::2:]",
                                     "[::1%25eth0]",
                                     "[v1.a]",
                                     "[::256.0.0.1]",
                                     "[::1.2.3]",
                                     "[::1.2.3.4.5]",
                                     "[::01.2.3.4]",
                                     "[1.2.3.4::]",
                                     "[1:2:3:4:5:6:7:1.2.3.4]",
                                     "[[::1]]"}) {
    EXPECT_EQ(authority(bad), "none") << bad;
  }
}

TEST(Authority, LimitOnTheHost) {
  EXPECT_NE(authority(std::string(kMaxHostBytes, 'a') + ":65535"), "none");
  EXPECT_EQ(authority(std::string(kMaxHostBytes + 1, 'a')), "none");
}

std::string target(std::string_view method, std::string_view text) {
  const auto parsed = parseTarget(method, text);
  if (!parsed.ok()) {
    return std::string(base::name(parsed.error().code));
  }
  const Target& t = parsed.value();
  constexpr std::array<std::string_view, 4> kForms = {"origin", "absolute", "authority",
                                                      "asterisk"};
  std::string out(kForms[static_cast<size_t>(t.form)]);
  out += "|" + std::string(t.form == TargetForm::absolute ? name(t.scheme) : "");
  out += "|" + std::string(t.authority) + "|" + std::string(t.path);
  out += t.has_query ? "?" + std::string(t.query) : "";
  return out;
}

TEST(Target, EveryForm) {
  EXPECT_EQ(target("GET", "/"), "origin|||/");
  EXPECT_EQ(target("GET", "/a/b?c=d?e"), "origin|||/a/b?c=d?e");
  EXPECT_EQ(target("GET", "/a?"), "origin|||/a?");
  EXPECT_EQ(target("GET", "//a/b"), "origin|||//a/b");
  EXPECT_EQ(target("GET", "/http://a/b"), "origin|||/http://a/b");
  EXPECT_EQ(target("GET", "http://a/b?c"), "absolute|http|a|/b?c");
  EXPECT_EQ(target("GET", "HTTPS://A:443"), "absolute|https|A:443|/");
  EXPECT_EQ(target("GET", "http://a?b"), "absolute|http|a|/?b");
  EXPECT_EQ(target("GET", "http://[::1]:80/"), "absolute|http|[::1]:80|/");
  EXPECT_EQ(target("OPTIONS", "http://a"), "absolute|http|a|*");  // RFC 9112 3.2.4
  EXPECT_EQ(target("OPTIONS", "http://a/"), "absolute|http|a|/");
  EXPECT_EQ(target("OPTIONS", "*"), "asterisk|||*");
  EXPECT_EQ(target("OPTIONS", "/"), "origin|||/");
  EXPECT_EQ(target("CONNECT", "a:443"), "authority||a:443|");
}

TEST(Target, Refused) {
  for (const std::string_view bad : {"",
                                     "*",
                                     "a",
                                     "a:80",
                                     "example.com/",
                                     "http:/a",
                                     "http:a",
                                     "http://",
                                     "http:///a",
                                     "http://?a",
                                     "http://user@a/",
                                     "http://a:x/",
                                     "ftp://a/",
                                     "file:///a",
                                     "javascript:x",
                                     "http//a",
                                     "?a",
                                     "/a b",
                                     "/a#b",
                                     "/\x7f",
                                     "/\xc3\xa4",
                                     "**"}) {
    EXPECT_EQ(target("GET", bad), "bad_head") << bad;
  }
  for (const std::string_view bad : {"a", "/", "http://a:80/", "*", ":80", "a:", "a:80/"}) {
    EXPECT_EQ(target("CONNECT", bad), "bad_head") << bad;
  }
}

std::string effective(RequestHead& head, Scheme scheme = Scheme::http) {
  AuthorityBuffer buffer;
  const auto result = effectiveUri(head, scheme, buffer);
  if (!result.ok()) {
    return std::string(base::name(result.error().code));
  }
  const Effective& uri = result.value();
  return std::string(name(uri.scheme)) + "://" + std::string(uri.authority) + "|" +
         std::string(uri.path) + (uri.has_query ? "?" + std::string(uri.query) : "");
}

std::string effective(std::string_view request_target, std::string_view host, uint8_t minor = 1) {
  RequestHead head;
  head.method = request_target == "*" ? "OPTIONS" : "GET";
  head.target = request_target;
  head.minor = minor;
  head.fields.add("Host", host);
  return effective(head);
}

TEST(EffectiveUri, EveryClause) {
  EXPECT_EQ(effective("/a?b", "A.example:80"), "http://a.example|/a?b");
  EXPECT_EQ(effective("/%7e/../x", "a"), "http://a|/%7e/../x");                  // as received
  EXPECT_EQ(effective("http://B.example:81/x", "a"), "http://b.example:81|/x");  // RFC 9112 3.2.2
  EXPECT_EQ(effective("*", "a"), "http://a|*");
  EXPECT_EQ(effective("/", ""), "bad_head");  // RFC 9110 4.2.1
  EXPECT_EQ(effective("http://a/", ""), "http://a|/");
  EXPECT_EQ(effective("/", "", 0), "http://|/");
  EXPECT_EQ(effective("/", "a b"), "bad_head");
  EXPECT_EQ(effective("https://a/", "a"), "bad_head");  // not over a plain connection
  RequestHead head;
  head.method = "GET";
  head.target = "/";
  head.minor = 0;
  EXPECT_EQ(effective(head), "http://|/");
  head.fields.add("Host", "a:443");
  EXPECT_EQ(effective(head, Scheme::https), "https://a|/");
  RequestHead tunnel;
  tunnel.method = "CONNECT";
  tunnel.target = "b:22";
  tunnel.fields.add("Host", "a");
  EXPECT_EQ(effective(tunnel), "http://b:22|");
}

std::string percent(std::string_view text) {
  std::string buffer(text.size(), '\0');
  return std::string(normalisePercent(text, buffer));
}

TEST(NormalisePercent, EveryClause) {
  EXPECT_EQ(percent("/a/b"), "/a/b");
  EXPECT_EQ(percent("/%3a%3A"), "/%3A%3A");                    // RFC 3986 6.2.2.1
  EXPECT_EQ(percent("/%7Eu%2d%41%7a%30%2E%5f"), "/~u-Az0._");  // 6.2.2.2
  EXPECT_EQ(percent("/%2f%25%00%ff%20"), "/%2F%25%00%FF%20");
  EXPECT_EQ(percent("/%2541"), "/%2541");  // decoded once, not twice
  EXPECT_EQ(percent("/%"), "/%");
  EXPECT_EQ(percent("/%4"), "/%4");
  EXPECT_EQ(percent("/%4g%41"), "/%4gA");
  EXPECT_EQ(percent("/%%41"), "/%A");
  EXPECT_EQ(percent(""), "");
}

std::string dots(std::string_view path) {
  std::string buffer(path.size(), '\0');
  return std::string(removeDotSegments(path, buffer));
}

TEST(RemoveDotSegments, EveryClause) {
  EXPECT_EQ(dots("/a/b/c/./../../g"), "/a/g");  // RFC 3986 5.2.4
  EXPECT_EQ(dots("mid/content=5/../6"), "mid/6");
  EXPECT_EQ(dots("/"), "/");
  EXPECT_EQ(dots("/."), "/");
  EXPECT_EQ(dots("/.."), "/");
  EXPECT_EQ(dots("/../../a"), "/a");
  EXPECT_EQ(dots("/a/."), "/a/");
  EXPECT_EQ(dots("/a/.."), "/");
  EXPECT_EQ(dots("/a/b/.."), "/a/");
  EXPECT_EQ(dots("/a/../b"), "/b");
  EXPECT_EQ(dots("/a//../b"), "/a/b");
  EXPECT_EQ(dots("/a/.b/..c/d."), "/a/.b/..c/d.");
  EXPECT_EQ(dots("/a/.../b"), "/a/.../b");
  EXPECT_EQ(dots("//"), "//");
  EXPECT_EQ(dots("."), "");
  EXPECT_EQ(dots(".."), "");
  EXPECT_EQ(dots("./a"), "a");
  EXPECT_EQ(dots("../a"), "a");
  EXPECT_EQ(dots("*"), "*");
}

TEST(SplitPathQuery, AtTheFirstQuestionMark) {
  EXPECT_EQ(splitPathQuery("/a").path, "/a");
  EXPECT_FALSE(splitPathQuery("/a").has_query);
  EXPECT_EQ(splitPathQuery("/a?b?c").query, "b?c");
  EXPECT_TRUE(splitPathQuery("/a?").has_query);
  EXPECT_EQ(splitPathQuery("?b").path, "");
}

}  // namespace
}  // namespace http
