#include "test/upstream/fixture.h"

#include <algorithm>

#include "source/rt/io.h"
#include "test/sim/script.h"

namespace upstream {
namespace {

constexpr base::MonoTime kLong{100'000 * base::kSecond_ns};

// The length of the first whole request in `held` (its head, or with its body); 0: not yet.
size_t wholeRequest(const std::string& held, bool with_body) {
  const size_t blank = held.find("\r\n\r\n");
  if (blank == std::string::npos) {
    return 0;
  }
  const size_t head = blank + 4;
  if (!with_body) {
    return head;
  }
  const size_t length = held.find("Content-Length: ");
  if (length < head) {
    const size_t whole = head + std::stoul(held.substr(length + 16));
    return held.size() >= whole ? whole : 0;
  }
  if (held.find("Transfer-Encoding: chunked") < head) {
    const size_t last = held.find("\r\n0\r\n\r\n", blank + 2);
    return last == std::string::npos ? 0 : last + 7;
  }
  return head;
}

}  // namespace

std::string ok(std::string_view body) {
  return "HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" +
         std::string(body);
}

void Origin::serve(std::vector<Script> scripts) {
  scripts_ = std::move(scripts);
  listen();
}

void Origin::answerByNumber(std::string (*answer)(uint32_t number)) {
  answer_ = answer;
  listen();
}

uint32_t Origin::reached(uint32_t number) const {
  const std::string path = " /" + std::to_string(number) + " ";
  return static_cast<uint32_t>(
      std::count_if(requests_.begin(), requests_.end(), [&](const std::string& request) {
        return request.substr(0, request.find("\r\n")).find(path) != std::string::npos;
      }));
}

rt::Task<void> Origin::answerAll(int fd) {
  open_++;
  std::string held;
  bool going = true;
  while (going) {
    std::string request;
    going = co_await readRequest(fd, held, true, &request);
    if (going) {
      const auto number = static_cast<uint32_t>(std::stoul(request.substr(request.find('/') + 1)));
      const std::string text = answer_(number);
      const int sent = co_await sim::sendAll(fd, text, host_.scope());
      going = sent >= 0 && text.find("Connection: close") == std::string::npos;
    }
  }
  co_await rt::Close(fd);
  open_--;
}

void Origin::listen() {
  if (listener_ < 0) {
    listener_ = world_.listen(host_, port_);
    host_.spawn(accept());
  }
}

void Origin::stop() {
  host_.group().cancelAll();
}

rt::Task<void> Origin::accept() {
  while (true) {
    const rt::IoResult accepted = co_await rt::Accept(listener_, host_.scope());
    if (!accepted.ok()) {
      if (accepted.ended == rt::Ended::by_itself) {
        continue;
      }
      break;
    }
    if (answer_ != nullptr) {
      connections_++;
      host_.spawn(answerAll(accepted.result));
      continue;
    }
    const size_t which = std::min<size_t>(connections_++, scripts_.size() - 1);
    host_.spawn(connection(accepted.result, scripts_[which]));
  }
  co_await rt::Close(listener_);
}

rt::Task<void> Origin::connection(int fd, Script script) {
  open_++;
  std::string held;
  bool going = true;
  for (size_t i = 0; going && i < script.size(); i++) {
    going = co_await follow(fd, script[i], held);
  }
  while (going) {
    const int got = co_await sim::receiveSome(fd, held, 65536, host_.scope());
    if (got <= 0) {
      resets_.push_back(got < 0);
      going = false;
    }
  }
  co_await rt::Close(fd);
  open_--;
}

// false: the connection is to be closed.
rt::Task<bool> Origin::follow(int fd, Step step, std::string& held) {
  switch (step.kind) {
    case Step::Kind::request:
    case Step::Kind::head:
      co_return co_await readRequest(fd, held, step.kind == Step::Kind::request);
    case Step::Kind::send: {
      const int sent = co_await sim::sendAll(fd, step.text, host_.scope());
      co_return sent >= 0;
    }
    case Step::Kind::sleep:
      co_return co_await rt::Sleep(host_.reactor().now() + step.ns, host_.scope());
    case Step::Kind::reset:
      world_.resetConnection(fd);
      co_return false;
    case Step::Kind::close:
      co_return false;
  }
  co_return false;
}

rt::Task<bool> Origin::readRequest(int fd, std::string& held, bool body, std::string* request) {
  while (true) {
    const size_t whole = wholeRequest(held, body);
    if (whole > 0) {
      requests_.push_back(held.substr(0, whole));
      if (request != nullptr) {
        *request = requests_.back();
      }
      held.erase(0, whole);
      co_return true;
    }
    const int got = co_await sim::receiveSome(fd, held, 65536, host_.scope());
    if (got <= 0) {
      resets_.push_back(got < 0);
      co_return false;
    }
  }
}

rt::Task<base::Result<std::optional<BodySource::Chunk>>> MemoryBody::next(rt::CancelScope& scope) {
  if (at_ == pieces_.size()) {
    co_return std::optional<Chunk>();
  }
  Piece& piece = pieces_[at_++];
  if (piece.delay_ns > 0) {
    rt::Reactor& reactor = co_await rt::currentReactor();
    const bool slept = co_await rt::Sleep(reactor.now() + piece.delay_ns, scope);
    if (!slept) {
      co_return base::Error{base::Code::cancelled, base::Blame::downstream};
    }
  }
  if (piece.fail) {
    co_return base::Error{base::Code::peer_closed, base::Blame::downstream};
  }
  co_return std::optional<Chunk>(std::as_bytes(std::span(piece.bytes)));
}

Fixture::~Fixture() {
  finish();
}

Origin& Fixture::origin(uint16_t port) {
  for (const auto& origin : origins_) {
    if (origin->port() == port) {
      return *origin;
    }
  }
  origins_.push_back(std::make_unique<Origin>(world_, port));
  return *origins_.back();
}

ClusterSpec Fixture::spec(std::vector<uint16_t> ports) const {
  ClusterSpec spec;
  spec.name = "origin";
  for (const uint16_t port : ports) {
    spec.endpoints.push_back({"127.0.0.1", port, 1});
  }
  return spec;
}

Cluster& Fixture::cluster() {
  if (cluster_ == nullptr) {
    if (spec_.name.empty()) {
      spec_ = spec({80});
    }
    receive_ = std::make_unique<rt::ReceivePool>(shard_.engine(), 64);
    cluster_ = std::make_unique<Cluster>(
        Context{shard_.reactor(), *receive_, sockets_, random_, http::Limits{}}, spec_);
  }
  return *cluster_;
}

rt::Task<void> Fixture::perform(Call call, Answer* answer) {
  co_await rt::Yield();  // into a turn, so that the reactor knows the time
  if (call.head.empty()) {
    call.head = call.method + " /" + " HTTP/1.1\r\nHost: a\r\n";
    if (call.body != nullptr) {
      call.head += call.body_bytes.has_value()
                       ? "Content-Length: " + std::to_string(*call.body_bytes) + "\r\n"
                       : std::string("Transfer-Encoding: chunked\r\n");
    }
    call.head += call.expect_continue ? "Expect: 100-continue\r\n\r\n" : "\r\n";
  }
  FetchRequest request;
  request.out.head = call.head;
  request.out.method = call.method;
  request.out.body = call.body;
  request.out.body_bytes = call.body_bytes;
  request.out.expect_continue = call.expect_continue;
  request.out.interim = call.interim;
  request.idempotent = isIdempotent(call.method);
  request.num_retries = call.num_retries;
  request.timeouts = call.timeouts;
  Fetched fetched = co_await fetch(*cluster_, request, *answer->scope);
  answer->failure = fetched.failure;
  answer->attempts = fetched.attempts;
  if (fetched.exchange != nullptr) {
    Exchange& exchange = *fetched.exchange;
    answer->status = exchange.head().status;
    answer->reused = exchange.reused();
    std::vector<std::byte> room(call.read_bytes);
    while (call.read_body) {
      const base::Result<uint32_t> read = co_await exchange.readBody(
          room, *answer->scope, shard_.reactor().now() + call.body_timeout_ns);
      if (!read.ok()) {
        answer->body_error = read.error();
        break;
      }
      answer->complete = read.value() == 0;
      if (answer->complete) {
        break;
      }
      answer->body.append(reinterpret_cast<const char*>(room.data()), read.value());
    }
    for (const http::Field& field : exchange.trailers().all()) {
      answer->trailer += std::string(field.name) + "=" + std::string(field.value) + ";";
    }
    co_await exchange.finish();
  }
  fetched.exchange.reset();
  answer->done = true;
}

Answer& Fixture::start(Call call) {
  cluster();
  Answer& answer = answers_.emplace_back();
  answer.scope = std::make_unique<rt::CancelScope>(shard_.scope());
  shard_.spawn(perform(std::move(call), &answer));
  return answer;
}

Answer& Fixture::await(Answer& answer) {
  EXPECT_EQ(world_.run([&] { return answer.done; }, kLong), sim::Ran::done);
  return answer;
}

rt::Task<void> Fixture::join() {
  cluster_->retire();
  co_await cluster_->join();
  joined_ = true;
}

void Fixture::finish() {
  if (cluster_ != nullptr) {
    shard_.spawn(join());
    EXPECT_EQ(world_.run([&] { return joined_; }, kLong), sim::Ran::done);
    EXPECT_EQ(cluster_->stats().cx_total, cluster_->stats().cx_destroy);
    EXPECT_EQ(cluster_->gauges().cx_active, 0U);
    EXPECT_EQ(world_.openDescriptors(shard_), 0U);
    cluster_.reset();
  }
  for (const auto& origin : origins_) {
    origin->stop();
    EXPECT_EQ(world_.runToEnd(origin->host(), kLong), sim::Ran::done);
  }
  answers_.clear();
  EXPECT_EQ(world_.runToEnd(shard_, kLong), sim::Ran::done);
  origins_.clear();
  receive_.reset();
}

}  // namespace upstream
