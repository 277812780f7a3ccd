// Goal: request bodies go out framed as announced, at the pace of both sides; an answer that comes
// before the body is sent is heard at once; whatever is cut short ends the connection.
// Method: scripted origins and body sources in the simulator.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "test/upstream/fixture.h"

namespace upstream {
namespace {

constexpr uint64_t kMs = base::kMillisecond_ns;

class UploadTest : public Fixture {
 protected:
  Call post(MemoryBody& body, std::optional<uint64_t> length) {
    Call c;
    c.method = "POST";
    c.body = &body;
    c.body_bytes = length;
    return c;
  }
  std::string bodyOf(const std::string& request) {
    return request.substr(request.find("\r\n\r\n") + 4);
  }
};

TEST_F(UploadTest, ContentLengthBody) {
  origin().serve({{request(), send(ok("done"))}});
  MemoryBody body({{"hello"}, {" "}, {"world", 50 * kMs}});
  const Answer& answer = call(post(body, 11));
  EXPECT_EQ(answer.body, "done");
  EXPECT_EQ(bodyOf(origin().requests()[0]), "hello world");
  EXPECT_EQ(cluster().gauges().cx_idle, 1U);
  EXPECT_EQ(cluster().stats().tx_bytes, 11U);
}

TEST_F(UploadTest, ChunkedBody) {
  origin().serve({{request(), send(ok("done"))}});
  MemoryBody body({{"hello"}, {""}, {std::string(26, 'x')}});
  const Answer& answer = call(post(body, std::nullopt));
  EXPECT_EQ(answer.body, "done");
  EXPECT_EQ(bodyOf(origin().requests()[0]),
            "5\r\nhello\r\n1a\r\n" + std::string(26, 'x') + "\r\n0\r\n\r\n");
  EXPECT_EQ(cluster().gauges().cx_idle, 1U);
}

TEST_F(UploadTest, EmptyBodies) {
  origin().serve({{request(), send(ok("1")), request(), send(ok("2"))}});
  MemoryBody none({});
  EXPECT_EQ(call(post(none, 0)).body, "1");
  EXPECT_EQ(call(post(none, std::nullopt)).body, "2");
  EXPECT_EQ(bodyOf(origin().requests()[1]), "0\r\n\r\n");
}

TEST_F(UploadTest, SlowClientDoesNotCountAsASlowOrigin) {
  origin().serve({{request(), send(ok("done"))}});
  MemoryBody body({{"a", 3000 * kMs}, {"b", 3000 * kMs}});
  Call c = post(body, 2);
  c.timeouts.response_ms = 1000;
  EXPECT_EQ(call(c).body, "done");
}

TEST_F(UploadTest, ResponseTimeoutBeginsBehindTheBody) {
  origin().serve({{request(), pause(5000), send(ok("late"))}});
  MemoryBody body({{"a", 3000 * kMs}});
  Call c = post(body, 1);
  c.timeouts.response_ms = 1000;
  const base::MonoTime begun = world_.now();
  EXPECT_EQ(call(c).failure.reason, Reason::response_timeout);
  EXPECT_GE(world_.now().ns - begun.ns, 4000 * kMs);
  EXPECT_LT(world_.now().ns - begun.ns, 4500 * kMs);
}

TEST_F(UploadTest, DeadlineHoldsWhileTheBodyIsSent) {
  origin().serve({{request(), send(ok("late"))}});
  MemoryBody body({{"a", 30000 * kMs}});
  Call c = post(body, 1);
  c.timeouts.deadline = world_.now() + 1000 * kMs;
  EXPECT_EQ(call(c).failure.reason, Reason::response_timeout);
}

TEST_F(UploadTest, EarlyRefusalStopsTheBody) {
  origin().serve({{requestHead(), send("HTTP/1.1 413 Too Large\r\nContent-Length: 2\r\n\r\nno")}});
  std::vector<MemoryBody::Piece> pieces;
  for (int i = 0; i < 100; i++) {
    pieces.push_back({std::string(1000, 'x'), 10 * kMs});
  }
  MemoryBody body(pieces);
  const Answer& answer = call(post(body, 100000));
  EXPECT_EQ(answer.status, 413);
  EXPECT_EQ(answer.body, "no");
  EXPECT_TRUE(answer.complete);
  EXPECT_LT(body.taken(), 10U);
  runFor(100);
  EXPECT_EQ(cluster().gauges().cx_active, 0U);
  EXPECT_EQ(cluster().stats().rq_early_response, 1U);
}

TEST_F(UploadTest, AnOriginMayAnswerAsItReads) {
  origin().serve({{requestHead(), send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"),
                   send("2\r\nhi\r\n"), pause(500), send("0\r\n\r\n")}});
  MemoryBody body({{"a"}, {"b", 100 * kMs}, {"c", 100 * kMs}});
  const Answer& answer = call(post(body, 3));
  EXPECT_EQ(answer.body, "hi");
  EXPECT_TRUE(answer.complete);
  EXPECT_EQ(body.taken(), 3U);
  EXPECT_EQ(cluster().stats().rq_early_response, 1U);
  EXPECT_EQ(cluster().gauges().cx_idle, 1U);  // both messages ended whole
}

TEST_F(UploadTest, ResponseThatEndsFirstEndsTheConnection) {
  origin().serve({{requestHead(), send(ok("hi"))}});
  MemoryBody body({{"a"}, {"b", 5000 * kMs}});
  const base::MonoTime begun = world_.now();
  const Answer& answer = call(post(body, 2));
  EXPECT_EQ(answer.body, "hi");
  EXPECT_TRUE(answer.complete);
  EXPECT_LT(world_.now().ns - begun.ns, 1000 * kMs);
  runFor(10);
  EXPECT_EQ(cluster().gauges().cx_active, 0U);
}

TEST_F(UploadTest, RefusalAndCloseWhileSendingIsStillHeard) {
  origin().serve(
      {{requestHead(), send("HTTP/1.1 401 No\r\nConnection: close\r\nContent-Length: 2\r\n\r\nno"),
        pause(200), closing()}});
  MemoryBody body({{std::string(100, 'x')}, {std::string(2000000, 'y'), 1 * kMs}});
  const Answer& answer = call(post(body, 2000100));
  EXPECT_EQ(answer.status, 401);
  EXPECT_EQ(answer.body, "no");
}

TEST_F(UploadTest, ClientThatGoesAwayFreesItsConnectionAtOnce) {
  origin().serve({{request(), send(ok("done"))}});
  MemoryBody body({{std::string(100, 'x')}, {"", 50 * kMs, true}});
  const Answer& answer = call(post(body, 100000));
  EXPECT_EQ(answer.failure.reason, Reason::request_body);
  EXPECT_EQ(answer.failure.error.blame, base::Blame::downstream);
  EXPECT_EQ(answer.attempts, 1U);
  runFor(10);
  EXPECT_EQ(cluster().gauges().cx_active, 0U);
  EXPECT_EQ(origin().requests().size(), 0U);
}

TEST_F(UploadTest, SourceThatGivesMoreOrLessThanItSaid) {
  origin().serve({{request(), send(ok("done"))}});
  MemoryBody more({{"abc"}, {"d"}});
  MemoryBody less({{"ab"}});
  Call over = post(more, 3);
  over.body_bytes = 2;
  EXPECT_EQ(call(over).failure.reason, Reason::request_body);
  EXPECT_EQ(call(post(less, 3)).failure.error.code, base::Code::bad_framing);
  EXPECT_EQ(origin().requests().size(), 0U);
  // What lies behind the announced length is not even asked for.
  MemoryBody exact({{"abc"}, {"d"}});
  EXPECT_EQ(call(post(exact, 3)).body, "done");
  EXPECT_EQ(exact.taken(), 1U);
}

TEST_F(UploadTest, ExpectationWaitsForContinue) {
  origin().serve({{requestHead(), pause(300), send("HTTP/1.1 100 Continue\r\n\r\n"), pause(200),
                   send(ok("done"))}});
  MemoryBody body({{"hello"}});
  InterimList interim;
  Call c = post(body, 5);
  c.expect_continue = true;
  c.interim = &interim;
  Answer& answer = start(c);
  runFor(200);
  EXPECT_EQ(body.taken(), 0U);
  await(answer);
  EXPECT_EQ(body.taken(), 1U);
  EXPECT_EQ(answer.body, "done");
  EXPECT_EQ(interim.statuses, (std::vector<uint16_t>{100}));
}

TEST_F(UploadTest, ExpectationRefusedSendsNoBody) {
  origin().serve({{requestHead(), send("HTTP/1.1 417 No\r\nContent-Length: 0\r\n\r\n")}});
  MemoryBody body({{"hello"}});
  Call c = post(body, 5);
  c.expect_continue = true;
  EXPECT_EQ(call(c).status, 417);
  EXPECT_EQ(body.taken(), 0U);
  runFor(10);
  EXPECT_EQ(cluster().gauges().cx_active, 0U);  // the origin still expects five bytes
}

TEST_F(UploadTest, SilentOriginGetsTheBodyAfterAWhile) {
  origin().serve({{request(), send(ok("done"))}});
  MemoryBody body({{"hello"}});
  Call c = post(body, 5);
  c.expect_continue = true;
  const base::MonoTime begun = world_.now();
  EXPECT_EQ(call(c).body, "done");
  EXPECT_GE(world_.now().ns - begun.ns, 1000 * kMs);
}

TEST_F(UploadTest, OriginThatDoesNotReadIsGivenUp) {
  sim::NetworkOptions narrow;
  narrow.window_max = narrow.window_min;
  world_.network().setOptions(narrow);
  origin().serve({{requestHead(), pause(600000)}});
  MemoryBody body({{std::string(1000000, 'x')}});
  Call c = post(body, 1000000);
  c.timeouts.idle_ms = 2000;
  c.timeouts.response_ms = 1000;
  const base::MonoTime begun = world_.now();
  EXPECT_EQ(call(c).failure.reason, Reason::response_timeout);
  EXPECT_LT(world_.now().ns - begun.ns, 4000 * kMs);
}

}  // namespace
}  // namespace upstream
