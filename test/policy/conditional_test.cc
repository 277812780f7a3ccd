// Goal: preconditions are evaluated in the order and with the comparisons of RFC 9110 section 13
// and RFC 9111 4.3.2. Method: one row a clause.
#include "source/policy/conditional.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "test/policy/heads.h"

namespace policy {
namespace {

using testing::FieldRows;
using testing::kNow;
using testing::ok;
using testing::request;
using testing::response;
using testing::Text;

constexpr Condition kFull = Condition::full;
constexpr Condition kNotModified = Condition::not_modified;
constexpr Condition kFailed = Condition::precondition_failed;

Condition evaluate(const http::RequestHead& asked, const http::ResponseHead& stored,
                   Evaluator who = Evaluator::cache) {
  return evaluateConditional(asked, stored, kNow, kNow, who);
}

TEST(IfNoneMatch, ComparesWeakly) {  // RFC 9110 13.1.2, 8.8.3.2
  struct Row {
    std::string_view stored;
    std::vector<std::string_view> lines;
    Condition expected;
  };
  const Row rows[] = {
      {"\"a\"", {"\"a\""}, kNotModified},
      {"\"a\"", {"\"b\""}, kFull},
      {"\"a\"", {"\"x\", W/\"a\""}, kNotModified},
      {"W/\"a\"", {"\"a\""}, kNotModified},
      {"W/\"a\"", {"W/\"a\""}, kNotModified},
      {"\"a\"", {"\"1\", \"2\", \"a\""}, kNotModified},
      {"\"a\"", {"\"a\", \"1\""}, kNotModified},
      {"\"a\"", {"\"1\"", "\"a\""}, kNotModified},
      {"\"a\"", {"*"}, kNotModified},
      {"\"a,b\"", {"\"a,b\""}, kNotModified},
      {"\"a,b\"", {"\"a\", \"b\""}, kFull},
      {"\"A\"", {"\"a\""}, kFull},
      {"\"abcdef\xfc\"", {"\"abcdef\xfc\""}, kNotModified},
      {"a", {"\"a\""}, kFull},
      {"\"a\"", {"a"}, kFull},
      {"", {"\"\""}, kFull},
  };
  for (const Row& row : rows) {
    http::RequestHead asked = request("GET");
    for (const std::string_view line : row.lines) {
      asked.fields.add("If-None-Match", line);
    }
    EXPECT_EQ(evaluate(asked, ok({{"ETag", row.stored}})), row.expected)
        << row.stored << " against " << row.lines[0];
  }
}

TEST(IfNoneMatch, AStarMatchesWithoutAnEntityTag) {
  EXPECT_EQ(evaluate(request("GET", {{"If-None-Match", "*"}}), ok()), kNotModified);
}

TEST(IfNoneMatch, OutweighsIfModifiedSince) {  // RFC 9110 13.1.3, 13.2.2
  Text text;
  const auto stored = ok({{"ETag", "\"2\""}, {"Last-Modified", text.date(-5000)}});
  const auto asked = [&](std::string_view tag, int64_t since_s) {
    return request("GET", {{"If-None-Match", tag}, {"If-Modified-Since", text.date(since_s)}});
  };
  EXPECT_EQ(evaluate(asked("\"1\"", 0), stored), kFull);
  EXPECT_EQ(evaluate(asked("\"2\"", -9000), stored), kNotModified);
}

TEST(IfModifiedSince, ComparesDates) {  // RFC 9110 13.1.3, RFC 9111 4.3.2
  Text text;
  const auto stored = ok({{"Last-Modified", text.date(-3000)}, {"Date", text.date(0)}});
  const auto since = [&](std::string_view value) {
    return evaluate(request("GET", {{"If-Modified-Since", value}}), stored);
  };
  EXPECT_EQ(since(text.date(-3000)), kNotModified);
  EXPECT_EQ(since(text.date(-2000)), kNotModified);
  EXPECT_EQ(since(text.date(-3001)), kFull);
  EXPECT_EQ(since("not a date"), kFull);
  EXPECT_EQ(since(""), kFull);
  EXPECT_EQ(evaluate(request("HEAD", {{"If-Modified-Since", text.date(0)}}), stored), kNotModified);
}

TEST(IfModifiedSince, ReadsOldForms) {  // RFC 9110 5.6.7
  const auto stored = ok({{"Last-Modified", "Sun, 06 Nov 1994 08:49:37 GMT"}});
  for (const std::string_view same :
       {"Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994"}) {
    EXPECT_EQ(evaluate(request("GET", {{"If-Modified-Since", same}}), stored), kNotModified)
        << same;
  }
}

TEST(IfModifiedSince, IsIgnoredWhenRepeated) {
  Text text;
  const auto asked =
      request("GET", {{"If-Modified-Since", text.date(0)}, {"If-Modified-Since", text.date(0)}});
  EXPECT_EQ(evaluate(asked, ok({{"Last-Modified", text.date(-9)}})), kFull);
}

TEST(IfModifiedSince, FallsBackToDateThenReceipt) {  // RFC 9111 4.3.2, cases 2 and 3
  Text text;
  const auto since = [&](int64_t s) {
    return request("GET", {{"If-Modified-Since", text.date(s)}});
  };
  const auto dated = ok({{"Date", text.date(-100)}});
  EXPECT_EQ(evaluate(since(-100), dated), kNotModified);
  EXPECT_EQ(evaluate(since(-101), dated), kFull);
  const base::UnixSeconds received{kNow.s - 50};
  EXPECT_EQ(evaluateConditional(since(-50), ok(), received, kNow), kNotModified);
  EXPECT_EQ(evaluateConditional(since(-51), ok(), received, kNow), kFull);
  EXPECT_EQ(evaluate(since(0), ok({{"Last-Modified", "garbage"}})), kFull);
}

TEST(Preconditions, CountForSuccessfulResponsesOnly) {  // RFC 9110 13.2.1
  const auto asked = request("GET", {{"If-None-Match", "*"}});
  for (const uint16_t status : {301, 404, 500}) {
    EXPECT_EQ(evaluate(asked, response(status, {{"ETag", "\"a\""}})), kFull) << status;
  }
  EXPECT_EQ(evaluate(asked, response(203)), kNotModified);
}

TEST(Preconditions, OfTheOriginAreNotTheCachesToJudge) {  // RFC 9111 4.3.2
  Text text;
  const auto asked =
      request("GET", {{"If-Match", "\"x\""}, {"If-Unmodified-Since", text.date(-9999)}});
  EXPECT_EQ(evaluate(asked, ok({{"ETag", "\"a\""}})), kFull);
}

TEST(Preconditions, AsOriginInOrder) {  // RFC 9110 13.2.2
  Text text;
  const auto stored = ok({{"ETag", "\"a\""}, {"Last-Modified", text.date(-100)}});
  const auto weak = ok({{"ETag", "W/\"a\""}});
  const auto as = [&](std::string_view method, FieldRows rows, const http::ResponseHead& head) {
    return evaluate(request(method, rows), head, Evaluator::origin);
  };
  EXPECT_EQ(as("GET", {{"If-Match", "\"a\""}}, stored), kFull);
  EXPECT_EQ(as("GET", {{"If-Match", "\"x\", \"a\""}}, stored), kFull);
  EXPECT_EQ(as("GET", {{"If-Match", "*"}}, stored), kFull);
  EXPECT_EQ(as("GET", {{"If-Match", "\"x\""}}, stored), kFailed);
  EXPECT_EQ(as("GET", {{"If-Match", "W/\"a\""}}, stored), kFailed);  // 13.1.1: strong
  EXPECT_EQ(as("GET", {{"If-Match", "\"a\""}}, weak), kFailed);
  EXPECT_EQ(as("GET", {{"If-Unmodified-Since", text.date(-100)}}, stored), kFull);
  EXPECT_EQ(as("GET", {{"If-Unmodified-Since", text.date(-101)}}, stored), kFailed);
  EXPECT_EQ(as("GET", {{"If-Unmodified-Since", "x"}}, stored), kFull);
  // If-Match present: If-Unmodified-Since is not looked at; then If-None-Match.
  EXPECT_EQ(as("GET", {{"If-Match", "\"a\""}, {"If-Unmodified-Since", text.date(-101)}}, stored),
            kFull);
  EXPECT_EQ(as("GET", {{"If-Match", "\"a\""}, {"If-None-Match", "\"a\""}}, stored), kNotModified);
  EXPECT_EQ(as("PUT", {{"If-None-Match", "*"}}, stored), kFailed);
  EXPECT_EQ(as("PUT", {{"If-Modified-Since", text.date(0)}}, stored), kFull);
}

TEST(NotModified, CarriesAllButDescriptionsOfContent) {  // RFC 9110 15.4.5
  const auto kept = [](std::string_view name) {
    return keptIn304(http::Field{http::nameOf(name), name, "x"});
  };
  for (const std::string_view name :
       {"Cache-Control", "Content-Location", "Date", "ETag", "Expires", "Vary", "Last-Modified",
        "X-Foo", "Set-Cookie", "Content-Security-Policy", "Link"}) {
    EXPECT_TRUE(kept(name)) << name;
  }
  for (const std::string_view name :
       {"Content-Length", "Content-Type", "Content-Encoding", "Content-Language", "Content-Range",
        "Transfer-Encoding", "Trailer", "Content-MD5", "Content-Digest", "Repr-Digest"}) {
    EXPECT_FALSE(kept(name)) << name;
  }
}

}  // namespace
}  // namespace policy
