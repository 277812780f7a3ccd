// Goal: one exchange delivers exactly the body its framing delimits (RFC 9112 6.3), tells a whole
// body from a cut one, keeps a connection only when both messages ended cleanly, and copes with
// interim, early and malformed responses.
// Method: scripted origins in the simulator; each row states the bytes sent and what RFC 9112 makes
// of them.
#include "source/upstream/exchange.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "test/upstream/fixture.h"

namespace upstream {
namespace {

class ExchangeTest : public Fixture {
 protected:
  // One GET (or another method) answered with these bytes; then the origin does what `after` says.
  Answer& answeredWith(std::string bytes, Script after = {}, Call c = {}) {
    Script script{request(), send(std::move(bytes))};
    script.insert(script.end(), after.begin(), after.end());
    origin().serve({script});
    return call(std::move(c));
  }
  uint32_t kept() { return cluster().gauges().cx_idle; }
  // The next call begins with a new connection.
  void renewEndpoint() {
    cluster().setEndpoints({});
    runFor(10);
    EXPECT_EQ(cluster().gauges().cx_active, 0U);
    cluster().setEndpoints(std::vector<ResolvedEndpoint>{{*net::Address::parse("127.0.0.1", 80)}});
  }
};

const std::string kChunkedHead = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
const std::string kOk = "HTTP/1.1 200 OK\r\n";

struct Row {
  const char* what;
  std::string bytes;  // of the response
  std::string body;
  const char* method = "GET";
  Script after = {};
};

class FramingTest : public ExchangeTest {
 protected:
  // Each row has a connection of its own.
  void check(const std::vector<Row>& rows, bool complete, base::Code code, uint32_t kept_after) {
    std::vector<Script> scripts;
    for (const Row& row : rows) {
      Script script{request(), send(row.bytes)};
      script.insert(script.end(), row.after.begin(), row.after.end());
      scripts.push_back(script);
    }
    origin().serve(scripts);
    for (const Row& row : rows) {
      SCOPED_TRACE(row.what);
      Call c;
      c.method = row.method;
      const Answer& answer = call(c);
      EXPECT_EQ(answer.failure.reason, Reason::none);
      EXPECT_EQ(std::to_string(answer.status), row.bytes.substr(9, 3));
      if (complete) {
        EXPECT_EQ(answer.body, row.body);
      } else {
        EXPECT_EQ(row.body.substr(0, answer.body.size()), answer.body);
      }
      EXPECT_EQ(answer.complete, complete);
      EXPECT_EQ(answer.body_error.code, code);
      EXPECT_EQ(kept(), kept_after);
      renewEndpoint();
    }
    EXPECT_EQ(origin().connections(), rows.size());
  }
};

TEST_F(FramingTest, WholeMessagesKeepTheirConnection) {
  const std::string two_chunks = "5\r\nhello\r\n6;x=y\r\n world\r\n0\r\n\r\n";
  const std::string keep_10 = "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\n";
  const std::vector<Row> rows = {
      {"length", ok("hello"), "hello"},
      {"length zero", ok(""), ""},
      {"HEAD, whatever its length", kOk + "Content-Length: 5\r\n\r\n", "", "HEAD"},
      {"HEAD, chunked", kChunkedHead, "", "HEAD"},
      {"204", "HTTP/1.1 204 No Content\r\n\r\n", ""},
      {"304 with a length", "HTTP/1.1 304 No\r\nContent-Length: 9\r\n\r\n", ""},
      {"chunked", kChunkedHead + two_chunks, "hello world"},
      {"chunked and empty", kChunkedHead + "0\r\n\r\n", ""},
      {"HTTP/1.0 that keeps", keep_10 + "Content-Length: 2\r\n\r\nhi", "hi"},
  };
  check(rows, true, base::Code::ok, 1);
}

TEST_F(FramingTest, WholeMessagesThatEndTheirConnection) {
  const std::string close = kOk + "Connection: close\r\nContent-Length: 2\r\n\r\nhi";
  const std::vector<Row> rows = {
      {"until close", kOk + "\r\nhello", "hello", "GET", {closing()}},
      {"until close, nothing", kOk + "\r\n", "", "GET", {closing()}},
      {"close announced and done", close, "hi", "GET", {closing()}},
      {"close announced", close, "hi"},
      {"HTTP/1.0", "HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nhi", "hi"},
      {"more than the length", ok("hello") + "HTTP/1.1 200 OK\r\n\r\n", "hello"},
      {"more than the last chunk", kChunkedHead + "2\r\nhi\r\n0\r\n\r\nHTTP", "hi"},
      {"a body where none may be", kOk + "Content-Length: 2\r\n\r\nhi", "", "HEAD"},
  };
  check(rows, true, base::Code::ok, 0);
}

TEST_F(FramingTest, CutMessagesAreErrors) {
  const std::vector<Row> rows = {
      {"until close, reset", kOk + "\r\nhello", "hello", "GET", {pause(5), resetting()}},
      {"length", kOk + "Content-Length: 9\r\n\r\nhello", "hello", "GET", {closing()}},
      {"length, no byte", kOk + "Content-Length: 9\r\n\r\n", "", "GET", {closing()}},
      {"no last chunk", kChunkedHead + "5\r\nhello\r\n", "hello", "GET", {closing()}},
      {"no blank line", kChunkedHead + "5\r\nhello\r\n0\r\n", "hello", "GET", {closing()}},
      {"inside a chunk", kChunkedHead + "5\r\nhel", "hel", "GET", {closing()}},
      {"inside a chunk's size", kChunkedHead + "5", "", "GET", {closing()}},
  };
  check(rows, false, base::Code::peer_closed, 0);
}

TEST_F(FramingTest, MalformedChunksAreErrors) {
  const std::vector<Row> rows = {
      {"no size", kChunkedHead + "zz\r\n", ""},
      {"data longer than its size", kChunkedHead + "2\r\nhixx\r\n0\r\n\r\n", "hi"},
      {"size too large", kChunkedHead + "11111111111111111\r\n", ""},
  };
  check(rows, false, base::Code::bad_framing, 0);
}

TEST_F(ExchangeTest, BodyInTinyReads) {
  for (const size_t size : {size_t{1}, size_t{2}, size_t{3}, size_t{7}}) {
    Call c;
    c.read_bytes = size;
    const Answer& answer =
        answeredWith(kChunkedHead + "5\r\nhello\r\n6\r\n world\r\n0\r\n\r\n", {}, c);
    EXPECT_EQ(answer.body, "hello world") << size;
    EXPECT_TRUE(answer.complete);
    runFor(1);
    renewEndpoint();
  }
}

TEST_F(ExchangeTest, LargeBodiesArriveByteForByte) {
  std::string body;
  base::Random random(9);
  for (int i = 0; i < 300000; i++) {
    body.push_back(static_cast<char>(random.next()));
  }
  std::string chunked = kChunkedHead;
  for (size_t at = 0; at < body.size();) {
    const size_t n = std::min<size_t>(body.size() - at, 1 + random.below(20000));
    char size[32];
    snprintf(size, sizeof size, "%zx\r\n", n);
    chunked += size + body.substr(at, n) + "\r\n";
    at += n;
  }
  chunked += "0\r\n\r\n";
  origin().serve({{request(), send(ok(body)), request(), send(chunked)}});
  Call c;
  c.read_bytes = 50000;
  EXPECT_TRUE(call(c).body == body);
  const Answer& second = call(c);
  EXPECT_TRUE(second.reused);
  EXPECT_TRUE(second.body == body);
}

TEST_F(ExchangeTest, TrailersAreThereAtTheEnd) {
  const Answer& answer =
      answeredWith(kChunkedHead + "2\r\nhi\r\n0\r\nX-Sum: 7\r\nContent-Length: 3\r\n\r\n");
  EXPECT_TRUE(answer.complete);
  EXPECT_EQ(answer.trailer, "X-Sum=7;");
}

TEST_F(ExchangeTest, HeadInManyPieces) {
  const std::string bytes = ok("hello");
  Script script{request()};
  for (const char c : bytes) {
    script.push_back(send(std::string(1, c)));
    script.push_back(pause(1));
  }
  origin().serve({script});
  EXPECT_EQ(get().body, "hello");
}

TEST_F(ExchangeTest, MalformedResponses) {
  const std::vector<std::string> rows = {
      "hello\r\n\r\n",
      "HTTP/2.0 200 OK\r\n\r\n",
      "HTTP/1.1 20 x\r\n\r\n",
      "HTTP/1.1 2000 x\r\n\r\n",
      "HTTP/1.1 099 x\r\n\r\n",
      "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nx",
      "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
      "HTTP/1.1 200 OK\r\nA : b\r\n\r\n",
      "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n",
  };
  std::vector<Script> scripts;
  for (const std::string& row : rows) {
    scripts.push_back({request(), send(row)});
  }
  origin().serve(scripts);
  for (size_t i = 0; i < rows.size(); i++) {
    const Answer& answer = get();
    EXPECT_EQ(answer.failure.reason, Reason::protocol_error) << rows[i];
    EXPECT_EQ(answer.failure.error.blame, base::Blame::upstream);
    EXPECT_EQ(answer.attempts, 1U);
    EXPECT_EQ(kept(), 0U);
  }
  EXPECT_EQ(cluster().stats().rq_protocol_error, rows.size());
}

TEST_F(ExchangeTest, HeadLimitHoldsExactly) {
  const std::string frame = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n";
  const auto headOf = [&](size_t bytes) {
    std::string head = frame;
    // Lines of at most 4096 bytes, then one that fits exactly.
    while (bytes - head.size() > 5000) {
      head += "A: " + std::string(4000, 'x') + "\r\n";
    }
    const size_t left = bytes - head.size() - 2;
    return head + "B: " + std::string(left - 5, 'y') + "\r\n\r\n";
  };
  const size_t limit = http::Limits{}.head_bytes;
  ASSERT_EQ(headOf(limit).size(), limit);
  origin().serve({{request(), send(headOf(limit))}, {request(), send(headOf(limit + 1))}});
  EXPECT_EQ(get().status, 200);
  renewEndpoint();
  const Answer& over = get();
  EXPECT_EQ(over.failure.reason, Reason::protocol_error);
  EXPECT_EQ(over.failure.error.code, base::Code::head_too_large);
}

TEST_F(ExchangeTest, AHeadThatNeverEndsIsRefused) {
  const Answer& answer = answeredWith("HTTP/1.1 200 OK\r\nA: " + std::string(100000, 'x'));
  EXPECT_EQ(answer.failure.error.code, base::Code::head_too_large);
}

TEST_F(ExchangeTest, InterimResponsesArePassedOnAndSkipped) {
  InterimList interim;
  Call c;
  c.interim = &interim;
  const Answer& answer = answeredWith(
      "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n" + ok("hi"), {},
      c);
  EXPECT_EQ(answer.body, "hi");
  EXPECT_EQ(interim.statuses, (std::vector<uint16_t>{103, 100}));
  EXPECT_EQ(interim.links[0], "</a>");
  EXPECT_EQ(kept(), 1U);
}

TEST_F(ExchangeTest, InterimResponsesAreLimited) {
  std::string many;
  for (uint32_t i = 0; i < Exchange::kMaxInterim; i++) {
    many += "HTTP/1.1 103 Early Hints\r\n\r\n";
  }
  origin().serve({{request(), send(many + ok("hi"))},
                  {request(), send(many + "HTTP/1.1 103 Early Hints\r\n\r\n" + ok("hi"))}});
  EXPECT_EQ(get().body, "hi");
  renewEndpoint();
  EXPECT_EQ(get().failure.reason, Reason::protocol_error);
}

TEST_F(ExchangeTest, ResponseTimeoutBeginsWhenTheRequestIsSent) {
  origin().serve({{request(), pause(2000), send(ok("late"))}});
  Call c;
  c.timeouts.response_ms = 1000;
  const base::MonoTime begun = world_.now();
  const Answer& answer = call(c);
  EXPECT_EQ(answer.failure.reason, Reason::response_timeout);
  EXPECT_EQ(answer.failure.error.code, base::Code::timeout);
  EXPECT_GE(world_.now().ns - begun.ns, base::kSecond_ns);
  EXPECT_LT(world_.now().ns - begun.ns, 1100 * base::kMillisecond_ns);
  EXPECT_EQ(cluster().stats().rq_timeout, 1U);
}

TEST_F(ExchangeTest, ResponseTimeoutHoldsOnAReusedConnectionToo) {
  origin().serve({{request(), send(ok("1")), request(), pause(10000), send(ok("2"))}});
  Call c;
  c.timeouts.response_ms = 1000;
  EXPECT_EQ(call(c).body, "1");
  const Answer& second = call(c);
  EXPECT_EQ(second.failure.reason, Reason::response_timeout);
  EXPECT_EQ(second.attempts, 1U);
}

TEST_F(ExchangeTest, BodyTimeoutIsAnError) {
  Call c;
  c.body_timeout_ns = base::kSecond_ns;
  const Answer& answer = answeredWith("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhello", {}, c);
  EXPECT_EQ(answer.body_error.code, base::Code::timeout);
  EXPECT_FALSE(answer.complete);
  EXPECT_EQ(kept(), 0U);
}

TEST_F(ExchangeTest, CancellingBeforeTheHeadFreesTheConnectionAtOnce) {
  origin().serve({{request(), pause(60000), send(ok("late"))}});
  Answer& answer = start({});
  runFor(100);
  EXPECT_EQ(cluster().gauges().cx_active, 1U);
  answer.scope->request();
  await(answer);
  runFor(10);
  EXPECT_EQ(answer.failure.reason, Reason::cancelled);
  EXPECT_EQ(cluster().gauges().cx_active, 0U);
  EXPECT_EQ(cluster().gauges().rq_active, 0U);
}

TEST(AnnouncedIdle, ReadsKeepAlive) {
  struct Row {
    const char* value;
    uint64_t ns;
  };
  constexpr uint64_t kHalf_ns = base::kSecond_ns / 2;
  const std::vector<Row> rows = {
      {"timeout=5", 9 * kHalf_ns},
      {"timeout=1, max=100", kHalf_ns},
      {"max=100, Timeout=2", 3 * kHalf_ns},
      {"timeout=0", 0},
      {"max=100", UINT64_MAX},
      {"timeout=", UINT64_MAX},
      {"timeout=x", UINT64_MAX},
      {"timeout=99999999999999999999", UINT64_MAX},
      {",,", UINT64_MAX},
      {"", UINT64_MAX},
  };
  for (const Row& row : rows) {
    http::ResponseHead head;
    head.fields.add("Keep-Alive", row.value);
    EXPECT_EQ(announcedIdle_ns(head), row.ns) << row.value;
  }
  EXPECT_EQ(announcedIdle_ns({}), UINT64_MAX);
}

}  // namespace
}  // namespace upstream
