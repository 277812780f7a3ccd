#include "source/rt/receive_pool.h"

#include <sys/mman.h>

#include <bit>
#include <utility>

namespace rt {

ReceiveBuffer::ReceiveBuffer(ReceiveBuffer&& other) noexcept
    : pool_(std::exchange(other.pool_, nullptr)), bytes_(other.bytes_), id_(other.id_) {}

ReceiveBuffer& ReceiveBuffer::operator=(ReceiveBuffer&& other) noexcept {
  if (this != &other) {
    reset();
    pool_ = std::exchange(other.pool_, nullptr);
    bytes_ = other.bytes_;
    id_ = other.id_;
  }
  return *this;
}

void ReceiveBuffer::reset() {
  if (pool_ != nullptr) {
    std::exchange(pool_, nullptr)->recycle(id_);
  }
  bytes_ = {};
}

ReceivePool::ReceivePool(IoEngine& engine, uint32_t count) : engine_(engine), count_(count) {
  CHECK(std::has_single_bit(count));
  CHECK(count <= 32768);
  void* map = mmap(nullptr, size_t{count} * kBuffer_bytes, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  CHECK(map != MAP_FAILED);  // address space only: pages come when they are first used
  memory_ = static_cast<std::byte*>(map);
  engine_.provideReceiveBuffers(memory_, kBuffer_bytes, count);
}

ReceivePool::~ReceivePool() {
  CHECK(in_use_ == 0);
  munmap(memory_, size_t{count_} * kBuffer_bytes);
}

ReceiveBuffer ReceivePool::wrap(const IoResult& result) {
  ReceiveBuffer buffer;
  if (result.result > 0) {
    CHECK(result.buffer_id < count_);
    in_use_++;
    buffer.pool_ = this;
    buffer.id_ = result.buffer_id;
    buffer.bytes_ = {memory_ + size_t{result.buffer_id} * kBuffer_bytes,
                     static_cast<size_t>(result.result)};
  }
  return buffer;
}

Task<base::Result<ReceiveBuffer>> ReceivePool::receive(int fd, base::Blame blame,
                                                       CancelScope& scope,
                                                       base::MonoTime deadline) {
  while (true) {
    const IoResult result = co_await RecvSelect(fd, scope, deadline);
    if (result.ok()) {
      co_return wrap(result);
    }
    if (result.result != -ENOBUFS) {
      co_return result.error(blame);
    }
    exhausted_++;
    if (in_use_ < count_) {
      continue;  // a buffer came back between that result and now: nobody would wake this waiter
                 // for it
    }
    const WaitQueue::Woken how = co_await waiting_.wait(scope, deadline);
    if (how != WaitQueue::Woken::by_wake) {
      co_return base::Error{
          how == WaitQueue::Woken::cancelled ? base::Code::cancelled : base::Code::timeout, blame};
    }
  }
}

void ReceivePool::recycle(uint16_t id) {
  in_use_--;
  engine_.recycle(id);
  // All of them: a socket on which nothing has arrived may be told -ENOBUFS too, and would sit on
  // the only wake-up. Whoever finds no buffer again waits again.
  waiting_.wakeAll();
}

}  // namespace rt
