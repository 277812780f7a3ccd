// Goal: an acceptor hands over every connection, waits at the limit of connections and of
// descriptors, resets what its handler refuses, and drains its queue. Method: plain clients on
// loopback; a handler that keeps what it is given.

#include "source/net/acceptor.h"

#include <gtest/gtest.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/resource.h>

#include <vector>

#include "test/net/loop.h"

namespace net {
namespace {

class Keeper : public ConnectionHandler {
 public:
  ~Keeper() override {
    for (const Kept& kept : kept_) {
      close(kept.fd);
    }
  }
  bool accepted(int fd, ConnectionSlot slot) override {
    if (refuse) {
      return false;
    }
    kept_.push_back(Kept{fd, std::move(slot)});
    return true;
  }
  size_t size() const { return kept_.size(); }
  int fd(size_t i) const { return kept_[i].fd; }
  void dropFirst() {
    close(kept_.front().fd);
    kept_.erase(kept_.begin());
  }

  bool refuse = false;

 private:
  struct Kept {
    int fd;
    ConnectionSlot slot;
  };
  std::vector<Kept> kept_;
};

class AcceptorTest : public LoopTest {
 protected:
  AcceptorTest() : listening_(listenAnywhere(64)), address_(Address::localOf(listening_)) {}
  ~AcceptorTest() override {
    for (const int fd : clients_) {
      close(fd);
    }
    close(listening_);
  }
  void connectClients(int count) {
    for (int i = 0; i < count; i++) {
      clients_.push_back(connectTo(address_));
    }
  }

  int listening_;
  Address address_;
  std::vector<int> clients_;
};

TEST_F(AcceptorTest, HandsOverConnectionsUntilItIsCancelled) {
  ConnectionLimit limit(100);
  Keeper keeper;
  Acceptor acceptor(listening_, sockets_, limit, keeper);
  rt::TaskGroup group(*reactor_, 1);
  group.spawn(acceptor.run(scope_));
  connectClients(5);
  runUntil([&] { return keeper.size() == 5; });
  EXPECT_EQ(acceptor.stats().accepted, 5u);
  EXPECT_EQ(limit.open(), 5u);
  EXPECT_EQ(Address::peerOf(keeper.fd(0)), Address::localOf(clients_[0]));
  int on = 0;
  socklen_t length = sizeof(on);
  getsockopt(keeper.fd(0), IPPROTO_TCP, TCP_NODELAY, &on, &length);
  EXPECT_EQ(on, 1);
  scope_.request();
  runUntilEmpty(group);
  EXPECT_EQ(acceptor.stats().limit_waits, 0u);
}

TEST_F(AcceptorTest, StopsAtTheLimitAndGoesOnWhenAConnectionEnds) {
  ConnectionLimit limit(2);
  Keeper keeper;
  Acceptor acceptor(listening_, sockets_, limit, keeper);
  rt::TaskGroup group(*reactor_, 1);
  group.spawn(acceptor.run(scope_));
  connectClients(3);
  runUntil([&] { return acceptor.stats().limit_waits == 1; });
  EXPECT_EQ(keeper.size(), 2u);
  EXPECT_EQ(limit.open(), 2u);
  EXPECT_FALSE(limit.hasRoom());
  reactor_->runTurn(false);
  EXPECT_EQ(keeper.size(), 2u);

  keeper.dropFirst();
  runUntil([&] { return acceptor.stats().accepted == 3; });
  EXPECT_EQ(keeper.size(), 2u);
  EXPECT_EQ(Address::peerOf(keeper.fd(1)), Address::localOf(clients_[2]));
  scope_.request();
  runUntilEmpty(group);
}

TEST_F(AcceptorTest, ARaisedLimitLetsItGoOnAndALoweredOneClosesNothing) {
  ConnectionLimit limit(1);
  Keeper keeper;
  Acceptor acceptor(listening_, sockets_, limit, keeper);
  rt::TaskGroup group(*reactor_, 1);
  group.spawn(acceptor.run(scope_));
  connectClients(3);
  runUntil([&] { return acceptor.stats().limit_waits == 1; });
  limit.setLimit(2);
  runUntil([&] { return acceptor.stats().limit_waits == 2; });
  EXPECT_EQ(keeper.size(), 2u);
  limit.setLimit(1);
  keeper.dropFirst();
  reactor_->runTurn(false);
  reactor_->runTurn(false);
  EXPECT_EQ(keeper.size(), 1u);
  scope_.request();
  runUntilEmpty(group);
}

TEST_F(AcceptorTest, ListenersThatShareALimitExceedItByOneEachAtMostAndNoneStarves) {
  const int second = listenAnywhere(64);
  ConnectionLimit limit(1);
  Keeper keeper;
  Acceptor first_acceptor(listening_, sockets_, limit, keeper);
  Acceptor second_acceptor(second, sockets_, limit, keeper);
  rt::TaskGroup group(*reactor_, 2);
  group.spawn(first_acceptor.run(scope_));
  group.spawn(second_acceptor.run(scope_));
  connectClients(2);
  for (int i = 0; i < 2; i++) {
    clients_.push_back(connectTo(Address::localOf(second)));
  }
  runUntil([&] {
    return first_acceptor.stats().limit_waits == 1 && second_acceptor.stats().limit_waits == 1;
  });
  EXPECT_EQ(keeper.size(), 2u);
  EXPECT_EQ(first_acceptor.stats().accepted, 1u);
  EXPECT_EQ(second_acceptor.stats().accepted, 1u);
  keeper.dropFirst();
  reactor_->runTurn(false);
  EXPECT_EQ(keeper.size(), 1u);  // still at the limit
  keeper.dropFirst();
  runUntil([&] {
    return first_acceptor.stats().accepted == 2 && second_acceptor.stats().accepted == 2;
  });
  scope_.request();
  runUntilEmpty(group);
  close(second);
}

TEST_F(AcceptorTest, ResetsWhatTheHandlerRefuses) {
  ConnectionLimit limit(2);
  Keeper keeper;
  keeper.refuse = true;
  Acceptor acceptor(listening_, sockets_, limit, keeper);
  rt::TaskGroup group(*reactor_, 1);
  group.spawn(acceptor.run(scope_));
  connectClients(1);
  runUntil([&] { return acceptor.stats().shed == 1; });
  scope_.request();
  runUntilEmpty(group);
  EXPECT_EQ(limit.open(), 0u);
  char byte = 0;
  EXPECT_EQ(recv(clients_[0], &byte, 1, 0), -1);
  EXPECT_EQ(errno, ECONNRESET);
}

TEST_F(AcceptorTest, WaitsWhenDescriptorsRunOutAndLosesNoConnection) {
  ConnectionLimit limit(100);
  Keeper keeper;
  Acceptor acceptor(listening_, sockets_, limit, keeper);
  connectClients(2);
  rlimit before{};
  getrlimit(RLIMIT_NOFILE, &before);
  const int next = dup(0);
  close(next);
  const rlimit few{static_cast<rlim_t>(next), before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
  rt::TaskGroup group(*reactor_, 1);
  group.spawn(acceptor.run(scope_));
  runUntil([&] { return acceptor.stats().exhausted >= 2; });
  EXPECT_EQ(keeper.size(), 0u);
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  runUntil([&] { return keeper.size() == 2; });
  EXPECT_EQ(acceptor.stats().accepted, 2u);
  scope_.request();
  runUntilEmpty(group);
}

TEST_F(AcceptorTest, DrainsWhatIsQueuedAndEnds) {
  ConnectionLimit limit(100);
  Keeper keeper;
  Acceptor acceptor(listening_, sockets_, limit, keeper);
  connectClients(3);
  run(acceptor.drain(scope_));
  EXPECT_EQ(keeper.size(), 3u);
  run(acceptor.drain(scope_));
  EXPECT_EQ(keeper.size(), 3u);
}

TEST_F(AcceptorTest, DrainsNoFurtherThanTheLimit) {
  ConnectionLimit limit(2);
  Keeper keeper;
  Acceptor acceptor(listening_, sockets_, limit, keeper);
  connectClients(3);
  run(acceptor.drain(scope_));
  EXPECT_EQ(keeper.size(), 2u);
}

TEST_F(AcceptorTest, EndsWhenItsSocketDoesNotListenAnyMore) {
  ConnectionLimit limit(2);
  Keeper keeper;
  Acceptor acceptor(listening_, sockets_, limit, keeper);
  shutdown(listening_, SHUT_RD);
  run(acceptor.run(scope_));
  EXPECT_EQ(acceptor.stats().accepted, 0u);
}

}  // namespace
}  // namespace net
