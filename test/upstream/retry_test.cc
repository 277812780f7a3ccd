// Goal: another attempt is made where nothing can have been done twice, and nowhere else (RFC 9110
// 9.2.2, RFC 9112 9.3.1); attempts are bounded; every failure has its reason.
// Method: scripted origins that refuse, die or answer at chosen moments; the requests that arrived
// are counted.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "test/upstream/fixture.h"

namespace upstream {
namespace {

class RetryTest : public Fixture {
 protected:
  Call withMethod(const char* method) {
    Call c;
    c.method = method;
    return c;
  }
  // Leaves one unused connection whose origin then follows `then`; later connections answer.
  void warmUp(Script then) {
    Script first{request(), send(ok("warm"))};
    first.insert(first.end(), then.begin(), then.end());
    origin().serve({first, {request(), send(ok("fresh")), request(), send(ok("fresh"))}});
    ASSERT_EQ(get().body, "warm");
    ASSERT_EQ(cluster().gauges().cx_idle, 1U);
  }
};

TEST_F(RetryTest, RefusedConnectGoesToAnotherEndpoint) {
  spec_ = spec({81, 80});  // nobody listens on 81
  origin(80).serve({{request(), send(ok("a")), request(), send(ok("b"))}});
  const Answer& answer = get();
  EXPECT_EQ(answer.body, "a");
  EXPECT_EQ(answer.attempts, 2U);
  EXPECT_EQ(cluster().stats().rq_retry_connect, 1U);
  EXPECT_EQ(cluster().stats().rq_retry_success, 1U);
  EXPECT_EQ(cluster().stats().cx_connect_fail, 1U);
  // The endpoint that refused is passed over for a while.
  EXPECT_EQ(get().attempts, 1U);
  EXPECT_EQ(get().attempts, 1U);
}

TEST_F(RetryTest, RefusedConnectIsRetriedWhateverTheMethod) {
  spec_ = spec({81, 80});
  origin(80).serve({{request(), send(ok("a"))}});
  MemoryBody body({{"hello"}}, false);
  Call c = withMethod("POST");
  c.body = &body;
  c.body_bytes = 5;
  EXPECT_EQ(call(c).body, "a");
  EXPECT_EQ(origin().requests().size(), 1U);
}

TEST_F(RetryTest, ConnectRetriesAreBounded) {
  spec_ = spec({81, 82, 83, 84});
  Call c;
  c.num_retries = 2;
  const Answer& answer = call(c);
  EXPECT_EQ(answer.attempts, 3U);
  EXPECT_EQ(answer.failure.reason, Reason::connect_failure);
  EXPECT_EQ(answer.failure.error.code, base::Code::refused);
  EXPECT_EQ(answer.failure.error.blame, base::Blame::upstream);
  Call none;
  none.num_retries = 0;
  EXPECT_EQ(call(none).attempts, 1U);
}

TEST_F(RetryTest, NoEndpointIsTriedTwiceInARow) {
  spec_ = spec({81, 82});
  Call c;
  c.num_retries = 9;
  EXPECT_EQ(call(c).attempts, 2U);
  EXPECT_EQ(cluster().stats().cx_connect_fail, 2U);
}

TEST_F(RetryTest, ConnectTimeoutIsRetriedElsewhere) {
  sim::NetworkOptions silent;
  silent.blackhole = sim::kAlways;
  world_.network().setOptions(silent);
  spec_ = spec({80});
  spec_.connect_timeout_ms = 300;
  origin(80).serve({{request(), send(ok("a"))}});
  const base::MonoTime begun = world_.now();
  const Answer& answer = get();
  EXPECT_EQ(answer.failure.reason, Reason::connect_timeout);
  EXPECT_EQ(answer.failure.error.code, base::Code::timeout);
  EXPECT_GE(world_.now().ns - begun.ns, 300 * base::kMillisecond_ns);
  EXPECT_LT(world_.now().ns - begun.ns, 400 * base::kMillisecond_ns);
  EXPECT_EQ(cluster().stats().cx_connect_timeout, 1U);
}

TEST_F(RetryTest, DeadlineEndsTheAttempts) {
  sim::NetworkOptions silent;
  silent.blackhole = sim::kAlways;
  world_.network().setOptions(silent);
  spec_ = spec({80, 81, 82});
  spec_.connect_timeout_ms = 300;
  Call c;
  c.num_retries = 9;
  c.timeouts.deadline = world_.now() + 400 * base::kMillisecond_ns;
  const Answer& answer = call(c);
  EXPECT_EQ(answer.attempts, 2U);
  EXPECT_EQ(answer.failure.reason, Reason::connect_timeout);
}

struct DeadRow {
  const char* what;
  Script then;
  const char* method;
  uint64_t idle_ms;      // before the request
  Reason reason;         // of the outcome; none: answered
  uint32_t connections;  // made in all
  uint32_t reached;      // whole requests that reached the origin, the first included
};

std::vector<DeadRow> deadRows() {
  const Script dies{request(), closing()};
  const Script resets{request(), resetting()};
  const Script answers_partly{request(), send("HTTP/1.1 200 OK\r\nConte"), closing()};
  const Script only_interim{request(), send("HTTP/1.1 103 Early Hints\r\n\r\n"), closing()};
  const Script garbage{request(), send("nonsense\r\n\r\n"), closing()};
  return {
      {"GET, closed after it read the request", dies, "GET", 0, Reason::none, 2, 3},
      {"GET, reset after it read the request", resets, "GET", 0, Reason::none, 2, 3},
      {"HEAD", dies, "HEAD", 0, Reason::none, 2, 3},
      {"PUT", dies, "PUT", 0, Reason::none, 2, 3},
      {"DELETE", resets, "DELETE", 0, Reason::none, 2, 3},
      {"POST is never sent twice", dies, "POST", 0, Reason::reset_before_head, 1, 2},
      {"POST, reset", resets, "POST", 0, Reason::reset_before_head, 1, 2},
      {"PATCH", dies, "PATCH", 0, Reason::reset_before_head, 1, 2},
      {"POST takes a new connection when the pooled one is old", dies, "POST", 600, Reason::none, 2,
       2},
      {"GET takes the pooled one however old",
       {request(), send(ok("again"))},
       "GET",
       600,
       Reason::none,
       1,
       2},
      {"GET, died behind a byte of the answer", answers_partly, "GET", 0, Reason::reset_before_head,
       1, 2},
      {"GET, died behind an interim answer", only_interim, "GET", 0, Reason::reset_before_head, 1,
       2},
      {"GET, answered with nonsense", garbage, "GET", 0, Reason::protocol_error, 1, 2},
      {"GET, closed while unused", {closing()}, "GET", 50, Reason::none, 2, 2},
      {"POST, closed while unused", {closing()}, "POST", 50, Reason::none, 2, 2},
      {"POST, reset while unused", {resetting()}, "POST", 50, Reason::none, 2, 2},
  };
}

class DeadConnection : public Fixture, public testing::WithParamInterface<size_t> {};

TEST_P(DeadConnection, Table) {
  const DeadRow row = deadRows()[GetParam()];
  SCOPED_TRACE(row.what);
  Script first{request(), send(ok("warm"))};
  first.insert(first.end(), row.then.begin(), row.then.end());
  origin().serve({first, {request(), send("HTTP/1.1 204 Fresh\r\n\r\n")}});
  ASSERT_EQ(get().body, "warm");
  runFor(row.idle_ms);
  Call c;
  c.method = row.method;
  const Answer& answer = call(c);
  EXPECT_EQ(answer.failure.reason, row.reason);
  EXPECT_EQ(origin().connections(), row.connections);
  EXPECT_EQ(origin().requests().size(), row.reached);
}

INSTANTIATE_TEST_SUITE_P(Rows, DeadConnection, testing::Range<size_t>(0, deadRows().size()));

TEST_F(RetryTest, FreshConnectionThatDiesIsNotRetried) {
  origin().serve({{request(), closing()}});
  const Answer& answer = get();
  EXPECT_EQ(answer.failure.reason, Reason::reset_before_head);
  EXPECT_EQ(answer.attempts, 1U);
  EXPECT_EQ(origin().requests().size(), 1U);
  EXPECT_EQ(cluster().stats().rq_reset, 1U);
}

TEST_F(RetryTest, DeadPoolCostsOneAttemptNotMany) {
  std::vector<Script> scripts(20, {request(), pause(100), send(ok("warm")), request(), closing()});
  scripts.push_back({request(), send(ok("fresh"))});
  origin().serve(scripts);
  std::vector<Answer*> answers;
  for (int i = 0; i < 20; i++) {
    answers.push_back(&start({}));
  }
  for (Answer* answer : answers) {
    EXPECT_EQ(await(*answer).body, "warm");
  }
  EXPECT_EQ(cluster().gauges().cx_idle, 20U);
  const Answer& answer = get();
  EXPECT_EQ(answer.body, "fresh");
  EXPECT_EQ(answer.attempts, 2U);
  EXPECT_EQ(cluster().stats().rq_retry_reused, 1U);
}

TEST_F(RetryTest, BodyIsSentAgainFromItsBeginning) {
  warmUp({request(), closing()});
  MemoryBody body({{"hel"}, {"lo"}});
  Call c = withMethod("PUT");
  c.body = &body;
  c.body_bytes = 5;
  EXPECT_EQ(call(c).body, "fresh");
  const std::string& last = origin().requests().back();
  EXPECT_EQ(last.substr(last.size() - 9), "\r\n\r\nhello");
}

TEST_F(RetryTest, BodyThatIsGoneIsNotSentAgain) {
  warmUp({request(), closing()});
  MemoryBody body({{"hello"}}, false);
  Call c = withMethod("PUT");
  c.body = &body;
  c.body_bytes = 5;
  EXPECT_EQ(call(c).failure.reason, Reason::reset_before_head);
  EXPECT_EQ(origin().connections(), 1U);
}

TEST_F(RetryTest, TimeoutOfAnIdleOriginIsNotAnAnswer) {
  warmUp({request(),
          send("HTTP/1.1 408 Request Timeout\r\nConnection: close\r\n"
               "Content-Length: 0\r\n\r\n"),
          closing()});
  EXPECT_EQ(get().body, "fresh");
}

TEST_F(RetryTest, TimeoutOfAnIdleOriginIsPassedOnWhereARetryIsUnsafe) {
  warmUp({request(), send("HTTP/1.1 408 Request Timeout\r\nContent-Length: 2\r\n\r\nno")});
  const Answer& answer = call(withMethod("POST"));
  EXPECT_EQ(answer.status, 408);
  EXPECT_EQ(answer.body, "no");
}

TEST_F(RetryTest, ErrorsOfTheOriginAreAnswers) {
  origin().serve({{request(), send("HTTP/1.1 500 Oops\r\nContent-Length: 4\r\n\r\n{\"a\"")}});
  const Answer& answer = get();
  EXPECT_EQ(answer.status, 500);
  EXPECT_EQ(answer.body, "{\"a\"");
  EXPECT_EQ(origin().requests().size(), 1U);
  EXPECT_EQ(cluster().stats().rq_5xx, 1U);
}

TEST_F(RetryTest, AnswerIsHeardThoughTheOriginReadNothing) {
  origin().serve({{send("HTTP/1.1 503 Full\r\nConnection: close\r\nContent-Length: 4\r\n\r\nfull"),
                   pause(50), closing()}});
  const Answer& answer = get();
  EXPECT_EQ(answer.status, 503);
  EXPECT_EQ(answer.body, "full");
}

TEST_F(RetryTest, NoEndpointsAtAll) {
  spec_ = spec({80});
  cluster().setEndpoints({});
  const Answer& answer = get();
  EXPECT_EQ(answer.failure.reason, Reason::no_healthy_endpoint);
  EXPECT_EQ(answer.failure.error.blame, base::Blame::upstream);
  EXPECT_EQ(cluster().stats().none_healthy, 1U);
}

TEST_F(RetryTest, AllUnhealthyIsStillTriedAndRecovers) {
  spec_ = spec({80});
  for (int i = 0; i < 3; i++) {
    EXPECT_EQ(get().failure.reason, Reason::connect_failure);
  }
  EXPECT_EQ(cluster().gauges().membership_healthy, 0U);
  origin().serve({{request(), send(ok("back"))}});
  EXPECT_EQ(get().body, "back");
  EXPECT_EQ(cluster().gauges().membership_healthy, 1U);
  EXPECT_EQ(cluster().stats().lb_healthy_panic, 3U);
}

}  // namespace
}  // namespace upstream
