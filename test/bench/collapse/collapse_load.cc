// Many clients that ask a server for one object at the same time, and the origin behind it, in one
// thread. The origin answers when all have asked. Measured is the time from the origin's first byte
// to each client's first one; while it is measured, nothing is read from a socket that has given
// its first bytes, so that the program does not make its own clients wait. Every body is compared
// with the origin's. tools/collapse_check runs it.
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include "source/base/random.h"
#include "test/bench/collapse/options.h"
#include "test/bench/collapse/origin.h"

namespace collapse {
namespace {

constexpr uint64_t kMillisecond_ns = 1'000'000;
constexpr size_t kFirst_bytes = 512;  // read of a socket at first
constexpr size_t kRead_bytes = 256 << 10;
constexpr uint32_t kBulk = 16;  // pieces that the origin sends in a turn, before all have a byte

[[noreturn]] void die(const char* what) {
  std::perror(what);
  std::exit(2);
}

// A line of /proc/PID/status, in KiB.
uint64_t statusOf(pid_t pid, std::string_view name) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/status");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with(name)) {
      return std::strtoull(line.c_str() + name.size(), nullptr, 10);
    }
  }
  return 0;
}

// The processor time of all threads so far: utime and stime of /proc/PID/stat.
double cpuOf(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string line;
  std::getline(file, line);
  uint64_t user = 0;
  uint64_t system = 0;
  const size_t name_end = line.rfind(')');
  if (name_end != std::string::npos) {
    std::sscanf(line.c_str() + name_end + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu",
                &user, &system);
  }
  return static_cast<double>(user + system) / static_cast<double>(sysconf(_SC_CLK_TCK));
}

// From here on VmHWM is the most since now (proc(5)).
void resetPeak(pid_t pid) {
  std::ofstream file("/proc/" + std::to_string(pid) + "/clear_refs");
  file << "5\n";
  file.flush();
  if (!file) {
    die("resetting the server's peak of memory");
  }
}

std::vector<char> randomBytes(uint64_t bytes) {
  base::Random random(1);
  std::vector<char> body((bytes + 7) / 8 * 8);
  for (size_t at = 0; at < body.size(); at += 8) {
    const uint64_t word = random.next();
    std::memcpy(body.data() + at, &word, sizeof word);
  }
  body.resize(bytes);
  return body;
}

std::string responseHead(const Options& options) {
  return std::string("HTTP/1.1 200 OK\r\nCache-Control: ") +
         (options.no_store ? "no-store" : "max-age=3600") +
         "\r\nContent-Type: application/octet-stream\r\nContent-Length: " +
         std::to_string(options.bytes) + "\r\n\r\n";
}

struct Client {
  int fd = -1;
  uint64_t first_ns = 0;
  std::string head;
  bool has_head = false;
  uint64_t body = 0;
  bool done = false;
  const char* wrong = nullptr;
};

class Load {
 public:
  explicit Load(const Options& options)
      : options_(options),
        epoll_(epoll_create1(EPOLL_CLOEXEC)),
        body_(randomBytes(options.bytes)),
        origin_(epoll_, options.origin_fd, responseHead(options), body_),
        clients_(options.clients) {}

  int run() {
    connectAll();
    resetPeak(options_.server_pid);
    connected_kib_ = statusOf(options_.server_pid, "VmRSS:");
    cpu_s_ = cpuOf(options_.server_pid);
    const uint64_t asked = now_ns();
    askAll();
    if (!turnFor(asked + options_.settle_ms * kMillisecond_ns)) {
      return 1;
    }
    answer();
    while (done_ < clients_.size()) {
      turn();
      if (stuck()) {
        break;
      }
    }
    ended_ns_ = now_ns();
    return report();
  }

 private:
  void connectAll();
  void askAll();
  void answer();
  void turn();
  bool turnFor(uint64_t until_ns);
  bool stuck();
  void readFirst(uint32_t index);
  void readMore(uint32_t index);
  void take(Client& client, const char* bytes, size_t count);
  void finish(Client& client, const char* wrong);
  void listen(uint32_t index, int what) const;
  void say() const;
  int report();
  bool verdict(const char* bar, bool met, const std::string& figure) const;

  const Options& options_;
  int epoll_;
  std::vector<char> body_;
  Origin origin_;
  std::vector<Client> clients_;
  std::vector<char> buffer_ = std::vector<char>(kRead_bytes);
  std::array<epoll_event, 1024> events_{};
  uint32_t firsts_ = 0;
  uint32_t done_ = 0;
  uint64_t read_ = 0;  // body bytes of all
  uint64_t connected_kib_ = 0;
  double cpu_s_ = 0;
  uint64_t ended_ns_ = 0;
  uint64_t moved_ns_ = 0;  // when there was progress last, and its sum
  uint64_t moved_ = 0;
  uint64_t said_ns_ = 0;
};

void Load::listen(uint32_t index, int what) const {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u64 = tagOf(Kind::client, index);
  epoll_ctl(epoll_, what, clients_[index].fd, &event);
}

// One after the other: what is measured begins later.
void Load::connectAll() {
  for (uint32_t i = 0; i < clients_.size(); i++) {
    Client& client = clients_[i];
    client.fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    setsockopt(client.fd, SOL_SOCKET, SO_RCVBUF, &kSocket_bytes, sizeof kSocket_bytes);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(options_.server_port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (client.fd < 0 ||
        connect(client.fd, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
      die("connecting to the server");
    }
    const int one = 1;
    setsockopt(client.fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    listen(i, EPOLL_CTL_ADD);
  }
}

void Load::askAll() {
  for (uint32_t i = 0; i < clients_.size(); i++) {
    const std::string request =
        "GET /object HTTP/1.1\r\nHost: origin.test\r\nX-Client: " + std::to_string(i) + "\r\n\r\n";
    if (send(clients_[i].fd, request.data(), request.size(), MSG_NOSIGNAL) !=
        static_cast<ssize_t>(request.size())) {
      die("sending a request");
    }
  }
}

// False: the server answers before the origin has.
bool Load::turnFor(uint64_t until_ns) {
  while (now_ns() < until_ns || origin_.asked() == 0) {
    turn();
    if (firsts_ > 0 || stuck()) {
      std::fprintf(stderr, "collapse_load: %s\n",
                   firsts_ > 0 ? "an answer without the origin's" : "the origin is not asked");
      return false;
    }
  }
  return true;
}

// What may not be stored is asked for by each client, once the first answer's head says so: all of
// them are to be at the origin at the same time before it answers.
void Load::answer() {
  if (options_.no_store) {
    origin_.answerFirst();
    while (origin_.asked() < clients_.size() && !stuck()) {
      turn();
    }
  }
  origin_.answerAll();
}

bool Load::stuck() {
  const uint64_t sum = read_ + origin_.sentBytes() + origin_.asked() + firsts_ + done_;
  const uint64_t now = now_ns();
  if (sum != moved_ || moved_ns_ == 0) {
    moved_ = sum;
    moved_ns_ = now;
  }
  if (now - said_ns_ > 1000 * kMillisecond_ns) {
    say();
    said_ns_ = now;
  }
  return now - moved_ns_ > options_.patience_s * 100 * kMillisecond_ns;
}

void Load::say() const {
  std::fprintf(stderr, "  %u of %zu clients have a first byte, %u all; %u fetches; %.1f GB read\n",
               firsts_, clients_.size(), done_, origin_.asked(), static_cast<double>(read_) / 1e9);
}

// First the clients without a byte, then the origin, then everything else.
void Load::turn() {
  const int count = epoll_wait(epoll_, events_.data(), static_cast<int>(events_.size()), 10);
  for (int i = 0; i < count; i++) {
    const uint64_t tag = events_[i].data.u64;
    const auto index = static_cast<uint32_t>(tag);
    if (tag == tagOf(Kind::client, index) && clients_[index].first_ns == 0) {
      readFirst(index);
    }
  }
  uint32_t bulk = 0;
  for (int i = 0; i < count; i++) {
    const uint64_t tag = events_[i].data.u64;
    const auto index = static_cast<uint32_t>(tag);
    if (tag == tagOf(Kind::listener, index)) {
      origin_.accept();
    } else if (tag == tagOf(Kind::fetch, index) && ((events_[i].events & EPOLLOUT) == 0 ||
                                                    firsts_ == clients_.size() || bulk++ < kBulk)) {
      origin_.onEvent(index, events_[i].events);
    }
  }
  for (int i = 0; i < count && firsts_ == clients_.size(); i++) {
    const uint64_t tag = events_[i].data.u64;
    const auto index = static_cast<uint32_t>(tag);
    if (tag == tagOf(Kind::client, index)) {
      readMore(index);
    }
  }
}

void Load::readFirst(uint32_t index) {
  Client& client = clients_[index];
  const ssize_t got = recv(client.fd, buffer_.data(), kFirst_bytes, MSG_DONTWAIT);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) {
    return;
  }
  client.first_ns = now_ns();
  firsts_++;
  listen(index, EPOLL_CTL_DEL);
  if (got <= 0) {
    finish(client, "closed without an answer");
  } else {
    take(client, buffer_.data(), static_cast<size_t>(got));
  }
  if (firsts_ == clients_.size()) {
    for (uint32_t i = 0; i < clients_.size(); i++) {
      if (!clients_[i].done) {
        listen(i, EPOLL_CTL_ADD);
      }
    }
  }
}

void Load::readMore(uint32_t index) {
  Client& client = clients_[index];
  if (client.done) {
    return;
  }
  const ssize_t got = recv(client.fd, buffer_.data(), buffer_.size(), MSG_DONTWAIT);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) {
    return;
  }
  if (got <= 0) {
    finish(client, "ended too early");
  } else {
    take(client, buffer_.data(), static_cast<size_t>(got));
  }
  if (client.done) {
    listen(index, EPOLL_CTL_DEL);
  }
}

void Load::take(Client& client, const char* bytes, size_t count) {
  if (!client.has_head) {
    client.head.append(bytes, count);
    const size_t end = client.head.find("\r\n\r\n");
    if (end == std::string::npos) {
      return;
    }
    client.has_head = true;
    const std::string rest = client.head.substr(end + 4);
    client.head.resize(end);
    if (!client.head.starts_with("HTTP/1.1 200 ") ||
        client.head.find("Content-Length: " + std::to_string(body_.size())) == std::string::npos) {
      finish(client, "another head");
      return;
    }
    take(client, rest.data(), rest.size());
    return;
  }
  if (count > body_.size() - client.body ||
      std::memcmp(bytes, body_.data() + client.body, count) != 0) {
    finish(client, "other bytes");
    return;
  }
  client.body += count;
  read_ += count;
  if (client.body == body_.size()) {
    finish(client, nullptr);
  }
}

void Load::finish(Client& client, const char* wrong) {
  client.wrong = wrong;
  client.done = true;
  done_++;
}

bool Load::verdict(const char* bar, bool met, const std::string& figure) const {
  std::printf("  %-46s %-24s %s\n", bar, figure.c_str(), met ? "ok" : "MISSED");
  return met;
}

int Load::report() {
  std::vector<double> first_ms;
  uint32_t wrong = 0;
  for (uint32_t i = 0; i < clients_.size(); i++) {
    const Client& client = clients_[i];
    if (client.wrong != nullptr || !client.done) {
      const char* why = client.wrong == nullptr ? "not whole" : client.wrong;
      if (wrong++ < 5) {
        std::printf("  client %u: %s; %s\n", i, why, client.head.substr(0, 300).c_str());
      }
    }
    // A client's own fetch, where it had one.
    const uint64_t from = options_.no_store ? origin_.firstSent_ns(i) : origin_.firstSent_ns();
    if (client.first_ns > 0) {
      first_ms.push_back(static_cast<double>(static_cast<int64_t>(client.first_ns - from)) /
                         kMillisecond_ns);
    }
  }
  std::sort(first_ms.begin(), first_ms.end());
  first_ms.resize(std::max<size_t>(first_ms.size(), 1), -1);
  const uint64_t peak_kib = statusOf(options_.server_pid, "VmHWM:");
  const double growth_mib =
      static_cast<double>(static_cast<int64_t>(peak_kib - connected_kib_)) / 1024;
  std::printf(
      "%s: %zu clients, %lu bytes: first byte min %.1f, p50 %.1f, p99 %.1f, max %.1f ms; all %.2f "
      "s, "
      "%.2f s of CPU; %u fetches, %u at once, %u broken off; RSS %.1f, most %.1f MiB\n",
      options_.no_store ? "no-store" : "stored", clients_.size(), body_.size(), first_ms.front(),
      first_ms[first_ms.size() / 2], first_ms[first_ms.size() * 99 / 100], first_ms.back(),
      static_cast<double>(ended_ns_ - origin_.firstSent_ns()) / 1e9,
      cpuOf(options_.server_pid) - cpu_s_, origin_.asked(), origin_.mostAtOnce(),
      origin_.failures(), static_cast<double>(connected_kib_) / 1024,
      static_cast<double>(peak_kib) / 1024);
  const uint32_t fetches = options_.no_store ? options_.clients : 1;
  bool right = verdict("every client has the origin's bytes", wrong == 0,
                       std::to_string(clients_.size() - wrong));
  right = verdict(options_.no_store ? "a fetch for each, all at once" : "one fetch",
                  origin_.asked() == fetches && origin_.mostAtOnce() == fetches,
                  std::to_string(origin_.mostAtOnce())) &&
          right;
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "%.1f of %u ms", first_ms.back(), options_.first_ms);
  const bool soon =
      verdict("the last client's first byte",
              firsts_ == clients_.size() && first_ms.back() <= options_.first_ms, text.data());
  std::snprintf(text.data(), text.size(), "%.1f of %u MiB", growth_mib, options_.growth_mib);
  const bool small =
      verdict("growth of the server's memory", growth_mib <= options_.growth_mib, text.data());
  return !right ? 1 : soon && small ? 0 : 3;
}

}  // namespace
}  // namespace collapse

int main(int argc, char** argv) {
  collapse::Options options;
  if (!collapse::parse(argc, argv, options)) {
    return 2;
  }
  rlimit files{};
  getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  setrlimit(RLIMIT_NOFILE, &files);
  return collapse::Load(options).run();
}
