// The bytes of connections: sending, their way, receiving.
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "test/sim/network.h"

namespace sim {
namespace {

constexpr uint32_t kPiece_bytes = 64 * 1024;

uint64_t messageBytes(const msghdr& message) {
  uint64_t total = 0;
  for (size_t i = 0; i < message.msg_iovlen; i++) {
    total += message.msg_iov[i].iov_len;
  }
  return total;
}

}  // namespace

void Network::put(Socket& to, Piece piece) {
  if (to.dead) {
    return;  // it has been reset, and its peer will hear of that
  }
  piece.at_ns = std::max(core_.now() + latency(), to.last_arrival_ns);
  to.last_arrival_ns = piece.at_ns;
  to.wire_bytes += piece.bytes.size();
  const uint64_t at_ns = piece.at_ns;
  to.wire.push_back(std::move(piece));
  core_.schedule(at_ns, [this, id = to.id] { arrive(id); });
}

void Network::arrive(uint64_t id) {
  Socket& socket = at(id);
  while (!socket.wire.empty() && socket.wire.front().at_ns <= core_.now()) {
    Piece piece = std::move(socket.wire.front());
    socket.wire.pop_front();
    socket.wire_bytes -= piece.bytes.size();
    core_.trace(Trace::piece, id, static_cast<uint64_t>(piece.kind), piece.bytes.size());
    if (piece.kind == Piece::Kind::reset) {
      die(socket, socket.end_arrived ? EPIPE : ECONNRESET);
      return;
    }
    if (socket.state == Socket::State::closed) {
      if (piece.kind == Piece::Kind::bytes) {
        put(at(socket.peer), Piece{0, Piece::Kind::reset, {}});
        socket.wire.clear();
        socket.wire_bytes = 0;
        return;
      }
      continue;
    }
    if (piece.kind == Piece::Kind::end) {
      socket.end_arrived = true;
    } else {
      socket.inbox.insert(socket.inbox.end(), piece.bytes.begin(), piece.bytes.end());
    }
    pumpReads(socket);
    pumpPolls(socket);
  }
}

void Network::startReceive(Pending& pending, Socket& socket) {
  if (socket.state != Socket::State::connected) {
    pending.engine->finish(pending, -ENOTCONN);
    return;
  }
  const bool nothing = socket.available() == 0 && socket.error == 0 && !socket.end_arrived;
  if (pending.op->kind == rt::OpKind::recv_select && nothing && !socket.dead &&
      !pending.engine->receiveBuffersLeft() && core_.chance(options_.early_no_buffers)) {
    pending.engine->finish(pending, -ENOBUFS);
    return;
  }
  socket.reads.push_back(&pending);
  pumpReads(socket);
}

void Network::pumpReads(Socket& socket) {
  while (!socket.reads.empty()) {
    Pending& pending = *socket.reads.front();
    if (socket.available() > 0) {
      socket.reads.pop_front();
      if (!readInto(pending, socket)) {
        pending.engine->finish(pending, -ENOBUFS);
      }
      continue;
    }
    if (socket.error != 0) {
      socket.reads.pop_front();
      pending.engine->finish(pending, -std::exchange(socket.error, 0));
    } else if (socket.end_arrived || socket.dead) {
      socket.reads.pop_front();
      pending.engine->finish(pending, 0);
    } else {
      return;
    }
  }
}

// False when a buffer had to be chosen and none is free.
bool Network::readInto(Pending& pending, Socket& socket) {
  rt::Op& op = *pending.op;
  std::span<std::byte> to(static_cast<std::byte*>(op.addr), op.len);
  if (op.kind == rt::OpKind::recv_select && !pending.engine->takeReceiveBuffer(op.buffer_id, to)) {
    return false;
  }
  size_t count = std::min(to.size(), socket.available());
  if (count > 1 && core_.chance(options_.short_read)) {
    count = core_.random().between(1, count);
  }
  std::memcpy(to.data(), socket.inbox.data() + socket.inbox_read, count);
  socket.inbox_read += count;
  if (socket.inbox_read == socket.inbox.size()) {
    socket.inbox.clear();
    socket.inbox_read = 0;
  } else if (socket.inbox_read > socket.inbox.size() / 2) {
    socket.inbox.erase(socket.inbox.begin(),
                       socket.inbox.begin() + static_cast<std::ptrdiff_t>(socket.inbox_read));
    socket.inbox_read = 0;
  }
  Socket& sender = at(socket.peer);
  if (!sender.writes.empty() || !sender.polls.empty()) {
    core_.schedule(core_.now() + latency(), [this, id = sender.id] {
      pumpWrites(at(id));
      pumpPolls(at(id));
    });
  }
  pending.engine->finish(pending, static_cast<int32_t>(count));
  return true;
}

void Network::startSend(Pending& pending, Socket& socket) {
  const rt::Op& op = *pending.op;
  pending.total =
      op.kind == rt::OpKind::send ? op.len : messageBytes(*static_cast<const msghdr*>(op.addr));
  if (socket.state != Socket::State::connected) {
    pending.engine->finish(pending, -EPIPE);
    return;
  }
  socket.writes.push_back(&pending);
  pumpWrites(socket);
}

void Network::copyOut(const rt::Op& op, uint64_t offset, std::span<std::byte> to) {
  if (op.kind == rt::OpKind::send) {
    std::memcpy(to.data(), static_cast<const std::byte*>(op.addr) + offset, to.size());
    return;
  }
  const msghdr& message = *static_cast<const msghdr*>(op.addr);
  for (size_t i = 0; i < message.msg_iovlen && !to.empty(); i++) {
    const iovec& part = message.msg_iov[i];
    if (offset >= part.iov_len) {
      offset -= part.iov_len;
      continue;
    }
    const size_t count = std::min(to.size(), part.iov_len - offset);
    std::memcpy(to.data(), static_cast<const std::byte*>(part.iov_base) + offset, count);
    to = to.subspan(count);
    offset = 0;
  }
}

void Network::pumpWrites(Socket& socket) {
  while (!socket.writes.empty() && socket.state == Socket::State::connected) {
    Pending& pending = *socket.writes.front();
    if (socket.error != 0 || socket.dead || socket.end_sent) {
      socket.writes.pop_front();
      const int32_t error = std::exchange(socket.error, 0);
      pending.engine->finish(pending, error != 0 ? -error : -EPIPE);
      continue;
    }
    const uint64_t left = pending.total - pending.progress;
    if (left == 0) {
      socket.writes.pop_front();
      pending.engine->finish(pending, static_cast<int32_t>(pending.total),
                             core_.chance(options_.slow_send) ? latency() : 0);
      continue;
    }
    Socket& to = at(socket.peer);
    const uint64_t held = to.available() + to.wire_bytes;
    if (held >= to.window) {
      pending.engine->countShortTransfer();
      return;
    }
    const uint64_t room = to.window - held;  // a closed peer answers with a reset, later
    uint64_t count = std::min({room, left, uint64_t{kPiece_bytes}});
    if (core_.chance(options_.fragment)) {
      count = core_.random().between(1, count);
    }
    Piece piece;
    piece.bytes.resize(count);
    copyOut(*pending.op, pending.progress, piece.bytes);
    pending.progress += count;
    put(to, std::move(piece));
    if (core_.chance(options_.reset)) {
      reset(socket.id);
      return;
    }
  }
}

void Network::sendNow(Pending& pending, uint64_t id, std::span<const std::byte> bytes) {
  Socket& socket = at(id);
  if (socket.state != Socket::State::connected || socket.error != 0 || socket.dead ||
      socket.end_sent) {
    const int32_t error = std::exchange(socket.error, 0);
    pending.engine->finish(pending, error != 0 ? -error : -EPIPE);
    return;
  }
  Socket& to = at(socket.peer);
  const uint64_t held = to.available() + to.wire_bytes;
  if (held >= to.window) {
    pending.engine->finish(pending, -EAGAIN);
    return;
  }
  uint64_t count = std::min<uint64_t>(to.window - held, bytes.size());
  if (core_.chance(options_.fragment)) {
    count = core_.random().between(1, count);
  }
  Piece piece;
  piece.bytes.assign(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(count));
  put(to, std::move(piece));
  pending.engine->finish(pending, static_cast<int32_t>(count));
  if (core_.chance(options_.reset)) {
    reset(socket.id);
  }
}

}  // namespace sim
