// The connections of one cluster on one shard: those in use, the unused ones (the one used last is
// used first, so that the surplus ages and goes), and the requests that wait for one at
// max_connections, first come, first served, at most max_pending of them.
//
// A slot is the right to have a connection. It is held from before the connect until the descriptor
// is closed, so that the limit holds for descriptors.
#pragma once

#include <cstdint>
#include <memory>

#include "source/base/intrusive_list.h"
#include "source/base/result.h"
#include "source/net/socket_factory.h"
#include "source/rt/reactor.h"
#include "source/rt/receive_pool.h"
#include "source/rt/task_group.h"
#include "source/rt/wait.h"
#include "source/upstream/connection.h"
#include "source/upstream/reason.h"
#include "source/upstream/stats.h"

namespace upstream {

struct PoolLimits {
  uint32_t max_connections = 1024;
  uint32_t max_pending = 1024;
  uint32_t max_requests_per_connection = 0;  // 0: no limit
  uint64_t idle_ns = 0;                      // 0: until the origin closes
};

// How a lease ends.
struct Return {
  // The message ended, nothing is left over, and both sides keep the connection.
  bool reusable = false;
  // Something was cut short: close by a reset.
  bool abort = false;
  // Longest time to keep it unused, as the origin announced.
  uint64_t idle_ns = UINT64_MAX;
};

class ConnectionPool {
 public:
  ConnectionPool(rt::Reactor& reactor, rt::ReceivePool& receive, net::SocketFactory& sockets,
                 ClusterStats& stats);

  // Holds for what happens from now on: connections beyond a lower limit are closed as they end.
  void setLimits(const PoolLimits& limits);

  // The endpoint's unused connection that was used last, if within max_idle_ns.
  Connection* takeIdle(Endpoint& endpoint, uint64_t max_idle_ns);
  // Takes a slot, unless there is none or others wait for one.
  bool tryTakeSlot();
  void releaseSlot();

  struct Granted {
    Connection* connection = nullptr;  // null: a slot
    Failure failure;
  };
  // Waits for a connection to come back or a slot to be free; with slot_only for the latter.
  rt::Task<Granted> wait(bool slot_only, rt::CancelScope& scope, base::MonoTime deadline);
  // Closes the connection that has been unused for longest; its slot goes to who waits.
  void evictOldest();

  // Makes a leased connection of a connected descriptor and the slot that the caller holds.
  Connection& adopt(Endpoint& endpoint, int fd);
  void giveBack(Connection& connection, const Return& how);

  void closeIdle(Endpoint& endpoint);
  void closeAllIdle();
  // From now on nothing is kept unused.
  void drain();
  void undrain() { draining_ = false; }
  // Waits until every connection is closed. Leases end by themselves, the rest after drain().
  rt::Task<void> join() { return group_.join(); }

  uint32_t open() const { return open_; }
  uint32_t idle() const { return idle_count_; }
  uint32_t pending() const { return pending_; }

 private:
  friend class Connection;
  struct Waiter : rt::WaitQueue::Wait {
    Waiter(ConnectionPool& pool, bool only_slot, rt::CancelScope& scope, base::MonoTime deadline)
        : rt::WaitQueue::Wait(pool.waiting_, scope, deadline), slot_only(only_slot) {}
    bool slot_only;
    Connection* connection = nullptr;
  };

  rt::Task<void> live(std::unique_ptr<Connection> connection);
  void countLoss(const base::Result<uint32_t>& read);
  void beginLease(Connection& connection);
  void makeIdle(Connection& connection, uint64_t idle_ns);
  void leaveIdle(Connection& connection);
  void close(Connection& connection);
  void grantSlots();
  Waiter* firstWaiter() { return static_cast<Waiter*>(waiting_.front()); }

  rt::Reactor& reactor_;
  rt::ReceivePool& receive_;
  net::SocketFactory& sockets_;
  ClusterStats& stats_;
  PoolLimits limits_;
  rt::TaskGroup group_;
  rt::WaitQueue waiting_;
  base::IntrusiveList<IdleHook> idle_;  // the one unused for longest comes first
  uint32_t idle_count_ = 0;
  uint32_t open_ = 0;  // slots taken
  uint32_t pending_ = 0;
  bool draining_ = false;
};

}  // namespace upstream
