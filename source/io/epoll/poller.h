// Readiness of descriptors, from Boost.Asio's epoll reactor: an io_context that one thread uses,
// without locks, and nothing of Asio but its waits. A wait is armed for one side of a descriptor
// and reports once.
//
// A descriptor is registered by its first wait and stays so until it is forgotten or closed here.
// Its memory for waits is its own, so a wait allocates nothing.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "source/base/result.h"

namespace io {

enum class Side : uint8_t { read, write };

class Poller {
 public:
  struct Event {
    int fd;
    Side side;
  };

  // The error's sys says why there is none (EMFILE).
  static base::Result<std::unique_ptr<Poller>> create();
  ~Poller();

  // Reports this side once when it may be ready, or has an error. Armed already: nothing to do.
  // 0, or -errno: the descriptor cannot be waited for.
  int arm(int fd, Side side);
  bool knows(int fd) const;
  // What is armed for it is never reported. Closing also closes the descriptor: 0 or -errno.
  void forget(int fd);
  int close(int fd);
  // Appends what is ready. Waits up to timeout_ns for a first event; UINT64_MAX: as long as it
  // takes. In steps of a millisecond, not shorter than asked.
  void wait(uint64_t timeout_ns, std::vector<Event>& ready);

 private:
  struct Context;  // Asio's
  struct Watch;
  struct Ready;  // what Asio calls
  Poller();
  void retire(std::unique_ptr<Watch> watch);
  void onReady(Watch& watch, Side side);

  std::unique_ptr<Context> context_;
  std::vector<std::unique_ptr<Watch>> watches_;  // by descriptor
  std::vector<std::unique_ptr<Watch>> retired_;  // forgotten, with waits that Asio still has
  std::vector<std::unique_ptr<Watch>> spare_;
  std::vector<Event>* ready_ = nullptr;
};

}  // namespace io
