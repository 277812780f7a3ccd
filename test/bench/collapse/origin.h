// The origin of collapse_load: it shares the program's thread and its epoll. It takes requests, and
// answers them when it is told to, each with the same head and body.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace collapse {

// What an event of the epoll is about.
enum class Kind : uint32_t { listener, fetch, client };

// Of each end of a connection that is the program's. Two thousand that grow as the kernel likes
// reach its limit for all of TCP's memory (tcp_mem), which the server's ends have to share here and
// would not elsewhere: then it drops what has come, and whoever sent it waits for seconds.
constexpr int kSocket_bytes = 128 << 10;

uint64_t tagOf(Kind kind, uint32_t index);
uint64_t now_ns();

class Origin {
 public:
  // `listener` is a listening socket; `body` stays.
  Origin(int epoll, int listener, std::string head, const std::vector<char>& body);
  ~Origin();
  Origin(const Origin&) = delete;

  void accept();
  void onEvent(uint32_t fetch, uint32_t events);
  // Answers what has come and, from now on, what comes: the heads and a little of each body are on
  // their way when it returns.
  void answerAll();
  // Answers the first request alone.
  void answerFirst();

  uint32_t asked() const { return asked_; }
  uint32_t mostAtOnce() const { return most_; }
  uint32_t failures() const { return failures_; }
  uint64_t sentBytes() const { return sent_; }
  // When the first byte of a response was sent to the fetch that this client's request caused, or
  // to the first of all; 0: not yet.
  uint64_t firstSent_ns(uint32_t client) const;
  uint64_t firstSent_ns() const { return first_ns_; }

 private:
  struct Fetch {
    int fd = -1;
    uint32_t index = 0;
    std::string request;
    uint32_t client = UINT32_MAX;
    bool asked = false;
    bool answering = false;
    uint64_t sent = 0;  // of head and body
  };
  void read(Fetch& fetch);
  void begin(Fetch& fetch);
  void listen(const Fetch& fetch, uint32_t events) const;
  void write(Fetch& fetch, uint64_t most);
  void end(Fetch& fetch);

  int epoll_;
  int listener_;
  std::string head_;
  const std::vector<char>& body_;
  bool answers_ = false;
  uint32_t asked_ = 0;
  uint32_t under_way_ = 0;
  uint32_t most_ = 0;
  uint32_t failures_ = 0;
  uint64_t sent_ = 0;
  uint64_t first_ns_ = 0;
  std::vector<std::unique_ptr<Fetch>> fetches_;
  std::vector<uint64_t> first_by_client_;
};

}  // namespace collapse
