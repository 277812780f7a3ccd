// One connection to an origin. A coroutine of its pool (ConnectionPool::live) owns it from the
// connect to the close and always has the first read of the next answer pending. That one read is
// the watch on an unused connection (it ends when the origin closes, or speaks unasked, which would
// put every later answer out of step) and the wait for the answer of a used one; so a reuse costs
// no operation of its own.
//
//   leased (an exchange has it) <-> idle (in the pool) ; either -> closing (never used again)
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "source/base/intrusive_list.h"
#include "source/base/result.h"
#include "source/net/address.h"
#include "source/net/stream.h"
#include "source/rt/cancel.h"
#include "source/rt/task.h"
#include "source/rt/timer_wheel.h"
#include "source/rt/wait.h"
#include "source/upstream/stats.h"

namespace upstream {

class Connection;
class ConnectionPool;

// A connection's place in a list of unused ones.
struct IdleHook : base::ListHook {
  Connection* self = nullptr;
};

// One address of a cluster as this shard knows it. It lives until nothing is pinned to it, even if
// it has been removed from the cluster.
struct Endpoint {
  static constexpr uint32_t kRemoved = UINT32_MAX;

  uint64_t id = 0;  // never given twice within a cluster
  net::Address address;
  std::string text;          // of the address
  uint32_t slot = kRemoved;  // its index among the cluster's candidates
  uint32_t pins = 0;         // connections, and attempts to make one
  uint32_t rq_active = 0;
  uint32_t failures = 0;  // connects in a row that failed
  EndpointStats stats;
  base::IntrusiveList<IdleHook> idle;  // the one used last comes first

  bool removed() const { return slot == kRemoved; }
};

class Connection {
 public:
  static constexpr uint32_t kFirst_bytes = 4096;

  Connection(ConnectionPool& pool, Endpoint& endpoint, net::Stream stream, rt::CancelScope& parent);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  Endpoint& endpoint() const { return endpoint_; }
  // Writing is free at any time during a lease, reading once first() has given its result.
  net::Stream& stream() { return stream_; }
  // It has served another request before this one.
  bool reused() const { return requests_ > 1; }

  // The first bytes since the lease began; none: the origin has closed. They stay until the lease
  // ends. bad_framing: they were there before the request could be.
  rt::Task<base::Result<std::span<const std::byte>>> first(rt::CancelScope& scope,
                                                           base::MonoTime deadline);
  // first() would not wait.
  bool hasFirst() const { return arrived_; }
  // Bytes have come since the lease began.
  bool hasBytes() const { return arrived_ && first_result_.ok() && first_result_.value() > 0; }

 private:
  friend class ConnectionPool;
  enum class State : uint8_t { leased, idle, closing };
  struct IdleTimer : rt::Timer {
    Connection* self = nullptr;
  };

  ConnectionPool& pool_;
  Endpoint& endpoint_;
  net::Stream stream_;
  rt::CancelScope scope_;  // of the pending first read
  State state_ = State::leased;
  bool arrived_ = false;   // the first read has ended during the lease
  bool returned_ = false;  // the lease has ended
  bool abort_ = false;     // close by a reset
  uint64_t requests_ = 1;
  uint64_t leased_turn_ = 0;
  base::MonoTime idle_since_;
  rt::WaitQueue arrival_;
  rt::WaitQueue back_;
  IdleHook of_endpoint_;
  IdleHook of_pool_;
  IdleTimer idle_timer_;
  base::Result<uint32_t> first_result_{0u};
  std::array<std::byte, kFirst_bytes> first_;
};

}  // namespace upstream
