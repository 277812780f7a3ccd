// Goal: formats compile with errors at the right position, and lines are right for ordinary, absent
// and hostile values. Method: a table of formats against lines written by hand from the operators'
// documentation; a counting operator new shows that steady state does not allocate.

#include "source/telemetry/access_log.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <new>

#include "source/telemetry/escape.h"

namespace {
uint64_t allocations = 0;
}  // namespace

void* operator new(size_t bytes) {
  allocations++;
  void* memory = malloc(bytes);
  if (memory == nullptr) {
    abort();
  }
  return memory;
}
void operator delete(void* memory) noexcept {
  free(memory);
}
void operator delete(void* memory, size_t) noexcept {
  free(memory);
}

namespace telemetry {
namespace {

using Members = std::vector<std::pair<std::string, std::string>>;

struct Head {
  std::vector<std::pair<std::string, std::string>> fields;
};

std::optional<std::string_view> findIn(const void* head, std::string_view name) {
  for (const auto& [field, value] : static_cast<const Head*>(head)->fields) {
    if (field == name) {
      return value;
    }
  }
  return std::nullopt;
}

class AccessLog : public testing::Test {
 protected:
  AccessLog() {
    entry_.start_unix_ms = 1769847330123;  // date -u -d @1769847330: 2026-01-31T08:15:30Z
    entry_.duration_ms = 12;
    entry_.response_duration_ms = 7;
    entry_.bytes_received = 3;
    entry_.bytes_sent = 4096;
    entry_.connection_id = 77;
    entry_.response_code = 200;
    entry_.shard = 1;
    entry_.remote_port = 50000;
    entry_.local_port = 8080;
    entry_.protocol = "HTTP/1.1";
    entry_.method = "GET";
    entry_.path = "/a?b=c";
    entry_.authority = "example.org";
    entry_.scheme = "http";
    entry_.remote_ip = "10.0.0.9";
    entry_.local_ip = "::1";
    entry_.local_is_ipv6 = true;
    entry_.upstream_host = "127.0.0.1:8000";
    entry_.cache_status = "miss";
    entry_.request = FieldSource{&request_, findIn};
    entry_.response = FieldSource{&response_, findIn};
    request_.fields = {{"user-agent", "curl/8"}, {"empty", ""}};
    response_.fields = {{"content-type", "text/html"}};
  }

  std::string line(std::string_view format) {
    AccessFormat compiled;
    const std::optional<FormatError> error = AccessFormat::compileText(format, compiled);
    if (error) {
      return "error: " + error->message;
    }
    std::string out;
    compiled.append(entry_, out);
    return out;
  }
  std::string json(const Members& members) {
    AccessFormat compiled;
    const std::optional<FormatError> error = AccessFormat::compileJson(members, compiled);
    if (error) {
      return "error: " + error->message;
    }
    std::string out;
    compiled.append(entry_, out);
    return out;
  }

  Head request_;
  Head response_;
  AccessEntry entry_;
};

TEST_F(AccessLog, EveryOperatorWritesItsValue) {
  entry_.response_flags = "UF";
  entry_.response_code_details = "upstream_failure";
  entry_.upstream_cluster = "origin";
  entry_.route_name = "r1";
  entry_.virtual_host_name = "v1";
  entry_.cache_name = "main";
  entry_.cache_age_s = 60;
  const std::pair<const char*, const char*> rows[] = {
      {"%START_TIME%", "2026-01-31T08:15:30.123Z"},
      {"%PROTOCOL%", "HTTP/1.1"},
      {"%REQ(:METHOD)%", "GET"},
      {"%REQ(:PATH)%", "/a?b=c"},
      {"%REQ(:AUTHORITY)%", "example.org"},
      {"%REQ(:SCHEME)%", "http"},
      {"%REQ(User-Agent)%", "curl/8"},
      {"%RESP(CONTENT-TYPE)%", "text/html"},
      {"%RESPONSE_CODE%", "200"},
      {"%RESPONSE_FLAGS%", "UF"},
      {"%RESPONSE_CODE_DETAILS%", "upstream_failure"},
      {"%BYTES_RECEIVED%", "3"},
      {"%BYTES_SENT%", "4096"},
      {"%DURATION%", "12"},
      {"%RESPONSE_DURATION%", "7"},
      {"%DOWNSTREAM_REMOTE_ADDRESS%", "10.0.0.9:50000"},
      {"%DOWNSTREAM_REMOTE_ADDRESS_WITHOUT_PORT%", "10.0.0.9"},
      {"%DOWNSTREAM_LOCAL_ADDRESS%", "[::1]:8080"},
      {"%UPSTREAM_HOST%", "127.0.0.1:8000"},
      {"%UPSTREAM_CLUSTER%", "origin"},
      {"%ROUTE_NAME%", "r1"},
      {"%VIRTUAL_HOST_NAME%", "v1"},
      {"%CONNECTION_ID%", "77"},
      {"%CACHE_STATUS%", "miss"},
      {"%CACHE_NAME%", "main"},
      {"%CACHE_AGE%", "60"},
      {"%SHARD%", "1"},
  };
  for (const auto& [format, expected] : rows) {
    EXPECT_EQ(line(format), std::string(expected) + "\n") << format;
  }
}

TEST_F(AccessLog, AbsentValuesAreADashInTextAndNullInJson) {
  entry_.response_duration_ms.reset();
  entry_.upstream_host = {};
  entry_.remote_ip = {};
  EXPECT_EQ(line("%RESPONSE_DURATION% %UPSTREAM_HOST% %CACHE_AGE% %REQ(X)% %RESPONSE_FLAGS% "
                 "%DOWNSTREAM_REMOTE_ADDRESS%"),
            "- - - - - -\n");
  EXPECT_EQ(json({{"a", "%RESPONSE_DURATION%"}, {"b", "%REQ(X)%"}, {"c", "%CACHE_AGE%"}}),
            "{\"a\":null,\"b\":null,\"c\":null}\n");
  EXPECT_EQ(json({{"a", "<%REQ(X)%>"}}), "{\"a\":\"<->\"}\n");
}

TEST_F(AccessLog, AnEmptyFieldIsADashInTextAndAnEmptyStringInJson) {
  EXPECT_EQ(line("%REQ(EMPTY)%|"), "-|\n");
  EXPECT_EQ(json({{"a", "%REQ(EMPTY)%"}}), "{\"a\":\"\"}\n");
}

TEST_F(AccessLog, FallsBackOnTheOtherName) {
  EXPECT_EQ(line("%REQ(X-ORIGINAL?USER-AGENT)%"), "curl/8\n");
  EXPECT_EQ(line("%REQ(X?:PATH)%"), "/a?b=c\n");
  EXPECT_EQ(line("%REQ(USER-AGENT?:PATH)%"), "curl/8\n");
  EXPECT_EQ(line("%REQ(X?Y)%"), "-\n");
}

TEST_F(AccessLog, LimitsCutValuesButNotWithinACharacter) {
  request_.fields = {{"v", "abc\xc3\xa9"}};
  EXPECT_EQ(line("%REQ(V):3%"), "abc\n");
  EXPECT_EQ(line("%REQ(V):2%"), "ab\n");
  EXPECT_EQ(json({{"v", "%REQ(V):4%"}}), "{\"v\":\"abc\"}\n");
  EXPECT_EQ(json({{"v", "%REQ(V):5%"}}), "{\"v\":\"abc\xc3\xa9\"}\n");
}

TEST_F(AccessLog, JsonNumbersAreNumbersOnlyWhenAlone) {
  EXPECT_EQ(json({{"status", "%RESPONSE_CODE%"}, {"ms", "%DURATION%ms"}, {"shard", "%SHARD%"}}),
            "{\"ms\":\"12ms\",\"shard\":1,\"status\":200}\n");
}

TEST_F(AccessLog, JsonMembersAreSortedAndEscaped) {
  EXPECT_EQ(json({{"b", "x"}, {"a\"\n", "per%%cent \"\\"}, {"c", ""}}),
            "{\"a\\\"\\n\":\"per%cent \\\"\\\\\",\"b\":\"x\",\"c\":\"\"}\n");
}

TEST_F(AccessLog, NoClientCanForgeALineOrAField) {
  request_.fields = {{"v", std::string("a\"b\\c\r\n\x01\x7f\xff", 10)}};
  EXPECT_EQ(line("\"%REQ(V)%\""), "\"a\\x22b\\x5cc\\x0d\\x0a\\x01\\x7f\\xff\"\n");
  EXPECT_EQ(json({{"v", "%REQ(V)%"}}), "{\"v\":\"a\\\"b\\\\c\\r\\n\\u0001\\u007f\\u00ff\"}\n");
}

TEST_F(AccessLog, TheDefaultFormatCompiles) {
  EXPECT_EQ(line(AccessFormat::kDefault),
            "[2026-01-31T08:15:30.123Z] \"GET /a?b=c HTTP/1.1\" 200 - 3 4096 12 7 \"-\" "
            "\"curl/8\" \"example.org\" \"127.0.0.1:8000\" miss 1\n");
}

TEST_F(AccessLog, AFormatsOwnLineEndIsNotDoubled) {
  EXPECT_EQ(line("x\n"), "x\n");
  EXPECT_EQ(line(""), "\n");
  EXPECT_EQ(line("100%%"), "100%\n");
}

TEST_F(AccessLog, TimesAreRightAtTheCalendarsEdges) {
  const std::pair<int64_t, const char*> rows[] = {
      {0, "1970-01-01T00:00:00.000Z"},
      {-1, "1969-12-31T23:59:59.999Z"},
      {951782400000, "2000-02-29T00:00:00.000Z"},
      {951868800000, "2000-03-01T00:00:00.000Z"},
      {4107542400000, "2100-03-01T00:00:00.000Z"},
      {1735689599999, "2024-12-31T23:59:59.999Z"},
      {253402300799999, "9999-12-31T23:59:59.999Z"},
      {253402300800000, "9999-12-31T23:59:59.999Z"},
      {INT64_MIN, "0000-01-01T00:00:00.000Z"},
  };
  for (const auto& [unix_ms, expected] : rows) {
    entry_.start_unix_ms = unix_ms;
    EXPECT_EQ(line("%START_TIME%"), std::string(expected) + "\n");
  }
}

TEST_F(AccessLog, ErrorsSayWhereAndWhy) {
  struct Row {
    const char* format;
    uint32_t position;
    const char* message;
  };
  const Row rows[] = {
      {"abc %", 4, "a lone %; write %% for a per cent sign"},
      {"50% off", 2, "a lone %; write %% for a per cent sign"},
      {"%RESPONSE_COD%", 0, "unknown operator %RESPONSE_COD%; did you mean %RESPONSE_CODE%?"},
      {"a %GARBAGE%", 2, "unknown operator %GARBAGE%"},
      {"%DURATION", 0, "the operator DURATION has no closing %"},
      {"%START_TIME(%Y)%", 11, "%START_TIME% takes no arguments"},
      {"%DURATION:5%", 9, "%DURATION% takes no arguments"},
      {"x%REQ%", 1, "%REQ% needs a name, as in %REQ(USER-AGENT)%"},
      {"%REQ()%", 5, "a field's name is missing"},
      {"%REQ(:)%", 5, "a field's name is missing"},
      {"%REQ(a?)%", 7, "a field's name is missing"},
      {"%REQ(a b)%", 6, "a field's name is followed by ) or ?"},
      {"%REQ(a", 6, "a field's name is followed by ) or ?"},
      {"%REQ(a)", 0, "the operator REQ has no closing %"},
      {"%REQ(:STATUS)%", 5, "only :METHOD, :PATH, :AUTHORITY and :SCHEME begin with a colon"},
      {"%RESP(:PATH)%", 6, "a response has no fields that begin with a colon"},
      {"%REQ(a):%", 8, "a limit is a number from 1 to 65536"},
      {"%REQ(a):0%", 8, "a limit is a number from 1 to 65536"},
      {"%REQ(a):65537%", 8, "a limit is a number from 1 to 65536"},
      {"%REQ(a):-1%", 8, "a limit is a number from 1 to 65536"},
  };
  for (const Row& row : rows) {
    AccessFormat format;
    const std::optional<FormatError> error = AccessFormat::compileText(row.format, format);
    ASSERT_TRUE(error) << row.format;
    EXPECT_EQ(error->message, row.message) << row.format;
    EXPECT_EQ(error->position, row.position) << row.format;
  }
  EXPECT_EQ(line("%REQ(USER-AGENT):65536%"), "curl/8\n");
}

TEST_F(AccessLog, AFormatHasAtMost4096Bytes) {
  AccessFormat format;
  EXPECT_FALSE(AccessFormat::compileText(std::string(4096, 'a'), format));
  const std::optional<FormatError> error =
      AccessFormat::compileText(std::string(4097, 'a'), format);
  ASSERT_TRUE(error);
  EXPECT_EQ(error->position, 4096u);
}

TEST_F(AccessLog, AJsonFormatHasOneTo64DistinctMembers) {
  AccessFormat format;
  Members members;
  EXPECT_TRUE(AccessFormat::compileJson(members, format));
  for (int i = 0; i < 64; i++) {
    members.emplace_back("m" + std::to_string(i), "x");
  }
  EXPECT_FALSE(AccessFormat::compileJson(members, format));
  members.emplace_back("m64", "x");
  EXPECT_TRUE(AccessFormat::compileJson(members, format));

  const std::optional<FormatError> twice =
      AccessFormat::compileJson(Members{{"a", "x"}, {"a", "y"}}, format);
  ASSERT_TRUE(twice);
  EXPECT_EQ(twice->member, "a");
  const std::optional<FormatError> wrong =
      AccessFormat::compileJson(Members{{"a", "x"}, {"b", "%NO%"}}, format);
  ASSERT_TRUE(wrong);
  EXPECT_EQ(wrong->member, "b");
  EXPECT_EQ(wrong->position, 0u);
}

TEST_F(AccessLog, AFailedCompilationLeavesTheFormatAsItWas) {
  AccessFormat format;
  ASSERT_FALSE(AccessFormat::compileText("before", format));
  ASSERT_TRUE(AccessFormat::compileText("%NO%", format));
  std::string out;
  format.append(entry_, out);
  EXPECT_EQ(out, "before\n");
}

TEST_F(AccessLog, SteadyStateDoesNotAllocate) {
  AccessFormat text;
  AccessFormat object;
  ASSERT_FALSE(AccessFormat::compileText(AccessFormat::kDefault, text));
  const Members members = {{"t", "%START_TIME%"},
                           {"addr", "%DOWNSTREAM_REMOTE_ADDRESS%"},
                           {"ua", "%REQ(USER-AGENT):20%"},
                           {"ms", "%DURATION%"}};
  ASSERT_FALSE(AccessFormat::compileJson(members, object));
  std::string out;
  out.reserve(4096);
  const uint64_t before = allocations;
  for (int i = 0; i < 4; i++) {
    text.append(entry_, out);
    object.append(entry_, out);
  }
  EXPECT_EQ(allocations, before);
}

TEST(Escape, KeepsValidUtf8AndNothingElse) {
  // RFC 3629 section 4.
  const std::pair<std::string, std::string> rows[] = {
      {"\xc3\xa9", "\xc3\xa9"},
      {"\xe2\x82\xac", "\xe2\x82\xac"},
      {"\xf0\x9f\x98\x80", "\xf0\x9f\x98\x80"},
      {"\xc3", "\\u00c3"},
      {"\xc0\xaf", "\\u00c0\\u00af"},                        // overlong
      {"\xe0\x80\xaf", "\\u00e0\\u0080\\u00af"},             // overlong
      {"\xed\xa0\x80", "\\u00ed\\u00a0\\u0080"},             // a surrogate
      {"\xf4\x90\x80\x80", "\\u00f4\\u0090\\u0080\\u0080"},  // above U+10FFFF
      {"\xf0\x80\x80\x80", "\\u00f0\\u0080\\u0080\\u0080"},  // overlong
      {"\x80\x62", "\\u0080b"},
      {std::string("\0\x1f", 2), "\\u0000\\u001f"},
      {"\t\b", "\\t\\u0008"},
  };
  for (const auto& [bytes, expected] : rows) {
    std::string out;
    appendJsonEscaped(bytes, out);
    EXPECT_EQ(out, expected);
  }
}

TEST(Escape, CutsBetweenCharacters) {
  EXPECT_EQ(cutUtf8("abc", 3), "abc");
  EXPECT_EQ(cutUtf8("abc", 2), "ab");
  EXPECT_EQ(cutUtf8("a\xe2\x82\xac", 2), "a");
  EXPECT_EQ(cutUtf8("a\xe2\x82\xac", 3), "a");
  EXPECT_EQ(cutUtf8("a\xe2\x82\xac", 4), "a\xe2\x82\xac");
  EXPECT_EQ(cutUtf8("\xe2\x82\xac", 1), "");
  EXPECT_EQ(cutUtf8("\x80\x80\x80\x80\x80", 4), "\x80\x80\x80\x80");
  EXPECT_EQ(cutUtf8("abc", 0), "");
}

}  // namespace
}  // namespace telemetry
