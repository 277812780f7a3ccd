// Goal: Range, Content-Range and If-Range (RFC 9110 section 14, 13.1.5). Method: a table with one
// row a clause; the arithmetic of resolving and joining is checked against a bitmap of a small
// object.
#include "source/http/range.h"

#include <gtest/gtest.h>

#include <bitset>
#include <string>

#include "source/base/random.h"

namespace http {
namespace {

// A set as text: "0-4 5- -6", or the refusal.
std::string parse(std::string_view value) {
  const auto parsed = parseRange(value);
  if (std::holds_alternative<RangeRefusal>(parsed)) {
    switch (std::get<RangeRefusal>(parsed)) {
      case RangeRefusal::other_unit:
        return "other_unit";
      case RangeRefusal::malformed:
        return "malformed";
      case RangeRefusal::too_many:
        return "too_many";
    }
  }
  std::string out;
  for (const RangeSpec& spec : std::get<RangeSet>(parsed).all()) {
    out += out.empty() ? "" : " ";
    out += spec.kind == RangeKind::suffix ? "" : std::to_string(spec.first);
    out += "-";
    out += spec.kind == RangeKind::open ? "" : std::to_string(spec.last);
  }
  return out;
}

TEST(ParseRange, EveryClause) {
  EXPECT_EQ(parse("bytes=0-499"), "0-499");
  EXPECT_EQ(parse("bytes=500-"), "500-");
  EXPECT_EQ(parse("bytes=-500"), "-500");
  EXPECT_EQ(parse("bytes=0-0"), "0-0");
  EXPECT_EQ(parse("bytes=-0"), "-0");    // valid, though it selects nothing
  EXPECT_EQ(parse("BYTES=0-1"), "0-1");  // units are case-insensitive (RFC 9110 14.1)
  EXPECT_EQ(parse("bytes=0-1,5-6, 8-,-3"), "0-1 5-6 8- -3");
  EXPECT_EQ(parse("bytes=, 0-1 ,,\t5-6,"), "0-1 5-6");  // empty elements (RFC 9110 5.6.1.2)
  EXPECT_EQ(parse("bytes= 0-1"), "0-1");
  EXPECT_EQ(parse("bytes=007-08"), "7-8");
  EXPECT_EQ(parse("lines=0-1"), "other_unit");
  for (const std::string_view bad :
       {"bytes=",      "bytes=,",       "bytes",       "",          "=0-1",       "bytes 0-1",
        "by tes=0-1",  "bytes=-",       "bytes=5",     "bytes=5-4", "bytes=a-b",  "bytes=0-b",
        "bytes=0x1-2", "bytes=0 - 1",   "bytes=0--1",  "bytes=--1", "bytes=+0-1", "bytes=0-1;2-3",
        "bytes=0-1,x", "bytes=\"0-1\"", "bytes=0-1-2", "bytes =0-1"}) {
    EXPECT_EQ(parse(bad), "malformed") << bad;
  }
}

TEST(ParseRange, NumbersThatDoNotFitSaturate) {
  EXPECT_EQ(parse("bytes=0-99999999999999999999"), "0-18446744073709551615");
  EXPECT_EQ(parse("bytes=99999999999999999999-"), "18446744073709551615-");
  EXPECT_EQ(parse("bytes=-99999999999999999999"), "-18446744073709551615");
  EXPECT_EQ(parse("bytes=18446744073709551615-18446744073709551615"),
            "18446744073709551615-18446744073709551615");
}

std::string manyRanges(size_t count) {
  std::string out = "bytes=0-0";
  for (size_t i = 1; i < count; i++) {
    out += ",0-0";
  }
  return out;
}

TEST(ParseRange, LimitOnTheirNumber) {
  EXPECT_TRUE(std::holds_alternative<RangeSet>(parseRange(manyRanges(kMaxRanges))));
  EXPECT_EQ(parse(manyRanges(kMaxRanges + 1)), "too_many");
  EXPECT_EQ(parse(manyRanges(kMaxRanges + 1) + ",x"), "malformed");
}

ResolvedRanges resolve(std::string_view value, uint64_t length) {
  return resolveRanges(std::get<RangeSet>(parseRange(value)), length);
}

std::string text(const ResolvedRanges& ranges) {
  std::string out;
  for (const ByteRange& range : ranges.all()) {
    out += out.empty() ? "" : " ";
    out += std::to_string(range.first) + "-" + std::to_string(range.last);
  }
  return out;
}

TEST(ResolveRanges, EveryClause) {
  EXPECT_EQ(text(resolve("bytes=0-4", 10)), "0-4");
  EXPECT_EQ(text(resolve("bytes=0-9", 10)), "0-9");
  EXPECT_EQ(text(resolve("bytes=0-10", 10)), "0-9");  // RFC 9110 14.1.2: clamped
  EXPECT_EQ(text(resolve("bytes=9-", 10)), "9-9");
  EXPECT_EQ(text(resolve("bytes=10-", 10)), "");  // 15.5.17: nothing to send
  EXPECT_EQ(text(resolve("bytes=10-12", 10)), "");
  EXPECT_EQ(text(resolve("bytes=-1", 10)), "9-9");
  EXPECT_EQ(text(resolve("bytes=-10", 10)), "0-9");
  EXPECT_EQ(text(resolve("bytes=-11", 10)), "0-9");  // longer than the object: all of it
  EXPECT_EQ(text(resolve("bytes=-0", 10)), "");
  EXPECT_EQ(text(resolve("bytes=0-", 0)), "");
  EXPECT_EQ(text(resolve("bytes=-5", 0)), "");
  EXPECT_EQ(text(resolve("bytes=50-,0-1,-1", 10)), "0-1 9-9");
  EXPECT_EQ(text(resolve("bytes=0-99999999999999999999", UINT64_MAX)), "0-18446744073709551614");
  EXPECT_EQ(text(resolve("bytes=-99999999999999999999", UINT64_MAX)), "0-18446744073709551614");
}

TEST(ResolveRanges, TellsOrderOverlapAndTotal) {
  const ResolvedRanges apart = resolve("bytes=0-1,2-3,8-", 10);
  EXPECT_TRUE(apart.ascending);
  EXPECT_FALSE(apart.overlapping);
  EXPECT_EQ(apart.total_bytes, 6U);
  const ResolvedRanges backwards = resolve("bytes=8-,0-1", 10);
  EXPECT_FALSE(backwards.ascending);
  EXPECT_FALSE(backwards.overlapping);
  const ResolvedRanges overlap = resolve("bytes=0-5,5-6", 10);
  EXPECT_FALSE(overlap.ascending);
  EXPECT_TRUE(overlap.overlapping);
  EXPECT_EQ(overlap.total_bytes, 8U);
  EXPECT_EQ(resolve("bytes=0-,0-,0-", UINT64_MAX).total_bytes, UINT64_MAX);
}

TEST(CoalesceRanges, JoinsWhatTouchesOrLiesWithinTheGap) {
  EXPECT_EQ(text(coalesceRanges(resolve("bytes=0-1,2-3", 100), 0)), "0-3");
  EXPECT_EQ(text(coalesceRanges(resolve("bytes=0-1,3-4", 100), 0)), "0-1 3-4");
  EXPECT_EQ(text(coalesceRanges(resolve("bytes=0-1,3-4", 100), 1)), "0-4");
  EXPECT_EQ(text(coalesceRanges(resolve("bytes=0-1,13-14", 100), 10)), "0-1 13-14");
  EXPECT_EQ(text(coalesceRanges(resolve("bytes=0-1,12-14", 100), 10)), "0-14");
  EXPECT_EQ(text(coalesceRanges(resolve("bytes=50-60,0-9,5-20,55-56", 100), 0)), "0-20 50-60");
  EXPECT_EQ(text(coalesceRanges(resolve("bytes=0-,0-5", UINT64_MAX), UINT64_MAX)),
            "0-18446744073709551614");
  EXPECT_EQ(text(coalesceRanges(ResolvedRanges{}, 5)), "");
}

// The bytes selected are the same before and after joining without a gap, whatever the set.
TEST(CoalesceRanges, SelectsTheSameBytes) {
  base::Random random(3);
  for (int round = 0; round < 500; round++) {
    std::string value = "bytes=";
    const uint64_t count = random.between(1, kMaxRanges);
    for (uint64_t i = 0; i < count; i++) {
      const uint64_t first = random.below(70);
      value += (i == 0 ? "" : ",") + std::to_string(first) + "-" +
               std::to_string(first + random.below(10));
    }
    const ResolvedRanges ranges = resolve(value, 64);
    const ResolvedRanges joined = coalesceRanges(ranges, 0);
    std::bitset<64> before;
    std::bitset<64> after;
    for (const ByteRange& range : ranges.all()) {
      for (uint64_t at = range.first; at <= range.last; at++) {
        before.set(at);
      }
    }
    for (const ByteRange& range : joined.all()) {
      for (uint64_t at = range.first; at <= range.last; at++) {
        EXPECT_FALSE(after.test(at)) << value;
        after.set(at);
      }
    }
    EXPECT_EQ(before, after) << value;
    EXPECT_TRUE(joined.ascending) << value;
    EXPECT_FALSE(joined.overlapping) << value;
  }
}

TEST(ContentRange, EveryClause) {
  const ContentRange whole{ByteRange{0, 499}, 1234};
  EXPECT_EQ(parseContentRange("bytes 0-499/1234"), whole);
  EXPECT_EQ(parseContentRange("Bytes 0-499/1234"), whole);
  EXPECT_EQ(parseContentRange("bytes 0-499/*"), (ContentRange{ByteRange{0, 499}, std::nullopt}));
  EXPECT_EQ(parseContentRange("bytes */1234"), (ContentRange{std::nullopt, 1234}));
  EXPECT_EQ(parseContentRange("bytes 0-0/1"), (ContentRange{ByteRange{0, 0}, 1}));
  for (const std::string_view bad :
       {"", "bytes", "bytes ", "bytes */*", "bytes 0-499", "bytes 0-/5", "bytes -4/5",
        "bytes 5-4/10", "bytes 0-10/10", "bytes=0-4/5", "items 0-4/5", "bytes  0-4/5",
        "bytes 0-4/5 ", "bytes 0-4/x", "bytes 0-99999999999999999999/*", "bytes 0 - 4/5",
        "bytes 0-18446744073709551615/*"}) {
    EXPECT_FALSE(parseContentRange(bad).has_value()) << bad;
  }
}

TEST(ContentRange, WritesWhatItReads) {
  std::array<char, kContentRangeSize> out;
  for (const std::string_view value :
       {"bytes 0-499/1234", "bytes 0-499/*", "bytes */1234",
        "bytes 18446744073709551613-18446744073709551614/18446744073709551615"}) {
    const auto parsed = parseContentRange(value);
    ASSERT_TRUE(parsed.has_value()) << value;
    EXPECT_EQ(writeContentRange(*parsed, out), value);
  }
}

TEST(IfRange, TagOrDate) {
  const base::UnixSeconds now{1700000000};
  const auto tag = parseIfRange("\"a\"", now);
  ASSERT_TRUE(tag.has_value());
  EXPECT_EQ(std::get<EntityTag>(*tag).opaque, "a");
  const auto weak = parseIfRange("W/\"a\"", now);
  ASSERT_TRUE(weak.has_value());
  EXPECT_TRUE(std::get<EntityTag>(*weak).weak);
  const auto date = parseIfRange("Sun, 06 Nov 1994 08:49:37 GMT", now);
  ASSERT_TRUE(date.has_value());
  EXPECT_EQ(std::get<base::UnixSeconds>(*date).s, 784111777);
  EXPECT_FALSE(parseIfRange("", now).has_value());
  EXPECT_FALSE(parseIfRange("a", now).has_value());
  EXPECT_FALSE(parseIfRange("\"a\", \"b\"", now).has_value());
}

}  // namespace
}  // namespace http
