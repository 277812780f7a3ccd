// Goal: lists, parameters and weights (RFC 9110 5.6, 12.4.2). Method: tables of the clauses, with
// results written as text.
#include "source/http/list.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "source/http/grammar.h"

namespace http {
namespace {

std::string elements(std::string_view value) {
  ListReader list(value);
  std::string out;
  for (auto element = list.next(); element.has_value(); element = list.next()) {
    out += "<" + std::string(*element) + ">";
  }
  return out + (list.malformed() ? "!" : "");
}

TEST(ListReader, EveryClause) {
  EXPECT_EQ(elements(""), "");
  EXPECT_EQ(elements(" ,\t, "), "");  // RFC 9110 5.6.1.2: empty elements
  EXPECT_EQ(elements("a"), "<a>");
  EXPECT_EQ(elements("a,b"), "<a><b>");
  EXPECT_EQ(elements("  a ,\tb\t, ,c  "), "<a><b><c>");
  EXPECT_EQ(elements("a b, c"), "<a b><c>");
  EXPECT_EQ(elements("a=\"x,y\", b"), "<a=\"x,y\"><b>");  // 5.6.4: quoted commas
  EXPECT_EQ(elements("a=\"x\\\",y\", b"), "<a=\"x\\\",y\"><b>");
  EXPECT_EQ(elements("a=\"x\\\\\", b"), "<a=\"x\\\\\"><b>");
  EXPECT_EQ(elements("a=\"x, b"), "<a=\"x, b>!");
  EXPECT_EQ(elements("a=\"x\\"), "<a=\"x\\>!");
}

TEST(FieldList, GoesOverAllLinesInOrder) {
  Fields fields;
  fields.add("X", "no");
  fields.add("Vary", "a, b");
  fields.add("Age", "no");
  fields.add("vary", ",");
  fields.add("VARY", "c");
  FieldList list(fields, Name::vary);
  std::string out;
  for (auto element = list.next(); element.has_value(); element = list.next()) {
    out += *element;
  }
  EXPECT_EQ(out, "abc");
  EXPECT_FALSE(list.next().has_value());
  EXPECT_FALSE(list.malformed());
  FieldList none(fields, Name::allow);
  EXPECT_FALSE(none.next().has_value());
}

TEST(FieldList, RemembersAMalformedLine) {
  Fields fields;
  fields.add("Vary", "\"a");
  fields.add("Vary", "b");
  FieldList list(fields, Name::vary);
  while (list.next().has_value()) {
  }
  EXPECT_TRUE(list.malformed());
}

TEST(ListContains, WholeElementsInAnyLetterCase) {
  Fields fields;
  fields.add("Connection", "Keep-Alive, x");
  fields.add("Connection", "close");
  EXPECT_TRUE(listContains(fields, Name::connection, "keep-alive"));
  EXPECT_TRUE(listContains(fields, Name::connection, "CLOSE"));
  EXPECT_FALSE(listContains(fields, Name::connection, "keep"));
  EXPECT_FALSE(listContains(fields, Name::vary, "x"));
}

std::string directive(std::string_view text) {
  const auto parsed = parseDirective(text);
  if (!parsed.has_value()) {
    return "none";
  }
  std::string out(parsed->name);
  if (parsed->has_value) {
    out += (parsed->quoted ? "=q:" : "=") + std::string(parsed->value);
  }
  return out;
}

TEST(ParseDirective, EveryClause) {
  EXPECT_EQ(directive("no-store"), "no-store");
  EXPECT_EQ(directive("max-age=60"), "max-age=60");
  EXPECT_EQ(directive("private=\"a, b\""), "private=q:a, b");
  EXPECT_EQ(directive("a=\"\""), "a=q:");
  EXPECT_EQ(directive("a=\"b\\\"c\""), "a=q:b\\\"c");
  EXPECT_EQ(directive("a=\"b\\\\\""), "a=q:b\\\\");
  for (const std::string_view bad :
       {"", "=1", "a=", "a =1", "a= 1", "a=\"b", "a=b\"", "a=\"b\"c", "a=\"b\\\"", "a=b c", "a b",
        "a=b=c", "a=\"b\"\"", "a=\"\x01\"", "\"a\"=b", "a=\""}) {
    EXPECT_EQ(directive(bad), "none") << bad;
  }
}

std::string parameters(std::string_view element) {
  ParameterReader reader(element);
  std::string out(reader.head());
  for (auto p = reader.next(); p.has_value(); p = reader.next()) {
    out += "|" + std::string(p->name) + (p->has_value ? "=" + std::string(p->value) : "");
  }
  return out + (reader.malformed() ? "!" : "");
}

TEST(ParameterReader, EveryClause) {
  EXPECT_EQ(parameters("text/html"), "text/html");
  EXPECT_EQ(parameters("text/html;charset=utf-8"), "text/html|charset=utf-8");
  EXPECT_EQ(parameters("text/html ; charset=\"utf-8\" ;\tb=c"), "text/html|charset=utf-8|b=c");
  EXPECT_EQ(parameters("a;;b=c;"), "a|b=c");
  EXPECT_EQ(parameters("a;b=\"x;y\";c"), "a|b=x;y|c");
  EXPECT_EQ(parameters("a;b =c;d=e"), "a!");
  EXPECT_EQ(parameters("a;b=\"c"), "a!");
  EXPECT_EQ(parameters(""), "");
}

TEST(UnescapeQuoted, RemovesBackslashes) {
  std::array<char, 16> out;
  EXPECT_EQ(unescapeQuoted("plain", out), "plain");
  EXPECT_EQ(unescapeQuoted("a\\\"b\\\\c\\d", out), "a\"b\\cd");
  EXPECT_EQ(unescapeQuoted("", out), "");
  EXPECT_EQ(unescapeQuoted("\\", out), "\\");
}

TEST(Qvalue, Grammar) {
  EXPECT_EQ(parseQvalue("0"), 0);
  EXPECT_EQ(parseQvalue("1"), 1000);
  EXPECT_EQ(parseQvalue("0."), 0);
  EXPECT_EQ(parseQvalue("0.5"), 500);
  EXPECT_EQ(parseQvalue("0.05"), 50);
  EXPECT_EQ(parseQvalue("0.001"), 1);
  EXPECT_EQ(parseQvalue("0.999"), 999);
  EXPECT_EQ(parseQvalue("1.000"), 1000);
  for (const std::string_view bad :
       {"", "2", "1.001", "1.5", "0.0001", ".5", "0,5", "-0", "00", "0.a", "0.5 ", "q"}) {
    EXPECT_FALSE(parseQvalue(bad).has_value()) << bad;
  }
}

std::string weighted(std::string_view element) {
  const auto parsed = parseWeighted(element);
  return parsed.has_value() ? std::string(parsed->name) + " " + std::to_string(parsed->weight)
                            : "none";
}

TEST(ParseWeighted, EveryClause) {
  EXPECT_EQ(weighted("gzip"), "gzip 1000");
  EXPECT_EQ(weighted("gzip;q=0.5"), "gzip 500");
  EXPECT_EQ(weighted("gzip ; Q=0"), "gzip 0");
  EXPECT_EQ(weighted("*;q=0.1"), "* 100");
  EXPECT_EQ(weighted("text/html;level=1;q=0.4"), "text/html 400");
  for (const std::string_view bad :
       {"", ";q=1", "gzip;q=2", "gzip;q", "gzip;q=\"1\"", "gzip;q=1;q=0", "g zip", "gzip;q = 1"}) {
    EXPECT_EQ(weighted(bad), "none") << bad;
  }
}

TEST(Grammar, ClassesOfBytes) {
  EXPECT_TRUE(isToken("!#$%&'*+-.^_`|~aZ09"));
  for (const char c : std::string_view("\"(),/:;<=>?@[\\]{} \t\r\n\x7f\x80\xff")) {
    EXPECT_FALSE(isToken(std::string_view(&c, 1))) << int{c};
  }
  EXPECT_FALSE(isToken(""));
  EXPECT_TRUE(isFieldValue(""));
  EXPECT_TRUE(isFieldValue(" \t~\x80\xff"));
  for (const char c : {'\0', '\r', '\n', '\x1f', '\x7f'}) {
    EXPECT_FALSE(isFieldValue(std::string_view(&c, 1))) << int{c};
  }
  EXPECT_EQ(trimOws(" \ta b\t "), "a b");
  EXPECT_EQ(trimOws(" \t"), "");
  EXPECT_EQ(parseDecimal("18446744073709551615"), UINT64_MAX);
  EXPECT_FALSE(parseDecimal("18446744073709551616").has_value());
  EXPECT_FALSE(parseDecimal("").has_value());
  EXPECT_FALSE(parseDecimal("1a").has_value());
  EXPECT_EQ(hexValue('f'), 15);
  EXPECT_EQ(hexValue('A'), 10);
  EXPECT_EQ(hexValue('g'), -1);
}

}  // namespace
}  // namespace http
