// Goal: connecting gives a usable descriptor or the right error, and never leaks one. Method:
// listeners on loopback that accept, that are not there, and whose queue is full, so that the
// kernel drops the attempt.

#include "source/net/connect.h"

#include <gtest/gtest.h>
#include <netinet/tcp.h>

#include <filesystem>
#include <vector>

#include "test/net/loop.h"

namespace net {
namespace {

class ConnectTest : public LoopTest {};

rt::Task<void> connectOnce(Address to, SocketFactory& sockets, rt::CancelScope& scope,
                           base::MonoTime deadline, std::optional<base::Result<int>>& result) {
  result.emplace(co_await net::connectTo(to, sockets, scope, deadline));
}

size_t openDescriptors() {
  size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    (void)entry;
    count++;
  }
  return count;
}

TEST_F(ConnectTest, GivesAConnectedDescriptorThatSendsAtOnce) {
  const int listening = listenAnywhere(4);
  const Address server = Address::localOf(listening);
  std::optional<base::Result<int>> result;
  run(connectOnce(server, sockets_, scope_, in(30000), result));
  ASSERT_TRUE(result->ok());
  const int fd = result->value();
  EXPECT_EQ(Address::peerOf(fd), server);
  int on = 0;
  socklen_t length = sizeof(on);
  getsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, &length);
  EXPECT_EQ(on, 1);
  close(fd);
  close(listening);
}

TEST_F(ConnectTest, IsRefusedWhereNobodyListens) {
  const int listening = listenAnywhere(1);
  const Address server = Address::localOf(listening);
  close(listening);
  const size_t before = openDescriptors();
  std::optional<base::Result<int>> result;
  run(connectOnce(server, sockets_, scope_, in(30000), result));
  ASSERT_FALSE(result->ok());
  EXPECT_EQ(result->error().code, base::Code::refused);
  EXPECT_EQ(result->error().blame, base::Blame::upstream);
  EXPECT_EQ(result->error().retry, base::Retry::if_idempotent);
  EXPECT_EQ(openDescriptors(), before);
}

// A listener whose queue is full and whose owner does not accept.
class FullListener {
 public:
  FullListener(int listening, const Address& address) : listening_(listening) {
    // The kernel queues one more than the backlog of 0; what comes then is dropped.
    for (int i = 0; i < 2; i++) {
      const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
      (void)connect(fd, address.data(), address.length());
      clients_.push_back(fd);
    }
  }
  ~FullListener() {
    for (const int fd : clients_) {
      close(fd);
    }
    close(listening_);
  }

 private:
  int listening_;
  std::vector<int> clients_;
};

TEST_F(ConnectTest, EndsAtItsDeadlineWhenThePeerDoesNotAnswer) {
  const int listening = listenAnywhere(0);
  const Address server = Address::localOf(listening);
  const FullListener full(listening, server);
  const size_t before = openDescriptors();
  std::optional<base::Result<int>> result;
  run(connectOnce(server, sockets_, scope_, in(20), result));
  ASSERT_FALSE(result->ok());
  EXPECT_EQ(result->error().code, base::Code::timeout);
  EXPECT_EQ(result->error().retry, base::Retry::if_idempotent);
  EXPECT_EQ(openDescriptors(), before);
}

TEST_F(ConnectTest, EndsWhenItIsCancelled) {
  const int listening = listenAnywhere(0);
  const Address server = Address::localOf(listening);
  const FullListener full(listening, server);
  const size_t before = openDescriptors();
  std::optional<base::Result<int>> result;
  rt::TaskGroup group(*reactor_, 1);
  group.spawn(connectOnce(server, sockets_, scope_, base::kNever, result));
  reactor_->runTurn(false);
  EXPECT_FALSE(result);
  scope_.request();
  runUntilEmpty(group);
  ASSERT_FALSE(result->ok());
  EXPECT_EQ(result->error().code, base::Code::cancelled);
  EXPECT_EQ(result->error().retry, base::Retry::never);
  EXPECT_EQ(openDescriptors(), before);
}

TEST_F(ConnectTest, NoAddressIsUnreachable) {
  std::optional<base::Result<int>> result;
  run(connectOnce(Address(), sockets_, scope_, in(30000), result));
  ASSERT_FALSE(result->ok());
  EXPECT_EQ(result->error().code, base::Code::unreachable);
}

}  // namespace
}  // namespace net
