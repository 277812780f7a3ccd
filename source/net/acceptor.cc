#include "source/net/acceptor.h"

#include <algorithm>
#include <cerrno>

namespace net {

namespace {

// An accept that gives up at a deadline; one that succeeds first has succeeded.
struct AcceptUntil : rt::OpAwaiter {
  AcceptUntil(int fd, rt::CancelScope& scope, base::MonoTime deadline)
      : rt::OpAwaiter(scope, deadline) {
    op().kind = rt::OpKind::accept;
    op().fd = fd;
  }
};

}  // namespace

void ConnectionSlot::release() {
  if (limit_ != nullptr) {
    std::exchange(limit_, nullptr)->leave();
  }
}

void ConnectionLimit::setLimit(uint32_t limit) {
  limit_ = limit;
  if (hasRoom()) {
    room_.wakeAll();
  }
}

// Every acceptor that waits may go on: each listener is owed the room as much as the others.
void ConnectionLimit::leave() {
  CHECK(open_ > 0);
  open_--;
  publish();
  if (hasRoom()) {
    room_.wakeAll();
  }
}

// accept(2) hands over errors that are already pending on the new connection; those concern it
// alone.
Acceptor::After Acceptor::classify(int error) {
  switch (error) {
    case ECONNABORTED:
    case EPROTO:
    case ENOPROTOOPT:
    case EHOSTDOWN:
    case ENONET:
    case EHOSTUNREACH:
    case EOPNOTSUPP:
    case ENETDOWN:
    case ENETUNREACH:
    case ETIMEDOUT:
    case ECONNRESET:
    case EPERM:
      stats_.aborted++;
      return After::again;
    case EBADF:
    case EINVAL:
    case ENOTSOCK:
      return After::stop;  // it does not listen any more
    default:
      stats_.exhausted++;
      return After::pause;
  }
}

rt::Task<void> Acceptor::deliver(int fd) {
  sockets_.noDelay(fd);
  stats_.accepted++;
  if (!handler_.accepted(fd, limit_.enter())) {
    stats_.shed++;
    sockets_.abortOnClose(fd);
    co_await rt::Close(fd);
  }
}

rt::Task<void> Acceptor::run(rt::CancelScope& scope) {
  rt::Reactor& reactor = co_await rt::currentReactor();
  uint64_t pause_ns = kPause_ns;
  while (!scope.requested()) {
    if (!limit_.hasRoom()) {
      stats_.limit_waits++;
      co_await limit_.wait(scope);
      continue;
    }
    const rt::IoResult result = co_await rt::Accept(fd_, scope);
    if (result.ok()) {
      pause_ns = kPause_ns;
      co_await deliver(result.result);
      continue;
    }
    if (result.ended == rt::Ended::cancelled) {
      break;
    }
    const After after = classify(-result.result);
    if (after == After::stop) {
      break;
    }
    if (after == After::pause) {
      co_await rt::Sleep(reactor.now() + pause_ns, scope);
      pause_ns = std::min(2 * pause_ns, kMax_pause_ns);
    }
  }
}

rt::Task<void> Acceptor::drain(rt::CancelScope& scope) {
  rt::Reactor& reactor = co_await rt::currentReactor();
  while (!scope.requested() && limit_.hasRoom()) {
    const base::MonoTime deadline = reactor.now() + kDrain_wait_ns;
    const rt::IoResult result = co_await AcceptUntil(fd_, scope, deadline);
    if (result.ok()) {
      co_await deliver(result.result);
    } else if (result.ended != rt::Ended::by_itself || classify(-result.result) != After::again) {
      break;
    }
  }
}

}  // namespace net
