// One connected byte stream. It owns the descriptor; whoever owns the stream awaits close() before
// destroying it. At most one coroutine reads and one writes at a time. TLS takes this place later,
// so callers see bytes only; fd() is for the one fast path that hands the socket to the kernel
// itself.
#pragma once

#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "source/base/check.h"
#include "source/base/result.h"
#include "source/net/socket_factory.h"
#include "source/rt/io.h"
#include "source/rt/receive_pool.h"
#include "source/rt/task.h"

namespace net {

// Every error blames the peer given at construction. For an upstream peer that went away before it
// answered (peer_closed), Retry says if_reused_connection: the caller knows whether the connection
// had been used and whether a byte of the answer was seen.
class Stream {
 public:
  // Pieces handed to the kernel at once (IOV_MAX); writev sends more in several turns.
  static constexpr size_t kPieces_per_call = 1024;
  // Bytes handed to the engine at once; more are sent in several turns.
  static constexpr size_t kBytes_per_call = size_t{1} << 30;

  // fd is connected, and belongs to the stream from here on.
  Stream(rt::ReceivePool& pool, SocketFactory& sockets, int fd, base::Blame peer)
      : pool_(&pool), sockets_(&sockets), fd_(fd), peer_(peer) {
    CHECK(fd >= 0);
  }
  Stream(Stream&& other) noexcept { take(other); }
  // This stream has been closed.
  Stream& operator=(Stream&& other) noexcept {
    if (this != &other) {
      CHECK(fd_ < 0);
      take(other);
    }
    return *this;
  }
  ~Stream() { CHECK(fd_ < 0); }

  // The next bytes, in one of the engine's receive buffers; an empty buffer is the end of the
  // stream.
  rt::Task<base::Result<rt::ReceiveBuffer>> read(rt::CancelScope& scope, base::MonoTime deadline);
  // The next bytes, at most to.size() (which is not 0), straight into `to`; 0 is the end of the
  // stream.
  rt::Task<base::Result<uint32_t>> readInto(std::span<std::byte> to, rt::CancelScope& scope,
                                            base::MonoTime deadline,
                                            rt::Arrival arrival = rt::Arrival::now);
  // Sends everything, or fails; after a failure nobody knows how much was sent. The bytes stay as
  // they are until the call has ended; the pieces are used up by it.
  rt::Task<base::Status> write(std::span<const std::byte> bytes, rt::CancelScope& scope,
                               base::MonoTime deadline);
  rt::Task<base::Status> writev(std::span<iovec> pieces, rt::CancelScope& scope,
                                base::MonoTime deadline);
  // The same for at most kPieces_per_call pieces and kBytes_per_call bytes; the result's `sent`
  // says how much was sent also when it was stopped.
  rt::Task<rt::IoResult> send(std::span<iovec> pieces, rt::CancelScope& scope,
                              base::MonoTime deadline);
  // One try to send bytes of a file from the page cache (rt::SendFile); awaitRoom() after -EAGAIN.
  rt::Task<rt::IoResult> sendFile(int file, uint64_t offset, std::span<std::byte> mapped,
                                  rt::CancelScope& scope);
  rt::Task<base::Status> awaitRoom(rt::CancelScope& scope, base::MonoTime deadline);
  // Ends the sending half. A peer that has gone is no error.
  rt::Task<void> shutdownWrite(rt::CancelScope& scope);
  // The descriptor is gone afterwards; may be called again. Nobody reads or writes any more.
  rt::Task<void> close();
  // The close that follows resets the connection, so that a message cut short is seen as such.
  void abort() {
    CHECK(fd_ >= 0);
    sockets_->abortOnClose(fd_);
  }

  int fd() const { return fd_; }
  bool isOpen() const { return fd_ >= 0; }
  base::Blame peer() const { return peer_; }
  Address peerAddress() const { return sockets_->peer(fd_); }
  Address localAddress() const { return sockets_->local(fd_); }
  uint64_t bytesIn() const { return bytes_in_; }
  uint64_t bytesOut() const { return bytes_out_; }

 private:
  void take(Stream& other) {
    pool_ = other.pool_;
    sockets_ = other.sockets_;
    fd_ = std::exchange(other.fd_, -1);
    peer_ = other.peer_;
    bytes_in_ = other.bytes_in_;
    bytes_out_ = other.bytes_out_;
  }
  base::Error failed(const rt::IoResult& result) const;
  base::Status sent(const rt::IoResult& result, size_t wanted, const rt::CancelScope& scope);

  rt::ReceivePool* pool_;
  SocketFactory* sockets_;
  int fd_ = -1;
  base::Blame peer_;
  uint64_t bytes_in_ = 0;
  uint64_t bytes_out_ = 0;
};

}  // namespace net
