// Goal: what the simulator shows holds on the kernel's sockets too: reuse, the close of an unused
// connection, refused connects, cut bodies, shutdown.
// Method: an origin and a cluster on one io_uring reactor over the loopback interface, port 0.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <memory>
#include <string>

#include "source/io/uring/uring_engine.h"
#include "source/rt/io.h"
#include "source/upstream/fetch.h"

namespace upstream {
namespace {

class KernelTest : public testing::Test {
 protected:
  void SetUp() override {
    auto engine = io::UringEngine::create({}, base::ShardId{0}, doorbells_);
    if (!engine.ok()) {
      GTEST_SKIP() << "io_uring is not available";
    }
    engine_ = std::move(engine.value());
    reactor_ = std::make_unique<rt::Reactor>(*engine_);
    receive_ = std::make_unique<rt::ReceivePool>(*engine_, 16);
    group_ = std::make_unique<rt::TaskGroup>(*reactor_, 100);
    listen();
  }
  void TearDown() override {
    if (cluster_ != nullptr) {
      EXPECT_TRUE(runUntil([&] { return calls_ == 0; }));
      bool joined = false;
      group_->spawn(join(&joined));
      EXPECT_TRUE(runUntil([&] { return joined; }));
      EXPECT_EQ(cluster_->stats().cx_total, cluster_->stats().cx_destroy);
      cluster_.reset();
    }
    if (group_ != nullptr) {
      group_->cancelAll();
      EXPECT_TRUE(runUntil([&] { return group_->size() == 0; }));
      group_.reset();
      receive_.reset();
      reactor_.reset();
      close(listener_);
    }
  }

  void listen() {
    listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    ASSERT_EQ(bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
    ASSERT_EQ(::listen(listener_, 16), 0);
    spec_.name = "origin";
    spec_.endpoints = {{"127.0.0.1", net::Address::localOf(listener_).port(), 1}};
  }
  // Answers every request on every connection; closes after an answer when told so.
  rt::Task<void> serve(std::string answer, bool close_after) {
    while (true) {
      const rt::IoResult accepted = co_await rt::Accept(listener_, group_->scope());
      if (!accepted.ok()) {
        co_return;
      }
      group_->spawn(answerAll(accepted.result, answer, close_after));
    }
  }
  rt::Task<void> answerAll(int fd, std::string answer, bool close_after) {
    std::byte room[4096];
    while (true) {
      const rt::IoResult got = co_await rt::Recv(fd, room, group_->scope(), base::kNever);
      if (got.result <= 0) {
        break;
      }
      const rt::IoResult sent =
          co_await rt::Send(fd, std::as_bytes(std::span(answer)), group_->scope(), base::kNever);
      if (!sent.ok() || close_after) {
        break;
      }
    }
    co_await rt::Close(fd);
  }
  rt::Task<void> join(bool* joined) {
    cluster_->retire();
    co_await cluster_->join();
    *joined = true;
  }

  struct Outcome {
    bool done = false;
    Failure failure;
    std::string body;
    base::Error error;
    bool reused = false;
  };
  rt::Task<void> perform(Outcome* outcome) {
    calls_++;
    FetchRequest request;
    request.out.head = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
    request.out.method = "GET";
    request.idempotent = true;
    request.timeouts.deadline = reactor_->now() + 10 * base::kSecond_ns;
    Fetched fetched = co_await fetch(*cluster_, request, group_->scope());
    outcome->failure = fetched.failure;
    if (fetched.exchange != nullptr) {
      outcome->reused = fetched.exchange->reused();
      std::byte room[1000];
      while (true) {
        const base::Result<uint32_t> read = co_await fetched.exchange->readBody(
            room, group_->scope(), reactor_->now() + 10 * base::kSecond_ns);
        if (!read.ok()) {
          outcome->error = read.error();
        }
        if (!read.ok() || read.value() == 0) {
          break;
        }
        outcome->body.append(reinterpret_cast<char*>(room), read.value());
      }
      co_await fetched.exchange->finish();
    }
    fetched.exchange.reset();
    calls_--;
    outcome->done = true;
  }
  Outcome get() {
    if (cluster_ == nullptr) {
      cluster_ = std::make_unique<Cluster>(
          Context{*reactor_, *receive_, sockets_, random_, http::Limits{}}, spec_);
    }
    Outcome outcome;
    group_->spawn(perform(&outcome));
    EXPECT_TRUE(runUntil([&] { return outcome.done; }));
    return outcome;
  }
  template <class F>
  bool runUntil(F&& done) {
    const base::MonoTime limit = engine_->monotonic() + 20 * base::kSecond_ns;
    while (!done() && engine_->monotonic() < limit) {
      reactor_->runTurn(false);
    }
    return done();
  }

  io::Doorbells doorbells_{1};
  std::unique_ptr<io::UringEngine> engine_;
  std::unique_ptr<rt::Reactor> reactor_;
  std::unique_ptr<rt::ReceivePool> receive_;
  std::unique_ptr<rt::TaskGroup> group_;
  net::KernelSockets sockets_;
  base::Random random_{1};
  ClusterSpec spec_;
  std::unique_ptr<Cluster> cluster_;
  int listener_ = -1;
  int calls_ = 0;
};

constexpr char kOk[] = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";

TEST_F(KernelTest, ReusesAConnection) {
  group_->spawn(serve(kOk, false));
  EXPECT_EQ(get().body, "hello");
  for (int i = 0; i < 100; i++) {
    const Outcome outcome = get();
    EXPECT_EQ(outcome.body, "hello");
    EXPECT_TRUE(outcome.reused);
  }
  EXPECT_EQ(cluster_->stats().cx_total, 1U);
}

TEST_F(KernelTest, OriginThatClosesUnannouncedFailsNothing) {
  group_->spawn(serve(kOk, true));
  for (int i = 0; i < 50; i++) {
    const Outcome outcome = get();
    EXPECT_EQ(outcome.body, "hello") << i;
    EXPECT_EQ(outcome.error.code, base::Code::ok);
  }
}

TEST_F(KernelTest, CloseOfAnUnusedConnectionIsNoticed) {
  group_->spawn(serve(kOk, true));
  get();
  EXPECT_TRUE(runUntil([&] { return cluster_->gauges().cx_active == 0; }));
  EXPECT_EQ(cluster_->stats().cx_idle_closed, 1U);
}

TEST_F(KernelTest, LargeBodyUntilClose) {
  std::string body(3'000'000, '\0');
  for (size_t i = 0; i < body.size(); i++) {
    body[i] = static_cast<char>(i * 7 + i / 251);
  }
  group_->spawn(serve("HTTP/1.1 200 OK\r\n\r\n" + body, true));
  EXPECT_TRUE(get().body == body);
}

TEST_F(KernelTest, CutBodyIsAnError) {
  group_->spawn(serve("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhello", true));
  const Outcome outcome = get();
  EXPECT_EQ(outcome.body, "hello");
  EXPECT_EQ(outcome.error.code, base::Code::peer_closed);
}

TEST_F(KernelTest, RefusedConnect) {
  // Bound, so that nobody else gets the port, but not listening.
  const int other = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  ASSERT_EQ(bind(other, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  spec_.endpoints[0].port = net::Address::localOf(other).port();
  const Outcome outcome = get();
  EXPECT_EQ(outcome.failure.reason, Reason::connect_failure);
  EXPECT_EQ(outcome.failure.error.code, base::Code::refused);
  close(other);
}

TEST_F(KernelTest, UnusedConnectionsCloseAtShutdown) {
  group_->spawn(serve(kOk, false));
  get();
  EXPECT_EQ(cluster_->gauges().cx_idle, 1U);
}

}  // namespace
}  // namespace upstream
