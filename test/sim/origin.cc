#include "test/sim/origin.h"

#include <charconv>
#include <optional>
#include <string>

#include "source/rt/wait.h"
#include "test/sim/script.h"

namespace sim {
namespace {

constexpr uint64_t kPatience_ns = 60 * base::kSecond_ns;

uint32_t idOf(std::string_view target) {
  uint32_t id = 0;
  const size_t slash = target.rfind('/');
  std::from_chars(target.data() + slash + 1, target.data() + target.size(), id);
  return id;
}

struct Slice {
  uint64_t first = 0;
  uint64_t last = 0;
};

// "bytes=5-9" or "bytes=5-" of so many bytes.
std::optional<Slice> sliceOf(const std::string& range, uint64_t length) {
  Slice slice{0, length - 1};
  const size_t equals = range.find('=');
  const size_t dash = range.find('-');
  if (equals == std::string::npos || dash == std::string::npos) {
    return std::nullopt;
  }
  const char* end = range.data() + range.size();
  std::from_chars(range.data() + equals + 1, range.data() + dash, slice.first);
  std::from_chars(range.data() + dash + 1, end, slice.last);
  return slice;
}

// "l2" asks for variant 2.
uint32_t variantOf(const std::string& language) {
  return language.size() == 2 ? static_cast<uint32_t>(language[1] - '0') : 0;
}

}  // namespace

Origin::Origin(SimWorld& world, Ledger& ledger, const OriginFaults& faults)
    : world_(world),
      ledger_(ledger),
      faults_(faults),
      host_(world.addHost({1})),
      random_(world.random().next()) {}

void Origin::start(uint16_t listeners) {
  for (uint16_t i = 0; i < listeners; i++) {
    host_.spawn(acceptAll(world_.listen(host_, static_cast<uint16_t>(kPort + i))));
  }
}

rt::Task<void> Origin::acceptAll(int listener) {
  while (!host_.scope().requested()) {
    const rt::IoResult accepted = co_await rt::Accept(listener, host_.scope());
    if (accepted.ok()) {
      host_.spawn(serve(accepted.result));
    }
  }
  co_await rt::Close(listener);
}

rt::Task<void> Origin::serve(int fd) {
  MessageReader reader(fd);
  bool again = true;
  while (again) {
    const base::MonoTime deadline = host_.reactor().now() + kPatience_ns;
    Message request = co_await reader.request(host_.scope(), deadline);
    again = request.complete && request.keeps_open;
    if (request.complete) {
      const bool lives = co_await answer(fd, std::move(request));
      again = again && lives;
    }
  }
  co_await rt::Close(fd);
}

rt::Task<bool> Origin::answer(int fd, Message request) {
  const uint32_t id = idOf(request.target());
  requests_[id]++;
  Core& core = world_.core();
  if (core.chance(faults_.slow)) {
    const uint64_t pause_ns = random_.below(faults_.slow_max_ns + 1);
    co_await rt::Sleep(host_.reactor().now() + pause_ns, host_.scope());
  }
  if (core.chance(faults_.hang_up)) {
    co_return false;
  }
  const base::MonoTime deadline = host_.reactor().now() + kPatience_ns;
  if (core.chance(faults_.error)) {
    const std::string text = "HTTP/1.1 500 Sorry\r\nContent-Length: 5\r\n\r\nsorry";
    const int sent = co_await sendAll(fd, text, host_.scope(), deadline);
    co_return sent > 0;
  }
  if (request.method() == "POST") {
    co_return co_await post(fd, id);
  }
  answers_++;
  const Resource& r = ledger_.resource(id);
  const uint32_t version = ledger_.version(id);
  const uint32_t variant = r.varies ? variantOf(request.field("accept-language")) : 0;
  const bool unchanged =
      r.validator &&
      request.field("if-none-match").find(Ledger::tag(variant, version)) != std::string::npos;
  const bool close = core.chance(faults_.close);
  const bool has_body = request.method() != "HEAD" && !unchanged;
  const uint64_t length = ledger_.lengthOf(id, version);
  const std::optional<Slice> slice =
      r.validator && request.field("if-range") == Ledger::tag(variant, version)
          ? sliceOf(request.field("range"), length)
          : std::nullopt;
  std::string body;
  std::string head = unchanged ? "HTTP/1.1 304 Not Modified\r\n"
                     : slice   ? "HTTP/1.1 206 Partial Content\r\n"
                               : "HTTP/1.1 200 OK\r\n";
  head += ledger_.headFields(id, variant, version);
  if (slice) {
    head += "Content-Range: bytes " + std::to_string(slice->first) + "-" +
            std::to_string(slice->last) + "/" + std::to_string(length) + "\r\n";
    body = ledger_.body(id, variant, version, slice->first, slice->last - slice->first + 1);
  } else if (has_body) {
    body = ledger_.body(id, variant, version, 0, length);
  }
  const bool ends = has_body && r.framing == Framing::until_close;
  if (has_body && r.framing == Framing::length) {
    head += "Content-Length: " + std::to_string(body.size()) + "\r\n";
  } else if (has_body && r.framing == Framing::chunked) {
    head += "Transfer-Encoding: chunked\r\n";
  }
  if (ends || (close && random_.chance(1, 2))) {
    head += "Connection: close\r\n";
  }
  // The rest of an older answer makes that no younger, except where its first bytes were kept.
  const uint64_t now_ns = host_.engine().monotonic().ns;
  slice ? ledger_.sliced(id, variant, version, now_ns) : ledger_.sent(id, variant, version, now_ns);
  const std::string start = head + "\r\n";
  const int sent = co_await sendAll(fd, start, host_.scope(), deadline);
  bool lives = sent > 0;
  if (lives && has_body) {
    lives = co_await sendBody(fd, std::move(body), r.framing, deadline);
  }
  if (!slice) {
    ledger_.sent(id, variant, version, host_.engine().monotonic().ns);
  }
  co_return lives && !close && !ends;
}

rt::Task<bool> Origin::sendBody(int fd, std::string body, Framing framing,
                                base::MonoTime deadline) {
  if (framing == Framing::chunked) {
    std::string coded;
    size_t at = 0;
    char size[20];
    while (at < body.size()) {
      const size_t count = random_.between(1, std::min<size_t>(body.size() - at, 40'000));
      const auto end = std::to_chars(size, size + sizeof size, count, 16).ptr;
      coded.append(size, end).append("\r\n").append(body, at, count).append("\r\n");
      at += count;
    }
    body = coded + "0\r\n\r\n";
  }
  const bool cut = !body.empty() && world_.core().chance(faults_.truncate);
  if (cut) {
    body.resize(random_.below(body.size()));
    world_.abortOnClose(fd);
  }
  if (!body.empty()) {
    const int sent = co_await sendAll(fd, body, host_.scope(), deadline);
    if (sent < 0) {
      world_.abortOnClose(fd);  // what follows must not look like the end of the body
      co_return false;
    }
  }
  co_return !cut;
}

// Changes the resource.
rt::Task<bool> Origin::post(int fd, uint32_t id) {
  ledger_.bump(id);
  const std::string text = "HTTP/1.1 200 OK\r\nX-Posted: " + std::to_string(ledger_.version(id)) +
                           "\r\nContent-Length: 0\r\n\r\n";
  const base::MonoTime deadline = host_.reactor().now() + kPatience_ns;
  const int sent = co_await sendAll(fd, text, host_.scope(), deadline);
  co_return sent > 0;
}

}  // namespace sim
