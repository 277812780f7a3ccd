// Goal: one reading of every message's length, or an error (RFC 9112 section 6); persistence (9.3).
// Method: a table with one row a clause.
#include <gtest/gtest.h>

#include <string>

#include "source/http/codec.h"

namespace http {
namespace {

using base::Code;

struct Row {
  std::string_view clause;
  std::string_view first;  // request: method and version; response: version and status
  std::string_view lines;
  std::variant<Framing, Code> expected;
};

base::Result<Framing> frameRequest(const Row& row) {
  const bool old = row.first.ends_with("1.0");
  const std::string bytes = std::string(row.first.substr(0, row.first.find(' '))) +
                            (old ? " / HTTP/1.0\r\n" : " / HTTP/1.1\r\n") + "Host: a\r\n" +
                            std::string(row.lines) + "\r\n";
  RequestHead head;
  EXPECT_TRUE(std::holds_alternative<Parsed>(parseRequestHead(bytes, {}, head))) << row.clause;
  return requestFraming(head);
}

void expectFraming(const base::Result<Framing>& framing, const Row& row, base::Blame blame) {
  if (std::holds_alternative<Code>(row.expected)) {
    ASSERT_FALSE(framing.ok()) << row.clause;
    EXPECT_EQ(framing.error().code, std::get<Code>(row.expected)) << row.clause;
    EXPECT_EQ(framing.error().blame, blame) << row.clause;
  } else {
    ASSERT_TRUE(framing.ok()) << row.clause;
    EXPECT_TRUE(framing.value() == std::get<Framing>(row.expected)) << row.clause;
  }
}

constexpr Code kBad = Code::bad_framing;
constexpr Code kUnsupported = Code::unsupported;

const std::vector<Row>& requestRows() {
  static const std::vector<Row> rows = {
      {"9112 6.3.7: neither", "GET 1.1", "", Framing(NoBody{})},
      {"9112 6.3.6: length", "POST 1.1", "Content-Length: 5\r\n", Framing(Length{5})},
      {"9110 8.6: zero", "POST 1.1", "Content-Length: 0\r\n", Framing(Length{0})},
      {"9110 8.6: leading zeros", "POST 1.1", "Content-Length: 007\r\n", Framing(Length{7})},
      {"9110 8.6: largest", "POST 1.1", "Content-Length: 9223372036854775807\r\n",
       Framing(Length{INT64_MAX})},
      {"9110 8.6: too large", "POST 1.1", "Content-Length: 9223372036854775808\r\n", kBad},
      {"9110 8.6: overflow", "POST 1.1", "Content-Length: 18446744073709551621\r\n", kBad},
      {"9110 8.6: empty", "POST 1.1", "Content-Length:\r\n", kBad},
      {"9110 8.6: plus", "POST 1.1", "Content-Length: +5\r\n", kBad},
      {"9110 8.6: minus", "POST 1.1", "Content-Length: -5\r\n", kBad},
      {"9110 8.6: hexadecimal", "POST 1.1", "Content-Length: 0x5\r\n", kBad},
      {"9110 8.6: inner space", "POST 1.1", "Content-Length: 1 2\r\n", kBad},
      {"9110 8.6: fraction", "POST 1.1", "Content-Length: 5.0\r\n", kBad},
      {"9110 8.6: list of equals", "POST 1.1", "Content-Length: 5, 5\r\n", kBad},
      {"9110 8.6: equal twice", "POST 1.1", "Content-Length: 5\r\nContent-Length: 5\r\n", kBad},
      {"9110 8.6: different", "POST 1.1", "Content-Length: 5\r\nContent-Length: 6\r\n", kBad},
      {"9112 6.1: chunked", "POST 1.1", "Transfer-Encoding: chunked\r\n", Framing(Chunked{})},
      {"9112 7: any case", "POST 1.1", "Transfer-Encoding: cHuNkEd\r\n", Framing(Chunked{})},
      {"9112 6.1: with length", "POST 1.1", "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n",
       kBad},
      {"9112 6.1: with length first", "POST 1.1",
       "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n", kBad},
      {"9112 6.1: unknown with length", "POST 1.1",
       "Content-Length: 5\r\nTransfer-Encoding: gzip\r\n", kBad},
      {"9112 6.1: in HTTP/1.0", "POST 1.0", "Transfer-Encoding: chunked\r\n", kBad},
      {"9112 6.1: unknown coding", "POST 1.1", "Transfer-Encoding: gzip\r\n", kUnsupported},
      {"9112 6.1: near miss", "POST 1.1", "Transfer-Encoding: xchunked\r\n", kUnsupported},
      {"9112 7: identity is gone", "POST 1.1", "Transfer-Encoding: identity\r\n", kUnsupported},
      {"9112 6.1: before chunked", "POST 1.1", "Transfer-Encoding: gzip, chunked\r\n",
       kUnsupported},
      {"9112 6.1: in two lines", "POST 1.1",
       "Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n", kUnsupported},
      {"9112 6.3.4: chunked not last", "POST 1.1", "Transfer-Encoding: chunked, gzip\r\n", kBad},
      {"9112 6.1: chunked twice", "POST 1.1", "Transfer-Encoding: chunked, chunked\r\n", kBad},
      {"9112 6.1: chunked twice in lines", "POST 1.1",
       "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", kBad},
      {"9112 6.1: chunked and identity", "POST 1.1",
       "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n", kBad},
      {"9112 7: chunked has no parameters", "POST 1.1", "Transfer-Encoding: chunked;a=b\r\n", kBad},
      {"9112 6.1: empty", "POST 1.1", "Transfer-Encoding:\r\n", kBad},
      {"9112 6.1: empty element", "POST 1.1", "Transfer-Encoding: chunked,\r\n", kBad},
      {"9112 6.1: quoted", "POST 1.1", "Transfer-Encoding: \"chunked\"\r\n", kBad},
      {"9112 6.1: two words", "POST 1.1", "Transfer-Encoding: chunked x\r\n", kBad},
  };
  return rows;
}

TEST(RequestFraming, EveryClause) {
  for (const Row& row : requestRows()) {
    expectFraming(frameRequest(row), row, base::Blame::downstream);
  }
}

struct ResponseRow {
  Row row;
  std::string_view method;
};

const std::vector<ResponseRow>& responseRows() {
  constexpr std::string_view kBoth = "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n";
  static const std::vector<ResponseRow> rows = {
      {{"9112 6.3.8: neither", "1.1 200", "", Framing(UntilClose{})}, "GET"},
      {{"9112 6.3.6: length", "1.1 200", "Content-Length: 5\r\n", Framing(Length{5})}, "GET"},
      {{"9110 8.6: equal list", "1.1 200", "Content-Length: 5, 5\r\n", Framing(Length{5})}, "GET"},
      {{"9110 8.6: equal lines", "1.1 200", "Content-Length: 5\r\nContent-Length: 5\r\n",
        Framing(Length{5})},
       "GET"},
      {{"9110 8.6: different list", "1.1 200", "Content-Length: 5, 6\r\n", kBad}, "GET"},
      {{"9110 8.6: different lines", "1.1 200", "Content-Length: 5\r\nContent-Length: 6\r\n", kBad},
       "GET"},
      {{"9110 8.6: empty element", "1.1 200", "Content-Length: 5,\r\n", kBad}, "GET"},
      {{"9110 8.6: not a number", "1.1 200", "Content-Length: x\r\n", kBad}, "GET"},
      {{"9112 6.3.4: chunked", "1.1 200", "Transfer-Encoding: chunked\r\n", Framing(Chunked{})},
       "GET"},
      {{"9112 6.3.3: both", "1.1 200", kBoth, kBad}, "GET"},
      {{"9112 6.3.3: both, to HEAD", "1.1 200", kBoth, kBad}, "HEAD"},
      {{"9112 6.1: HTTP/1.0", "1.0 200", "Transfer-Encoding: chunked\r\n", kBad}, "GET"},
      {{"9112 6.1: unknown", "1.1 200", "Transfer-Encoding: gzip, chunked\r\n", kUnsupported},
       "GET"},
      {{"9112 6.3.1: HEAD", "1.1 200", "Content-Length: 5\r\n", Framing(NoBody{})}, "HEAD"},
      {{"9112 6.3.1: HEAD, chunked", "1.1 200", "Transfer-Encoding: chunked\r\n",
        Framing(NoBody{})},
       "HEAD"},
      {{"9112 6.3.1: HEAD, other coding", "1.1 200", "Transfer-Encoding: gzip\r\n",
        Framing(NoBody{})},
       "HEAD"},
      {{"9112 6.3.1: HEAD, bad length", "1.1 200", "Content-Length: x\r\n", kBad}, "HEAD"},
      {{"9112 6.3.1: 100", "1.1 100", "", Framing(NoBody{})}, "POST"},
      {{"9112 6.3.1: 103", "1.1 103", "Link: x\r\n", Framing(NoBody{})}, "GET"},
      {{"9112 6.3.1: 204", "1.1 204", "Content-Length: 5\r\n", Framing(NoBody{})}, "GET"},
      {{"9112 6.3.1: 304", "1.1 304", "Content-Length: 5\r\n", Framing(NoBody{})}, "GET"},
      {{"9110 15.3.6: 205 may lie", "1.1 205", "Content-Length: 5\r\n", Framing(Length{5})}, "GET"},
      {{"9112 6.3.2: CONNECT", "1.1 200", "Content-Length: 5\r\n", Framing(NoBody{})}, "CONNECT"},
      {{"9112 6.3.2: CONNECT refused", "1.1 403", "Content-Length: 5\r\n", Framing(Length{5})},
       "CONNECT"},
      {{"9110 9.1: methods are case-sensitive", "1.1 200", "Content-Length: 5\r\n",
        Framing(Length{5})},
       "head"},
  };
  return rows;
}

TEST(ResponseFraming, EveryClause) {
  for (const ResponseRow& entry : responseRows()) {
    const std::string bytes =
        "HTTP/" + std::string(entry.row.first) + " X\r\n" + std::string(entry.row.lines) + "\r\n";
    ResponseHead head;
    ASSERT_TRUE(std::holds_alternative<Parsed>(parseResponseHead(bytes, {}, head)));
    expectFraming(responseFraming(head, entry.method), entry.row, base::Blame::upstream);
  }
}

TEST(ContentLength, OfHeadAnswers) {
  ResponseHead head;
  EXPECT_FALSE(contentLength(head).has_value());
  head.fields.add("Content-Length", "12");
  EXPECT_EQ(contentLength(head), 12U);
  head.fields.add("Content-Length", "13");
  EXPECT_FALSE(contentLength(head).has_value());
}

TEST(KeepAlive, EveryClause) {
  struct Case {
    uint8_t minor;
    std::string_view connection;
    bool expected;
  };
  // RFC 9112 9.3: close, then the version, then keep-alive.
  const std::vector<Case> cases = {
      {1, "", true},
      {1, "close", false},
      {1, "keep-alive", true},
      {1, "Upgrade", true},
      {1, "upgrade, Close", false},
      {1, "keep-alive, close", false},
      {1, "closed", true},
      {0, "", false},
      {0, "keep-alive", true},
      {0, "Keep-Alive", true},
      {0, "close", false},
      {0, "x, keep-alive", true},
      {0, "keep-alive, close", false},
  };
  for (const Case& row : cases) {
    RequestHead request;
    ResponseHead response;
    request.minor = response.minor = row.minor;
    if (!row.connection.empty()) {
      request.fields.add("Connection", row.connection);
      response.fields.add("Connection", row.connection);
    }
    EXPECT_EQ(keepAlive(request), row.expected) << int{row.minor} << row.connection;
    EXPECT_EQ(keepAlive(response), row.expected) << int{row.minor} << row.connection;
  }
}

TEST(KeepAlive, LooksAtEveryConnectionLine) {
  RequestHead head;
  head.fields.add("Connection", "x");
  head.fields.add("connection", "close");
  EXPECT_FALSE(keepAlive(head));
}

TEST(ExpectsContinue, OnlyTheOneExpectationOfHttp11) {
  RequestHead head;
  EXPECT_FALSE(expectsContinue(head));
  head.fields.add("Expect", "100-Continue");
  EXPECT_TRUE(expectsContinue(head));
  head.minor = 0;  // RFC 9110 10.1.1: ignored from an HTTP/1.0 client
  EXPECT_FALSE(expectsContinue(head));
  RequestHead other;
  other.fields.add("Expect", "200-maybe");
  EXPECT_FALSE(expectsContinue(other));
}

}  // namespace
}  // namespace http
