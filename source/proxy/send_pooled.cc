// Sending bytes that lie in the pool's memory, which all of the shard's requests share: a client
// that does not read must not keep it from the others. While somebody waits for memory, what can be
// read again is let go of soon, and a client that takes nothing of the rest for long is cut off.
#include <algorithm>
#include <array>

#include "source/proxy/session.h"

namespace proxy {
namespace {

// How long a send may hold memory that others wait for, when it can be read again.
constexpr uint64_t kLetGo_ns = 20 * base::kMillisecond_ns;
// And when it cannot: without a byte taken in this time the response is cut off.
constexpr uint64_t kStalled_ns = 5 * base::kSecond_ns;

constexpr size_t kPieces = 5;

// What is left of the pieces behind so many bytes.
std::span<iovec> behind(std::span<const iovec> pieces, uint64_t bytes,
                        std::array<iovec, kPieces>& left) {
  size_t count = 0;
  for (const iovec& piece : pieces) {
    const size_t gone = std::min<uint64_t>(bytes, piece.iov_len);
    bytes -= gone;
    if (gone < piece.iov_len) {
      left[count++] = iovec{static_cast<char*>(piece.iov_base) + gone, piece.iov_len - gone};
    }
  }
  return std::span(left).first(count);
}

}  // namespace

// All of it, or, with may_stop, as much as the client took before it was asked to let go.
rt::Task<Session::Sent> Session::sendPooled(Request& request, std::span<const iovec> pieces,
                                            bool may_stop) {
  const uint64_t idle_ms =
      request.listener == nullptr ? 60000 : request.listener->stream_idle_timeout_ms;
  Sent sent;
  while (true) {
    std::array<iovec, kPieces> left;
    rt::CancelScope asked(scope_);
    const rt::Holding holding(context_.buffers, asked,
                              context_.reactor.now() + (may_stop ? kLetGo_ns : kStalled_ns));
    const rt::IoResult result =
        co_await stream_.send(behind(pieces, sent.bytes, left), asked, after(idle_ms));
    sent.bytes += result.sent;
    sent.ok = result.ok();
    if (sent.ok) {
      co_return sent;
    }
    sent.asked = result.ended == rt::Ended::cancelled && !scope_.requested();
    if (sent.asked && may_stop) {
      sent.ok = true;
      co_return sent;
    }
    if (!sent.asked || result.sent == 0) {
      context_.stats.downstream_rq_stalled += sent.asked ? 1 : 0;
      cutOff(request, true);
      co_return sent;
    }
  }
}

// A piece of a stored body, and before it what is left of the head; the reader has then moved
// behind what was sent. False: the answer was cut off.
rt::Task<bool> Session::sendPiece(Request& request, std::string_view& head, cache::Reader& reader,
                                  std::span<const std::byte> piece) {
  const std::array<iovec, 2> pieces{iovec{const_cast<char*>(head.data()), head.size()},
                                    iovec{const_cast<std::byte*>(piece.data()), piece.size()}};
  const Sent sent = co_await sendPooled(request, pieces, true);
  const uint64_t of_head = std::min<uint64_t>(sent.bytes, head.size());
  const uint64_t of_body = sent.bytes - of_head;
  if (of_head > 0) {
    noteHead(request, head);
    head.remove_prefix(of_head);
  }
  request.outcome.head_bytes += of_head;
  request.outcome.body_bytes += of_body;
  context_.stats.downstream_tx_bytes += sent.bytes;
  if (!sent.ok || !sent.asked) {
    co_return sent.ok;
  }
  context_.stats.downstream_memory_let_go++;
  reader.letGo(piece.size() - of_body);
  const base::Status room =
      co_await stream_.awaitRoom(scope_, after(request.listener->stream_idle_timeout_ms));
  if (!room.ok()) {
    cutOff(request, true);
  }
  co_return room.ok();
}

}  // namespace proxy
