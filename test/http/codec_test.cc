// Goal: heads are read as RFC 9112 says, and everything else is refused with the right code.
// Method: a table with one row a clause (message_corpus.cc), the contents of good heads, and each
// limit at N and N+1.
#include "source/http/codec.h"

#include <gtest/gtest.h>

#include <string>

#include "test/http/message_corpus.h"

namespace http {
namespace {

using base::Code;

Code codeOf(const ParseOutcome& outcome) {
  if (std::holds_alternative<base::Error>(outcome)) {
    return std::get<base::Error>(outcome).code;
  }
  return Code::ok;
}

bool wantsMore(const ParseOutcome& outcome) {
  return std::holds_alternative<NeedMore>(outcome);
}

TEST(RequestHead, OutcomeOfEveryClause) {
  for (const test::HeadCase& row : test::requestCases()) {
    RequestHead head;
    const ParseOutcome outcome = parseRequestHead(row.bytes, {}, head);
    EXPECT_FALSE(wantsMore(outcome)) << row.clause;
    EXPECT_EQ(codeOf(outcome), row.code) << row.clause;
    if (row.code == Code::ok) {
      ASSERT_TRUE(std::holds_alternative<Parsed>(outcome)) << row.clause;
      EXPECT_EQ(std::get<Parsed>(outcome).consumed, row.bytes.size()) << row.clause;
    } else {
      EXPECT_EQ(std::get<base::Error>(outcome).blame, base::Blame::downstream) << row.clause;
    }
  }
}

TEST(ResponseHead, OutcomeOfEveryClause) {
  for (const test::HeadCase& row : test::responseCases()) {
    ResponseHead head;
    const ParseOutcome outcome = parseResponseHead(row.bytes, {}, head);
    EXPECT_FALSE(wantsMore(outcome)) << row.clause;
    EXPECT_EQ(codeOf(outcome), row.code) << row.clause;
    if (row.code == Code::ok) {
      ASSERT_TRUE(std::holds_alternative<Parsed>(outcome)) << row.clause;
      EXPECT_EQ(std::get<Parsed>(outcome).consumed, row.bytes.size()) << row.clause;
    } else {
      EXPECT_EQ(std::get<base::Error>(outcome).blame, base::Blame::upstream) << row.clause;
    }
  }
}

TEST(RequestHead, ContentsAreViewsOfTheBytes) {
  const std::string bytes =
      "POST /a/b?c=d HTTP/1.0\r\nhOsT: Example.com:80\r\nX-Long-Header-Name-Of-Mine:  v w\t\r\n"
      "Empty:\r\nContent-Length: 3\r\n\r\nabcGET / HTTP/1.1\r\n";
  RequestHead head;
  const ParseOutcome outcome = parseRequestHead(bytes, {}, head);
  ASSERT_TRUE(std::holds_alternative<Parsed>(outcome));
  EXPECT_EQ(std::get<Parsed>(outcome).consumed, bytes.find("abcGET"));
  EXPECT_EQ(head.method, "POST");
  EXPECT_EQ(head.target, "/a/b?c=d");
  EXPECT_EQ(head.minor, 0);
  ASSERT_EQ(head.fields.size(), 4U);
  EXPECT_EQ(head.fields.all()[0].name, "hOsT");
  EXPECT_EQ(head.fields.all()[0].id, Name::host);
  EXPECT_EQ(head.fields.all()[0].value, "Example.com:80");
  EXPECT_EQ(head.fields.all()[1].id, Name::other);
  EXPECT_EQ(head.fields.all()[1].value, "v w");
  EXPECT_EQ(head.fields.all()[2].value, "");
  EXPECT_EQ(head.fields.value(Name::content_length), "3");
  EXPECT_GE(head.target.data(), bytes.data());
  EXPECT_LT(head.target.data(), bytes.data() + bytes.size());
}

TEST(ResponseHead, Contents) {
  ResponseHead head;
  const std::string bytes = "HTTP/1.1 206 Partial Content\r\nETag: \"x\"\r\n\r\n";
  ASSERT_TRUE(std::holds_alternative<Parsed>(parseResponseHead(bytes, {}, head)));
  EXPECT_EQ(head.status, 206);
  EXPECT_EQ(head.minor, 1);
  EXPECT_EQ(head.reason, "Partial Content");
  EXPECT_EQ(head.fields.value(Name::etag), "\"x\"");
  const std::string bare = "HTTP/1.0 200\r\n\r\n";
  ASSERT_TRUE(std::holds_alternative<Parsed>(parseResponseHead(bare, {}, head)));
  EXPECT_EQ(head.reason, "");
  EXPECT_EQ(head.minor, 0);
  EXPECT_EQ(head.fields.size(), 0U);
}

TEST(RequestHead, AHeadObjectIsReusable) {
  RequestHead head;
  const std::string first = "GET / HTTP/1.1\r\nHost: a\r\nAge: 1\r\n\r\n";
  const std::string second = "PUT /x HTTP/1.0\r\nVary: b\r\n\r\n";
  ASSERT_TRUE(std::holds_alternative<Parsed>(parseRequestHead(first, {}, head)));
  ASSERT_TRUE(std::holds_alternative<Parsed>(parseRequestHead(second, {}, head)));
  EXPECT_EQ(head.method, "PUT");
  EXPECT_FALSE(head.fields.has(Name::host));
  EXPECT_FALSE(head.fields.has(Name::age));
  EXPECT_EQ(head.fields.value(Name::vary), "b");
}

TEST(RequestHead, NothingYetNeedsMore) {
  RequestHead head;
  EXPECT_TRUE(wantsMore(parseRequestHead(std::string_view(), {}, head)));
  EXPECT_TRUE(wantsMore(parseRequestHead(std::string_view("\r"), {}, head)));
  EXPECT_TRUE(wantsMore(parseRequestHead(std::string_view("\r\n"), {}, head)));
  EXPECT_TRUE(wantsMore(parseRequestHead(std::string_view("G"), {}, head)));
  // Bad already, but the rest of the head may make it too large: only its end decides.
  EXPECT_TRUE(wantsMore(parseRequestHead(std::string_view("G@T / HTTP/1.1\r\n"), {}, head)));
}

TEST(RequestHead, GarbageFromTheFirstByteIsRefusedAtOnce) {
  RequestHead head;
  EXPECT_EQ(codeOf(parseRequestHead(std::string_view("\x16"), {}, head)), Code::bad_head);
  EXPECT_EQ(codeOf(parseRequestHead(std::string_view("\n"), {}, head)), Code::bad_head);
  EXPECT_EQ(codeOf(parseRequestHead(std::string_view("\r\n\r"), {}, head)), Code::bad_head);
  ResponseHead response;
  EXPECT_EQ(codeOf(parseResponseHead(std::string_view("\r"), {}, response)), Code::bad_head);
  EXPECT_EQ(codeOf(parseResponseHead(std::string_view("HTTQ"), {}, response)), Code::bad_head);
  EXPECT_TRUE(wantsMore(parseResponseHead(std::string_view("HTTP"), {}, response)));
}

// A head of exactly `size` bytes, by the length of one value.
std::string headOfSize(size_t size) {
  const std::string before = "GET / HTTP/1.1\r\nHost: a\r\nA: ";
  const std::string after = "\r\n\r\n";
  return before + std::string(size - before.size() - after.size(), 'x') + after;
}

TEST(HeadLimits, HeadBytes) {
  const Limits limits{.head_bytes = 100, .fields = 10, .line_bytes = 1000};
  RequestHead head;
  const std::string fits = headOfSize(100);
  const std::string exceeds = headOfSize(101);
  EXPECT_TRUE(std::holds_alternative<Parsed>(parseRequestHead(fits, limits, head)));
  EXPECT_EQ(codeOf(parseRequestHead(exceeds, limits, head)), Code::head_too_large);
  // What follows the head does not count.
  EXPECT_TRUE(std::holds_alternative<Parsed>(parseRequestHead(fits + "body", limits, head)));
  // As soon as no end can come within the limit.
  EXPECT_TRUE(wantsMore(parseRequestHead(exceeds.substr(0, 99), limits, head)));
  EXPECT_EQ(codeOf(parseRequestHead(exceeds.substr(0, 100), limits, head)), Code::head_too_large);
}

std::string headWithFields(size_t count) {
  std::string out = "GET / HTTP/1.1\r\nHost: a\r\n";
  for (size_t i = 1; i < count; i++) {
    out += "A: b\r\n";
  }
  return out + "\r\n";
}

TEST(HeadLimits, Fields) {
  for (const uint16_t limit : {1, 5, 128}) {
    const Limits limits{.head_bytes = 100000, .fields = limit, .line_bytes = 1000};
    RequestHead head;
    EXPECT_TRUE(
        std::holds_alternative<Parsed>(parseRequestHead(headWithFields(limit), limits, head)));
    EXPECT_EQ(head.fields.size(), limit);
    EXPECT_EQ(codeOf(parseRequestHead(headWithFields(limit + 1U), limits, head)),
              Code::head_too_large);
  }
}

TEST(HeadLimits, TheFieldBehindTheLastIsRefusedAtItsFirstByte) {
  const Limits limits{.head_bytes = 100000, .fields = 2, .line_bytes = 1000};
  RequestHead head;
  std::string bytes = headWithFields(2);
  bytes.pop_back();
  EXPECT_TRUE(wantsMore(parseRequestHead(bytes, limits, head)));
  bytes.pop_back();
  bytes += "B";
  EXPECT_EQ(codeOf(parseRequestHead(bytes, limits, head)), Code::head_too_large);
}

TEST(HeadLimits, RequestLine) {
  const Limits limits{.head_bytes = 100000, .fields = 10, .line_bytes = 50};
  // "GET " and " HTTP/1.1" are 13 bytes.
  const auto request = [](size_t line) {
    return "GET /" + std::string(line - 14, 'x') + " HTTP/1.1\r\nHost: a\r\n\r\n";
  };
  RequestHead head;
  EXPECT_TRUE(std::holds_alternative<Parsed>(parseRequestHead(request(50), limits, head)));
  EXPECT_EQ(codeOf(parseRequestHead(request(51), limits, head)), Code::head_too_large);
  EXPECT_TRUE(wantsMore(parseRequestHead(std::string(50, 'x') + "\r", limits, head)));
  EXPECT_EQ(codeOf(parseRequestHead(std::string(51, 'x'), limits, head)), Code::head_too_large);
}

TEST(HeadLimits, FieldAndStatusLine) {
  const Limits limits{.head_bytes = 100000, .fields = 10, .line_bytes = 50};
  const auto response = [](size_t line) {
    return "HTTP/1.1 200 OK\r\nA: " + std::string(line - 3, 'x') + "\r\n\r\n";
  };
  const auto status = [](size_t line) {
    return "HTTP/1.1 200 " + std::string(line - 13, 'x') + "\r\n\r\n";
  };
  ResponseHead head;
  EXPECT_TRUE(std::holds_alternative<Parsed>(parseResponseHead(response(50), limits, head)));
  EXPECT_EQ(codeOf(parseResponseHead(response(51), limits, head)), Code::head_too_large);
  EXPECT_TRUE(std::holds_alternative<Parsed>(parseResponseHead(status(50), limits, head)));
  EXPECT_EQ(codeOf(parseResponseHead(status(51), limits, head)), Code::head_too_large);
}

TEST(HeadLimits, ALimitGoesBeforeTheGrammar) {
  const Limits limits{.head_bytes = 100000, .fields = 10, .line_bytes = 50};
  RequestHead head;
  const std::string bytes = "GET / HTTP/1.1\r\nbad line\r\nA: " + std::string(60, 'x') + "\r\n\r\n";
  EXPECT_EQ(codeOf(parseRequestHead(bytes, limits, head)), Code::head_too_large);
}

TEST(FindHeadEnd, FindsTheBlankLineFromAnyPlaceToResume) {
  const std::string bytes = "GET / HTTP/1.1\r\nHost: a\r\n\r\nrest";
  const uint32_t end = static_cast<uint32_t>(bytes.find("rest"));
  // Resuming where a shorter search that failed has ended.
  for (uint32_t resume = 0; resume < end; resume++) {
    ASSERT_EQ(findHeadEnd(std::span(bytes.data(), resume), 0), 0U) << resume;
    EXPECT_EQ(findHeadEnd(bytes, resume), end) << resume;
  }
  EXPECT_EQ(findHeadEnd(std::string_view(), 0), 0U);
  EXPECT_EQ(findHeadEnd(std::string_view("a\n\nb"), 0), 3U);
  EXPECT_EQ(findHeadEnd(std::string_view("a\r\n\r\r\n"), 0), 0U);
}

}  // namespace
}  // namespace http
