// Goal: HTTP dates (RFC 9110 5.6.7). Method: a table with one row a clause, known instants (RFC
// examples and instants computed with GNU date), and a round trip over many days checked against
// timegm().
#include "source/http/date.h"

#include <gtest/gtest.h>

#include <ctime>
#include <string>

namespace http {
namespace {

constexpr base::UnixSeconds kNow{1700000000};  // 2023-11-14T22:13:20Z
constexpr int64_t kRfcExample = 784111777;     // 1994-11-06T08:49:37Z

struct Row {
  std::string_view clause;
  std::string_view text;
  std::optional<int64_t> expected;
};

const std::vector<Row>& rows() {
  static const std::vector<Row> all = {
      {"preferred", "Sun, 06 Nov 1994 08:49:37 GMT", kRfcExample},
      {"RFC 850", "Sunday, 06-Nov-94 08:49:37 GMT", kRfcExample},
      {"asctime", "Sun Nov  6 08:49:37 1994", kRfcExample},
      {"asctime, two-digit day", "Wed Nov 16 08:49:37 1994", kRfcExample + 10 * 86400},
      {"epoch", "Thu, 01 Jan 1970 00:00:00 GMT", 0},
      {"before the epoch", "Wed, 31 Dec 1969 23:59:59 GMT", -1},
      {"leap day", "Thu, 29 Feb 2024 12:00:00 GMT", 1709208000},
      {"leap day of a century", "Tue, 29 Feb 2000 00:00:00 GMT", 951782400},
      {"no leap day", "Wed, 29 Feb 2023 00:00:00 GMT", std::nullopt},
      {"no leap day in 2100", "Mon, 29 Feb 2100 00:00:00 GMT", std::nullopt},
      {"last second", "Fri, 31 Dec 9999 23:59:59 GMT", 253402300799},
      {"first second", "Sat, 01 Jan 0000 00:00:00 GMT", -62167219200},
      {"leap second", "Fri, 30 Jun 2012 23:59:60 GMT", 1341100799},
      {"9111 4.2: letter case of the day", "SUN, 06 Nov 1994 08:49:37 GMT", kRfcExample},
      {"9111 4.2: letter case of the month", "Sun, 06 nOV 1994 08:49:37 GMT", kRfcExample},
      {"9111 4.2: letter case of the zone", "Sun, 06 Nov 1994 08:49:37 gmt", kRfcExample},
      {"the weekday need not agree", "Mon, 06 Nov 1994 08:49:37 GMT", kRfcExample},
      {"9111 4.2: another zone", "Sun, 06 Nov 1994 08:49:37 UTC", std::nullopt},
      {"an offset", "Sun, 06 Nov 1994 08:49:37 +0000", std::nullopt},
      {"no zone", "Sun, 06 Nov 1994 08:49:37", std::nullopt},
      {"unknown weekday", "Xyz, 06 Nov 1994 08:49:37 GMT", std::nullopt},
      {"unknown month", "Sun, 06 Xyz 1994 08:49:37 GMT", std::nullopt},
      {"one-digit day", "Sun, 6 Nov 1994 08:49:37 GMT", std::nullopt},
      {"one-digit hour", "Sun, 06 Nov 1994 8:49:37 GMT", std::nullopt},
      {"two-digit year", "Sun, 06 Nov 94 08:49:37 GMT", std::nullopt},
      {"four-digit year in RFC 850", "Sunday, 06-Nov-1994 08:49:37 GMT", std::nullopt},
      {"short day in RFC 850", "Sun, 06-Nov-94 08:49:37 GMT", std::nullopt},
      {"dashes", "Sun, 06-Nov-1994 08:49:37 GMT", std::nullopt},
      {"no comma", "Sun 06 Nov 1994 08:49:37 GMT", std::nullopt},
      {"two spaces", "Sun,  06 Nov 1994 08:49:37 GMT", std::nullopt},
      {"periods in the time", "Sun, 06 Nov 1994 08.49.37 GMT", std::nullopt},
      {"hour 24", "Sun, 06 Nov 1994 24:00:00 GMT", std::nullopt},
      {"minute 60", "Sun, 06 Nov 1994 08:60:37 GMT", std::nullopt},
      {"second 61", "Sun, 06 Nov 1994 08:49:61 GMT", std::nullopt},
      {"day 0", "Sun, 00 Nov 1994 08:49:37 GMT", std::nullopt},
      {"day 31 of November", "Sun, 31 Nov 1994 08:49:37 GMT", std::nullopt},
      {"something behind", "Sun, 06 Nov 1994 08:49:37 GMT ", std::nullopt},
      {"something before", " Sun, 06 Nov 1994 08:49:37 GMT", std::nullopt},
      {"zero", "0", std::nullopt},
      {"minus one", "-1", std::nullopt},
      {"empty", "", std::nullopt},
      {"asctime with a zone", "Sun Nov  6 08:49:37 1994 GMT", std::nullopt},
      {"asctime, zero-padded day", "Sun Nov 06 08:49:37 1994", kRfcExample},
  };
  return all;
}

TEST(ParseDate, EveryClause) {
  for (const Row& row : rows()) {
    const auto parsed = parseDate(row.text, kNow);
    ASSERT_EQ(parsed.has_value(), row.expected.has_value()) << row.clause;
    if (parsed.has_value()) {
      EXPECT_EQ(parsed->s, *row.expected) << row.clause;
    }
  }
}

TEST(ParseDate, EveryPrefixIsRefused) {
  for (const std::string_view text :
       {"Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT",
        "Sun Nov  6 08:49:37 1994"}) {
    for (size_t size = 0; size < text.size(); size++) {
      EXPECT_FALSE(parseDate(text.substr(0, size), kNow).has_value()) << text.substr(0, size);
    }
  }
}

std::optional<int64_t> yearOf(std::string_view text, int64_t now) {
  const auto parsed = parseDate(text, base::UnixSeconds{now});
  if (!parsed.has_value()) {
    return std::nullopt;
  }
  const time_t seconds = parsed->s;
  tm parts;
  gmtime_r(&seconds, &parts);
  return parts.tm_year + 1900;
}

// More than 50 years ahead of now means the last century's year (RFC 9110 5.6.7).
TEST(ParseDate, TwoDigitYearsAreAtMostFiftyYearsAhead) {
  const int64_t now = 1700000000;  // 2023-11-14T22:13:20Z
  EXPECT_EQ(yearOf("Monday, 01-Jan-23 00:00:00 GMT", now), 2023);
  EXPECT_EQ(yearOf("Monday, 01-Jan-73 00:00:00 GMT", now), 2073);
  EXPECT_EQ(yearOf("Tuesday, 14-Nov-73 22:13:20 GMT", now), 2073);
  EXPECT_EQ(yearOf("Wednesday, 14-Nov-73 22:13:21 GMT", now), 1973);
  EXPECT_EQ(yearOf("Monday, 01-Jan-74 00:00:00 GMT", now), 1974);
  EXPECT_EQ(yearOf("Monday, 01-Jan-99 00:00:00 GMT", now), 1999);
  EXPECT_EQ(yearOf("Monday, 01-Jan-00 00:00:00 GMT", now), 2000);
  // Towards the end of a century, small years are those of the next.
  const int64_t in_2080 = 3471292800;  // 2080-01-01T00:00:00Z
  EXPECT_EQ(yearOf("Monday, 01-Jan-10 00:00:00 GMT", in_2080), 2110);
  EXPECT_EQ(yearOf("Monday, 01-Jan-79 00:00:00 GMT", in_2080), 2079);
  EXPECT_EQ(yearOf("Monday, 01-Jan-31 00:00:00 GMT", in_2080), 2031);
  // 2000 has a leap day, 2100 has none.
  EXPECT_EQ(yearOf("Tuesday, 29-Feb-00 00:00:00 GMT", now), 2000);
  EXPECT_FALSE(yearOf("Monday, 29-Feb-00 00:00:00 GMT", in_2080).has_value());
}

std::string format(int64_t s) {
  std::array<char, kDateSize> out;
  formatDate(base::UnixSeconds{s}, out);
  return std::string(out.data(), out.size());
}

TEST(FormatDate, KnownInstants) {
  EXPECT_EQ(format(kRfcExample), "Sun, 06 Nov 1994 08:49:37 GMT");
  EXPECT_EQ(format(0), "Thu, 01 Jan 1970 00:00:00 GMT");
  EXPECT_EQ(format(-1), "Wed, 31 Dec 1969 23:59:59 GMT");
  EXPECT_EQ(format(951782400), "Tue, 29 Feb 2000 00:00:00 GMT");
  EXPECT_EQ(format(253402300799), "Fri, 31 Dec 9999 23:59:59 GMT");
  EXPECT_EQ(format(INT64_MAX), "Fri, 31 Dec 9999 23:59:59 GMT");
  EXPECT_EQ(format(INT64_MIN), "Sat, 01 Jan 0000 00:00:00 GMT");
}

// The C library as the independent calendar.
TEST(FormatDate, AgreesWithTheLibraryAndReadsBack) {
  for (int64_t s = -62167219200; s < 253402300799; s += 86400 * 97 + 3661) {
    const time_t seconds = s;
    tm parts;
    ASSERT_NE(gmtime_r(&seconds, &parts), nullptr);
    std::array<char, 64> expected;
    const size_t size =
        strftime(expected.data(), expected.size(), "%a, %d %b XXXX %H:%M:%S GMT", &parts);
    std::string text(expected.data(), size);
    std::string year = std::to_string(parts.tm_year + 1900);
    year.insert(0, 4 - year.size(), '0');
    text.replace(text.find("XXXX"), 4, year);
    ASSERT_EQ(format(s), text);
    const auto parsed = parseDate(text, kNow);
    ASSERT_TRUE(parsed.has_value()) << text;
    ASSERT_EQ(parsed->s, s);
  }
}

TEST(DateCache, FollowsTheSecond) {
  DateCache cache;
  EXPECT_EQ(cache.at(base::UnixSeconds{0}), "Thu, 01 Jan 1970 00:00:00 GMT");
  EXPECT_EQ(cache.at(base::UnixSeconds{0}), "Thu, 01 Jan 1970 00:00:00 GMT");
  EXPECT_EQ(cache.at(base::UnixSeconds{1}), "Thu, 01 Jan 1970 00:00:01 GMT");
  EXPECT_EQ(cache.at(base::UnixSeconds{0}), "Thu, 01 Jan 1970 00:00:00 GMT");
}

}  // namespace
}  // namespace http
