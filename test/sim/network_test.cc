// Goal: the simulated network keeps to its fault model: streams stay streams, senders wait for
// windows, ends come after the bytes, and every fault that can be asked for happens. Method: pairs
// of coroutines over many seeds, checked against what TCP promises.
#include "test/sim/network.h"

#include <gtest/gtest.h>
#include <netinet/in.h>

#include <algorithm>
#include <cerrno>
#include <set>
#include <string>
#include <vector>

#include "source/rt/wait.h"
#include "test/sim/script.h"
#include "test/sim/world.h"

namespace sim {
namespace {

constexpr uint16_t kPort = 80;
constexpr base::MonoTime kLong{1000 * base::kSecond_ns};

// A server that accepts `count` connections, and a client that makes them; their descriptors.
class NetworkTest : public testing::Test {
 protected:
  void start(uint64_t seed, const NetworkOptions& network) {
    Options options;
    options.network = network;
    world_ = std::make_unique<SimWorld>(seed, options);
    server_ = &world_->addHost({0});
    client_ = &world_->addHost({1});
    accepted_.clear();
    connected_.clear();
    listener_ = world_->listen(*server_, kPort);
  }
  void settle(uint64_t ns = base::kSecond_ns) { world_->runFor(ns); }
  void makeConnections(int count) {
    for (int i = 0; i < count; i++) {
      server_->spawn(accept(listener_, server_->scope(), accepted_));
      client_->spawn(connect(*world_, *client_, connected_));
    }
    settle();
  }

  static rt::Task<void> accept(int listener, rt::CancelScope& scope, std::vector<int>& to) {
    const rt::IoResult result = co_await rt::Accept(listener, scope);
    to.push_back(result.result);
  }
  static rt::Task<void> connect(SimWorld& world, SimHost& host, std::vector<int>& to) {
    const int fd = world.socket(host);
    const int result = co_await connectTo(fd, kPort, host.scope());
    to.push_back(result == 0 ? fd : result);
  }
  static rt::Task<void> send(int fd, std::string text, rt::CancelScope& scope, int& result) {
    result = co_await sendAll(fd, text, scope);
  }
  static rt::Task<void> receive(int fd, size_t most, rt::CancelScope& scope, std::string& to,
                                int& result) {
    result = co_await receiveSome(fd, to, most, scope);
  }
  static rt::Task<void> receiveEverything(int fd, rt::CancelScope& scope, std::string& to) {
    to = co_await receiveAll(fd, scope);
  }

  std::unique_ptr<SimWorld> world_;
  SimHost* server_ = nullptr;
  SimHost* client_ = nullptr;
  int listener_ = -1;
  std::vector<int> accepted_;
  std::vector<int> connected_;
};

std::string pattern(size_t length) {
  std::string text(length, '\0');
  for (size_t i = 0; i < length; i++) {
    text[i] = static_cast<char>((i * 2654435761U) >> 24);
  }
  return text;
}

TEST_F(NetworkTest, StreamsArriveWholeWhateverTheWeights) {
  for (uint64_t seed = 1; seed <= 40; seed++) {
    NetworkOptions network = Options::fromSeed(seed).network;
    network.reset = network.refuse = network.blackhole = network.accept_error = 0;
    start(seed, network);
    makeConnections(1);
    world_->run([&] { return accepted_.size() + connected_.size() == 2; }, kLong);
    ASSERT_EQ(accepted_.size(), 1U);
    std::string got;
    int sent = 0;
    const std::string text = pattern(50'000);
    client_->spawn(send(connected_[0], text, client_->scope(), sent));
    server_->spawn(receiveEverything(accepted_[0], server_->scope(), got));
    EXPECT_EQ(world_->runToEnd(*client_, kLong), Ran::done);
    EXPECT_EQ(sent, 50'000);
    world_->closeNow(connected_[0]);
    EXPECT_EQ(world_->runToEnd(*server_, kLong), Ran::done);
    EXPECT_TRUE(got == text) << "seed " << seed;
  }
}

TEST_F(NetworkTest, ASenderWaitsForTheWindow) {
  NetworkOptions network;
  network.window_min = network.window_max = 1000;
  start(1, network);
  makeConnections(1);
  int result = 0;
  std::string got;
  int received = 0;
  client_->spawn(send(connected_[0], pattern(1001), client_->scope(), result));
  settle();
  EXPECT_EQ(result, 0);
  server_->spawn(receive(accepted_[0], 1, server_->scope(), got, received));
  settle();
  EXPECT_EQ(received, 1);
  EXPECT_EQ(result, 1001);
  client_->spawn(send(connected_[0], "x", client_->scope(), result));
  settle();
  EXPECT_EQ(result, 1001);  // full again
  client_->group().cancelAll();
  settle();
  EXPECT_EQ(result, -ECANCELED);
}

TEST_F(NetworkTest, BytesBeforeAResetMayBeReadAndThenTheError) {
  start(1, NetworkOptions());
  makeConnections(1);
  int sent = 0;
  client_->spawn(send(connected_[0], "last", client_->scope(), sent));
  settle();
  world_->resetConnection(connected_[0]);
  settle();
  std::string got;
  int result = 0;
  while (got.size() < 4) {
    server_->spawn(receive(accepted_[0], 10, server_->scope(), got, result));
    settle();
    ASSERT_GT(result, 0);
  }
  EXPECT_EQ(got, "last");
  server_->spawn(receive(accepted_[0], 10, server_->scope(), got, result));
  settle();
  EXPECT_EQ(result, -ECONNRESET);
  server_->spawn(receive(accepted_[0], 10, server_->scope(), got, result));
  settle();
  EXPECT_EQ(result, 0);  // reported once
  server_->spawn(send(accepted_[0], "x", server_->scope(), result));
  settle();
  EXPECT_EQ(result, -EPIPE);
}

TEST_F(NetworkTest, ClosingWithUnreadBytesResetsThePeer) {
  start(1, NetworkOptions());
  makeConnections(1);
  int sent = 0;
  client_->spawn(send(connected_[0], "unread", client_->scope(), sent));
  settle();
  world_->closeNow(accepted_[0]);
  settle();
  std::string got;
  int result = 1;
  client_->spawn(receive(connected_[0], 10, client_->scope(), got, result));
  settle();
  EXPECT_EQ(result, -ECONNRESET);
}

TEST_F(NetworkTest, ListenersOfOnePortShareItsConnections) {
  start(1, NetworkOptions());
  const int second = world_->listen(*server_, kPort);
  std::vector<int> there;
  for (int i = 0; i < 50; i++) {
    server_->spawn(accept(second, server_->scope(), there));
  }
  makeConnections(50);
  EXPECT_EQ(accepted_.size() + there.size(), 50U);
  EXPECT_GT(accepted_.size(), 10U);
  EXPECT_GT(there.size(), 10U);
  server_->group().cancelAll();
  settle();
}

TEST_F(NetworkTest, AFullBacklogMakesConnectionsWait) {
  NetworkOptions network;
  network.backlog = 2;
  network.slow_accept = 0;
  start(1, network);
  for (int i = 0; i < 3; i++) {
    client_->spawn(connect(*world_, *client_, connected_));
  }
  settle(500 * base::kMillisecond_ns);
  EXPECT_EQ(connected_.size(), 2U);
  server_->spawn(accept(listener_, server_->scope(), accepted_));
  settle(3 * base::kSecond_ns);  // the third tries again after a second
  EXPECT_EQ(connected_.size(), 3U);
}

TEST_F(NetworkTest, RefusalsAndBlackHolesComeWhenAskedFor) {
  NetworkOptions network;
  network.refuse = kAlways;
  start(1, network);
  client_->spawn(connect(*world_, *client_, connected_));
  settle();
  EXPECT_EQ(connected_, std::vector<int>{-ECONNREFUSED});

  network.refuse = 0;
  network.blackhole = kAlways;
  start(1, network);
  client_->spawn(connect(*world_, *client_, connected_));
  settle(100 * base::kSecond_ns);
  EXPECT_TRUE(connected_.empty());
  settle(100 * base::kSecond_ns);
  EXPECT_EQ(connected_, std::vector<int>{-ETIMEDOUT});
}

TEST_F(NetworkTest, AcceptsFailWhenAskedTo) {
  NetworkOptions network;
  network.accept_error = kAlways;
  std::set<int> seen;
  for (uint64_t seed = 1; seed <= 20; seed++) {
    start(seed, network);
    makeConnections(1);
    ASSERT_EQ(accepted_.size(), 1U);
    seen.insert(accepted_[0]);
  }
  EXPECT_EQ(seen, (std::set<int>{-EMFILE, -ECONNABORTED}));
}

TEST_F(NetworkTest, ResetsComeWhenAskedFor) {
  NetworkOptions network;
  network.reset = kAlways;
  start(1, network);
  makeConnections(1);
  int sent = 0;
  client_->spawn(send(connected_[0], "x", client_->scope(), sent));
  settle();
  EXPECT_TRUE(sent == -ECONNRESET || sent == -EPIPE);
}

rt::Task<void> connectForAWhile(SimWorld& world, SimHost& host, base::MonoTime deadline,
                                rt::Ended& ended) {
  const int fd = world.socket(host);
  const sockaddr_in address = SimWorld::address(kPort);
  const auto* generic = reinterpret_cast<const sockaddr*>(&address);
  const rt::IoResult result =
      co_await rt::Connect(fd, generic, sizeof address, host.scope(), deadline);
  ended = result.ended;
  co_await rt::Close(fd);
}

TEST_F(NetworkTest, ABlackHoleEndsAtTheCallersDeadline) {
  NetworkOptions network;
  network.blackhole = kAlways;
  start(1, network);
  rt::Ended ended = rt::Ended::by_itself;
  client_->spawn(connectForAWhile(*world_, *client_, world_->now() + base::kSecond_ns, ended));
  EXPECT_EQ(world_->runToEnd(*client_, world_->now() + 2 * base::kSecond_ns), Ran::done);
  EXPECT_EQ(ended, rt::Ended::timed_out);
}

}  // namespace
}  // namespace sim
