// The floor that tools/bench measures against: the least that a server with one ring can do for a
// request. It looks for the empty line, then sends one prepared response; with --file it first
// reads the body from a random place of that file, past the page cache, into registered memory.
// There is no parsing, no cache, no timeout and no limit but that of descriptors.
//
//   floor_server --port 8080 --bytes 4096 [--file PATH]
#include <arpa/inet.h>
#include <fcntl.h>
#include <getopt.h>
#include <liburing.h>
#include <netinet/tcp.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "source/base/random.h"

namespace {

constexpr uint32_t kPage = 4096;  // the response head lies before the body, in a page of its own
constexpr uint32_t kRequestBytes = 2048;
constexpr size_t kHugePage = 2 << 20;
constexpr size_t kPoolBytes = 96 << 20;  // within the memory limits of disk workloads

enum class Step : uint64_t { accept, receive, read, send };

struct Connection {
  uint32_t received = 0;
  uint32_t sent = 0;
  uint32_t slot = 0;
  bool open = false;
  char request[kRequestBytes];
};

struct Options {
  uint16_t port = 0;
  uint32_t bytes = 0;
  std::string file;
};

[[noreturn]] void die(const char* what) {
  std::perror(what);
  std::exit(1);
}

uint32_t pagesOf(uint32_t bytes) {
  return (bytes + kPage - 1) / kPage * kPage;
}

class Floor {
 public:
  explicit Floor(const Options& options) : options_(options) {
    head_ = "HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\nContent-Length: " +
            std::to_string(options.bytes) + "\r\n\r\n";
    response_bytes_ = static_cast<uint32_t>(head_.size()) + options.bytes;
    openRing();
    openPool();
    listen();
  }

  void run() {
    accept();
    while (true) {
      io_uring_submit_and_wait(&ring_, 1);
      io_uring_cqe* cqe = nullptr;
      unsigned head = 0;
      unsigned seen = 0;
      io_uring_for_each_cqe(&ring_, head, cqe) {
        seen++;
        completed(*cqe);
      }
      io_uring_cq_advance(&ring_, seen);
    }
  }

 private:
  void openRing() {
    io_uring_params params{};
    params.flags = IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN | IORING_SETUP_CQSIZE;
    params.cq_entries = 32768;
    if (io_uring_queue_init_params(4096, &ring_, &params) < 0) {
      die("io_uring");
    }
    io_uring_register_ring_fd(&ring_);
  }

  // One slot a connection, if bodies come from a file; else one for all.
  void openPool() {
    slot_bytes_ = kPage + pagesOf(options_.bytes);
    const bool disk = !options_.file.empty();
    const size_t slots = disk ? kPoolBytes / slot_bytes_ : 1;
    const size_t length = (slots * slot_bytes_ + kHugePage - 1) / kHugePage * kHugePage;
    pool_ = static_cast<char*>(std::aligned_alloc(kHugePage, length));
    madvise(pool_, length, MADV_HUGEPAGE);
    std::memset(pool_, 'x', length);
    for (size_t slot = 0; slot < slots; slot++) {
      std::memcpy(startOf(static_cast<uint32_t>(slot)), head_.data(), head_.size());
      free_.push_back(static_cast<uint32_t>(slot));
    }
    if (!disk) {
      return;
    }
    file_ = open(options_.file.c_str(), O_RDONLY | O_DIRECT | O_CLOEXEC);
    struct stat info{};
    if (file_ < 0 || fstat(file_, &info) != 0) {
      die(options_.file.c_str());
    }
    places_ = (static_cast<uint64_t>(info.st_size) - pagesOf(options_.bytes)) / kPage;
    iovec region{pool_, length};
    if (io_uring_register_buffers(&ring_, &region, 1) < 0) {
      die("registering buffers");
    }
  }

  void listen() {
    const int one = 1;
    listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    setsockopt(listener_, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(options_.port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 ||
        ::listen(listener_, 4096) != 0) {
      die("listening");
    }
  }

  char* startOf(uint32_t slot) { return pool_ + slot_bytes_ * slot + kPage - head_.size(); }

  io_uring_sqe* next(Step step, int fd) {
    io_uring_sqe* sqe = io_uring_get_sqe(&ring_);
    while (sqe == nullptr) {
      io_uring_submit(&ring_);
      sqe = io_uring_get_sqe(&ring_);
    }
    sqe->user_data = static_cast<uint64_t>(step) << 32 | static_cast<uint32_t>(fd);
    return sqe;
  }

  // Preparing clears user_data with everything else, so it is set again.
  template <class Prepare>
  void submit(Step step, int fd, Prepare prepare) {
    io_uring_sqe* sqe = next(step, fd);
    const uint64_t data = sqe->user_data;
    prepare(sqe);
    sqe->user_data = data;
  }

  void accept() {
    submit(Step::accept, listener_, [this](io_uring_sqe* sqe) {
      io_uring_prep_multishot_accept(sqe, listener_, nullptr, nullptr, SOCK_CLOEXEC);
    });
  }

  void receive(int fd) {
    Connection& c = connections_[static_cast<size_t>(fd)];
    submit(Step::receive, fd, [&](io_uring_sqe* sqe) {
      io_uring_prep_recv(sqe, fd, c.request + c.received, kRequestBytes - c.received, 0);
    });
  }

  void read(int fd) {
    const uint32_t slot = connections_[static_cast<size_t>(fd)].slot;
    submit(Step::read, fd, [&](io_uring_sqe* sqe) {
      io_uring_prep_read_fixed(sqe, file_, pool_ + slot_bytes_ * slot + kPage,
                               pagesOf(options_.bytes), random_.below(places_) * kPage, 0);
    });
  }

  void send(int fd) {
    Connection& c = connections_[static_cast<size_t>(fd)];
    submit(Step::send, fd, [&](io_uring_sqe* sqe) {
      io_uring_prep_send(sqe, fd, startOf(c.slot) + c.sent, response_bytes_ - c.sent,
                         MSG_NOSIGNAL | MSG_WAITALL);
    });
  }

  void accepted(int fd) {
    const int one = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    if (static_cast<size_t>(fd) >= connections_.size()) {
      connections_.resize(static_cast<size_t>(fd) + 1024);
    }
    Connection& c = connections_[static_cast<size_t>(fd)];
    c.received = c.sent = c.slot = 0;
    if (file_ >= 0) {
      if (free_.empty()) {
        close(fd);
        return;
      }
      c.slot = free_.back();
      free_.pop_back();
    }
    c.open = true;
    receive(fd);
  }

  void drop(int fd) {
    Connection& c = connections_[static_cast<size_t>(fd)];
    if (file_ >= 0 && c.open) {
      free_.push_back(c.slot);
    }
    c.open = false;
    close(fd);
  }

  void received(int fd, int32_t count) {
    Connection& c = connections_[static_cast<size_t>(fd)];
    c.received += static_cast<uint32_t>(count);
    if (!std::string_view(c.request, c.received).ends_with("\r\n\r\n")) {
      c.received == kRequestBytes ? drop(fd) : receive(fd);
      return;
    }
    c.received = c.sent = 0;
    file_ >= 0 ? read(fd) : send(fd);
  }

  void completed(const io_uring_cqe& cqe) {
    const auto step = static_cast<Step>(cqe.user_data >> 32);
    const auto fd = static_cast<int>(static_cast<uint32_t>(cqe.user_data));
    if (step == Step::accept) {
      if (cqe.res >= 0) {
        accepted(cqe.res);
      }
      if ((cqe.flags & IORING_CQE_F_MORE) == 0) {
        accept();
      }
      return;
    }
    if (cqe.res <= 0) {
      drop(fd);
      return;
    }
    if (step == Step::receive) {
      received(fd, cqe.res);
    } else if (step == Step::read) {
      send(fd);
    } else {
      Connection& c = connections_[static_cast<size_t>(fd)];
      c.sent += static_cast<uint32_t>(cqe.res);
      c.sent < response_bytes_ ? send(fd) : receive(fd);
    }
  }

  Options options_;
  std::string head_;
  uint32_t response_bytes_ = 0;
  io_uring ring_{};
  char* pool_ = nullptr;
  size_t slot_bytes_ = 0;
  std::vector<uint32_t> free_;
  int file_ = -1;
  uint64_t places_ = 0;
  int listener_ = -1;
  std::vector<Connection> connections_;  // by descriptor
  base::Random random_{1};
};

}  // namespace

int main(int argc, char** argv) {
  static constexpr option kOptions[] = {{"port", required_argument, nullptr, 'p'},
                                        {"bytes", required_argument, nullptr, 'b'},
                                        {"file", required_argument, nullptr, 'f'},
                                        {nullptr, 0, nullptr, 0}};
  Options options;
  for (int c = 0; (c = getopt_long(argc, argv, "", kOptions, nullptr)) != -1;) {
    switch (c) {
      case 'p':
        options.port = static_cast<uint16_t>(std::strtoul(optarg, nullptr, 10));
        break;
      case 'b':
        options.bytes = static_cast<uint32_t>(std::strtoul(optarg, nullptr, 10));
        break;
      case 'f':
        options.file = optarg;
        break;
      default:
        return 2;
    }
  }
  if (options.port == 0 || options.bytes == 0) {
    std::fprintf(stderr, "usage: %s --port PORT --bytes BYTES [--file PATH]\n", argv[0]);
    return 2;
  }
  Floor(options).run();
}
