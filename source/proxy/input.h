// The bytes that a client has sent and nobody has read yet. Usually a view into one receive buffer;
// a head that comes in several pieces is put together in memory of its own. An idle connection
// holds neither.
#pragma once

#include <span>
#include <vector>

#include "source/net/stream.h"
#include "source/rt/receive_pool.h"

namespace proxy {

class Input {
 public:
  std::span<const char> unread() const { return unread_; }
  void consume(size_t bytes) { unread_ = unread_.subspan(bytes); }
  // Gives up the memory if nothing unread is in it.
  void release();

  // Appends what was received (not empty). Views into unread() from before are gone.
  void append(rt::ReceiveBuffer buffer);

 private:
  rt::ReceiveBuffer buffer_;
  std::vector<char> spill_;
  std::span<const char> unread_;
};

}  // namespace proxy
