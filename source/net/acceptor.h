// Accepting connections on one shard's listening socket. When there is no room for another
// connection, or no descriptor for it, the acceptor waits, and connections wait in the kernel's
// queue.
#pragma once

#include <cstdint>
#include <utility>

#include "source/net/socket_factory.h"
#include "source/rt/io.h"
#include "source/rt/peer_link.h"
#include "source/rt/task.h"
#include "source/rt/wait.h"

namespace net {

class ConnectionLimit;

// The place of one open connection in the limit; given back when destroyed.
class ConnectionSlot {
 public:
  ConnectionSlot() = default;
  ConnectionSlot(ConnectionSlot&& other) noexcept : limit_(std::exchange(other.limit_, nullptr)) {}
  ConnectionSlot& operator=(ConnectionSlot&& other) noexcept {
    if (this != &other) {
      release();
      limit_ = std::exchange(other.limit_, nullptr);
    }
    return *this;
  }
  ~ConnectionSlot() { release(); }
  void release();

 private:
  friend class ConnectionLimit;
  explicit ConnectionSlot(ConnectionLimit& limit) : limit_(&limit) {}
  ConnectionLimit* limit_ = nullptr;
};

// How many connections a shard holds at most, over all its listeners. Connections are counted when
// they have been accepted, so each further listener that is accepting may exceed the limit by one:
// reserving a place for every idle listener would let small limits starve some of them.
class ConnectionLimit {
 public:
  // `load`, if given, is told of every change, and outlives the limit.
  explicit ConnectionLimit(uint32_t limit, rt::ShardLoad* load = nullptr)
      : limit_(limit), load_(load) {}
  ~ConnectionLimit() { CHECK(open_ == 0); }
  ConnectionLimit(const ConnectionLimit&) = delete;
  ConnectionLimit& operator=(const ConnectionLimit&) = delete;

  bool hasRoom() const { return open_ < limit_; }
  uint32_t open() const { return open_; }
  uint32_t limit() const { return limit_; }
  // A lower limit closes nothing; it waits for connections to end.
  void setLimit(uint32_t limit);
  ConnectionSlot enter() {
    open_++;
    publish();
    return ConnectionSlot(*this);
  }
  // Waits until there may be room.
  rt::WaitQueue::Wait wait(rt::CancelScope& scope) { return room_.wait(scope); }

 private:
  friend class ConnectionSlot;
  void leave();
  void publish() {
    if (load_ != nullptr) {
      load_->set(open_);
    }
  }

  uint32_t limit_;
  rt::ShardLoad* load_;
  uint32_t open_ = 0;
  rt::WaitQueue room_;
};

class ConnectionHandler {
 public:
  virtual ~ConnectionHandler() = default;
  // Takes the descriptor (TCP_NODELAY), or returns false: then the acceptor resets
  // it.
  virtual bool accepted(int fd, ConnectionSlot slot) = 0;
};

struct AcceptorStats {
  uint64_t accepted = 0;
  uint64_t aborted = 0;       // gone before they were accepted
  uint64_t shed = 0;          // refused by the handler, and reset
  uint64_t limit_waits = 0;   // times that accepting stopped at the connection limit
  uint64_t exhausted = 0;     // accepts that failed for want of descriptors or memory
  uint64_t moved_out = 0;     // handed over to a shard with fewer connections
  uint64_t moved_in = 0;      // taken over from other shards
  uint64_t move_refused = 0;  // those that the other shard had no place for, and that stayed
};

class Acceptor {
 public:
  // When descriptors or memory ran out, accepting pauses this long, doubling up to the maximum.
  static constexpr uint64_t kPause_ns = 5 * base::kMillisecond_ns;
  static constexpr uint64_t kMax_pause_ns = 500 * base::kMillisecond_ns;
  // How long drain() waits for a connection that is already queued.
  static constexpr uint64_t kDrain_wait_ns = 2 * base::kMillisecond_ns;

  // fd listens, and is borrowed.
  Acceptor(int fd, SocketFactory& sockets, ConnectionLimit& limit, ConnectionHandler& handler)
      : fd_(fd), sockets_(sockets), limit_(limit), handler_(handler) {}

  // Accepts until the scope is cancelled.
  rt::Task<void> run(rt::CancelScope& scope);
  // After run() has ended: accepts what the kernel has queued, as long as there is room, so that
  // the socket can be closed without resetting it.
  rt::Task<void> drain(rt::CancelScope& scope);

  const AcceptorStats& stats() const { return stats_; }
  // For those who move connections between shards.
  AcceptorStats& counters() { return stats_; }

 private:
  rt::Task<void> deliver(int fd);
  // Whether to go on accepting after an error, and whether to pause first.
  enum class After : uint8_t { again, pause, stop };
  After classify(int error);

  int fd_;
  SocketFactory& sockets_;
  ConnectionLimit& limit_;
  ConnectionHandler& handler_;
  AcceptorStats stats_;
};

}  // namespace net
