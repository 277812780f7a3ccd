// Awaitable operations: `IoResult r = co_await rt::recv(fd, span, scope, deadline);`
// Each ends exactly once: with its result, with `cancelled` when its scope is cancelled, or with
// `timeout` at its deadline. In the last two cases the operation itself has ended too: nothing is
// left in the kernel.
#pragma once

#include <cerrno>
#include <cstdint>
#include <span>

#include "source/base/result.h"
#include "source/rt/cancel.h"
#include "source/rt/op.h"
#include "source/rt/reactor.h"
#include "source/rt/task.h"

namespace rt {

enum class Ended : uint8_t { by_itself, cancelled, timed_out };

// When the bytes of a receive are expected. It decides nothing but what it costs: an engine need
// not try a socket on which nothing has arrived yet before it waits for it.
enum class Arrival : uint8_t { now, later };

struct IoResult {
  int32_t result = 0;  // as the system call's: >= 0, or -errno
  Ended ended = Ended::by_itself;
  uint16_t buffer_id = 0;
  uint64_t sent = 0;  // by a send, also by one that was stopped

  bool ok() const { return result >= 0; }
  // What happened, for Result<T>; result is negative.
  base::Error error(base::Blame blame, base::Retry retry = base::Retry::never) const;
};

class OpAwaiter {
 public:
  OpAwaiter(CancelScope& scope, base::MonoTime deadline) : scope_(scope) { timer_.at = deadline; }

  bool await_ready() const noexcept { return false; }
  template <class P>
  bool await_suspend(std::coroutine_handle<P> handle) {
    if (scope_.requested()) {
      op_.result = -ECANCELED;
      ended_ = Ended::cancelled;
      return false;
    }
    PromiseBase& promise = handle.promise();
    reactor_ = promise.reactor;
    op_.waiter = &promise;
    hook_.self = timer_.self = this;
    hook_.cancel = [](CancelHook& h) { static_cast<Hook&>(h).self->stop(Ended::cancelled); };
    scope_.add(hook_);
    if (timer_.at != base::kNever) {
      timer_.fire = [](Timer& t) { static_cast<TimeOut&>(t).self->stop(Ended::timed_out); };
      reactor_->startTimer(timer_);
    }
    reactor_->submit(op_);
    return true;
  }
  IoResult await_resume() {
    hook_.unlink();
    timer_.unlink();
    // An operation that succeeded before it could be stopped has succeeded.
    const uint64_t sent = op_.result >= 0 ? static_cast<uint64_t>(op_.result) : op_.offset;
    return IoResult{op_.result, op_.result < 0 ? ended_ : Ended::by_itself, op_.buffer_id,
                    isSend(op_.kind) ? sent : 0};
  }

  Op& op() { return op_; }

 private:
  struct Hook : CancelHook {
    OpAwaiter* self = nullptr;
  };
  struct TimeOut : Timer {
    OpAwaiter* self = nullptr;
  };
  void stop(Ended why) {
    if (ended_ == Ended::by_itself) {
      ended_ = why;
      if (op_.state != Op::State::done) {
        reactor_->engine().cancel(op_);
      }
    }
  }

  Op op_;
  CancelScope& scope_;
  Reactor* reactor_ = nullptr;
  Hook hook_;
  TimeOut timer_;
  Ended ended_ = Ended::by_itself;
};

// accept: result is a connected descriptor.
struct Accept : OpAwaiter {
  Accept(int fd, CancelScope& scope) : OpAwaiter(scope, base::kNever) {
    op().kind = OpKind::accept;
    op().fd = fd;
  }
};

// address outlives the wait.
struct Connect : OpAwaiter {
  Connect(int fd, const sockaddr* address, uint32_t length, CancelScope& scope,
          base::MonoTime deadline)
      : OpAwaiter(scope, deadline) {
    op().kind = OpKind::connect;
    op().fd = fd;
    op().addr = const_cast<sockaddr*>(address);
    op().len = length;
  }
};

struct Recv : OpAwaiter {
  Recv(int fd, std::span<std::byte> to, CancelScope& scope, base::MonoTime deadline,
       Arrival arrival = Arrival::now)
      : OpAwaiter(scope, deadline) {
    op().kind = OpKind::recv;
    op().later = arrival == Arrival::later;
    op().fd = fd;
    op().addr = to.data();
    op().len = static_cast<uint32_t>(to.size());
  }
};

// Receives into a buffer that the engine chooses when data is there; see ReceivePool.
struct RecvSelect : OpAwaiter {
  RecvSelect(int fd, CancelScope& scope, base::MonoTime deadline, Arrival arrival = Arrival::now)
      : OpAwaiter(scope, deadline) {
    op().kind = OpKind::recv_select;
    op().later = arrival == Arrival::later;
    op().fd = fd;
  }
};

struct Send : OpAwaiter {
  Send(int fd, std::span<const std::byte> bytes, CancelScope& scope, base::MonoTime deadline)
      : OpAwaiter(scope, deadline) {
    op().kind = OpKind::send;
    op().fd = fd;
    op().addr = const_cast<std::byte*>(bytes.data());
    op().len = static_cast<uint32_t>(bytes.size());
  }
};

// message and all it points to outlive the wait.
struct SendMsg : OpAwaiter {
  SendMsg(int fd, msghdr& message, CancelScope& scope, base::MonoTime deadline)
      : OpAwaiter(scope, deadline) {
    op().kind = OpKind::sendmsg;
    op().fd = fd;
    op().addr = &message;
  }
};

// One try to send bytes of a file from the page cache; see OpKind::send_file. `mapped`: where a
// mapping has them; it outlives the wait. More than kMaxSendFile_bytes are sent in part.
struct SendFile : OpAwaiter {
  SendFile(int fd, int file, uint64_t offset, std::span<std::byte> mapped, CancelScope& scope)
      : OpAwaiter(scope, base::kNever) {
    op().kind = OpKind::send_file;
    op().fd = fd;
    op().file = file;
    op().offset = offset;
    op().addr = mapped.data();
    op().len = static_cast<uint32_t>(mapped.size());
  }
};

struct FileOp : OpAwaiter {
  FileOp(OpKind kind, int fd, std::span<std::byte> bytes, uint64_t offset, bool fixed,
         CancelScope& scope, base::MonoTime deadline)
      : OpAwaiter(scope, deadline) {
    op().kind = kind;
    op().fd = fd;
    op().addr = bytes.data();
    op().len = static_cast<uint32_t>(bytes.size());
    op().offset = offset;
    op().fixed = fixed;
  }
};

struct Poll : OpAwaiter {
  Poll(int fd, uint32_t events, CancelScope& scope, base::MonoTime deadline)
      : OpAwaiter(scope, deadline) {
    op().kind = OpKind::poll;
    op().fd = fd;
    op().len = events;
  }
};

struct Shutdown : OpAwaiter {
  Shutdown(int fd, CancelScope& scope) : OpAwaiter(scope, base::kNever) {
    op().kind = OpKind::shutdown;
    op().fd = fd;
  }
};

// Cannot be cancelled: a descriptor must not leak.
class Close {
 public:
  explicit Close(int fd) {
    op_.kind = OpKind::close;
    op_.fd = fd;
  }
  bool await_ready() const noexcept { return false; }
  template <class P>
  void await_suspend(std::coroutine_handle<P> handle) {
    op_.waiter = &handle.promise();
    handle.promise().reactor->submit(op_);
  }
  void await_resume() {}

 private:
  Op op_;
};

inline base::Error IoResult::error(base::Blame blame, base::Retry retry) const {
  base::Code code = base::Code::io_error;
  if (ended == Ended::cancelled) {
    code = base::Code::cancelled;
  } else if (ended == Ended::timed_out) {
    code = base::Code::timeout;
  } else if (result == -ECONNREFUSED) {
    code = base::Code::refused;
  } else if (result == -ECONNRESET || result == -EPIPE) {
    code = base::Code::peer_closed;
  } else if (result == -ENETUNREACH || result == -EHOSTUNREACH) {
    code = base::Code::unreachable;
  } else if (result == -ETIMEDOUT) {
    code = base::Code::timeout;
  } else if (result == -ENOBUFS || result == -EMFILE || result == -ENFILE || result == -ENOMEM) {
    code = base::Code::no_capacity;
  }
  return base::Error{code, blame, retry, -result};
}

}  // namespace rt
