// Goal: parameters are split and percent-decoded as RFC 3986 (queries) and the URL standard (forms)
// say, and what is malformed is named. Method: tables.

#include "source/admin/arguments.h"

#include <gtest/gtest.h>

namespace admin {
namespace {

std::string read(std::string_view text, Arguments::Source source = Arguments::Source::query) {
  Arguments arguments;
  if (const std::optional<std::string> wrong = arguments.append(text, source)) {
    return "error: " + *wrong;
  }
  std::string out;
  for (const Arguments::Argument& argument : arguments.all()) {
    out += "[" + argument.name + (argument.has_value ? "=" : "") + argument.value + "]";
  }
  return out;
}

TEST(ArgumentsTest, AreSplitAtAmpersandsAndTheFirstEqualsSign) {
  EXPECT_EQ(read(""), "");
  EXPECT_EQ(read("a=1"), "[a=1]");
  EXPECT_EQ(read("usedonly"), "[usedonly]");
  EXPECT_EQ(read("a="), "[a=]");
  EXPECT_EQ(read("&&a=1&&b=2&"), "[a=1][b=2]");
  EXPECT_EQ(read("url=http://h/x?y=z"), "[url=http://h/x?y=z]");
}

TEST(ArgumentsTest, ArePercentDecoded) {
  EXPECT_EQ(read("u%72l=http%3A%2f%2Fh%2Fc%3Fq%3D1%26r"), "[url=http://h/c?q=1&r]");
  EXPECT_EQ(read("a=100%25"), "[a=100%]");
}

TEST(ArgumentsTest, APlusIsABlankInFormsOnly) {
  EXPECT_EQ(read("a=b+c"), "[a=b+c]");
  EXPECT_EQ(read("a=b+c", Arguments::Source::form), "[a=b c]");
}

TEST(ArgumentsTest, NameWhatIsNotAPercentEncodedByte) {
  for (const char* text : {"url=%zz", "url=%", "url=%2", "url=a%2gb"}) {
    EXPECT_EQ(read(text).rfind("error: parameter `url`: `%", 0), 0u) << read(text);
  }
  EXPECT_EQ(read("%zz=1").rfind("error: parameter name", 0), 0u);
  EXPECT_EQ(read("=1").rfind("error: parameter without a name", 0), 0u);
}

TEST(ArgumentsTest, AreLimitedInNumber) {
  std::string text;
  for (size_t i = 0; i < Arguments::kMax; i++) {
    text += "a&";
  }
  EXPECT_EQ(read(text).rfind("[a][a]", 0), 0u);
  EXPECT_EQ(read(text + "a"), "error: more than 100 parameters");
}

TEST(ArgumentsTest, AFlagIsSetByItsNameOrByOneOrTrue) {
  Arguments arguments;
  EXPECT_FALSE(arguments.append("a&b=1&c=true&d=0&e=false", Arguments::Source::query));
  EXPECT_TRUE(arguments.flag("a") && arguments.flag("b") && arguments.flag("c"));
  EXPECT_FALSE(arguments.flag("d") || arguments.flag("e") || arguments.flag("f"));
}

TEST(ArgumentsTest, QuotedTextCannotForgeALine) {
  EXPECT_EQ(inTicks("a\nb"), "`a\\x0ab`");
  EXPECT_EQ(inTicks(std::string(81, 'x')), "`" + std::string(80, 'x') + "...`");
  EXPECT_EQ(inTicks(std::string(80, 'x')), "`" + std::string(80, 'x') + "`");
}

}  // namespace
}  // namespace admin
