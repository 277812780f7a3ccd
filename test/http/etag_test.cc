// Goal: entity tags, their two comparisons and their lists (RFC 9110 8.8.3, 13.1). Method: tables
// of the clauses.
#include "source/http/etag.h"

#include <gtest/gtest.h>

#include <string>

namespace http {
namespace {

TEST(EntityTag, Grammar) {
  const auto strong = parseEntityTag("\"xyzzy\"");
  ASSERT_TRUE(strong.has_value());
  EXPECT_FALSE(strong->weak);
  EXPECT_EQ(strong->opaque, "xyzzy");
  const auto weak = parseEntityTag("W/\"xyzzy\"");
  ASSERT_TRUE(weak.has_value());
  EXPECT_TRUE(weak->weak);
  EXPECT_EQ(weak->opaque, "xyzzy");
  EXPECT_EQ(parseEntityTag("\"\"")->opaque, "");
  EXPECT_EQ(parseEntityTag("\"a,b\\c!\xc3\xa4\"")->opaque, "a,b\\c!\xc3\xa4");
  for (const std::string_view bad :
       {"", "\"", "xyzzy", "W/", "W/xyzzy", "w/\"a\"", "W /\"a\"", "\"a", "a\"", "\"a\"b",
        "\"a b\"", "\"a\tb\"", "\"a\x7f\"", " \"a\"", "\"a\" ", "'a'", "*"}) {
    EXPECT_FALSE(parseEntityTag(bad).has_value()) << bad;
  }
}

// The table of RFC 9110 8.8.3.2.
TEST(EntityTag, Comparison) {
  const EntityTag w1{true, "1"};
  const EntityTag w2{true, "2"};
  const EntityTag s1{false, "1"};
  EXPECT_FALSE(strongMatch(w1, w1));
  EXPECT_TRUE(weakMatch(w1, w1));
  EXPECT_FALSE(strongMatch(w1, w2));
  EXPECT_FALSE(weakMatch(w1, w2));
  EXPECT_FALSE(strongMatch(w1, s1));
  EXPECT_TRUE(weakMatch(w1, s1));
  EXPECT_TRUE(strongMatch(s1, s1));
  EXPECT_TRUE(weakMatch(s1, s1));
}

struct Listed {
  std::string tags;
  bool any = false;
  bool malformed = false;
};

Listed listOf(std::initializer_list<std::string_view> lines) {
  Fields fields;
  fields.add("Age", "1");
  for (const std::string_view line : lines) {
    fields.add("If-None-Match", line);
    fields.add("X-Between", "\"no\"");
  }
  EntityTagList list(fields, Name::if_none_match);
  Listed out;
  for (auto tag = list.next(); tag.has_value(); tag = list.next()) {
    out.tags += (tag->weak ? "W<" : "<") + std::string(tag->opaque) + ">";
  }
  out.any = list.any();
  out.malformed = list.malformed();
  return out;
}

TEST(EntityTagList, Lists) {
  EXPECT_EQ(listOf({}).tags, "");
  EXPECT_EQ(listOf({"\"a\""}).tags, "<a>");
  EXPECT_EQ(listOf({"\"a\", W/\"b\" ,\"c\""}).tags, "<a>W<b><c>");
  EXPECT_EQ(listOf({",, \"a\",\t,\"b\","}).tags, "<a><b>");
  EXPECT_EQ(listOf({"\"a,b\", \"c\\\"", "\"d\""}).tags, "<a,b><c\\><d>");
  EXPECT_FALSE(listOf({"\"a\", W/\"b\"", "", "\"d\""}).malformed);
  EXPECT_TRUE(listOf({"*"}).any);
  EXPECT_EQ(listOf({"*"}).tags, "");
  EXPECT_FALSE(listOf({"*"}).malformed);
}

TEST(EntityTagList, MalformedElementsAreSkipped) {
  EXPECT_TRUE(listOf({"a"}).malformed);
  EXPECT_EQ(listOf({"a, \"b\""}).tags, "<b>");
  EXPECT_TRUE(listOf({"a, \"b\""}).malformed);
  EXPECT_EQ(listOf({"\"a\" \"b\", \"c\""}).tags, "<c>");
  EXPECT_EQ(listOf({"\"a", "\"b\""}).tags, "<b>");
  EXPECT_TRUE(listOf({"*, \"a\""}).malformed);
  EXPECT_FALSE(listOf({"*, \"a\""}).any);
  EXPECT_FALSE(listOf({"*", "*"}).any);
  EXPECT_TRUE(listOf({"*", "*"}).malformed);
}

}  // namespace
}  // namespace http
