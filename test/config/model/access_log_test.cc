// Goal: a format of the access log gives the lines that its operators promise, and bytes from the
// network can never forge a line or break its JSON.
// Method: one entry with known values; formats and the exact lines. Times checked with an
// independent calendar.
#include "source/config/model/access_log.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace config {
namespace {

class AccessLogTest : public testing::Test {
 protected:
  AccessLogTest() {
    request_.method = "GET";
    request_.target = "/a";
    request_.fields.add("Host", "a.com");
    request_.fields.add("User-Agent", "curl/8 \"x\"");
    response_.add("Content-Type", "text/plain");
    entry_.start_unix_ms = 1769847330123;
    entry_.request = &request_;
    entry_.response = &response_;
    entry_.status = 200;
    entry_.bytes_received = 1;
    entry_.bytes_sent = 2;
    entry_.duration_us = 3999;
    entry_.remote_address = "[::1]:5000";
    entry_.cache_status = "hit";
    entry_.cache_age_s = 7;
    entry_.shard = 1;
  }

  std::string text(std::string_view format) const {
    AccessLogFormat compiled;
    const auto problem = compileText(format, compiled);
    EXPECT_FALSE(problem.has_value()) << problem->message;
    std::string out;
    appendLine(compiled, entry_, out);
    return out;
  }

  std::string json(const std::vector<std::pair<std::string, std::string>>& members) const {
    AccessLogFormat compiled;
    const auto problem = compileJson(members, compiled);
    EXPECT_FALSE(problem.has_value()) << problem->message;
    std::string out;
    appendLine(compiled, entry_, out);
    return out;
  }

  http::RequestHead request_;
  http::Fields response_;
  AccessLogEntry entry_;
};

TEST_F(AccessLogTest, WritesEachOperator) {
  EXPECT_EQ(text("%START_TIME%"), "2026-01-31T08:15:30.123Z\n");
  EXPECT_EQ(text("%PROTOCOL% %RESPONSE_CODE%"), "HTTP/1.1 200\n");
  EXPECT_EQ(text("%REQ(:METHOD)% %REQ(:PATH)% %REQ(:AUTHORITY)%"), "GET /a a.com\n");
  EXPECT_EQ(text("%RESP(content-type)%"), "text/plain\n");
  EXPECT_EQ(text("%BYTES_RECEIVED% %BYTES_SENT% %DURATION%"), "1 2 3\n");
  EXPECT_EQ(text("%DOWNSTREAM_REMOTE_ADDRESS%"), "[::1]:5000\n");
  EXPECT_EQ(text("%DOWNSTREAM_REMOTE_ADDRESS_WITHOUT_PORT%"), "::1\n");
  EXPECT_EQ(text("%CACHE_STATUS% %CACHE_AGE% %SHARD%"), "hit 7 1\n");
}

TEST_F(AccessLogTest, WritesADashForWhatIsUnknown) {
  EXPECT_EQ(text("%UPSTREAM_HOST% %RESPONSE_DURATION% %REQ(X-None)% %RESPONSE_FLAGS%"),
            "- - - -\n");
}

TEST_F(AccessLogTest, FallsBackOnTheSecondHeader) {
  EXPECT_EQ(text("%REQ(X-None?HOST)%"), "a.com\n");
  EXPECT_EQ(text("%REQ(X-None?:METHOD)%"), "GET\n");
  EXPECT_EQ(text("%REQ(HOST?:METHOD)%"), "a.com\n");
}

TEST_F(AccessLogTest, CutsAtTheLimit) {
  EXPECT_EQ(text("%REQ(Host):3%"), "a.c\n");
  EXPECT_EQ(text("%REQ(Host):9%"), "a.com\n");
}

TEST_F(AccessLogTest, KeepsLiteralsAndPerCentSigns) {
  EXPECT_EQ(text("a%%b %SHARD%%%"), "a%b 1%\n");
  EXPECT_EQ(text("one\n"), "one\n");
}

TEST_F(AccessLogTest, EscapesQuotesAndControlsInText) {
  EXPECT_EQ(text("%REQ(User-Agent)%"), "curl/8 \\x22x\\x22\n");
  entry_.path = "/a\nb\\\xff";
  EXPECT_EQ(text("%REQ(:PATH)%"), "/a\\x0ab\\x5c\\xff\n");
}

TEST_F(AccessLogTest, JsonKnowsNumbersStringsAndNull) {
  EXPECT_EQ(json({{"s", "%RESPONSE_CODE%"}, {"c", "%CACHE_STATUS%"}, {"u", "%UPSTREAM_HOST%"}}),
            "{\"s\":200,\"c\":\"hit\",\"u\":null}\n");
  EXPECT_EQ(json({{"a", "%REQ(:METHOD)% %SHARD% %UPSTREAM_HOST%"}, {"b", "x\"y"}, {"c", ""}}),
            "{\"a\":\"GET 1 -\",\"b\":\"x\\\"y\",\"c\":\"\"}\n");
  EXPECT_EQ(json({}), "{}\n");
}

TEST_F(AccessLogTest, JsonStaysWellFormedForAnyBytes) {
  entry_.path = "/\xff\"\\\x01\xc3\xa4\xe2\x82";
  EXPECT_EQ(json({{"p", "%REQ(:PATH)%"}}),
            "{\"p\":\"/\\u00ff\\\"\\\\\\u0001\xc3\xa4\\u00e2\\u0082\"}\n");
}

TEST_F(AccessLogTest, WritesWhatItCanWithoutAHead) {
  entry_.request = nullptr;
  entry_.response = nullptr;
  EXPECT_EQ(text("%REQ(:METHOD)% %REQ(Host)% %PROTOCOL% %RESP(ETag)%"), "- - - -\n");
}

TEST_F(AccessLogTest, KnowsTheCalendar) {
  entry_.start_unix_ms = 0;
  EXPECT_EQ(text("%START_TIME%"), "1970-01-01T00:00:00.000Z\n");
  entry_.start_unix_ms = 951782400000;  // a leap day of a year divisible by 400
  EXPECT_EQ(text("%START_TIME%"), "2000-02-29T00:00:00.000Z\n");
  entry_.start_unix_ms = 4107542400000;  // 2100 has none
  EXPECT_EQ(text("%START_TIME%"), "2100-03-01T00:00:00.000Z\n");
  entry_.start_unix_ms = INT64_MAX;
  EXPECT_EQ(text("%START_TIME%"), "9999-12-31T23:59:59.999Z\n");
  entry_.start_unix_ms = -1;
  EXPECT_EQ(text("%START_TIME%"), "1970-01-01T00:00:00.000Z\n");
}

TEST_F(AccessLogTest, TheDefaultFormatCompiles) {
  EXPECT_EQ(text(kDefaultLogFormat).find('%'), std::string::npos);
}

struct Wrong {
  std::string_view format;
  std::string_view message;
  std::string_view nearest;
};

TEST(LogFormat, RefusesWhatItDoesNotKnow) {
  const Wrong cases[] = {
      {"%DURATOIN%", "has no command operator %DURATOIN%", "DURATION"},
      {"100%", "has a `%` without its partner; write `%%` for a per cent sign", "%%"},
      {"%REQ(%", "uses %REQ% wrongly: it needs a header, as in %REQ(User-Agent)%", ""},
      {"%SHARD(x)%", "uses %SHARD% wrongly: it takes no header", ""},
      {"%REQ(a b)%", "names a header that cannot exist: `a b`", ""},
      {"%RESP(:PATH)%", "names a header that cannot exist: `:PATH`", ""},
      {"%REQ(a?)%", "names a header that cannot exist: `a?`", ""},
      {"%REQ(a):0%", "has a wrong limit in %REQ(a):0%", ""},
      {"%REQ(a):x%", "has a wrong limit in %REQ(a):x%", ""},
      {"%REQ(a)5%", "has a wrong limit in %REQ(a)5%", ""},
  };
  for (const Wrong& wrong : cases) {
    AccessLogFormat out;
    const auto problem = compileText(wrong.format, out);
    ASSERT_TRUE(problem.has_value()) << wrong.format;
    EXPECT_EQ(problem->message, wrong.message);
    EXPECT_EQ(problem->nearest, wrong.nearest);
  }
}

TEST(LogFormat, LimitsItsLength) {
  AccessLogFormat out;
  EXPECT_FALSE(compileText(std::string(kMaxLogFormatBytes, 'a'), out).has_value());
  EXPECT_TRUE(compileText(std::string(kMaxLogFormatBytes + 1, 'a'), out).has_value());
}

}  // namespace
}  // namespace config
