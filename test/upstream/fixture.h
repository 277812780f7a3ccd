// Scripted origins and a cluster of one shard in a simulated world; tests stay plain sequential
// code, each call runs the world until its outcome is there.
#pragma once

#include <gtest/gtest.h>

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "source/net/socket_factory.h"
#include "source/rt/receive_pool.h"
#include "source/upstream/cluster.h"
#include "source/upstream/fetch.h"
#include "test/sim/world.h"

namespace upstream {

// Sockets of a simulated host.
class SimSockets final : public net::SocketFactory {
 public:
  SimSockets(sim::SimWorld& world, sim::SimHost& host) : world_(world), host_(host) {}
  base::Result<int> stream(const net::Address& to) override {
    made_++;
    return world_.socket(host_);
  }
  void noDelay(int) override {}
  void abortOnClose(int fd) override { world_.resetConnection(fd); }
  net::Address local(int) override { return {}; }
  net::Address peer(int) override { return {}; }
  uint32_t made() const { return made_; }

 private:
  sim::SimWorld& world_;
  sim::SimHost& host_;
  uint32_t made_ = 0;
};

// What an origin does on one connection, in order; then it waits for the client to close.
struct Step {
  enum class Kind : uint8_t { request, head, send, sleep, close, reset };
  Kind kind;
  std::string text = {};
  uint64_t ns = 0;
};
using Script = std::vector<Step>;
// Reads a whole request: its head, and a body with Content-Length or chunked.
inline Step request() {
  return {Step::Kind::request};
}
// Reads the head only.
inline Step requestHead() {
  return {Step::Kind::head};
}
inline Step send(std::string text) {
  return {Step::Kind::send, std::move(text)};
}
inline Step pause(uint64_t ms) {
  return {Step::Kind::sleep, {}, ms * base::kMillisecond_ns};
}
inline Step closing() {
  return {Step::Kind::close};
}
inline Step resetting() {
  return {Step::Kind::reset};
}

std::string ok(std::string_view body);  // 200 with Content-Length

class Origin {
 public:
  Origin(sim::SimWorld& world, uint16_t port)
      : world_(world), host_(world.addHost()), port_(port) {}
  // Connection i follows script i; the last is repeated.
  void serve(std::vector<Script> scripts);
  // Answers "METHOD /NUMBER" with what `answer` says for the number, for as long as a connection
  // lasts; an answer with "Connection: close" is the last on its connection.
  void answerByNumber(std::string (*answer)(uint32_t number));
  // How many whole requests of that number have come.
  uint32_t reached(uint32_t number) const;
  void stop();

  sim::SimHost& host() { return host_; }
  uint16_t port() const { return port_; }
  uint32_t connections() const { return connections_; }
  const std::vector<std::string>& requests() const { return requests_; }  // whole ones only
  uint32_t open() const { return open_; }
  // How each connection ended that the client ended: true for a reset.
  const std::vector<bool>& resets() const { return resets_; }

 private:
  rt::Task<void> accept();
  rt::Task<void> connection(int fd, Script script);
  void listen();
  rt::Task<void> answerAll(int fd);
  rt::Task<bool> follow(int fd, Step step, std::string& held);
  rt::Task<bool> readRequest(int fd, std::string& held, bool body, std::string* request = nullptr);

  sim::SimWorld& world_;
  sim::SimHost& host_;
  uint16_t port_;
  int listener_ = -1;
  std::vector<Script> scripts_;
  std::string (*answer_)(uint32_t number) = nullptr;
  std::vector<std::string> requests_;
  std::vector<bool> resets_;
  uint32_t connections_ = 0;
  uint32_t open_ = 0;
};

// A body from memory, in pieces, at a given time each.
class MemoryBody final : public BodySource {
 public:
  struct Piece {
    std::string bytes;
    uint64_t delay_ns = 0;
    bool fail = false;  // an error instead: the client has gone
  };
  explicit MemoryBody(std::vector<Piece> pieces, bool replayable = true)
      : pieces_(std::move(pieces)), replayable_(replayable) {}
  rt::Task<base::Result<std::optional<Chunk>>> next(rt::CancelScope& scope) override;
  bool rewind() override {
    at_ = replayable_ ? 0 : at_;
    return at_ == 0;
  }
  size_t taken() const { return at_; }

 private:
  std::vector<Piece> pieces_;
  bool replayable_;
  size_t at_ = 0;
};

class InterimList final : public InterimSink {
 public:
  rt::Task<base::Status> onInterim(const http::ResponseHead& head, rt::CancelScope&) override {
    statuses.push_back(head.status);
    links.emplace_back(head.fields.value(http::Name::link));
    co_return base::Unit{};
  }
  std::vector<uint16_t> statuses;
  std::vector<std::string> links;
};

struct Call {
  std::string method = "GET";
  std::string head;  // made from the method and body unless given
  MemoryBody* body = nullptr;
  std::optional<uint64_t> body_bytes;
  bool expect_continue = false;
  InterimSink* interim = nullptr;
  uint32_t num_retries = 1;
  FetchTimeouts timeouts;
  size_t read_bytes = 4096;  // at once
  bool read_body = true;
  uint64_t body_timeout_ns = 10 * base::kSecond_ns;
};

struct Answer {
  bool done = false;
  Failure failure;
  uint32_t attempts = 0;
  bool reused = false;
  uint16_t status = 0;
  std::string body;
  bool complete = false;  // the body ended, and whole
  base::Error body_error;
  std::string trailer;  // names, joined
  std::unique_ptr<rt::CancelScope> scope;
};

class Fixture : public testing::Test {
 protected:
  explicit Fixture(uint64_t seed = 1, const sim::Options& options = sim::Options())
      : world_(seed, options), shard_(world_.addHost()) {}
  ~Fixture() override;

  Origin& origin(uint16_t port = 80);
  ClusterSpec spec(std::vector<uint16_t> ports) const;
  Cluster& cluster();  // made at first use from spec_
  ClusterSpec spec_ = {};

  // Starts a call, which then goes on as the world does.
  Answer& start(Call call);
  Answer& await(Answer& answer);
  Answer& call(Call c) { return await(start(std::move(c))); }
  Answer& get() { return call(Call{}); }
  void runFor(uint64_t ms) { world_.runFor(ms * base::kMillisecond_ns); }
  // Shuts the cluster down and checks that nothing is left.
  void finish();

  sim::SimWorld world_;
  sim::SimHost& shard_;

 private:
  rt::Task<void> perform(Call call, Answer* answer);
  rt::Task<void> join();

  SimSockets sockets_{world_, shard_};
  std::unique_ptr<rt::ReceivePool> receive_;
  base::Random random_{7};
  std::unique_ptr<Cluster> cluster_;
  std::deque<std::unique_ptr<Origin>> origins_;
  std::deque<Answer> answers_;
  bool joined_ = false;
};

}  // namespace upstream
