// Goal: endpoints follow the names of strict_dns clusters: refreshed at their interval, kept when a
// resolver fails, told only when they changed, and forgotten with their cluster.
// Method: a scripted resolver and the simulator's clock.
#include "source/upstream/dns.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "test/sim/world.h"

namespace upstream {
namespace {

constexpr base::MonoTime kLong{100'000 * base::kSecond_ns};

net::Address ip(std::string_view text, uint16_t port = 0) {
  return *net::Address::parse(text, port);
}

class FakeResolver final : public Resolver {
 public:
  explicit FakeResolver(rt::Reactor& reactor) : reactor_(reactor) {}
  rt::Task<base::Result<std::vector<net::Address>>> resolve(std::string host,
                                                            rt::CancelScope& scope,
                                                            base::MonoTime) override {
    asked.push_back(host);
    co_await rt::Sleep(reactor_.now() + delay_ns, scope);
    if (!names.contains(host)) {
      co_return base::Error{base::Code::unreachable, base::Blame::upstream};
    }
    co_return names[host];
  }

  std::map<std::string, std::vector<net::Address>> names;
  std::vector<std::string> asked;
  uint64_t delay_ns = 10 * base::kMillisecond_ns;

 private:
  rt::Reactor& reactor_;
};

class Sink final : public EndpointSink {
 public:
  void onEndpoints(const std::string& cluster,
                   const std::vector<ResolvedEndpoint>& endpoints) override {
    std::string line = cluster + ":";
    for (const ResolvedEndpoint& endpoint : endpoints) {
      line += " " + endpoint.address.text() + "*" + std::to_string(endpoint.weight);
    }
    told.push_back(line);
  }
  std::vector<std::string> told;
};

class DnsTest : public testing::Test {
 protected:
  ~DnsTest() override {
    host_.spawn(refresher_.shutdown());
    EXPECT_EQ(world_.runToEnd(host_, kLong), sim::Ran::done);
  }
  static ClusterSpec named(std::string name, std::vector<EndpointSpec> endpoints) {
    ClusterSpec spec;
    spec.name = std::move(name);
    spec.discovery = Discovery::strict_dns;
    spec.endpoints = std::move(endpoints);
    return spec;
  }
  void update(std::vector<ClusterSpec> specs) { refresher_.update(specs); }
  void runFor(uint64_t ms) { world_.runFor(ms * base::kMillisecond_ns); }

  sim::SimWorld world_{1};
  sim::SimHost& host_ = world_.addHost();
  FakeResolver resolver_{host_.reactor()};
  Sink sink_;
  base::Random random_{5};
  DnsRefresher refresher_{host_.reactor(), resolver_, sink_, random_};
};

TEST_F(DnsTest, EveryAddressOfANameIsAnEndpoint) {
  resolver_.names["a.test"] = {ip("10.0.0.2"), ip("10.0.0.1"), ip("10.0.0.2")};
  update({named("c", {{"a.test", 8000, 3}, {"10.9.9.9", 81, 1}})});
  runFor(100);
  EXPECT_EQ(sink_.told,
            (std::vector<std::string>{"c: 10.0.0.1:8000*3 10.0.0.2:8000*3 10.9.9.9:81*1"}));
}

TEST_F(DnsTest, FixedClustersAreLeftAside) {
  ClusterSpec fixed = named("c", {{"10.0.0.1", 80, 1}});
  fixed.discovery = Discovery::fixed;
  update({fixed});
  runFor(20000);
  EXPECT_TRUE(sink_.told.empty());
  EXPECT_TRUE(resolver_.asked.empty());
}

TEST_F(DnsTest, FollowsAChangeWithinTheInterval) {
  resolver_.names["a.test"] = {ip("10.0.0.1")};
  update({named("c", {{"a.test", 80, 1}})});
  runFor(100);
  resolver_.names["a.test"] = {ip("10.0.0.2")};
  runFor(5400);
  EXPECT_EQ(sink_.told, (std::vector<std::string>{"c: 10.0.0.1:80*1", "c: 10.0.0.2:80*1"}));
}

TEST_F(DnsTest, TellsNothingWhileNothingChanges) {
  resolver_.names["a.test"] = {ip("10.0.0.1"), ip("10.0.0.2")};
  update({named("c", {{"a.test", 80, 1}})});
  runFor(7000);
  resolver_.names["a.test"] = {ip("10.0.0.2"), ip("10.0.0.1")};  // rotated
  runFor(60000);
  EXPECT_EQ(sink_.told.size(), 1U);
  const DnsStats& stats = *refresher_.stats("c");
  EXPECT_GE(stats.update_success, 12U);
  EXPECT_LE(stats.update_success, 15U);
  EXPECT_EQ(stats.update_change, 1U);
}

TEST_F(DnsTest, FailureKeepsTheLastGoodAddresses) {
  resolver_.names["a.test"] = {ip("10.0.0.1")};
  resolver_.names["b.test"] = {ip("10.0.0.2")};
  update({named("c", {{"a.test", 80, 1}, {"b.test", 80, 1}})});
  runFor(100);
  resolver_.names.erase("a.test");
  resolver_.names["b.test"] = {ip("10.0.0.3")};
  runFor(6000);
  resolver_.names.clear();
  runFor(60000);
  EXPECT_EQ(sink_.told, (std::vector<std::string>{"c: 10.0.0.1:80*1 10.0.0.2:80*1",
                                                  "c: 10.0.0.1:80*1 10.0.0.3:80*1"}));
  EXPECT_GE(refresher_.stats("c")->update_failure, 10U);
}

TEST_F(DnsTest, NameThatFailsAtTheStartIsTriedEachSecond) {
  update({named("c", {{"a.test", 80, 1}})});
  runFor(3500);
  EXPECT_GE(resolver_.asked.size(), 3U);
  EXPECT_TRUE(sink_.told.empty());
  EXPECT_EQ(refresher_.known("c"), nullptr);
  resolver_.names["a.test"] = {ip("10.0.0.1")};
  runFor(1100);
  EXPECT_EQ(sink_.told.size(), 1U);
  EXPECT_EQ(refresher_.known("c")->size(), 1U);
}

TEST_F(DnsTest, Ipv4IsTakenWhereBothAreThere) {
  resolver_.names["both.test"] = {ip("::1"), ip("127.0.0.1")};
  resolver_.names["six.test"] = {ip("::1")};
  update({named("c", {{"both.test", 80, 1}, {"six.test", 81, 1}})});
  runFor(100);
  EXPECT_EQ(sink_.told, (std::vector<std::string>{"c: 127.0.0.1:80*1 [::1]:81*1"}));
}

TEST_F(DnsTest, OneNameIsAskedOnceARound) {
  resolver_.names["a.test"] = {ip("10.0.0.1")};
  update({named("c", {{"a.test", 80, 1}, {"a.test", 81, 1}})});
  runFor(1000);
  EXPECT_EQ(resolver_.asked.size(), 1U);
  EXPECT_EQ(sink_.told, (std::vector<std::string>{"c: 10.0.0.1:80*1 10.0.0.1:81*1"}));
}

TEST_F(DnsTest, ReloadWithTheSameNamesAsksNothingNew) {
  resolver_.names["a.test"] = {ip("10.0.0.1")};
  ClusterSpec spec = named("c", {{"a.test", 80, 1}});
  update({spec});
  runFor(1000);
  update({spec});
  runFor(1000);
  EXPECT_EQ(resolver_.asked.size(), 1U);
  EXPECT_EQ(sink_.told.size(), 1U);
  spec.endpoints[0].weight = 5;  // told at once, from what is known
  update({spec});
  EXPECT_EQ(sink_.told.back(), "c: 10.0.0.1:80*5");
  runFor(1000);
  EXPECT_EQ(resolver_.asked.size(), 1U);
}

TEST_F(DnsTest, RemovedClusterIsForgottenEvenInTheMiddleOfARound) {
  resolver_.names["a.test"] = {ip("10.0.0.1")};
  resolver_.delay_ns = base::kSecond_ns;
  update({named("c", {{"a.test", 80, 1}})});
  runFor(500);
  update({});
  runFor(20000);
  EXPECT_TRUE(sink_.told.empty());
  EXPECT_EQ(refresher_.stats("c"), nullptr);
  EXPECT_EQ(resolver_.asked.size(), 1U);
}

rt::Task<void> waitFirst(DnsRefresher* refresher, rt::CancelScope* scope, base::MonoTime deadline,
                         int* result) {
  const bool all = co_await refresher->firstRound(*scope, deadline);
  *result = all ? 1 : 0;
}

TEST_F(DnsTest, FirstRoundIsOverOnceEveryClusterHasAnAnswerOrAnError) {
  resolver_.names["a.test"] = {ip("10.0.0.1")};
  update({named("c", {{"a.test", 80, 1}}), named("d", {{"gone.test", 80, 1}})});
  int result = -1;
  host_.spawn(waitFirst(&refresher_, &host_.scope(), base::kNever, &result));
  EXPECT_EQ(result, -1);
  runFor(100);
  EXPECT_EQ(result, 1);
}

TEST_F(DnsTest, WaitingForTheFirstRoundEnds) {
  resolver_.delay_ns = 20 * base::kSecond_ns;
  update({named("c", {{"a.test", 80, 1}})});
  int result = -1;
  host_.spawn(waitFirst(&refresher_, &host_.scope(), world_.now() + base::kSecond_ns, &result));
  runFor(1100);
  EXPECT_EQ(result, 0);
}

}  // namespace
}  // namespace upstream
