// Goal: scalars are read by the proto3 JSON mapping and YAML's rules, and guesses are right.
// Method: tables; durations and sizes were converted by hand.
#include "source/config/load/scalar.h"

#include <gtest/gtest.h>

namespace config {
namespace {

TEST(Scalar, BooleansOfYaml) {
  for (const char* text : {"true", "True", "TRUE", "yes", "Yes", "YES", "on", "On", "ON"}) {
    EXPECT_EQ(parseBool(text), true) << text;
  }
  for (const char* text : {"false", "no", "off", "OFF"}) {
    EXPECT_EQ(parseBool(text), false) << text;
  }
  for (const char* text : {"", "tRUE", "TRue", "y", "n", "1", "0", "truee"}) {
    EXPECT_EQ(parseBool(text), std::nullopt) << text;
  }
}

TEST(Scalar, UnsignedNumbers) {
  EXPECT_EQ(parseUnsigned("0"), 0u);
  EXPECT_EQ(parseUnsigned("18446744073709551615"), UINT64_MAX);
  EXPECT_EQ(parseUnsigned("18446744073709551616"), std::nullopt);
  EXPECT_EQ(parseUnsigned("0xFf"), 255u);
  EXPECT_EQ(parseUnsigned("1e3"), 1000u);
  EXPECT_EQ(parseUnsigned("1.0"), 1u);
  for (const char* text :
       {"", "-1", "+1", "01", "1.5", "1e-1", "0x", "0xg", "1 ", "1e400", "nan"}) {
    EXPECT_EQ(parseUnsigned(text), std::nullopt) << text;
  }
}

TEST(Scalar, SignedNumbers) {
  EXPECT_EQ(parseSigned("-9223372036854775808"), INT64_MIN);
  EXPECT_EQ(parseSigned("-9223372036854775809"), std::nullopt);
  EXPECT_EQ(parseSigned("9223372036854775807"), INT64_MAX);
  EXPECT_EQ(parseSigned("9223372036854775808"), std::nullopt);
}

TEST(Scalar, WhatPlainTextIsTakenFor) {
  for (const char* text : {"1", "-1", "+1.5", ".5", "1.", "1e5", "0x1f", "0o17"}) {
    EXPECT_EQ(plainType(text), PlainType::number) << text;
  }
  for (const char* text : {"127.0.0.1", "::1", "1s", "e5", ".", "-", "1e", "0xg", "a1"}) {
    EXPECT_EQ(plainType(text), PlainType::text) << text;
  }
  EXPECT_EQ(plainType("off"), PlainType::boolean);
}

TEST(Scalar, Durations) {
  const auto is = [](const char* text, int64_t seconds, int32_t nanos) {
    const auto parsed = parseDuration(text);
    return parsed.has_value() && parsed->seconds == seconds && parsed->nanos == nanos;
  };
  EXPECT_TRUE(is("0s", 0, 0));
  EXPECT_TRUE(is("1.5s", 1, 500000000));
  EXPECT_TRUE(is("0.000000001s", 0, 1));
  EXPECT_TRUE(is("315576000000s", kMaxDuration_s, 0));
  for (const char* text : {"", "s", "1", "1S", "1.s", ".5s", "-1s", "+1s", "1.0000000001s", "1 s",
                           "315576000001s", "1e3s", "1m", "1.-5s"}) {
    EXPECT_FALSE(parseDuration(text).has_value()) << text;
  }
}

TEST(Scalar, GuessesOfDurations) {
  EXPECT_EQ(guessDuration("30"), "30s");
  EXPECT_EQ(guessDuration("250ms"), "0.25s");
  EXPECT_EQ(guessDuration("5 min"), "300s");
  EXPECT_EQ(guessDuration("1h30m"), "5400s");
  EXPECT_EQ(guessDuration("1d 12h"), "129600s");
  EXPECT_EQ(guessDuration("15us"), "0.000015s");
  for (const char* text : {"", "soon", "ms", "5x", "1.2.3s", "-1s", "99999999999999999999h"}) {
    EXPECT_EQ(guessDuration(text), "") << text;
  }
}

TEST(Scalar, GuessesOfSizes) {
  EXPECT_EQ(guessNumber("10GiB", 1), "10737418240");
  EXPECT_EQ(guessNumber("10GB", 1), "10000000000");
  EXPECT_EQ(guessNumber("1.5k", 1), "1536");
  EXPECT_EQ(guessNumber("2M", 1024), "2048");
  EXPECT_EQ(guessNumber("1_000", 1), "1000");
  EXPECT_EQ(guessNumber("1,000", 1), "1000");
  EXPECT_EQ(guessNumber("007", 1), "7");
  for (const char* text : {"", "many", "G", "1.5", "10 parsecs", "99999999999999999999T"}) {
    EXPECT_EQ(guessNumber(text, 1), "") << text;
  }
}

TEST(Scalar, DurationsAreWrittenShort) {
  EXPECT_EQ(formatDuration(0), "0s");
  EXPECT_EQ(formatDuration(250000000), "0.25s");
  EXPECT_EQ(formatDurationMs(86400000), "86400s");
}

}  // namespace
}  // namespace config
