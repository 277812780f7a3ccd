// Goal: variants are told apart exactly by the fields Vary names (RFC 9111 4.1), after
// normalisation that changes no meaning. Method: one row a rule, keys written by hand.
#include "source/policy/vary.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "test/policy/heads.h"

namespace policy {
namespace {

using testing::FieldRows;
using testing::fieldsOf;

Vary vary(FieldRows rows) {
  return parseVary(fieldsOf(rows));
}
std::string variant(const std::vector<std::string>& names, FieldRows request) {
  std::string key = "k";
  appendVariantKey(names, fieldsOf(request), key);
  return key;
}

TEST(ParseVary, NamesInLowerCaseSortedOnce) {
  const Vary v = vary({{"Vary", "Foo, Accept-Encoding , ,foo"}, {"Vary", "Bar"}});
  EXPECT_FALSE(v.any);
  EXPECT_EQ(v.names, (std::vector<std::string>{"accept-encoding", "bar", "foo"}));
  EXPECT_TRUE(vary({}).names.empty());
  EXPECT_TRUE(vary({{"Vary", ""}}).names.empty());
  EXPECT_FALSE(vary({{"Vary", ""}}).any);
}

TEST(ParseVary, AStarAnywhereIsAny) {
  for (const std::string_view value : {"*", "*, *", ", *", "*, Foo", "Foo, *"}) {
    EXPECT_TRUE(vary({{"Vary", value}}).any) << value;
  }
  EXPECT_TRUE(vary({{"Vary", "Foo"}, {"Vary", "*"}}).any);
}

TEST(ParseVary, WhatIsNoFieldNameIsAny) {
  for (const std::string_view value : {"a b", "a;b", "\"a\"", "a, b:c"}) {
    EXPECT_TRUE(vary({{"Vary", value}}).any) << value;
  }
}

TEST(ParseVary, NamesAreLimited) {
  std::string value;
  for (size_t i = 0; i < kMaxVaryNames; i++) {
    value += "n" + std::to_string(i) + ",";
  }
  EXPECT_EQ(vary({{"Vary", value}}).names.size(), kMaxVaryNames);
  EXPECT_FALSE(vary({{"Vary", value + "n0"}}).any);  // a repetition is no further name
  EXPECT_TRUE(vary({{"Vary", value + "more"}}).any);
}

TEST(VariantKey, AbsentAndEmptyDiffer) {
  EXPECT_EQ(variant({"foo"}, {}), "k\nfoo");
  EXPECT_EQ(variant({"foo"}, {{"Foo", ""}}), "k\nfoo: ");
  EXPECT_EQ(variant({"foo"}, {{"Foo", "1"}}), "k\nfoo: 1");
  EXPECT_EQ(variant({}, {{"Foo", "1"}}), "k");
}

TEST(VariantKey, OnlyNamedFieldsCount) {
  EXPECT_EQ(variant({"bar", "foo"}, {{"Foo", "1"}, {"Other", "2"}, {"Bar", "abc"}}),
            "k\nbar: abc\nfoo: 1");
}

TEST(VariantKey, LinesCombineAndSpacesAroundCommasGo) {  // RFC 9110 5.3, RFC 9111 4.1
  for (const std::string_view value : {"1,2", "1, 2", "1 ,\t2", "1\t , 2"}) {
    EXPECT_EQ(variant({"foo"}, {{"Foo", value}}), "k\nfoo: 1,2") << value;
  }
  EXPECT_EQ(variant({"foo"}, {{"Foo", "1"}, {"foo", "2"}}), "k\nfoo: 1,2");
  EXPECT_EQ(variant({"foo"}, {{"Foo", "a  b"}}), "k\nfoo: a  b");
}

TEST(VariantKey, QuotedStringsStayWhole) {
  EXPECT_EQ(variant({"foo"}, {{"Foo", "\"a, b\" , c"}}), "k\nfoo: \"a, b\",c");
  EXPECT_EQ(variant({"foo"}, {{"Foo", "\"a\\\" , b\" , c"}}), "k\nfoo: \"a\\\" , b\",c");
}

TEST(VariantKey, FieldsThatAreNoListsAreVerbatim) {
  EXPECT_EQ(variant({"user-agent"}, {{"User-Agent", "X (a , b)"}}), "k\nuser-agent: X (a , b)");
  EXPECT_EQ(variant({"cookie"}, {{"Cookie", "a=1 ,2"}}), "k\ncookie: a=1 ,2");
}

TEST(VariantKey, LanguagesAndCodingsAreSortedInLowerCase) {  // RFC 9110 12.5.3, 12.5.4
  const std::vector<std::string> names = {"accept-language"};
  const std::string expected = "k\naccept-language: de,en";
  for (const std::string_view value :
       {"en, de", "de,en", "eN , De", "de;q=1.0,en; q=1", "de;q=1.000, en, de"}) {
    EXPECT_EQ(variant(names, {{"Accept-Language", value}}), expected) << value;
  }
  EXPECT_EQ(variant(names, {{"Accept-Language", "en"}, {"Accept-Language", "de"}}), expected);
  EXPECT_EQ(variant(names, {{"Accept-Language", "en, de;q=0.5"}}),
            "k\naccept-language: de;q=0.5,en");
  EXPECT_EQ(variant({"accept-encoding"}, {{"Accept-Encoding", "GZIP, br;q=0"}}),
            "k\naccept-encoding: br;q=0,gzip");
  EXPECT_EQ(variant({"accept-encoding"}, {{"Accept-Encoding", ""}}), "k\naccept-encoding: ");
}

TEST(VariantKey, LongListsAreNotSorted) {
  const auto listOf = [](size_t count) {
    std::string value = "z";
    for (size_t i = 1; i < count; i++) {
      value += ",a" + std::to_string(i);
    }
    return value;
  };
  const std::string at_limit = listOf(kMaxSortedMembers);
  const std::string beyond = listOf(kMaxSortedMembers + 1);
  EXPECT_TRUE(variant({"accept-language"}, {{"Accept-Language", at_limit}}).ends_with(",z"));
  EXPECT_EQ(variant({"accept-language"}, {{"Accept-Language", beyond}}),
            "k\naccept-language: " + beyond);
}

TEST(VariantKey, FieldsThatConnectionRemovesAreAbsent) {  // RFC 9110 7.6.1
  EXPECT_EQ(variant({"x-tenant"}, {{"Connection", "X-Tenant"}, {"X-Tenant", "a"}}), "k\nx-tenant");
}

TEST(VaryNames, JoinAndSplit) {
  const std::vector<std::string> names = {"a", "b-c", "d"};
  EXPECT_EQ(joinVaryNames(names), "a,b-c,d");
  EXPECT_EQ(splitVaryNames("a,b-c,d"), names);
  EXPECT_TRUE(splitVaryNames("").empty());
  EXPECT_EQ(joinVaryNames({}), "");
}

}  // namespace
}  // namespace policy
