// Goal: paths that promise a static file get one, and requests that were here before are known.
// Method: one row a case; loops as in RFC 8586 and RFC 9110 7.6.3.
#include <gtest/gtest.h>

#include <string_view>

#include "source/policy/content_type.h"
#include "source/policy/loop.h"
#include "test/policy/heads.h"

namespace policy {
namespace {

using testing::FieldRows;
using testing::fieldsOf;

TEST(ContentTypeFits, TheExtensionOfThePath) {
  struct Row {
    std::string_view path;
    std::string_view type;
    bool fits;
  };
  const Row rows[] = {
      {"/a.css", "text/css", true},
      {"/a.css", "Text/CSS; charset=utf-8", true},
      {"/a.css", "text/html", false},
      {"/a.css", "", false},
      {"/account.php/x.css", "text/html; charset=utf-8", false},
      {"/account%2ECSS", "text/html", false},
      {"/account.css;jsessionid=1", "text/html", false},
      {"/account.css%3Bx", "text/html", false},
      {"/a.JPG", "image/png", true},
      {"/a.png", "image/", true},
      {"/a.png", "imag", false},
      {"/a.js", "text/javascript", true},
      {"/a.js", "application/json", false},
      {"/a.woff2", "font/woff2", true},
      {"/a.css/", "text/html", true},  // no file's name
      {"/a.css/account", "text/html", true},
      {"/a", "text/html", true},
      {"/a.html", "text/html", true},
      {"/a.unknown", "x/y", true},
      {"/.css", "text/html", false},
      {"/", "text/html", true},
      {"", "text/html", true},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(contentTypeFits(row.path, row.type), row.fits) << row.path << " " << row.type;
  }
}

TEST(TimesPassed, CountsOurNames) {
  struct Row {
    std::string_view clause;
    FieldRows rows;
    uint32_t times;
  };
  const FieldRows none = {};
  const FieldRows via = {{"Via", "1.1 other, HTTP/1.1 Us (comment, 1.1 us)"}};
  const FieldRows via_port = {{"Via", "1.1 us:80"}};
  const FieldRows via_lines = {{"Via", "1.1 us"}, {"Via", "1.0 us"}};
  const FieldRows loop = {{"CDN-Loop", "foo, Me; abc=123; def=\"4,me\", bar"}};
  const FieldRows loop_twice = {{"CDN-Loop", "me,me"}, {"Via", "1.1 us"}};
  const FieldRows malformed = {{"Via", "us"}, {"CDN-Loop", ";me"}};
  const Row rows[] = {
      {"9110 7.6.3", none, 0},      {"9110 7.6.3", via, 1}, {"9110 7.6.3, port", via_port, 0},
      {"9110 7.6.3", via_lines, 2}, {"8586 2", loop, 1},    {"the greater counts", loop_twice, 2},
      {"malformed", malformed, 0},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(timesPassed(fieldsOf(row.rows), "us", "me"), row.times) << row.clause;
    EXPECT_EQ(timesPassed(fieldsOf(row.rows), "", ""), 0u) << row.clause;
  }
}

}  // namespace
}  // namespace policy
