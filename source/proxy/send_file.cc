// Bodies that go from the page cache to the client's socket without passing through a buffer
// (disk_io: SENDFILE).
#include <cerrno>

#include "source/proxy/session.h"

namespace proxy {

// Sends as much of the body as can go this way, the head in front of it; `head` is empty once it is
// out. What is left, if anything, comes from reader.next(). False: the answer was cut off.
rt::Task<bool> Session::sendFromFile(Request& request, std::string_view& head,
                                     cache::Reader& reader) {
  const uint64_t idle_ms =
      request.listener == nullptr ? 60000 : request.listener->stream_idle_timeout_ms;
  ProxyStats& stats = context_.stats;
  while (reader.sendsFile()) {
    const cache::FilePiece piece = reader.filePiece();
    if (piece.mapped.empty()) {
      stats.sendfile_unverified++;
      co_return true;
    }
    if (!head.empty()) {
      const bool sent = co_await write(request, head, {}, false);
      head = {};
      if (!sent) {
        co_return false;
      }
    }
    if (!reader.pin(piece)) {
      stats.sendfile_overwritten++;
      co_return true;
    }
    const rt::IoResult result =
        co_await stream_.sendFile(piece.file, piece.offset, piece.mapped, scope_);
    reader.unpin(piece);
    stats.sendfile_calls++;
    if (result.ok()) {
      const auto sent = static_cast<uint32_t>(result.result);
      stats.sendfile_bytes += sent;
      stats.downstream_tx_bytes += sent;
      request.outcome.body_bytes += sent;
      reader.skip(sent);
      continue;
    }
    if (result.result == -ENODATA) {
      stats.sendfile_not_in_memory++;
      co_return true;
    }
    if (result.result == -EINVAL || result.result == -ENOSYS || result.result == -EIO) {
      stats.sendfile_failed++;
      co_return true;
    }
    bool room = false;
    if (result.result == -EAGAIN) {
      stats.sendfile_waits++;
      const base::Status waited = co_await stream_.awaitRoom(scope_, after(idle_ms));
      room = waited.ok();
    }
    if (!room) {
      cutOff(request, true);
      co_return false;
    }
  }
  co_return true;
}

}  // namespace proxy
