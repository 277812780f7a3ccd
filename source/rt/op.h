// One asynchronous operation. It lives inside the awaiter that waits for it, so inside a
// coroutine's frame: no heap, and its owner cannot be destroyed while the kernel has it (~Op
// checks).
#pragma once

#include <cstddef>
#include <cstdint>

#include "source/base/check.h"

struct msghdr;
struct sockaddr;

namespace rt {

struct Runnable;

enum class OpKind : uint8_t {
  accept,       // fd listens; result: the connection's descriptor (close-on-exec)
  connect,      // addr: sockaddr of len bytes
  recv,         // addr, len: destination
  recv_select,  // len unused; the engine chooses one of its receive buffers: buffer_id
  send,         // addr, len; sends everything unless an error or a cancellation stops it; then
                // offset says how much of it was sent
  sendmsg,      // addr: msghdr; sends everything likewise; the engine may move its iovecs on
  send_file,    // fd: a connected socket; len bytes of `file` at offset, from the page cache, as
                // many as the socket takes at once; addr: where a mapping has them. Ends with the
                // enter that begins it. -EAGAIN: the socket is full; -ENODATA: they are not all in
                // memory, and nothing was sent
  read,         // file at offset (kStreamOffset: a stream such as an eventfd); fixed: addr in the
                // registered region
  write,        // file at offset; fixed likewise
  fsync,        // data only (fdatasync)
  poll,         // len: POLLIN etc.; result: the events
  shutdown,     // the sending half of a socket
  close,        // the descriptor is gone whatever the result
};

inline bool isSend(OpKind kind) {
  return kind == OpKind::send || kind == OpKind::sendmsg;
}

inline constexpr uint64_t kStreamOffset = UINT64_MAX;

struct Op {
  enum class State : uint8_t { idle, queued, in_kernel, done };

  OpKind kind = OpKind::read;
  State state = State::idle;
  bool cancel_requested = false;  // by the engine, so that it does not continue a partial send
  bool fixed = false;             // addr lies in the region given to IoEngine::registerRegion
  bool later = false;             // recv, recv_select: see Arrival (io.h); a hint to the engine
  uint16_t buffer_id = 0;         // recv_select: which receive buffer was filled, when result > 0
  int32_t fd = -1;
  uint32_t len = 0;
  int32_t result = 0;  // as the system call's: >= 0, or -errno
  int32_t file = -1;   // send_file
  void* addr = nullptr;
  uint64_t offset = 0;
  Runnable* waiter = nullptr;  // made ready when the operation is done; nullptr: nobody
  Op* next = nullptr;          // in the engine's or the completed list

  Op() = default;
  Op(const Op&) = delete;
  Op& operator=(const Op&) = delete;
  ~Op() {
    CHECK(state != State::queued);
    CHECK(state != State::in_kernel);
  }
};

// Completed operations in the order the engine saw them.
struct OpList {
  Op* head = nullptr;
  Op* tail = nullptr;
  bool empty() const { return head == nullptr; }
  void push(Op* op) {
    op->next = nullptr;
    (tail == nullptr ? head : tail->next) = op;
    tail = op;
  }
  Op* pop() {
    Op* first = head;
    if (first != nullptr) {
      head = first->next;
      tail = head == nullptr ? nullptr : tail;
      first->next = nullptr;
    }
    return first;
  }
};

}  // namespace rt
