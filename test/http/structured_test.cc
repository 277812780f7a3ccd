// Goal: structured fields (RFC 9651) are parsed strictly and what we send is well formed. Method:
// tables of the clauses and of the RFC's examples; results are written in a notation of this test.
#include "source/http/structured.h"

#include <gtest/gtest.h>

#include <string>

namespace http::structured {
namespace {

struct Print {
  std::string operator()(bool v) const { return v ? "true" : "false"; }
  std::string operator()(int64_t v) const { return "i" + std::to_string(v); }
  std::string operator()(const Decimal& v) const { return "d" + std::to_string(v.thousandths); }
  std::string operator()(const std::string& v) const { return "s<" + v + ">"; }
  std::string operator()(const Token& v) const { return "t<" + v.text + ">"; }
  std::string operator()(const ByteSequence& v) const { return "b<" + v.bytes + ">"; }
  std::string operator()(const Date& v) const { return "@" + std::to_string(v.s); }
  std::string operator()(const DisplayString& v) const { return "u<" + v.text + ">"; }
};

std::string print(const Parameters& parameters) {
  std::string out;
  for (const Parameter& parameter : parameters) {
    out += ";" + parameter.key + "=" + std::visit(Print{}, parameter.value);
  }
  return out;
}

std::string print(const Item& item) {
  return std::visit(Print{}, item.value) + print(item.parameters);
}

std::string print(const Member& member) {
  if (std::holds_alternative<Item>(member)) {
    return print(std::get<Item>(member));
  }
  const InnerList& list = std::get<InnerList>(member);
  std::string out = "(";
  for (const Item& item : list.items) {
    out += (out.size() == 1 ? "" : " ") + print(item);
  }
  return out + ")" + print(list.parameters);
}

std::string item(std::string_view text) {
  const auto parsed = parseItem(text);
  return parsed.has_value() ? print(*parsed) : "fail";
}

std::string list(std::string_view text) {
  const auto parsed = parseList(text);
  if (!parsed.has_value()) {
    return "fail";
  }
  std::string out;
  for (const Member& member : *parsed) {
    out += "[" + print(member) + "]";
  }
  return out;
}

std::string dictionary(std::string_view text) {
  const auto parsed = parseDictionary(text);
  if (!parsed.has_value()) {
    return "fail";
  }
  std::string out;
  for (const DictionaryMember& member : *parsed) {
    out += "[" + member.key + "=" + print(member.value) + "]";
  }
  return out;
}

TEST(Item, NumbersOfSections331And332) {
  EXPECT_EQ(item("42"), "i42");
  EXPECT_EQ(item("-0"), "i0");
  EXPECT_EQ(item("007"), "i7");
  EXPECT_EQ(item("999999999999999"), "i999999999999999");
  EXPECT_EQ(item("-999999999999999"), "i-999999999999999");
  EXPECT_EQ(item("4.5"), "d4500");
  EXPECT_EQ(item("-1.023"), "d-1023");
  EXPECT_EQ(item("-0.5"), "d-500");
  EXPECT_EQ(item("999999999999.999"), "d999999999999999");
  for (const std::string_view bad : {"", "-", "--1", "+1", "1000000000000000", "1.", ".1", "1.0001",
                                     "1000000000000.0", "1e5", "0x1", "1 2", "1,2", "-a"}) {
    EXPECT_EQ(item(bad), "fail") << bad;
  }
}

TEST(Item, StringsOfSection333) {
  EXPECT_EQ(item("\"\""), "s<>");
  EXPECT_EQ(item("\"hello world\""), "s<hello world>");
  EXPECT_EQ(item("\"a\\\"b\\\\c\""), "s<a\"b\\c>");
  for (const std::string_view bad :
       {"\"", "\"a", "\"a\\", "\"a\\\"", "\"a\\n\"", "\"\x7f\"", "\"\t\"", "\"\xc3\xa4\"", "'a'"}) {
    EXPECT_EQ(item(bad), "fail") << bad;
  }
}

TEST(Item, TokensOfSection334) {
  EXPECT_EQ(item("foo123/456"), "t<foo123/456>");
  EXPECT_EQ(item("*a:b!#$%&'*+-.^_`|~"), "t<*a:b!#$%&'*+-.^_`|~>");
  EXPECT_EQ(item("Z"), "t<Z>");
  for (const std::string_view bad : {"!a", "a b", "a@b", "/a", ":a", "a\"", "\xc3\xa4"}) {
    EXPECT_EQ(item(bad), "fail") << bad;
  }
}

TEST(Item, ByteSequencesOfSection335) {
  EXPECT_EQ(item(":cHJldGVuZCB0aGlzIGlzIGJpbmFyeSBjb250ZW50Lg==:"),
            "b<pretend this is binary content.>");
  EXPECT_EQ(item("::"), "b<>");
  EXPECT_EQ(item(":aGVsbG8:"), "b<hello>");   // padding may be missing (4.2.7)
  EXPECT_EQ(item(":aGVsbG9=:"), "b<hello>");  // and spare bits anything
  EXPECT_EQ(item(":+/+/:"), "b<\xfb\xff\xbf>");
  for (const std::string_view bad : {":", ":aGVsbG8=", ":a:", ":aGVsbG8==:", ":aGV=sbG8:", ":-_:",
                                     ":aGVs bG8=:", ":aGVsbG8=\n:", ":=:", ":====:"}) {
    EXPECT_EQ(item(bad), "fail") << bad;
  }
}

TEST(Item, BooleansDatesAndDisplayStrings) {
  EXPECT_EQ(item("?1"), "true");
  EXPECT_EQ(item("?0"), "false");
  EXPECT_EQ(item("@1659578233"), "@1659578233");
  EXPECT_EQ(item("@-1"), "@-1");
  EXPECT_EQ(item("%\"This is intended for display to %c3%bcsers.\""),
            "u<This is intended for display to \xc3\xbcsers.>");
  EXPECT_EQ(item("%\"%f0%9f%98%80 %22%25\""), "u<\xf0\x9f\x98\x80 \"%>");
  for (const std::string_view bad : {"?",
                                     "?2",
                                     "?T",
                                     "?true",
                                     "@",
                                     "@1.5",
                                     "@x",
                                     "%",
                                     "%a",
                                     "%\"a",
                                     "%\"%\"",
                                     "%\"%c\"",
                                     "%\"%C3%BC\"",
                                     "%\"%c3\"",
                                     "%\"%ff\"",
                                     "%\"%c0%80\"",
                                     "%\"%e0%80%80\"",
                                     "%\"%ed%a0%80\"",
                                     "%\"%f4%90%80%80\"",
                                     "%\"%f0%80%80%80\"",
                                     "%\"%f5%80%80%80\"",
                                     "%\"%80\"",
                                     "%\"\xc3\xbc\"",
                                     "%\"\x01\""}) {
    EXPECT_EQ(item(bad), "fail") << bad;
  }
}

TEST(Item, ParametersAndSpaces) {
  EXPECT_EQ(item("  5 "), "i5");
  EXPECT_EQ(item("5;foo=bar"), "i5;foo=t<bar>");
  EXPECT_EQ(item("5; foo; *b_-.*9=?0;c=\"x\""), "i5;foo=true;*b_-.*9=false;c=s<x>");
  EXPECT_EQ(item("5;a=1;b=2;a=3"), "i5;a=i3;b=i2");  // 4.2.3.2: overwritten in its place
  for (const std::string_view bad : {"\t5", "5\t", "5 ;a", "5;A=1", "5;1=a", "5;", "5;a=", "5;a =1",
                                     "5;a= 1", "5;a=(1)", ";a", "(1)", "5,"}) {
    EXPECT_EQ(item(bad), "fail") << bad;
  }
}

TEST(List, EveryClause) {
  EXPECT_EQ(list(""), "");
  EXPECT_EQ(list("   "), "");
  EXPECT_EQ(list("sugar, tea, rum"), "[t<sugar>][t<tea>][t<rum>]");
  EXPECT_EQ(list("a,b \t,\t c"), "[t<a>][t<b>][t<c>]");
  EXPECT_EQ(list("(\"foo\" \"bar\"), (\"baz\"), ()"), "[(s<foo> s<bar>)][(s<baz>)][()]");
  EXPECT_EQ(list("(\"foo\"; a=1;b=2);lvl=5, (  \"bar\"   \"baz\"  );lvl=1"),
            "[(s<foo>;a=i1;b=i2);lvl=i5][(s<bar> s<baz>);lvl=i1]");
  EXPECT_EQ(list("abc;a=1;b=2; cde_456, (ghi;jk=4 l);q=\"9\";r=w"),
            "[t<abc>;a=i1;b=i2;cde_456=true][(t<ghi>;jk=i4 t<l>);q=s<9>;r=t<w>]");
  for (const std::string_view bad : {",", "a,", "a, ", ",a", "a,,b", "a b", "(a", "(a,b)", "(a\tb)",
                                     "(a)b", "((a))", "a)", "(\"a\"\"b\")", "\ta"}) {
    EXPECT_EQ(list(bad), "fail") << bad;
  }
}

TEST(Dictionary, EveryClause) {
  EXPECT_EQ(dictionary(""), "");
  EXPECT_EQ(dictionary("en=\"Applepie\", da=:w4ZibGV0w6ZydGU=:"),
            "[en=s<Applepie>][da=b<\xc3\x86"
            "blet\xc3\xa6rte>]");
  EXPECT_EQ(dictionary("a=?0, b, c; foo=bar"), "[a=false][b=true][c=true;foo=t<bar>]");
  EXPECT_EQ(dictionary("rating=1.5, feelings=(joy sadness)"),
            "[rating=d1500][feelings=(t<joy> t<sadness>)]");
  EXPECT_EQ(dictionary("a=(1 2), b=3, c=4;aa=bb, d=(5 6);valid"),
            "[a=(i1 i2)][b=i3][c=i4;aa=t<bb>][d=(i5 i6);valid=true]");
  EXPECT_EQ(dictionary("a=1,b=2,a=3"), "[a=i3][b=i2]");
  EXPECT_EQ(dictionary("max-age=60, no-store"), "[max-age=i60][no-store=true]");
  for (const std::string_view bad : {"a=", "=1", "a =1", "a= 1", "A=1", "a=1,", "a=1 b=2", "1",
                                     "a;=1", "a=1;", "a,,b", "max-age = 60", "a=\"", "a=(1"}) {
    EXPECT_EQ(dictionary(bad), "fail") << bad;
  }
}

// n copies of a piece, joined.
std::string repeat(std::string_view piece, size_t n, std::string_view join) {
  std::string out;
  for (size_t i = 0; i < n; i++) {
    out += (i == 0 ? "" : std::string(join)) + std::string(piece);
  }
  return out;
}

TEST(Limits, MembersItemsAndParameters) {
  EXPECT_TRUE(parseList(repeat("a", kMaxMembers, ",")).has_value());
  EXPECT_FALSE(parseList(repeat("a", kMaxMembers + 1, ",")).has_value());
  EXPECT_TRUE(parseList("(" + repeat("a", kMaxInnerItems, " ") + ")").has_value());
  EXPECT_FALSE(parseList("(" + repeat("a", kMaxInnerItems + 1, " ") + ")").has_value());
  std::string parameters = "a";
  std::string members;
  for (size_t i = 0; i < kMaxMembers; i++) {
    parameters += i < kMaxParameters ? ";k" + std::to_string(i) : "";
    members += (i == 0 ? "k" : ",k") + std::to_string(i);
  }
  EXPECT_TRUE(parseItem(parameters).has_value());
  EXPECT_TRUE(parseItem(parameters + ";k0").has_value());  // a known key adds none
  EXPECT_FALSE(parseItem(parameters + ";more").has_value());
  EXPECT_TRUE(parseDictionary(members).has_value());
  EXPECT_TRUE(parseDictionary(members + ",k0").has_value());
  EXPECT_FALSE(parseDictionary(members + ",more").has_value());
}

TEST(Find, ByKey) {
  const auto parsed = parseDictionary("a=1;p=2, b");
  ASSERT_TRUE(parsed.has_value());
  ASSERT_NE(find(*parsed, "a"), nullptr);
  EXPECT_EQ(find(*parsed, "c"), nullptr);
  const Item& a = std::get<Item>(*find(*parsed, "a"));
  ASSERT_NE(find(a.parameters, "p"), nullptr);
  EXPECT_EQ(std::get<int64_t>(*find(a.parameters, "p")), 2);
  EXPECT_EQ(find(a.parameters, "q"), nullptr);
}

TEST(JoinLines, OneTextOfAllLines) {
  Fields fields;
  std::string buffer;
  EXPECT_EQ(joinLines(fields, Name::cdn_cache_control, buffer), "");
  fields.add("CDN-Cache-Control", "max-age=1");
  EXPECT_EQ(joinLines(fields, Name::cdn_cache_control, buffer), "max-age=1");
  fields.add("Age", "no");
  fields.add("cdn-cache-control", "no-store");
  EXPECT_EQ(joinLines(fields, Name::cdn_cache_control, buffer), "max-age=1, no-store");
}

TEST(Serialise, WhatCacheStatusNeeds) {
  std::string out;
  EXPECT_TRUE(appendToken(out, "ringfence"));
  EXPECT_TRUE(appendString(out, "a\"b\\"));
  EXPECT_TRUE(appendInteger(out, -5));
  EXPECT_TRUE(appendKey(out, "fwd-status"));
  EXPECT_TRUE(appendTokenOrString(out, "a/b"));
  EXPECT_TRUE(appendTokenOrString(out, "a b"));
  EXPECT_EQ(out, "ringfence\"a\\\"b\\\\\"-5fwd-statusa/b\"a b\"");
}

TEST(Serialise, RefusesWhatTheTypeCannotCarry) {
  std::string out;
  EXPECT_FALSE(appendToken(out, ""));
  EXPECT_FALSE(appendToken(out, "1a"));
  EXPECT_FALSE(appendToken(out, "a b"));
  EXPECT_FALSE(appendString(out, "\n"));
  EXPECT_FALSE(appendString(out, "\xc3\xa4"));
  EXPECT_FALSE(appendKey(out, "A"));
  EXPECT_FALSE(appendInteger(out, 1'000'000'000'000'000));
  EXPECT_FALSE(appendInteger(out, INT64_MIN));
  EXPECT_TRUE(appendInteger(out, 999'999'999'999'999));
  EXPECT_EQ(out, "999999999999999");
}

}  // namespace
}  // namespace http::structured
