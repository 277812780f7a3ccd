// Goal: a reload keeps the connections of what stays, retires what goes without cutting a request,
// and shutdown leaves nothing.
// Method: the manager over a scripted origin in the simulator.
#include "source/upstream/cluster_manager.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "source/upstream/fetch.h"
#include "test/upstream/fixture.h"

namespace upstream {
namespace {

constexpr base::MonoTime kLong{100'000 * base::kSecond_ns};

class ManagerTest : public testing::Test {
 protected:
  ManagerTest() {
    origin_.serve({{request(), pause(50), send(ok("1")), request(), pause(50), send(ok("2")),
                    request(), pause(50), send(ok("3"))}});
  }
  ~ManagerTest() override {
    bool down = false;
    host_.spawn(shutDown(&down));
    EXPECT_EQ(world_.run([&] { return down; }, kLong), sim::Ran::done);
    EXPECT_EQ(world_.openDescriptors(host_), 0U);
    origin_.stop();
    EXPECT_EQ(world_.runToEnd(origin_.host(), kLong), sim::Ran::done);
  }

  rt::Task<void> shutDown(bool* down) {
    co_await manager_.shutdown();
    *down = true;
  }
  rt::Task<void> perform(Cluster* cluster, std::string* body) {
    co_await rt::Yield();
    FetchRequest request;
    request.out.head = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
    request.out.method = "GET";
    request.idempotent = true;
    Fetched fetched = co_await fetch(*cluster, request, host_.scope());
    if (fetched.exchange == nullptr) {
      *body = name(fetched.failure.reason);
      co_return;
    }
    std::byte room[64];
    const base::Result<uint32_t> read =
        co_await fetched.exchange->readBody(room, host_.scope(), base::kNever);
    *body = read.ok() ? std::string(reinterpret_cast<char*>(room), read.value()) : "error";
    co_await fetched.exchange->finish();
  }
  std::string get(const char* name) {
    std::string body;
    host_.spawn(perform(manager_.find(name), &body));
    EXPECT_EQ(world_.run([&] { return !body.empty(); }, kLong), sim::Ran::done);
    return body;
  }
  static ClusterSpec spec(std::string name) {
    ClusterSpec spec;
    spec.name = std::move(name);
    spec.endpoints = {{"127.0.0.1", 80, 1}};
    return spec;
  }
  void update(std::vector<ClusterSpec> specs) { manager_.update(specs); }

  sim::SimWorld world_{1};
  sim::SimHost& host_ = world_.addHost();
  Origin origin_{world_, 80};
  SimSockets sockets_{world_, host_};
  rt::ReceivePool receive_{host_.engine(), 16};
  base::Random random_{1};
  ClusterManager manager_{{host_.reactor(), receive_, sockets_, random_, http::Limits{}}, 2};
};

TEST_F(ManagerTest, FindsByName) {
  update({spec("a"), spec("b")});
  EXPECT_EQ(manager_.find("a")->spec().name, "a");
  EXPECT_EQ(manager_.find("c"), nullptr);
}

TEST_F(ManagerTest, ShardsShareTheLimits) {
  ClusterSpec limited = spec("a");
  limited.max_connections = 5;
  limited.max_pending = 1;
  limited.max_requests = 8;
  update({limited});
  EXPECT_EQ(manager_.find("a")->spec().max_connections, 3U);
  EXPECT_EQ(manager_.find("a")->spec().max_pending, 1U);
  EXPECT_EQ(manager_.find("a")->spec().max_requests, 4U);
}

TEST_F(ManagerTest, ReloadKeepsConnectionsOfWhatStays) {
  update({spec("a")});
  EXPECT_EQ(get("a"), "1");
  Cluster* before = manager_.find("a");
  ClusterSpec changed = spec("a");
  changed.connect_timeout_ms = 77;
  update({spec("z"), changed});
  EXPECT_EQ(manager_.find("a"), before);
  EXPECT_EQ(before->spec().connect_timeout_ms, 77U);
  EXPECT_EQ(get("a"), "2");
  EXPECT_EQ(origin_.connections(), 1U);
}

TEST_F(ManagerTest, RemovedClusterServesWhoBeganWithIt) {
  update({spec("a")});
  EXPECT_EQ(get("a"), "1");
  std::string running;
  host_.spawn(perform(manager_.find("a"), &running));
  world_.runFor(10 * base::kMillisecond_ns);
  update({});
  EXPECT_EQ(manager_.retired(), 1U);
  EXPECT_NE(manager_.find("a"), nullptr);  // for requests of the older configuration
  EXPECT_EQ(world_.run([&] { return !running.empty(); }, kLong), sim::Ran::done);
  EXPECT_EQ(running, "2");
  world_.runFor(10 * base::kMillisecond_ns);
  EXPECT_EQ(world_.openDescriptors(host_), 0U);  // not kept for anybody
  EXPECT_EQ(get("a"), "1");                      // still works, on a connection of its own
  manager_.releaseRetired();
  EXPECT_EQ(manager_.find("a"), nullptr);
}

TEST_F(ManagerTest, ReleasedClusterEndsWithItsLastExchange) {
  update({spec("a")});
  std::string running;
  host_.spawn(perform(manager_.find("a"), &running));
  world_.runFor(10 * base::kMillisecond_ns);
  update({});
  manager_.releaseRetired();
  EXPECT_EQ(world_.run([&] { return !running.empty(); }, kLong), sim::Ran::done);
  EXPECT_EQ(running, "1");
}

TEST_F(ManagerTest, RemovedClusterMayComeBack) {
  update({spec("a")});
  EXPECT_EQ(get("a"), "1");
  update({});
  update({spec("a")});
  EXPECT_EQ(manager_.retired(), 0U);
  EXPECT_EQ(get("a"), "1");
  EXPECT_EQ(get("a"), "2");  // and keeps connections again
}

TEST_F(ManagerTest, EndpointsGoToClustersOfNamesOnly) {
  ClusterSpec named = spec("dns");
  named.discovery = Discovery::strict_dns;
  named.endpoints = {{"a.test", 80, 1}};
  update({spec("fixed"), named});
  const std::vector<ResolvedEndpoint> none;
  manager_.setEndpoints("fixed", none);
  manager_.setEndpoints("unknown", none);
  EXPECT_EQ(manager_.find("fixed")->gauges().membership_total, 1U);
  manager_.setEndpoints("dns",
                        std::vector<ResolvedEndpoint>{{*net::Address::parse("127.0.0.1", 80)}});
  EXPECT_EQ(get("dns"), "1");
}

}  // namespace
}  // namespace upstream
