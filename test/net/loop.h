// One shard's loop over the kernel, for tests of what awaits sockets.
#pragma once

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <memory>
#include <optional>

#include "source/io/uring/uring_engine.h"
#include "source/net/address.h"
#include "source/net/socket_factory.h"
#include "source/net/stream.h"
#include "source/rt/reactor.h"
#include "source/rt/receive_pool.h"
#include "source/rt/task_group.h"
#include "source/rt/wait.h"

namespace net {

// Wakes the loop every other millisecond, so that a test sees what it waits for.
inline rt::Task<void> tick(rt::CancelScope& scope) {
  rt::Reactor& reactor = co_await rt::currentReactor();
  while (co_await rt::Sleep(reactor.now() + 2 * base::kMillisecond_ns, scope)) {
  }
}

class LoopTest : public testing::Test {
 protected:
  // Receive buffers of the pool; a test of exhaustion has few.
  explicit LoopTest(uint32_t buffers = 64) {
    auto made = io::UringEngine::create(io::UringOptions{64, 1024}, base::ShardId{0}, doorbells_);
    if (!made.ok()) {
      return;
    }
    engine_ = std::move(made.value());
    reactor_.emplace(*engine_);
    pool_.emplace(*engine_, buffers);
    ticker_.emplace(*reactor_, 1);
    ticker_->spawn(tick(ticker_->scope()));
  }
  ~LoopTest() override {
    if (ticker_) {
      ticker_->cancelAll();
      while (ticker_->size() > 0) {
        reactor_->runTurn(false);
      }
    }
  }

  void SetUp() override {
    if (!reactor_) {
      GTEST_SKIP() << "io_uring is not available here";
    }
  }

  base::MonoTime in(uint64_t ms) { return engine_->monotonic() + ms * base::kMillisecond_ns; }

  // Runs tasks side by side until all have ended.
  template <class... Tasks>
  void run(Tasks... tasks) {
    rt::TaskGroup group(*reactor_, sizeof...(tasks));
    (group.spawn(std::move(tasks)), ...);
    runUntilEmpty(group);
  }
  void runUntilEmpty(rt::TaskGroup& group) {
    while (group.size() > 0) {
      reactor_->runTurn(true);
    }
  }
  // Turns until `reached`, which other tasks bring about.
  template <class Condition>
  void runUntil(Condition reached) {
    while (!reached()) {
      reactor_->runTurn(true);
    }
  }

  // A listening socket of the kernel's choice of port.
  static int listenAnywhere(int backlog) {
    const Address any = *Address::parse("127.0.0.1", 0);
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    EXPECT_EQ(bind(fd, any.data(), any.length()), 0);
    EXPECT_EQ(listen(fd, backlog), 0);
    return fd;
  }
  static int connectTo(const Address& to) {
    const int fd = socket(to.family(), SOCK_STREAM | SOCK_CLOEXEC, 0);
    EXPECT_EQ(connect(fd, to.data(), to.length()), 0);
    return fd;
  }
  // The two ends of a TCP connection.
  struct Pair {
    int a;
    int b;
  };
  static Pair connectPair() {
    const int listening = listenAnywhere(1);
    const int a = connectTo(Address::localOf(listening));
    const int b = accept4(listening, nullptr, nullptr, SOCK_CLOEXEC);
    EXPECT_GE(b, 0);
    ::close(listening);
    return Pair{a, b};
  }

  io::Doorbells doorbells_{1};
  KernelSockets sockets_;
  std::unique_ptr<rt::IoEngine> engine_;
  std::optional<rt::Reactor> reactor_;
  std::optional<rt::ReceivePool> pool_;
  std::optional<rt::TaskGroup> ticker_;
  rt::CancelScope scope_;
};

}  // namespace net
