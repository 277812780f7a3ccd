#include "test/sim/freshness_world.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "source/rt/wait.h"
#include "test/sim/script.h"

namespace sim {
namespace {

constexpr uint64_t kPatience_ns = 60 * base::kSecond_ns;
constexpr uint16_t kProxyPort = 80;

uint64_t numberAtEnd(std::string_view text, char before) {
  uint64_t number = 0;
  const size_t at = text.rfind(before);
  std::from_chars(text.data() + at + 1, text.data() + text.size(), number);
  return number;
}

// What RFC 9110 14.2 and 13.1.5 make of a request for one range. `head` is that of a 200.
void takeRange(const Message& request, std::string_view tag, std::string& head, std::string& body) {
  constexpr std::string_view kUnit = "bytes=";
  const std::string range = request.field("range");
  const std::string condition = request.field("if-range");
  if (!range.starts_with(kUnit) || (!condition.empty() && condition != tag)) {
    return;
  }
  const size_t dash = range.find('-');
  uint64_t first = 0;
  std::from_chars(range.data() + kUnit.size(), range.data() + dash, first);
  uint64_t last = UINT64_MAX;
  std::from_chars(range.data() + dash + 1, range.data() + range.size(), last);
  const std::string fields = head.substr(head.find("\r\n") + 2);
  const std::string length = std::to_string(body.size());
  if (first >= body.size()) {
    head = "HTTP/1.1 416 No\r\n" + fields + "Content-Range: bytes */" + length + "\r\n";
    body.clear();
    return;
  }
  last = std::min<uint64_t>(last, body.size() - 1);
  head = "HTTP/1.1 206 Part\r\n" + fields + "Content-Range: bytes " + std::to_string(first) + "-" +
         std::to_string(last) + "/" + length + "\r\n";
  body = body.substr(first, last - first + 1);
}

}  // namespace

// The origin.

FreshOrigin::FreshOrigin(SimWorld& world, Judge& judge, FreshnessOracle& oracle, Manner manner)
    : world_(world),
      judge_(judge),
      oracle_(oracle),
      manner_(manner),
      host_(world.addHost({1})),
      random_(world.random().next()) {}

void FreshOrigin::start() {
  host_.spawn(acceptAll(world_.listen(host_, kPort)));
}

rt::Task<void> FreshOrigin::acceptAll(int listener) {
  while (!host_.scope().requested()) {
    const rt::IoResult accepted = co_await rt::Accept(listener, host_.scope());
    if (accepted.ok()) {
      host_.spawn(serve(accepted.result));
    }
  }
  co_await rt::Close(listener);
}

rt::Task<void> FreshOrigin::serve(int fd) {
  MessageReader reader(fd);
  bool again = true;
  while (again) {
    const base::MonoTime deadline = host_.reactor().now() + kPatience_ns;
    const Message request = co_await reader.request(host_.scope(), deadline);
    again = request.complete && request.keeps_open;
    if (request.complete) {
      const auto id = static_cast<uint32_t>(numberAtEnd(request.target(), '/'));
      const bool counted = request.method() == "GET";
      const std::string what = request.first + " of " + request.field("x-visit") + " at " +
                               std::to_string(host_.engine().monotonic().ns / 1000) + " us, " +
                               request.field("if-none-match");
      // A condition on the whole and one on a range are different questions.
      const std::string part = request.field("range") + request.field("if-none-match");
      const std::string wrong =
          counted ? oracle_.begins(id, what, manner_.knows_ranges ? part : "") : std::string();
      judge_.require(!manner_.one_at_a_time || wrong.empty(), wrong);
      const bool lives = co_await answer(fd, request, id);
      if (counted) {
        oracle_.ends(id, what);
      }
      again = again && lives;
    }
  }
  co_await rt::Close(fd);
}

// True: instead of an answer there was a failure, after which the connection is of no use.
rt::Task<bool> FreshOrigin::fails(int fd, const Message& request, uint32_t id) {
  const uint64_t kind = random_.below(20);
  if (oracle_.site(id).collapsible || kind > 1) {
    co_return false;
  }
  if (kind == 0) {
    const std::string text = "HTTP/1.1 503 No\r\nConnection: close\r\nContent-Length: 2\r\n\r\n" +
                             std::string(request.method() == "HEAD" ? "" : "no");
    oracle_.failed(id, host_.engine().monotonic().ns);
    co_await sendAll(fd, text, host_.scope(), host_.reactor().now() + kPatience_ns);
  }
  oracle_.failed(id, host_.engine().monotonic().ns);
  co_return true;
}

rt::Task<bool> FreshOrigin::answer(int fd, const Message& request, uint32_t id) {
  if (random_.chance(1, 2)) {
    const uint64_t pause_ns = random_.below(2 * base::kSecond_ns);
    co_await rt::Sleep(host_.reactor().now() + pause_ns, host_.scope());
  }
  const bool failed = co_await fails(fd, request, id);
  if (failed) {
    co_return false;
  }
  const Site& site = oracle_.site(id);
  Given given;
  given.site = id;
  given.variant =
      site.varies ? static_cast<uint32_t>(numberAtEnd(request.field("accept-language"), 'l')) : 0;
  given.version = oracle_.version(id);
  given.visit = numberAtEnd(request.field("x-visit"), 'v');
  given.authorized = request.has("authorization");
  given.given_ns = host_.engine().monotonic().ns;
  given.terms = site.collapsible ? site.terms : Terms::draw(random_, site.expires);
  const std::string tag = FreshnessOracle::tag(given.variant, given.version);
  const bool unchanged =
      site.validator && request.field("if-none-match").find(tag) != std::string::npos;
  std::string head = unchanged ? "HTTP/1.1 304 Not Modified\r\n" : "HTTP/1.1 200 OK\r\n";
  head += given.terms.fields(static_cast<uint64_t>(host_.engine().wall().s));
  head += "X-Serial: " + std::to_string(oracle_.give(given)) + "\r\n";
  head += site.validator ? "ETag: " + tag + "\r\n" : "";
  head += site.varies ? "Vary: Accept-Language\r\n" : "";
  if (unchanged || request.method() == "HEAD") {
    head += "\r\n";
    const int sent =
        co_await sendAll(fd, head, host_.scope(), host_.reactor().now() + kPatience_ns);
    co_return sent > 0;
  }
  std::string body = oracle_.body(id, given.variant, given.version);
  if (manner_.knows_ranges) {
    takeRange(request, site.validator ? tag : "", head, body);
  }
  co_return co_await send(fd, std::move(head), std::move(body), id);
}

// A body in pieces with pauses; of resources that may fail, sometimes not all of it.
rt::Task<bool> FreshOrigin::send(int fd, std::string head, std::string body, uint32_t id) {
  const Site& site = oracle_.site(id);
  if (site.framing == 0) {
    head += "Content-Length: " + std::to_string(body.size()) + "\r\n";
  } else {
    head += site.framing == 1 ? "Transfer-Encoding: chunked\r\n" : "Connection: close\r\n";
  }
  const base::MonoTime deadline = host_.reactor().now() + kPatience_ns;
  head += "\r\n";
  int sent = co_await sendAll(fd, head, host_.scope(), deadline);
  const bool cut = !site.collapsible && !body.empty() && random_.chance(1, 12);
  const size_t end = cut ? random_.below(body.size()) : body.size();
  size_t at = 0;
  while (sent > 0 && at < end) {
    const size_t count = std::min<size_t>(end - at, random_.between(1, 100'000));
    std::string piece = body.substr(at, count);
    if (site.framing == 1) {
      char size[20];
      const char* stop = std::to_chars(size, size + sizeof size, count, 16).ptr;
      const std::string_view digits(size, static_cast<size_t>(stop - size));
      piece = std::string(digits) + "\r\n" + piece + "\r\n";
    }
    sent = co_await sendAll(fd, piece, host_.scope(), deadline);
    at += count;
    if (random_.chance(1, 4)) {
      const uint64_t pause_ns = random_.below(300 * base::kMillisecond_ns);
      co_await rt::Sleep(host_.reactor().now() + pause_ns, host_.scope());
    }
  }
  if (cut || sent <= 0) {
    world_.abortOnClose(fd);                            // it must not look like the end of the body
    oracle_.failed(id, host_.engine().monotonic().ns);  // the reset may take the head with it
    co_return false;
  }
  if (site.framing == 1) {
    const std::string last = "0\r\n\r\n";
    sent = co_await sendAll(fd, last, host_.scope(), deadline);
  }
  co_return sent > 0 && site.framing != 2;
}

// A client.

FreshClient::FreshClient(SimWorld& world, Judge& judge, FreshnessOracle& oracle, uint64_t& visits)
    : world_(world),
      judge_(judge),
      oracle_(oracle),
      visits_(visits),
      host_(world.addHost({2})),
      random_(world.random().next()) {}

void FreshClient::start(uint64_t requests, uint64_t pause_max_ns) {
  host_.spawn(visit(requests, pause_max_ns));
}

rt::Task<void> FreshClient::visit(uint64_t requests, uint64_t pause_max_ns) {
  while (requests-- > 0) {
    co_await ask(choose());
    co_await rt::Sleep(host_.reactor().now() + random_.below(pause_max_ns + 1), host_.scope());
  }
}

void FreshClient::chooseDirectives(Wish& wish) {
  switch (random_.below(12)) {
    case 0:
      wish.no_cache = true;
      break;
    case 1:
      wish.only_if_cached = true;
      break;
    case 2:
      wish.max_age_s = static_cast<uint32_t>(random_.below(8));
      break;
    case 3:
      wish.min_fresh_s = static_cast<uint32_t>(random_.below(8));
      break;
    case 4:
      wish.max_stale_s = static_cast<uint32_t>(random_.below(20));
      break;
    case 5:
      wish.authorized = true;
      break;
    default:
      break;
  }
}

Wish FreshClient::choose() {
  Wish wish;
  wish.visit = ++visits_;
  wish.site = static_cast<uint32_t>(random_.below(1 + random_.below(oracle_.size())));
  const Site& site = oracle_.site(wish.site);
  wish.variant = static_cast<uint32_t>(random_.below(3));
  const uint64_t kind = random_.below(12);
  if (kind == 0) {
    wish.method = "HEAD";
  } else if (kind == 1 && site.length > 0) {
    wish.has_range = true;
    wish.range_first = random_.below(site.length);
    wish.range_last = wish.range_first + random_.below(site.length);
  } else if (kind == 2) {
    wish.conditional = true;
  }
  if (!site.collapsible) {
    chooseDirectives(wish);
    if (random_.chance(1, 20)) {
      oracle_.bump(wish.site);
    }
  }
  return wish;
}

std::string FreshClient::textOf(const Wish& wish) {
  std::string text =
      wish.method + " /f/" + std::to_string(wish.site) + " HTTP/1.1\r\nHost: a.test\r\n";
  text += "X-Visit: v" + std::to_string(wish.visit) + "\r\n";
  text += "Accept-Language: l" + std::to_string(wish.variant) + "\r\nConnection: close\r\n";
  if (wish.has_range) {
    text += "Range: bytes=" + std::to_string(wish.range_first) + "-" +
            std::to_string(wish.range_last) + "\r\n";
  }
  if (wish.conditional) {
    const uint32_t variant = oracle_.site(wish.site).varies ? wish.variant : 0;
    text += "If-None-Match: " + FreshnessOracle::tag(variant, oracle_.version(wish.site)) + "\r\n";
  }
  text += wish.authorized ? "Authorization: Basic eDp5\r\n" : "";
  text += wish.no_cache ? "Cache-Control: no-cache\r\n" : "";
  text += wish.only_if_cached ? "Cache-Control: only-if-cached\r\n" : "";
  const auto directive = [&text](std::string_view name, std::optional<uint32_t> value) {
    if (value.has_value()) {
      text += "Cache-Control: " + std::string(name) + "=" + std::to_string(*value) + "\r\n";
    }
  };
  directive("max-age", wish.max_age_s);
  directive("min-fresh", wish.min_fresh_s);
  directive("max-stale", wish.max_stale_s);
  return text + "\r\n";
}

rt::Task<void> FreshClient::leaveEarly(int fd, uint64_t after_ns) {
  rt::CancelScope waiting(host_.scope());
  std::string ignored;
  while (true) {
    const int got =
        co_await receiveSome(fd, ignored, 16384, waiting, host_.reactor().now() + after_ns);
    if (got <= 0) {
      break;
    }
  }
  world_.abortOnClose(fd);
}

rt::Task<void> FreshClient::ask(Wish wish) {
  co_await rt::Yield();  // started from outside, the host's clock may be that of its last turn
  const base::MonoTime deadline = host_.reactor().now() + kPatience_ns;
  const int fd = world_.socket(host_);
  MessageReader reader(fd);
  Message got;
  const int connected = co_await connectTo(fd, kProxyPort, host_.scope(), deadline);
  if (connected == 0) {
    wish.begun_ns = host_.engine().monotonic().ns;
    const std::string text = textOf(wish);
    const int sent = co_await sendAll(fd, text, host_.scope(), deadline);
    if (sent > 0 && random_.chance(1, 10)) {
      co_await leaveEarly(fd, random_.below(base::kSecond_ns));
    } else if (sent > 0) {
      got = co_await reader.response(wish.method == "HEAD", host_.scope(), deadline);
    }
  }
  co_await rt::Close(fd);
  if (got.first.empty()) {
    judge_.say("visit " + std::to_string(wish.visit) + " of resource " + std::to_string(wish.site) +
               " left, or was not answered");
    co_return;
  }
  (got.complete ? answered_ : cut_)++;
  const std::string wrong = oracle_.judge(wish, got, host_.engine().monotonic().ns);
  const std::string what = wish.method + " resource " + std::to_string(wish.site) + " visit " +
                           std::to_string(wish.visit) + " asked at " +
                           std::to_string(wish.begun_ns / 1000) + " us -> " + got.first + " | " +
                           got.field("cache-status") + " | " + got.field("cache-control") +
                           " | age " + got.field("age");
  judge_.say(what);
  judge_.require(wrong.empty(), wrong + what);
}

}  // namespace sim
