// How a send goes on after a part of it was sent, for engines: the operation itself is moved
// forward.
#pragma once

#include <sys/socket.h>

#include <algorithm>
#include <cstddef>

#include "source/rt/op.h"

namespace rt {

// Bytes that a send still has to send.
inline size_t bytesLeft(const Op& op) {
  if (op.kind == OpKind::send) {
    return op.len;
  }
  const auto* message = static_cast<const msghdr*>(op.addr);
  size_t total = 0;
  for (size_t i = 0; i < message->msg_iovlen; i++) {
    total += message->msg_iov[i].iov_len;
  }
  return total;
}

// Moves a send past `sent` bytes, at most what is left; op.offset collects what earlier parts sent.
inline void moveSend(Op& op, size_t sent) {
  op.offset += sent;
  if (op.kind == OpKind::send) {
    op.addr = static_cast<std::byte*>(op.addr) + sent;
    op.len -= static_cast<uint32_t>(sent);
    return;
  }
  auto* message = static_cast<msghdr*>(op.addr);
  while (sent > 0) {
    iovec& piece = *message->msg_iov;
    const size_t step = std::min(sent, piece.iov_len);
    piece.iov_base = static_cast<std::byte*>(piece.iov_base) + step;
    piece.iov_len -= step;
    sent -= step;
    if (piece.iov_len == 0) {
      message->msg_iov++;
      message->msg_iovlen--;
    }
  }
}

}  // namespace rt
