#include "source/upstream/connection_pool.h"

#include <algorithm>
#include <utility>

#include "source/base/check.h"

namespace upstream {

Connection::Connection(ConnectionPool& pool, Endpoint& endpoint, net::Stream stream,
                       rt::CancelScope& parent)
    : pool_(pool), endpoint_(endpoint), stream_(std::move(stream)), scope_(parent) {
  of_endpoint_.self = of_pool_.self = idle_timer_.self = this;
  idle_timer_.fire = [](rt::Timer& timer) {
    Connection& connection = *static_cast<IdleTimer&>(timer).self;
    connection.pool_.stats_.cx_idle_timeout++;
    connection.pool_.close(connection);
  };
  endpoint_.pins++;
}

Connection::~Connection() {
  endpoint_.pins--;
}

rt::Task<base::Result<std::span<const std::byte>>> Connection::first(rt::CancelScope& scope,
                                                                     base::MonoTime deadline) {
  if (!arrived_) {
    const rt::WaitQueue::Woken how = co_await arrival_.wait(scope, deadline);
    if (how != rt::WaitQueue::Woken::by_wake) {
      const bool cancelled = how == rt::WaitQueue::Woken::cancelled;
      co_return base::Error{cancelled ? base::Code::cancelled : base::Code::timeout,
                            base::Blame::upstream};
    }
  }
  if (!first_result_.ok()) {
    co_return first_result_.error();
  }
  co_return std::span<const std::byte>(first_.data(), first_result_.value());
}

ConnectionPool::ConnectionPool(rt::Reactor& reactor, rt::ReceivePool& receive,
                               net::SocketFactory& sockets, ClusterStats& stats)
    : reactor_(reactor),
      receive_(receive),
      sockets_(sockets),
      stats_(stats),
      group_(reactor, UINT32_MAX) {}

void ConnectionPool::setLimits(const PoolLimits& limits) {
  limits_ = limits;
  grantSlots();
}

Connection* ConnectionPool::takeIdle(Endpoint& endpoint, uint64_t max_idle_ns) {
  IdleHook* newest = endpoint.idle.front();
  if (newest == nullptr || !waiting_.empty()) {
    return nullptr;
  }
  Connection& connection = *newest->self;
  if (reactor_.now().ns - connection.idle_since_.ns > max_idle_ns) {
    return nullptr;
  }
  leaveIdle(connection);
  beginLease(connection);
  return &connection;
}

bool ConnectionPool::tryTakeSlot() {
  if (open_ >= limits_.max_connections || !waiting_.empty()) {
    return false;
  }
  open_++;
  return true;
}

void ConnectionPool::releaseSlot() {
  CHECK(open_ > 0);
  open_--;
  grantSlots();
}

void ConnectionPool::grantSlots() {
  while (open_ < limits_.max_connections && waiting_.wakeOne()) {
    open_++;
  }
}

rt::Task<ConnectionPool::Granted> ConnectionPool::wait(bool slot_only, rt::CancelScope& scope,
                                                       base::MonoTime deadline) {
  Granted granted;
  if (pending_ >= limits_.max_pending) {
    stats_.rq_pending_overflow++;
    granted.failure = {Reason::overflow, {base::Code::no_capacity, base::Blame::upstream}};
    co_return granted;
  }
  stats_.cx_overflow++;
  stats_.rq_pending_total++;
  pending_++;
  Waiter waiter(*this, slot_only, scope, deadline);
  const rt::WaitQueue::Woken how = co_await waiter;
  pending_--;
  if (how == rt::WaitQueue::Woken::by_wake) {
    granted.connection = waiter.connection;
  } else if (how == rt::WaitQueue::Woken::cancelled) {
    granted.failure = {Reason::cancelled, {base::Code::cancelled, base::Blame::downstream}};
  } else {
    stats_.rq_pending_timeout++;
    granted.failure = {Reason::overflow, {base::Code::no_capacity, base::Blame::upstream}};
  }
  co_return granted;
}

void ConnectionPool::evictOldest() {
  IdleHook* oldest = idle_.front();
  if (oldest != nullptr) {
    stats_.cx_evicted++;
    close(*oldest->self);
  }
}

Connection& ConnectionPool::adopt(Endpoint& endpoint, int fd) {
  stats_.cx_total++;
  endpoint.stats.cx_total++;
  auto owned = std::make_unique<Connection>(
      *this, endpoint, net::Stream(receive_, sockets_, fd, base::Blame::upstream), group_.scope());
  Connection& connection = *owned;
  connection.leased_turn_ = reactor_.turn().number;
  const bool spawned = group_.spawn(live(std::move(owned)));
  CHECK(spawned);  // the group has no limit of its own: slots are the limit
  return connection;
}

void ConnectionPool::beginLease(Connection& connection) {
  connection.state_ = Connection::State::leased;
  connection.arrived_ = false;
  connection.requests_++;
  connection.leased_turn_ = reactor_.turn().number;
}

void ConnectionPool::makeIdle(Connection& connection, uint64_t idle_ns) {
  connection.state_ = Connection::State::idle;
  connection.idle_since_ = reactor_.now();
  connection.endpoint_.idle.pushFront(&connection.of_endpoint_);
  idle_.pushBack(&connection.of_pool_);
  idle_count_++;
  const uint64_t limit_ns = limits_.idle_ns == 0 ? idle_ns : std::min(limits_.idle_ns, idle_ns);
  if (limit_ns != UINT64_MAX) {
    connection.idle_timer_.at = reactor_.now() + limit_ns;
    reactor_.startTimer(connection.idle_timer_);
  }
}

void ConnectionPool::leaveIdle(Connection& connection) {
  connection.of_endpoint_.unlink();
  connection.of_pool_.unlink();
  connection.idle_timer_.unlink();
  idle_count_--;
}

void ConnectionPool::close(Connection& connection) {
  if (connection.state_ == Connection::State::idle) {
    leaveIdle(connection);
  }
  connection.state_ = Connection::State::closing;
  if (connection.arrived_) {
    connection.returned_ = true;
    connection.back_.wakeAll();
  } else {
    connection.scope_.request();
  }
}

void ConnectionPool::giveBack(Connection& connection, const Return& how) {
  CHECK(connection.state_ == Connection::State::leased);
  const bool used_up = limits_.max_requests_per_connection != 0 &&
                       connection.requests_ >= limits_.max_requests_per_connection;
  stats_.cx_max_requests += how.reusable && used_up ? 1 : 0;
  Waiter* waiter = firstWaiter();
  if (!how.reusable || used_up || draining_ || how.idle_ns == 0 || !connection.arrived_ ||
      connection.endpoint_.removed() || open_ > limits_.max_connections ||
      (waiter != nullptr && waiter->slot_only)) {
    connection.abort_ = how.abort;
    close(connection);
    return;
  }
  connection.returned_ = true;
  connection.back_.wakeAll();
  connection.arrived_ = false;
  if (waiter == nullptr) {
    makeIdle(connection, how.idle_ns);
    return;
  }
  beginLease(connection);
  waiter->connection = &connection;
  waiting_.wakeOne();
}

void ConnectionPool::closeIdle(Endpoint& endpoint) {
  while (IdleHook* hook = endpoint.idle.front()) {
    close(*hook->self);
  }
}

void ConnectionPool::closeAllIdle() {
  while (IdleHook* hook = idle_.front()) {
    close(*hook->self);
  }
}

void ConnectionPool::drain() {
  draining_ = true;
  closeAllIdle();
}

void ConnectionPool::countLoss(const base::Result<uint32_t>& read) {
  if (read.ok() && read.value() > 0) {
    stats_.cx_unexpected_bytes++;
  } else {
    stats_.cx_idle_closed++;
  }
}

rt::Task<void> ConnectionPool::live(std::unique_ptr<Connection> connection) {
  Connection& c = *connection;
  while (true) {
    const base::Result<uint32_t> read =
        co_await c.stream_.readInto(c.first_, c.scope_, base::kNever, rt::Arrival::later);
    if (c.state_ == Connection::State::idle) {
      countLoss(read);
      leaveIdle(c);
      break;
    }
    if (c.state_ == Connection::State::closing) {
      break;
    }
    c.first_result_ = read;
    if (c.reused() && read.ok() && read.value() > 0 && c.leased_turn_ == reactor_.turn().number) {
      // What is submitted in a turn leaves at its end: these bytes were there before the request.
      stats_.cx_unexpected_bytes++;
      c.first_result_ = base::Error{base::Code::bad_framing, base::Blame::upstream,
                                    base::Retry::if_reused_connection};
    }
    c.arrived_ = true;
    c.arrival_.wakeAll();
    rt::CancelScope never;
    while (!c.returned_) {
      co_await c.back_.wait(never);
    }
    c.returned_ = false;
    if (c.state_ == Connection::State::closing) {
      break;
    }
  }
  if (c.abort_) {
    c.stream_.abort();
  }
  co_await c.stream_.close();
  connection.reset();
  stats_.cx_destroy++;
  releaseSlot();
}

}  // namespace upstream
