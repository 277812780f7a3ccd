#include "source/net/stream.h"

#include <poll.h>

#include <algorithm>

namespace net {

base::Error Stream::failed(const rt::IoResult& result) const {
  base::Error error = result.error(peer_);
  if (peer_ == base::Blame::upstream && error.code == base::Code::peer_closed) {
    error.retry = base::Retry::if_reused_connection;
  }
  return error;
}

// The engine sends everything unless it is stopped; a count below `wanted` means that it was.
base::Status Stream::sent(const rt::IoResult& result, size_t wanted, const rt::CancelScope& scope) {
  if (!result.ok()) {
    return failed(result);
  }
  bytes_out_ += static_cast<uint32_t>(result.result);
  if (static_cast<size_t>(result.result) < wanted) {
    return base::Error{scope.requested() ? base::Code::cancelled : base::Code::timeout, peer_};
  }
  return base::Unit{};
}

rt::Task<base::Result<rt::ReceiveBuffer>> Stream::read(rt::CancelScope& scope,
                                                       base::MonoTime deadline) {
  const rt::IoResult result = co_await rt::RecvSelect(fd_, scope, deadline);
  if (result.ok()) {
    bytes_in_ += static_cast<uint32_t>(result.result);
    co_return pool_->wrap(result);
  }
  if (result.result != -ENOBUFS) {
    co_return failed(result);
  }
  // Every receive buffer is in use: the pool's own call waits for one.
  base::Result<rt::ReceiveBuffer> waited = co_await pool_->receive(fd_, peer_, scope, deadline);
  if (waited.ok()) {
    bytes_in_ += waited.value().bytes().size();
  }
  co_return waited;
}

rt::Task<base::Result<uint32_t>> Stream::readInto(std::span<std::byte> to, rt::CancelScope& scope,
                                                  base::MonoTime deadline, rt::Arrival arrival) {
  CHECK(!to.empty());
  const std::span<std::byte> part = to.first(std::min(to.size(), kBytes_per_call));
  const rt::IoResult result = co_await rt::Recv(fd_, part, scope, deadline, arrival);
  if (!result.ok()) {
    co_return failed(result);
  }
  bytes_in_ += static_cast<uint32_t>(result.result);
  co_return static_cast<uint32_t>(result.result);
}

rt::Task<base::Status> Stream::write(std::span<const std::byte> bytes, rt::CancelScope& scope,
                                     base::MonoTime deadline) {
  while (!bytes.empty()) {
    const std::span<const std::byte> part = bytes.first(std::min(bytes.size(), kBytes_per_call));
    const rt::IoResult result = co_await rt::Send(fd_, part, scope, deadline);
    const base::Status status = sent(result, part.size(), scope);
    if (!status.ok()) {
      co_return status;
    }
    bytes = bytes.subspan(part.size());
  }
  co_return base::Unit{};
}

rt::Task<base::Status> Stream::writev(std::span<iovec> pieces, rt::CancelScope& scope,
                                      base::MonoTime deadline) {
  while (!pieces.empty()) {
    size_t count = 0;
    size_t total = 0;
    while (count < std::min(pieces.size(), kPieces_per_call) &&
           pieces[count].iov_len <= kBytes_per_call - total) {
      total += pieces[count++].iov_len;
    }
    if (count == 0) {
      // One piece that is too large for a call by itself.
      const std::span<const std::byte> large(static_cast<const std::byte*>(pieces[0].iov_base),
                                             pieces[0].iov_len);
      const base::Status status = co_await write(large, scope, deadline);
      if (!status.ok()) {
        co_return status;
      }
      pieces = pieces.subspan(1);
      continue;
    }
    if (total > 0) {
      msghdr message{};
      message.msg_iov = pieces.data();
      message.msg_iovlen = count;
      const rt::IoResult result = co_await rt::SendMsg(fd_, message, scope, deadline);
      const base::Status status = sent(result, total, scope);
      if (!status.ok()) {
        co_return status;
      }
    }
    pieces = pieces.subspan(count);
  }
  co_return base::Unit{};
}

rt::Task<rt::IoResult> Stream::send(std::span<iovec> pieces, rt::CancelScope& scope,
                                    base::MonoTime deadline) {
  CHECK(pieces.size() <= kPieces_per_call);
  msghdr message{};
  message.msg_iov = pieces.data();
  message.msg_iovlen = pieces.size();
  const rt::IoResult result = co_await rt::SendMsg(fd_, message, scope, deadline);
  bytes_out_ += result.sent;
  co_return result;
}

rt::Task<rt::IoResult> Stream::sendFile(int file, uint64_t offset, std::span<std::byte> mapped,
                                        rt::CancelScope& scope) {
  const rt::IoResult result = co_await rt::SendFile(fd_, file, offset, mapped, scope);
  bytes_out_ += result.ok() ? static_cast<uint32_t>(result.result) : 0;
  co_return result;
}

rt::Task<base::Status> Stream::awaitRoom(rt::CancelScope& scope, base::MonoTime deadline) {
  const rt::IoResult result = co_await rt::Poll(fd_, POLLOUT, scope, deadline);
  if (!result.ok()) {
    co_return failed(result);
  }
  co_return base::Unit{};
}

rt::Task<void> Stream::shutdownWrite(rt::CancelScope& scope) {
  (void)co_await rt::Shutdown(fd_, scope);
}

rt::Task<void> Stream::close() {
  if (fd_ >= 0) {
    co_await rt::Close(std::exchange(fd_, -1));
  }
}

}  // namespace net
