// Goal: Cache-Control and Pragma are read as RFC 9111 5.2 and 5.4 say, leaning to the strict side
// when malformed. Method: one row a rule; expectations come from the sections named.
#include "source/policy/cache_control.h"

#include <gtest/gtest.h>

#include <string>

#include "source/policy/times.h"
#include "test/policy/heads.h"

namespace policy {
namespace {

using testing::FieldRows;
using testing::fieldsOf;

ResponseDirectives parse(FieldRows rows) {
  return parseResponseDirectives(fieldsOf(rows));
}
ResponseDirectives parse(std::string_view value) {
  return parse({{"Cache-Control", value}});
}
RequestDirectives ask(std::string_view value) {
  return parseRequestDirectives(fieldsOf(FieldRows{{"Cache-Control", value}}));
}

TEST(ParseDelta, AcceptsDigitsOnlyAndSaturates) {  // RFC 9111 1.2.2
  EXPECT_EQ(parseDelta("0"), 0U);
  EXPECT_EQ(parseDelta("003600"), 3600U);
  EXPECT_EQ(parseDelta("2147483647"), 2147483647U);
  EXPECT_EQ(parseDelta("2147483648"), kMaxDelta_s);
  EXPECT_EQ(parseDelta("2147483649"), kMaxDelta_s);
  EXPECT_EQ(parseDelta("99999999999999999999999999"), kMaxDelta_s);
  for (const std::string_view bad : {"", "-1", "+1", "1.0", "1a", "a1", " 1", "'1'", "1;2"}) {
    EXPECT_EQ(parseDelta(bad), std::nullopt) << bad;
  }
}

TEST(ResponseDirectives, NamesAreCaseInsensitive) {  // RFC 9111 5.2
  const ResponseDirectives d = parse("No-StOrE, PUBLIC, MaX-aGe=5, S-MaxAge=6, IMMUTABLE");
  EXPECT_TRUE(d.no_store);
  EXPECT_TRUE(d.public_response);
  EXPECT_TRUE(d.immutable);
  EXPECT_EQ(d.max_age, 5U);
  EXPECT_EQ(d.s_maxage, 6U);
}

TEST(ResponseDirectives, EveryFlagIsRead) {
  const ResponseDirectives d = parse(
      "no-store, no-cache, private, public, must-revalidate, proxy-revalidate, must-understand, "
      "no-transform, immutable, stale-while-revalidate=7, stale-if-error=8");
  EXPECT_TRUE(d.no_store && d.no_cache && d.private_response && d.public_response);
  EXPECT_TRUE(d.must_revalidate && d.proxy_revalidate && d.must_understand);
  EXPECT_TRUE(d.no_transform && d.immutable);
  EXPECT_EQ(d.stale_while_revalidate, 7U);
  EXPECT_EQ(d.stale_if_error, 8U);
  EXPECT_EQ(parse("foobar, x=1").max_age, std::nullopt);  // unknown ones are ignored (5.2.3)
}

TEST(ResponseDirectives, LifetimeValues) {
  struct Row {
    std::string_view value;
    std::optional<uint32_t> max_age;
  };
  const Row rows[] = {
      {"max-age=3600", 3600},
      {"max-age=\"3600\"", 3600},  // both forms are accepted (5.2)
      {"max-age=0", 0},
      {"max-age='3600'", 0},  // not a number: stale (4.2.1)
      {"max-age=-3600", 0},
      {"max-age=3600.0", 0},
      {"max-age=60s", 0},
      {"max-age", 0},
      {"max-age=", 0},
      {"max-age =3600", 0},
      {"max-age= 3600", 0},
      {"max-age = 60", 0},
      {"max-age=60; public", 0},
      {"max-age=1, max-age=3600", 1},  // the first counts (4.2.1)
      {"max-age=1800, max-age=1", 1800},
      {"max-age=1800, max-age=x", 0},  // one invalid spoils it
      {"max-age=x, max-age=1800", 0},
      {"extension=\"max-age=3600\"", std::nullopt},  // quotes are not scanned
      {"extension=\"max-age=3600\", max-age=1", 1},
      {"max-age=1, extension=\"max-age=3600\"", 1},
      {"extension=\"a\\\", max-age=3600\", max-age=1", 1},
      {"xmax-age=5", std::nullopt},
      {",, max-age=5 ,", 5},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(parse(row.value).max_age, row.max_age) << row.value;
  }
}

TEST(ResponseDirectives, LinesCombineAndTheFirstCounts) {  // RFC 9110 5.3
  const ResponseDirectives d =
      parse({{"Cache-Control", "max-age=3600"}, {"Cache-Control", "s-maxage=1, max-age=2"}});
  EXPECT_EQ(d.max_age, 3600U);
  EXPECT_EQ(d.s_maxage, 1U);
}

TEST(ResponseDirectives, RestrictionsCountEvenWhenMalformed) {
  EXPECT_TRUE(parse("no-store; max-age=0").no_store);
  EXPECT_TRUE(parse("no-store=1").no_store);
  EXPECT_TRUE(parse("private; max-age=60").private_response);
  EXPECT_TRUE(parse("no-cache ,").no_cache);
  EXPECT_TRUE(parse("must-revalidate=x").must_revalidate);
  EXPECT_TRUE(parse("private=\"X-Id").private_response);
  // An unclosed quote hides nothing on another line.
  EXPECT_TRUE(parse({{"Cache-Control", "ext=\"a"}, {"Cache-Control", "no-store"}}).no_store);
}

TEST(ResponseDirectives, PermissionsCountOnlyWhenWellFormed) {
  EXPECT_FALSE(parse("public;max-age=60").public_response);
  EXPECT_FALSE(parse("must-understand; x").must_understand);
  EXPECT_FALSE(parse("immutable foo").immutable);
}

TEST(ResponseDirectives, QualifiedFormsNameFields) {  // RFC 9111 5.2.2.4, 5.2.2.7
  const ResponseDirectives d = parse("private=\"X-Id, Set-Cookie\", no-cache=\"a\", max-age=1");
  EXPECT_FALSE(d.private_response);
  EXPECT_FALSE(d.no_cache);
  const auto names = d.qualifiedFields();
  ASSERT_EQ(names.size(), 3U);
  EXPECT_EQ(names[0], "X-Id");
  EXPECT_EQ(names[1], "Set-Cookie");
  EXPECT_EQ(names[2], "a");
  EXPECT_EQ(parse("private=X-Id").qualifiedFields().size(), 1U);  // token form is accepted, too
}

TEST(ResponseDirectives, QualifiedFormsWithoutFieldNamesAreUnqualified) {
  EXPECT_TRUE(parse("private=\"\"").private_response);
  EXPECT_TRUE(parse("no-cache=\"  , \"").no_cache);
  EXPECT_TRUE(parse("no-cache=\"not a token\"").no_cache);
  EXPECT_TRUE(parse("private=\"a\", private").private_response);
}

TEST(ResponseDirectives, QualifiedFieldsAreLimited) {
  std::string list;
  for (size_t i = 0; i < kMaxQualifiedFields; i++) {
    list += (i == 0 ? "f" : ", f") + std::to_string(i);
  }
  const std::string at_limit = "private=\"" + list + "\"";
  const std::string beyond = "private=\"" + list + ", one-more\"";
  EXPECT_FALSE(parse(at_limit).private_response);
  EXPECT_EQ(parse(at_limit).qualifiedFields().size(), kMaxQualifiedFields);
  EXPECT_TRUE(parse(beyond).private_response);
}

TEST(RequestDirectives, EveryDirectiveIsRead) {  // RFC 9111 5.2.1
  const RequestDirectives d =
      ask("no-cache, no-store, no-transform, only-if-cached, max-age=1, min-fresh=2, max-stale=3, "
          "stale-if-error=4");
  EXPECT_TRUE(d.no_cache && d.no_store && d.no_transform && d.only_if_cached);
  EXPECT_EQ(d.max_age, 1U);
  EXPECT_EQ(d.min_fresh, 2U);
  EXPECT_EQ(d.max_stale, 3U);
  EXPECT_EQ(d.stale_if_error, 4U);
  EXPECT_EQ(ask("nothing-to-see-here"), RequestDirectives{});
}

TEST(RequestDirectives, TheStrictestOfSeveralCounts) {
  EXPECT_EQ(ask("max-age=9, max-age=5").max_age, 5U);
  EXPECT_EQ(ask("min-fresh=5, min-fresh=9").min_fresh, 9U);
  EXPECT_EQ(ask("max-stale, max-stale=9").max_stale, 9U);
  EXPECT_EQ(ask("stale-if-error=9, stale-if-error=5").stale_if_error, 5U);
}

TEST(RequestDirectives, InvalidValuesAreTheStrictest) {
  EXPECT_EQ(ask("max-age=x").max_age, 0U);
  EXPECT_EQ(ask("max-age").max_age, 0U);
  EXPECT_EQ(ask("min-fresh=x").min_fresh, UINT32_MAX);
  EXPECT_EQ(ask("max-stale=x").max_stale, std::nullopt);
  EXPECT_EQ(ask("stale-if-error=x").stale_if_error, std::nullopt);
  EXPECT_EQ(ask("max-stale").max_stale, UINT32_MAX);  // 5.2.1.2: any age
}

TEST(RequestDirectives, PragmaCountsOnlyWithoutCacheControl) {  // RFC 9111 5.4
  EXPECT_TRUE(parseRequestDirectives(fieldsOf(FieldRows{{"Pragma", "no-cache"}})).no_cache);
  EXPECT_TRUE(parseRequestDirectives(fieldsOf(FieldRows{{"Pragma", "x, No-Cache"}})).no_cache);
  EXPECT_FALSE(parseRequestDirectives(fieldsOf(FieldRows{{"Pragma", "foo"}})).no_cache);
  EXPECT_FALSE(parseRequestDirectives(
                   fieldsOf(FieldRows{{"Pragma", "no-cache"}, {"Cache-Control", "max-age=60"}}))
                   .no_cache);
}

}  // namespace
}  // namespace policy
