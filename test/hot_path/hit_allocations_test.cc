// Goal: answering a hit allocates nothing, on either engine, from memory and from disk, whole or as
// 304; a range costs one allocation, the list of ranges. Method: the whole server in this process,
// with an operator new that counts what shards ask for between two points in time; a client and an
// origin on plain sockets. A miss, which does allocate, shows that the counter counts.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <fstream>
#include <new>
#include <string>
#include <string_view>
#include <thread>

#include "source/base/check.h"
#include "source/io/uring/uring_engine.h"
#include "source/server/server.h"

namespace {

std::atomic<bool> counting{false};
std::atomic<uint64_t> allocations{0};

void count() {
  if (!counting.load(std::memory_order_relaxed)) {
    return;
  }
  char name[16] = {};
  pthread_getname_np(pthread_self(), name, sizeof name);
  if (std::string_view(name).starts_with("shard-")) {
    allocations.fetch_add(1, std::memory_order_relaxed);
  }
}

}  // namespace

void* operator new(size_t size) {
  count();
  void* memory = std::malloc(size);
  return memory != nullptr ? memory : (std::abort(), nullptr);
}
void* operator new(size_t size, std::align_val_t align) {
  count();
  const auto unit = static_cast<size_t>(align);
  void* memory = std::aligned_alloc(unit, (size + unit - 1) / unit * unit);
  return memory != nullptr ? memory : (std::abort(), nullptr);
}
void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, size_t) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::align_val_t) noexcept {
  std::free(memory);
}
void operator delete(void* memory, size_t, std::align_val_t) noexcept {
  std::free(memory);
}

namespace {

constexpr int kPatience_ms = 20000;

// A blocking connection that sends requests and reads responses with a Content-Length.
class Connection {
 public:
  explicit Connection(uint16_t port) : fd_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const timeval patience{kPatience_ms / 1000, 0};
    setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    CHECK(connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
  }
  explicit Connection(int fd, bool) : fd_(fd) {}
  ~Connection() { close(fd_); }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  bool send(std::string_view text) {
    return ::send(fd_, text.data(), text.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(text.size());
  }
  // A head with its empty line, and of a response its body; empty: the other side has gone.
  std::string receive(bool with_body) {
    size_t end = std::string::npos;
    while ((end = unread_.find("\r\n\r\n")) == std::string::npos) {
      if (!more()) {
        return {};
      }
    }
    size_t whole = end + 4;
    const size_t length = unread_.find("ontent-Length: ");
    if (with_body && length != std::string::npos && length < end) {
      whole += std::strtoul(unread_.c_str() + length + 15, nullptr, 10);
    }
    while (unread_.size() < whole) {
      if (!more()) {
        return {};
      }
    }
    std::string out = unread_.substr(0, whole);
    unread_.erase(0, whole);
    return out;
  }
  std::string get(const std::string& path, const std::string& fields = "") {
    CHECK(send("GET " + path + " HTTP/1.1\r\nHost: hot.example\r\n" + fields + "\r\n"));
    return receive(fields.find("If-None-Match") == std::string::npos);
  }

 private:
  bool more() {
    char bytes[16384];
    const ssize_t got = recv(fd_, bytes, sizeof bytes, 0);
    unread_.append(bytes, got > 0 ? static_cast<size_t>(got) : 0);
    return got > 0;
  }

  int fd_;
  std::string unread_;
};

// Answers everything with 2,000 bytes that may be kept.
class Origin {
 public:
  Origin() : fd_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof address;
    CHECK(bind(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
    CHECK(listen(fd_, 16) == 0);
    CHECK(getsockname(fd_, reinterpret_cast<sockaddr*>(&address), &length) == 0);
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this] { serve(); });
  }
  ~Origin() {
    shutdown(fd_, SHUT_RDWR);
    thread_.join();
    close(fd_);
  }
  uint16_t port() const { return port_; }

 private:
  void serve() {
    while (true) {
      const int fd = accept4(fd_, nullptr, nullptr, SOCK_CLOEXEC);
      if (fd < 0) {
        return;
      }
      Connection connection(fd, true);
      // One connection at a time, and one request on it: more are not needed here.
      if (!connection.receive(false).empty()) {
        connection.send(
            "HTTP/1.1 200 OK\r\nCache-Control: max-age=3600\r\nETag: \"one\"\r\nConnection: "
            "close\r\n"
            "Content-Type: text/plain\r\nContent-Length: 2000\r\n\r\n" +
            std::string(2000, 'x'));
      }
    }
  }

  int fd_;
  uint16_t port_ = 0;
  std::thread thread_;
};

uint16_t portBehind(std::string_view text, std::string_view name) {
  const size_t at = text.find(name);
  return at == std::string_view::npos
             ? uint16_t{0}
             : static_cast<uint16_t>(std::strtoul(text.data() + at + name.size(), nullptr, 10));
}

// A server with one shard on a thread of its own.
class Running {
 public:
  Running(const std::string& engine, uint64_t memory_bytes) {
    const std::string folder = testing::TempDir() + "/hot-" + engine + std::to_string(memory_bytes);
    options_.admin_address_path = folder + ".admin";
    unlink(options_.admin_address_path.c_str());
    options_.log_level = telemetry::LogLevel::error;
    const std::string loopback = "{ socket_address: { address: 127.0.0.1, port_value: ";
    options_.config_yaml =
        "admin: { address: " + loopback + "0 } } }\n" + "runtime: { shards: 1, engine: " + engine +
        " }\n" + "static_resources:\n  listeners:\n  - { name: http, address: " + loopback +
        "0 } }, " +
        "route_config: { virtual_hosts: [ { name: all, domains: ['*'], routes: [ { match: { " +
        "prefix: / }, route: { cluster: origin }, cache: { store: main } } ] } ] } }\n" +
        "  clusters:\n  - { name: origin, load_assignment: { endpoints: [ { lb_endpoints: [ { " +
        "endpoint: { address: " + loopback + std::to_string(origin_.port()) +
        " } } } } ] } ] } }\n" + "  caches:\n  - { name: main, path: " + folder +
        ", max_size_bytes: 67108864, " + "memory_bytes: " + std::to_string(memory_bytes) + " }\n";
    thread_ = std::thread([this] { exit_ = server::Server(options_).run(); });
    findPorts();
  }
  ~Running() {
    Connection(admin_).send("POST /quitquitquit HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n");
    thread_.join();
    EXPECT_EQ(exit_, 0);
  }
  uint16_t port() const { return port_; }

 private:
  void findPorts() {
    for (int tries = kPatience_ms / 10; tries > 0 && port_ == 0; tries--) {
      poll(nullptr, 0, 10);
      std::ifstream file(options_.admin_address_path);
      std::string address;
      if (file >> address) {
        admin_ = portBehind(address, ":");
        const std::string page = Connection(admin_).get("/listeners?format=json");
        port_ = portBehind(page.substr(std::min(page.size(), page.find("listener_statuses"))),
                           "\"port_value\": ");
      }
    }
    CHECK(port_ != 0);
  }

  Origin origin_;
  server::Options options_;
  std::thread thread_;
  int exit_ = -1;
  uint16_t admin_ = 0;
  uint16_t port_ = 0;
};

struct Case {
  std::string name;
  std::string engine;
  uint64_t memory_bytes;
};

class HitAllocations : public testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    if (GetParam().engine == "IO_URING" && !io::UringEngine::probe(io::UringOptions(), 2).ok()) {
      GTEST_SKIP() << "io_uring is forbidden here";
    }
  }
  // What the shard allocated while `request` was answered so many times as `expected`.
  template <class Request>
  uint64_t during(int times, std::string_view expected, Request request) {
    allocations = 0;
    counting = true;
    for (int i = 0; i < times; i++) {
      const std::string response = request(i);
      EXPECT_NE(response.find(expected), std::string::npos) << response.substr(0, 500);
    }
    counting = false;
    return allocations;
  }
};

TEST_P(HitAllocations, AreNone) {
  constexpr int kTimes = 500;
  const Running running(GetParam().engine, GetParam().memory_bytes);
  Connection client(running.port());
  const auto hit = [&client](int) { return client.get("/hot"); };
  const auto unchanged = [&client](int) {
    return client.get("/hot", "If-None-Match: \"one\"\r\n");
  };
  const auto part = [&client](int) { return client.get("/hot", "Range: bytes=10-99\r\n"); };
  client.get("/hot");
  during(kTimes, "ringfence; hit", hit);  // pools grow to what they need
  during(kTimes, "304 Not Modified", unchanged);
  during(kTimes, "206 Partial", part);
  EXPECT_EQ(during(kTimes, "ringfence; hit", hit), 0U);
  EXPECT_EQ(during(kTimes, "304 Not Modified", unchanged), 0U);
  // The list of its ranges, which there may be many of.
  EXPECT_LE(during(kTimes, "206 Partial", part), static_cast<uint64_t>(kTimes));
  EXPECT_GT(during(5, "fwd=uri-miss",
                   [&client](int i) { return client.get("/miss" + std::to_string(i)); }),
            0U);
}

INSTANTIATE_TEST_SUITE_P(All, HitAllocations,
                         testing::Values(Case{"UringMemory", "IO_URING", 16 << 20},
                                         Case{"UringDisk", "IO_URING", 0},
                                         Case{"EpollMemory", "EPOLL", 16 << 20},
                                         Case{"EpollDisk", "EPOLL", 0}),
                         [](const auto& info) { return info.param.name; });

}  // namespace
