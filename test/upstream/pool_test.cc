// Goal: connections are reused newest first, closed when unused for too long, when the origin
// closes or speaks unasked; limits hold exactly and what meets them waits or is refused, in order;
// a changed set of endpoints drains the old ones without cutting a request. Method: scripted
// origins in the simulator; counters, gauges and what the origins saw.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "test/upstream/fixture.h"

namespace upstream {
namespace {

class PoolTest : public Fixture {
 protected:
  PoolTest() { spec_ = spec({80}); }
  // An origin that answers any number of requests on a connection, each after a while.
  static Script answering(uint64_t after_ms, int times = 50) {
    Script script;
    for (int i = 0; i < times; i++) {
      script.push_back(request());
      if (after_ms > 0) {
        script.push_back(pause(after_ms));
      }
      script.push_back(send(ok("ok")));
    }
    return script;
  }
  static std::vector<ResolvedEndpoint> at(std::vector<uint16_t> ports) {
    std::vector<ResolvedEndpoint> endpoints;
    for (const uint16_t port : ports) {
      endpoints.push_back({*net::Address::parse("127.0.0.1", port), 1});
    }
    return endpoints;
  }
};

TEST_F(PoolTest, OneConnectionServesManyRequests) {
  origin().serve({answering(0)});
  for (int i = 0; i < 20; i++) {
    const Answer& answer = get();
    EXPECT_EQ(answer.body, "ok");
    EXPECT_EQ(answer.reused, i > 0);
  }
  EXPECT_EQ(origin().connections(), 1U);
  EXPECT_EQ(cluster().stats().rq_total, 20U);
  EXPECT_EQ(cluster().stats().cx_total, 1U);
}

TEST_F(PoolTest, NewestConnectionIsReusedFirst) {
  spec_.idle_timeout_ms = 1000;
  origin().serve({answering(100)});
  Answer& a = start({});
  Answer& b = start({});
  await(a);
  await(b);
  EXPECT_EQ(cluster().gauges().cx_idle, 2U);
  // Requests one after another keep one connection busy; the other one ages and goes.
  for (int i = 0; i < 8; i++) {
    runFor(100);
    EXPECT_TRUE(get().reused);
  }
  EXPECT_EQ(cluster().gauges().cx_idle, 1U);
  EXPECT_EQ(cluster().stats().cx_idle_timeout, 1U);
}

TEST_F(PoolTest, UnusedConnectionsAreClosedInTime) {
  spec_.idle_timeout_ms = 1000;
  origin().serve({answering(0)});
  get();
  runFor(980);
  EXPECT_EQ(cluster().gauges().cx_idle, 1U);
  runFor(40);
  EXPECT_EQ(cluster().gauges().cx_active, 0U);
  EXPECT_EQ(cluster().stats().cx_idle_timeout, 1U);
  EXPECT_EQ(get().body, "ok");
}

TEST_F(PoolTest, NoIdleTimeoutKeepsThem) {
  spec_.idle_timeout_ms = 0;
  origin().serve({answering(0)});
  get();
  runFor(100 * 3600 * 1000);
  EXPECT_EQ(cluster().gauges().cx_idle, 1U);
}

TEST_F(PoolTest, AnnouncedKeepAliveIsHonoured) {
  origin().serve({{request(), send("HTTP/1.1 200 OK\r\nKeep-Alive: timeout=2\r\n"
                                   "Content-Length: 0\r\n\r\n")}});
  get();
  runFor(1450);
  EXPECT_EQ(cluster().gauges().cx_idle, 1U);
  runFor(100);
  EXPECT_EQ(cluster().gauges().cx_active, 0U);
}

TEST_F(PoolTest, OriginsCloseIsNoticedAtOnce) {
  origin().serve({{request(), send(ok("a")), pause(100), closing()},
                  {request(), send(ok("b")), pause(100), resetting()},
                  {request(), send(ok("c"))}});
  EXPECT_EQ(get().body, "a");
  runFor(200);
  EXPECT_EQ(cluster().gauges().cx_active, 0U);
  EXPECT_EQ(get().body, "b");
  runFor(200);
  EXPECT_EQ(cluster().gauges().cx_active, 0U);
  const Answer& answer = get();
  EXPECT_EQ(answer.body, "c");
  EXPECT_EQ(answer.attempts, 1U);
  EXPECT_EQ(cluster().stats().cx_idle_closed, 2U);
}

// A second response that nobody asked for would answer the next request, and so on for ever.
TEST_F(PoolTest, BytesUnaskedCloseTheConnection) {
  origin().serve(
      {{request(), send(ok("a")), pause(20),
        send("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil"), request(), send(ok("b"))},
       {request(), send(ok("good"))}});
  EXPECT_EQ(get().body, "a");
  runFor(100);
  EXPECT_EQ(cluster().gauges().cx_active, 0U);
  EXPECT_EQ(cluster().stats().cx_unexpected_bytes, 1U);
  EXPECT_EQ(get().body, "good");
}

TEST_F(PoolTest, ConnectionsAreRetiredAfterTheirLastRequest) {
  spec_.max_requests_per_connection = 3;
  origin().serve({answering(0)});
  for (int i = 0; i < 7; i++) {
    EXPECT_EQ(get().body, "ok");
  }
  EXPECT_EQ(origin().connections(), 3U);
  EXPECT_EQ(cluster().stats().cx_max_requests, 2U);
}

TEST_F(PoolTest, ConnectionLimitMakesRequestsWaitInOrder) {
  spec_.max_connections = 2;
  origin().serve({answering(100)});
  std::vector<Answer*> answers;
  for (int i = 0; i < 5; i++) {
    answers.push_back(&start({}));
  }
  runFor(50);
  EXPECT_EQ(cluster().gauges().cx_active, 2U);
  EXPECT_EQ(cluster().gauges().rq_pending_active, 3U);
  runFor(75);
  EXPECT_TRUE(answers[0]->done && answers[1]->done);
  EXPECT_FALSE(answers[2]->done || answers[3]->done || answers[4]->done);
  runFor(100);
  EXPECT_TRUE(answers[2]->done && answers[3]->done);
  EXPECT_FALSE(answers[4]->done);
  for (Answer* answer : answers) {
    EXPECT_EQ(await(*answer).body, "ok");
  }
  EXPECT_EQ(origin().connections(), 2U);
  EXPECT_EQ(cluster().stats().rq_pending_total, 3U);
}

TEST_F(PoolTest, PendingLimitHoldsExactly) {
  spec_.max_connections = 1;
  spec_.max_pending = 2;
  origin().serve({answering(100)});
  std::vector<Answer*> answers;
  for (int i = 0; i < 4; i++) {
    answers.push_back(&start({}));
  }
  runFor(10);
  EXPECT_TRUE(answers[3]->done);
  EXPECT_EQ(answers[3]->failure.reason, Reason::overflow);
  EXPECT_EQ(answers[3]->failure.error.code, base::Code::no_capacity);
  EXPECT_EQ(cluster().stats().rq_pending_overflow, 1U);
  for (int i = 0; i < 3; i++) {
    EXPECT_EQ(await(*answers[i]).body, "ok");
  }
}

TEST_F(PoolTest, RequestLimitHoldsExactly) {
  spec_.max_requests = 3;
  origin().serve({answering(100)});
  std::vector<Answer*> answers;
  for (int i = 0; i < 4; i++) {
    answers.push_back(&start({}));
  }
  EXPECT_EQ(await(*answers[3]).failure.reason, Reason::overflow);
  EXPECT_EQ(cluster().stats().rq_overflow, 1U);
  for (int i = 0; i < 3; i++) {
    EXPECT_EQ(await(*answers[i]).body, "ok");
  }
  EXPECT_EQ(get().body, "ok");
}

TEST_F(PoolTest, WaitingEndsAtTheDeadline) {
  spec_.max_connections = 1;
  origin().serve({answering(1000)});
  Answer& first = start({});
  runFor(10);
  Call c;
  c.timeouts.deadline = world_.now() + 200 * base::kMillisecond_ns;
  const Answer& second = call(c);
  EXPECT_EQ(second.failure.reason, Reason::overflow);
  EXPECT_EQ(second.failure.error.code, base::Code::no_capacity);
  EXPECT_FALSE(first.done);
  EXPECT_EQ(cluster().stats().rq_pending_timeout, 1U);
  EXPECT_EQ(await(first).body, "ok");
}

TEST_F(PoolTest, WaitingEndsWithTheResponseTimeout) {
  spec_.max_connections = 1;
  origin().serve({answering(2000)});
  Answer& first = start({});
  runFor(10);
  Call c;
  c.timeouts.response_ms = 500;
  const base::MonoTime begun = world_.now();
  EXPECT_EQ(call(c).failure.reason, Reason::overflow);
  EXPECT_LT(world_.now().ns - begun.ns, 600 * base::kMillisecond_ns);
  EXPECT_EQ(await(first).body, "ok");
}

TEST_F(PoolTest, WhoWaitsMayGiveUp) {
  spec_.max_connections = 1;
  origin().serve({answering(1000)});
  Answer& first = start({});
  Answer& second = start({});
  Answer& third = start({});
  runFor(10);
  second.scope->request();
  EXPECT_EQ(await(second).failure.reason, Reason::cancelled);
  EXPECT_EQ(await(first).body, "ok");
  EXPECT_EQ(await(third).body, "ok");
  EXPECT_EQ(cluster().gauges().rq_pending_active, 0U);
}

TEST_F(PoolTest, SlotOfAFailedConnectGoesToTheNext) {
  spec_ = spec({81});
  spec_.max_connections = 1;
  Answer& first = start({});
  Answer& second = start({});
  EXPECT_EQ(await(first).failure.reason, Reason::connect_failure);
  EXPECT_EQ(await(second).failure.reason, Reason::connect_failure);
  EXPECT_EQ(cluster().gauges().cx_active, 0U);
}

TEST_F(PoolTest, UnusedConnectionElsewhereMakesRoom) {
  spec_ = spec({80, 81});
  spec_.max_connections = 1;
  origin(80).serve({answering(0)});
  origin(81).serve({answering(0)});
  for (int i = 0; i < 4; i++) {
    EXPECT_EQ(get().body, "ok");
  }
  EXPECT_EQ(origin(80).requests().size(), 2U);
  EXPECT_EQ(origin(81).requests().size(), 2U);
  EXPECT_EQ(cluster().stats().cx_evicted, 3U);
}

TEST_F(PoolTest, RoundRobinOverEndpoints) {
  spec_ = spec({80, 81, 82});
  spec_.endpoints[0].weight = 2;
  for (const uint16_t port : {80, 81, 82}) {
    origin(port).serve({answering(0)});
  }
  for (int i = 0; i < 8; i++) {
    get();
  }
  EXPECT_EQ(origin(80).requests().size(), 4U);
  EXPECT_EQ(origin(81).requests().size(), 2U);
  EXPECT_EQ(origin(82).requests().size(), 2U);
}

TEST_F(PoolTest, LeastRequestAvoidsTheBusyEndpoint) {
  spec_ = spec({80, 81});
  spec_.lb_policy = LbPolicy::least_request;
  origin(80).serve({answering(10000)});
  origin(81).serve({answering(0)});
  sim::NetworkOptions prompt;
  prompt.slow_accept = 0;
  world_.network().setOptions(prompt);
  // One request gets stuck on the slow endpoint; all others go to the other one.
  std::vector<Answer*> answers;
  for (int i = 0; i < 20; i++) {
    answers.push_back(&start({}));
    runFor(20);
  }
  EXPECT_EQ(origin(80).requests().size(), 1U);
  EXPECT_EQ(origin(81).requests().size(), 19U);
  for (Answer* answer : answers) {
    await(*answer);
  }
}

TEST_F(PoolTest, RemovedEndpointDrainsWithoutCuttingARequest) {
  spec_ = spec({80});
  origin(80).serve({answering(500)});
  origin(81).serve({answering(0)});
  get();
  Answer& running = start({});
  runFor(50);
  EXPECT_EQ(cluster().gauges().cx_active, 1U);
  cluster().setEndpoints(at({81}));
  EXPECT_EQ(get().body, "ok");
  EXPECT_EQ(origin(81).requests().size(), 1U);
  EXPECT_FALSE(running.done);
  EXPECT_EQ(await(running).body, "ok");
  runFor(10);
  EXPECT_EQ(origin(80).open(), 0U);
  EXPECT_EQ(cluster().gauges().membership_total, 1U);
  EXPECT_EQ(cluster().stats().membership_change, 2U);
}

TEST_F(PoolTest, EndpointThatStaysKeepsItsConnections) {
  spec_ = spec({80});
  origin(80).serve({answering(0)});
  get();
  cluster().setEndpoints(at({81, 80, 80}));
  EXPECT_EQ(cluster().gauges().membership_total, 2U);
  EXPECT_EQ(cluster().gauges().cx_idle, 1U);
  cluster().setEndpoints(at({80}));
  EXPECT_TRUE(get().reused);
}

TEST_F(PoolTest, FlippingTheEndpointsFailsNothing) {
  spec_ = spec({80});
  origin(80).serve({answering(3)});
  origin(81).serve({answering(3)});
  std::vector<Answer*> answers;
  for (int i = 0; i < 200; i++) {
    if (i % 10 == 0) {
      cluster().setEndpoints(at({static_cast<uint16_t>(80 + i / 10 % 2)}));
    }
    answers.push_back(&start({}));
    runFor(1);
  }
  for (Answer* answer : answers) {
    EXPECT_EQ(await(*answer).body, "ok");
  }
}

TEST_F(PoolTest, RequestsWaitForTheFirstResolution) {
  spec_.discovery = Discovery::strict_dns;
  spec_.endpoints = {{"origin.test", 80, 1}};
  origin().serve({answering(0)});
  Answer& answer = start({});
  runFor(1000);
  EXPECT_FALSE(answer.done);
  cluster().setEndpoints(at({80}));
  EXPECT_EQ(await(answer).body, "ok");
}

TEST_F(PoolTest, WaitingForTheFirstResolutionEnds) {
  spec_.discovery = Discovery::strict_dns;
  spec_.endpoints = {{"origin.test", 80, 1}};
  spec_.connect_timeout_ms = 500;
  const base::MonoTime begun = world_.now();
  EXPECT_EQ(get().failure.reason, Reason::no_healthy_endpoint);
  EXPECT_LT(world_.now().ns - begun.ns, 600 * base::kMillisecond_ns);
}

TEST_F(PoolTest, NewLimitsHoldAtOnce) {
  spec_.max_connections = 1;
  origin().serve({answering(200)});
  Answer& a = start({});
  Answer& b = start({});
  runFor(10);
  EXPECT_EQ(cluster().gauges().cx_active, 1U);
  ClusterSpec wider = spec_;
  wider.max_connections = 2;
  cluster().update(wider);
  runFor(10);
  EXPECT_EQ(cluster().gauges().cx_active, 2U);
  await(a);
  await(b);
  cluster().update(spec_);
  EXPECT_EQ(get().body, "ok");
  runFor(10);
  EXPECT_EQ(cluster().gauges().cx_active, 1U);
}

TEST_F(PoolTest, EndpointsCount) {
  spec_ = spec({80, 81});
  origin(80).serve({answering(0)});
  EXPECT_EQ(get().body, "ok");
  EXPECT_EQ(get().body, "ok");
  std::vector<std::string> texts;
  uint64_t total = 0;
  cluster().forEachEndpoint([&](const Cluster::EndpointView& view) {
    texts.push_back(view.endpoint.text);
    total += view.endpoint.stats.rq_success;
    EXPECT_EQ(view.endpoint.rq_active, 0U);
    EXPECT_EQ(view.healthy, view.endpoint.address.port() == 80);
    EXPECT_EQ(view.endpoint.stats.cx_connect_fail, view.healthy ? 0U : 1U);
  });
  EXPECT_EQ(texts, (std::vector<std::string>{"127.0.0.1:80", "127.0.0.1:81"}));
  EXPECT_EQ(total, 2U);
}

}  // namespace
}  // namespace upstream
