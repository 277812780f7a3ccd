// Goal: cache groups are read as RFC 9875 says. Method: one row a clause.
#include "source/policy/groups.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "test/policy/heads.h"

namespace policy {
namespace {

using testing::FieldRows;
using testing::fieldsOf;
using testing::request;
using testing::response;

using Groups = std::vector<std::string>;

TEST(CacheGroups, AreAListOfStrings) {  // RFC 9875 2
  struct Row {
    FieldRows rows;
    Groups groups;
  };
  const FieldRows plain = {{"Cache-Groups", "\"b\", \"a\", \"b\""}};
  const FieldRows lines = {{"Cache-Groups", "\"a\""}, {"cache-groups", "\"B\", \"b\""}};
  const FieldRows parameters = {{"Cache-Groups", "\"a\";x=1, \"b\";y"}};
  const FieldRows spaces = {{"Cache-Groups", "\"a b\""}};
  const FieldRows tokens = {{"Cache-Groups", "\"a\", b"}};
  const FieldRows inner = {{"Cache-Groups", "(\"a\")"}};
  const FieldRows malformed = {{"Cache-Groups", "\"a\", \"b"}};
  const FieldRows empty = {{"Cache-Groups", ""}};
  const FieldRows none = {};
  const Row rows[] = {
      {plain, {"a", "b"}},
      {lines, {"B", "a", "b"}},
      {parameters, {"a", "b"}},
      {spaces, {"a b"}},
      {tokens, {}},
      {inner, {}},
      {malformed, {}},
      {empty, {}},
      {none, {}},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(groupsOf(fieldsOf(row.rows)), row.groups);
  }
}

TEST(CacheGroups, AreLimitedInNumberAndLength) {
  const auto listOf = [](size_t count) {
    std::string text;
    for (size_t i = 0; i < count; i++) {
      text.append(i == 0 ? "\"" : ", \"").append(std::to_string(i)).append("\"");
    }
    return text;
  };
  const std::string most = listOf(kMaxGroups);
  const std::string more = listOf(kMaxGroups + 1);
  EXPECT_EQ(groupsOf(fieldsOf(FieldRows{{"Cache-Groups", most}})).size(), kMaxGroups);
  EXPECT_EQ(groupsOf(fieldsOf(FieldRows{{"Cache-Groups", more}})).size(), kMaxGroups);
  const std::string longest = "\"" + std::string(kMaxGroupBytes, 'x') + "\"";
  const std::string longer = "\"" + std::string(kMaxGroupBytes + 1, 'x') + "\"";
  EXPECT_EQ(groupsOf(fieldsOf(FieldRows{{"Cache-Groups", longest}})).size(), 1u);
  EXPECT_EQ(groupsOf(fieldsOf(FieldRows{{"Cache-Groups", longer}})).size(), 0u);
}

TEST(CacheGroups, AreInvalidatedByUnsafeRequestsAlone) {  // RFC 9875 3
  const FieldRows rows = {{"Cache-Group-Invalidation", "\"a\", \"b\""}};
  const Groups both = {"a", "b"};
  const Groups none;
  for (const std::string_view method : {"POST", "PUT", "DELETE", "PATCH", "UNKNOWN"}) {
    EXPECT_EQ(invalidatedGroups(request(method), response(200, rows)), both) << method;
  }
  for (const std::string_view method : {"GET", "HEAD", "OPTIONS", "TRACE"}) {
    EXPECT_EQ(invalidatedGroups(request(method), response(200, rows)), none) << method;
  }
  EXPECT_EQ(invalidatedGroups(request("POST"), response(303, rows)), both);
  EXPECT_EQ(invalidatedGroups(request("POST"), response(400, rows)), none);
  EXPECT_EQ(invalidatedGroups(request("POST"), response(500, rows)), none);
}

TEST(CacheGroups, BelongToOneOrigin) {  // RFC 9875 2.1
  http::Effective target;
  target.authority = "a.example:81";
  KeySpec key;
  EXPECT_EQ(groupTag(target, key, "x y"), "http://a.example:81 x y");
  target.scheme = http::Scheme::https;
  EXPECT_EQ(groupTag(target, key, "x"), "https://a.example:81 x");
  key.exclude_scheme = true;
  EXPECT_EQ(groupTag(target, key, "x"), "//a.example:81 x");
  key.exclude_host = true;
  EXPECT_EQ(groupTag(target, key, "x"), "// x");
}

}  // namespace
}  // namespace policy
