// One try of each operation that waits for readiness.
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>

#include "source/io/epoll/epoll_engine.h"
#include "source/rt/send_progress.h"

namespace io {
namespace {

bool wouldBlock(int error) {
  return error == EAGAIN || error == EWOULDBLOCK;
}

// For calls that have no flag for it.
void setNonBlocking(int fd) {
  const int status = fcntl(fd, F_GETFL);
  if (status >= 0 && (status & O_NONBLOCK) == 0) {
    fcntl(fd, F_SETFL, status | O_NONBLOCK);
  }
}

// What poll(2) says right now; 0: nothing.
int32_t eventsNow(int fd, uint32_t wanted) {
  pollfd entry{fd, static_cast<short>(wanted), 0};
  const int count = poll(&entry, 1, 0);
  return count <= 0 ? 0 : entry.revents;
}

}  // namespace

// The result of a system call; would-block is told to the caller.
bool EpollEngine::finishCall(rt::Op& op, ssize_t result) {
  if (result < 0 && wouldBlock(errno)) {
    stats_.retries += again_ ? 1 : 0;  // woken for nothing
    return false;
  }
  finish(op, result < 0 ? -errno : static_cast<int32_t>(result));
  return true;
}

bool EpollEngine::attempt(rt::Op& op) {
  switch (op.kind) {
    case rt::OpKind::accept:
      return attemptAccept(op);
    case rt::OpKind::connect:
      return attemptConnect(op);
    case rt::OpKind::recv:
    case rt::OpKind::recv_select:
      return attemptReceive(op);
    case rt::OpKind::send:
    case rt::OpKind::sendmsg:
      return attemptSend(op);
    case rt::OpKind::poll:
      return attemptPoll(op);
    default:
      return attemptStream(op);
  }
}

bool EpollEngine::attemptAccept(rt::Op& op) {
  setNonBlocking(op.fd);
  int fd = -1;
  do {
    fd = accept4(op.fd, nullptr, nullptr, SOCK_CLOEXEC);
  } while (fd < 0 && errno == EINTR);
  if (fd >= 0) {
    beginConnection(fd);
  }
  return finishCall(op, fd);
}

bool EpollEngine::attemptConnect(rt::Op& op) {
  if (op.offset == 0) {
    op.offset = 1;  // begun
    setNonBlocking(op.fd);
    const int result = connect(op.fd, static_cast<const sockaddr*>(op.addr), op.len);
    if (result < 0 && errno != EINPROGRESS && errno != EINTR) {
      finish(op, -errno);
      return true;
    }
    beginConnection(op.fd);
    if (result == 0) {
      finish(op, 0);
    }
    return result == 0;
  }
  if (eventsNow(op.fd, POLLOUT) == 0) {
    stats_.retries++;
    return false;
  }
  int error = 0;
  socklen_t length = sizeof error;
  const int result = getsockopt(op.fd, SOL_SOCKET, SO_ERROR, &error, &length);
  finish(op, result < 0 ? -errno : -error);
  return true;
}

bool EpollEngine::attemptReceive(rt::Op& op) {
  void* to = op.addr;
  size_t length = op.len;
  if (op.kind == rt::OpKind::recv_select) {
    if (free_buffers_.empty()) {
      finish(op, -ENOBUFS);
      return true;
    }
    op.buffer_id = free_buffers_.back();
    to = buffer_memory_ + size_t{op.buffer_id} * buffer_size_;
    length = buffer_size_;
  }
  ssize_t result = 0;
  do {
    result = recv(op.fd, to, length, MSG_DONTWAIT);
  } while (result < 0 && errno == EINTR);
  if (op.kind == rt::OpKind::recv_select && result > 0) {
    free_buffers_.pop_back();
  }
  return finishCall(op, result);
}

bool EpollEngine::attemptSend(rt::Op& op) {
  while (true) {
    const size_t left = rt::bytesLeft(op);
    const ssize_t sent =
        op.kind == rt::OpKind::send
            ? send(op.fd, op.addr, left, MSG_NOSIGNAL | MSG_DONTWAIT)
            : sendmsg(op.fd, static_cast<const msghdr*>(op.addr), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && errno == EINTR) {
      continue;
    }
    if (sent < 0 || static_cast<size_t>(sent) == left) {
      return finishCall(op, sent < 0 ? sent : sent + static_cast<ssize_t>(op.offset));
    }
    stats_.short_transfers++;
    rt::moveSend(op, static_cast<size_t>(sent));
    again_ = false;
  }
}

bool EpollEngine::attemptPoll(rt::Op& op) {
  const int32_t now = eventsNow(op.fd, op.len);
  if (now == 0) {
    return false;
  }
  finish(op, (now & POLLNVAL) != 0 ? -EBADF : now);
  return true;
}

// An eventfd, a pipe or such.
bool EpollEngine::attemptStream(rt::Op& op) {
  setNonBlocking(op.fd);
  ssize_t result = 0;
  do {
    result =
        op.kind == rt::OpKind::read ? read(op.fd, op.addr, op.len) : write(op.fd, op.addr, op.len);
  } while (result < 0 && errno == EINTR);
  return finishCall(op, result);
}

}  // namespace io
