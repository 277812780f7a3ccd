// The engine's receive buffers: 4 KiB each, handed out by the engine only when bytes have arrived,
// so that an idle connection holds none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "source/base/result.h"
#include "source/rt/io.h"
#include "source/rt/wait.h"

namespace rt {

class ReceivePool;

// Owns one filled receive buffer and recycles it when destroyed.
class ReceiveBuffer {
 public:
  ReceiveBuffer() = default;
  ReceiveBuffer(ReceiveBuffer&& other) noexcept;
  ReceiveBuffer& operator=(ReceiveBuffer&& other) noexcept;
  ~ReceiveBuffer() { reset(); }

  explicit operator bool() const { return pool_ != nullptr; }
  std::span<std::byte> bytes() const { return bytes_; }  // what was received
  void reset();

 private:
  friend class ReceivePool;
  ReceivePool* pool_ = nullptr;
  std::span<std::byte> bytes_;
  uint16_t id_ = 0;
};

class ReceivePool {
 public:
  static constexpr uint32_t kBuffer_bytes = 4096;

  // count is a power of two, at most 32768.
  ReceivePool(IoEngine& engine, uint32_t count);
  ~ReceivePool();

  // The next bytes of a socket: an empty buffer is the end of the stream. Waits while no buffer is
  // free.
  Task<base::Result<ReceiveBuffer>> receive(int fd, base::Blame blame, CancelScope& scope,
                                            base::MonoTime deadline);
  // Wraps the outcome of a RecvSelect that the caller awaited itself (the fast path of receive()).
  ReceiveBuffer wrap(const IoResult& result);

  uint32_t inUse() const { return in_use_; }
  uint64_t exhausted() const { return exhausted_; }

 private:
  friend class ReceiveBuffer;
  void recycle(uint16_t id);

  IoEngine& engine_;
  std::byte* memory_;
  uint32_t count_;
  uint32_t in_use_ = 0;
  uint64_t exhausted_ = 0;
  WaitQueue waiting_;
};

}  // namespace rt
