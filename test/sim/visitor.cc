#include "test/sim/visitor.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "source/rt/wait.h"
#include "test/sim/script.h"

namespace sim {
namespace {

constexpr uint64_t kLimit_ns = 60 * base::kSecond_ns;

}  // namespace

Visitor::Visitor(SimWorld& world, Judge& judge, Ledger& ledger, uint16_t port)
    : world_(world),
      judge_(judge),
      ledger_(ledger),
      port_(port),
      host_(world.addHost({2})),
      random_(world.random().next()) {}

void Visitor::start(uint64_t requests, uint64_t pause_max_ns) {
  host_.spawn(visit(requests, pause_max_ns));
}

void Visitor::demand(uint32_t resource) {
  Asked asked;
  asked.resource = resource;
  host_.spawn(ask(std::move(asked), true));
}

rt::Task<void> Visitor::visit(uint64_t requests, uint64_t pause_max_ns) {
  while (requests-- > 0 && !host_.scope().requested()) {
    co_await ask(choose(), false);
    co_await rt::Sleep(host_.reactor().now() + random_.below(pause_max_ns + 1), host_.scope());
  }
  co_await disconnect();
}

Asked Visitor::choose() {
  Asked asked;
  // Low numbers are asked for more often.
  asked.resource = static_cast<uint32_t>(random_.below(1 + random_.below(ledger_.size())));
  asked.variant = static_cast<uint32_t>(random_.below(3));
  const uint64_t kind = random_.below(20);
  if (kind == 0) {
    asked.method = "HEAD";
  } else if (kind == 1) {
    asked.method = "POST";
  } else if (kind < 5) {
    const uint64_t most = std::max<uint64_t>(ledger_.resource(asked.resource).length_max, 2);
    asked.range_first = random_.below(most / 2);
    asked.range_last = asked.range_first + random_.below(most);
    asked.range =
        "bytes=" + std::to_string(asked.range_first) + "-" + std::to_string(asked.range_last);
  } else if (kind < 8) {
    asked.conditional = true;
  } else if (kind == 8) {
    asked.any_age = true;
  }
  return asked;
}

std::string Visitor::textOf(const Asked& asked) {
  const Resource& r = ledger_.resource(asked.resource);
  std::string text = asked.method + " " + r.path() + " HTTP/1.1\r\nHost: a.test\r\n";
  text += "Accept-Language: l" + std::to_string(asked.variant) + "\r\n";
  if (!asked.range.empty()) {
    text += "Range: " + asked.range + "\r\n";
  }
  if (asked.conditional) {
    const uint32_t version = ledger_.version(asked.resource);
    const auto guess =
        static_cast<uint32_t>(random_.between(version > 2 ? version - 2 : 1, version));
    text += "If-None-Match: " + Ledger::tag(r.varies ? asked.variant : 0, guess) + "\r\n";
  }
  if (asked.any_age) {
    text += "Cache-Control: max-stale\r\n";
  }
  return text + (asked.method == "POST" ? "Content-Length: 4\r\n\r\nbody" : "\r\n");
}

rt::Task<bool> Visitor::connect(base::MonoTime deadline) {
  if (fd_ < 0) {
    fd_ = world_.socket(host_);
    reader_ = std::make_unique<MessageReader>(fd_);
    const int result = co_await connectTo(fd_, port_, host_.scope(), deadline);
    if (result != 0) {
      co_await disconnect();
    }
  }
  co_return fd_ >= 0;
}

rt::Task<void> Visitor::disconnect() {
  if (fd_ >= 0) {
    co_await rt::Close(std::exchange(fd_, -1));
  }
}

rt::Task<void> Visitor::ask(Asked asked, bool must_succeed) {
  co_await rt::Yield();  // started from outside, the host's clock may be that of its last turn
  const base::MonoTime deadline = host_.reactor().now() + kLimit_ns;
  counts_.asked++;
  if (life_ != nullptr && life_begun_ != *life_) {
    co_await disconnect();  // from another process
    life_begun_ = *life_;
  }
  Message got;
  const bool connected = co_await connect(deadline);
  if (connected) {
    asked.begun_ns = host_.engine().monotonic().ns;
    const std::string text = textOf(asked);
    const int sent = co_await sendAll(fd_, text, host_.scope(), deadline);
    if (sent > 0) {
      got = co_await reader_->response(asked.method == "HEAD", host_.scope(), deadline);
    }
  }
  const bool good = got.complete && got.status() == 200;
  if (must_succeed) {
    judge_.say("demanded at " + std::to_string(asked.begun_ns) + ", answered at " +
               std::to_string(host_.engine().monotonic().ns) + ": " + got.field("cache-status"));
  }
  judge_.require(good || !must_succeed,
                 "a request on a healthy network failed: " +
                     (got.first.empty() ? std::string("no answer") : got.first));
  consider(asked, got);
  if (life_ != nullptr && life_begun_ == *life_ && *life_ % 2 == 1) {
    requireSuccess(asked, got);
  }
  if (!got.complete || !got.keeps_open || must_succeed || random_.chance(1, 20)) {
    co_await disconnect();
  }
}

void Visitor::consider(const Asked& asked, const Message& got) {
  if (got.first.empty()) {
    counts_.cut++;
    return;
  }
  if (!got.complete) {
    counts_.cut++;
  } else {
    counts_.answered++;
  }
  counts_.errors += got.status() >= 400 ? 1 : 0;
  counts_.hits += got.field("cache-status").find("; hit") != std::string::npos ? 1 : 0;
  const uint64_t now_ns = host_.engine().monotonic().ns;
  if (asked.method == "POST") {
    if (got.has("x-posted") && got.complete) {
      uint32_t version = 0;
      const std::string text = got.field("x-posted");
      std::from_chars(text.data(), text.data() + text.size(), version);
      ledger_.setFloor(asked.resource, version, now_ns, false);
    }
    return;
  }
  counts_.from_origin += got.has("x-version") ? 1 : 0;
  const std::string status = got.field("cache-status");
  const bool fetched = status.find("fwd=uri-miss") != std::string::npos &&
                       status.find("collapsed") == std::string::npos;
  judge_.require(!fetched || !got.has("age"), "Age on a response that was made for its request");
  const std::string wrong = ledger_.judge(asked, got, now_ns);
  judge_.require(wrong.empty(), wrong + asked.method + " " + asked.range + " -> " + got.first +
                                    " | " + got.field("cache-status") + " | age " +
                                    got.field("age"));
}

void Visitor::requireSuccess(const Asked& asked, const Message& got) {
  const std::string what = asked.method + " resource " + std::to_string(asked.resource) + " " +
                           asked.range + " asked at " + std::to_string(asked.begun_ns / 1000) +
                           " us: ";
  const uint64_t took_ns = host_.engine().monotonic().ns - asked.begun_ns;
  judge_.require(took_ns < kPatience_ns,
                 what + "took " + std::to_string(took_ns / base::kMillisecond_ns) + " ms");
  // A reset takes what was sent with it: nothing need arrive of a response that had to be cut off,
  // since the origin cannot give the rest of an old version, or of one without a validator.
  const Resource& resource = ledger_.resource(asked.resource);
  const bool may_be_cut = !resource.validator || ledger_.version(asked.resource) > 1;
  if (got.first.empty() && may_be_cut) {
    return;
  }
  judge_.require(!got.first.empty(), what + "no answer");
  judge_.require(got.status() < 500, what + got.first + " | " + got.field("cache-status"));
  uint32_t version = 0;
  const std::string text = got.field("x-version");
  std::from_chars(text.data(), text.data() + text.size(), version);
  const bool whole_or_hopeless =
      got.complete || !resource.validator || version != ledger_.version(asked.resource);
  judge_.require(whole_or_hopeless, what + "cut off after " + std::to_string(got.body.size()) +
                                        " bytes of " + got.first);
}

}  // namespace sim
