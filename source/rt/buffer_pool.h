// A shard's memory for bytes in flight: one region of huge pages, split by a buddy allocator into
// blocks of 4 KiB to 1 MiB, aligned to their size, and registered with the engine for direct disk
// I/O. Running out is backpressure: take() waits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "source/base/result.h"
#include "source/rt/wait.h"

namespace rt {

class BufferPool;

// Owns one block and returns it when destroyed.
class Buffer {
 public:
  Buffer() = default;
  Buffer(Buffer&& other) noexcept;
  Buffer& operator=(Buffer&& other) noexcept;
  ~Buffer() { reset(); }

  explicit operator bool() const { return data_ != nullptr; }
  std::byte* data() const { return data_; }
  uint32_t size() const { return size_; }  // the whole block
  std::span<std::byte> span() const { return {data_, size_}; }
  void reset();

 private:
  friend class BufferPool;
  Buffer(BufferPool* pool, std::byte* data, uint32_t size)
      : pool_(pool), data_(data), size_(size) {}
  BufferPool* pool_ = nullptr;
  std::byte* data_ = nullptr;
  uint32_t size_ = 0;
};

class BufferPool {
 public:
  static constexpr uint32_t kMin_bytes = 4096;
  static constexpr uint32_t kMax_bytes = 1 << 20;

  // Maps `bytes`, rounded up to a multiple of 2 MiB; ok() tells whether the system had them.
  explicit BufferPool(uint64_t bytes);
  ~BufferPool();
  BufferPool(const BufferPool&) = delete;
  BufferPool& operator=(const BufferPool&) = delete;

  bool ok() const { return region_.data() != nullptr; }
  std::span<std::byte> region() const { return region_; }
  // Whether the region is registered with the engine, so that operations on it may be `fixed`.
  bool registered() const { return registered_; }
  void setRegistered(bool registered) { registered_ = registered; }

  // A block of at least `bytes` (1 to kMax_bytes), or an empty Buffer.
  Buffer tryTake(uint32_t bytes);
  // The same, waiting first come, first served.
  Task<base::Result<Buffer>> take(uint32_t bytes, CancelScope& scope,
                                  base::MonoTime deadline = base::kNever);

  uint64_t bytesInUse() const { return in_use_; }
  uint64_t waits() const { return waits_; }

 private:
  friend class Buffer;
  static constexpr uint32_t kOrders = 9;  // 4 KiB << 8 = 1 MiB
  struct Free {
    Free* next;
    Free* previous;
  };
  struct Wait : WaitQueue::Wait {
    Wait(BufferPool& pool, uint32_t wanted, CancelScope& scope, base::MonoTime deadline)
        : WaitQueue::Wait(pool.waiting_, scope, deadline), order(wanted) {}
    uint32_t order;
    Buffer buffer;  // set before the waiter is woken
  };
  static uint32_t orderOf(uint32_t bytes);
  // Serves the waiters whose turn it is.
  void grant();
  void give(std::byte* data, uint32_t size);
  void pushFree(uint32_t order, uint32_t block);
  void removeFree(uint32_t order, Free* free);
  Buffer allocate(uint32_t order);

  std::span<std::byte> region_;
  std::vector<uint8_t> state_;  // by 4 KiB block: the order + 1 where a free block begins, else 0
  Free* free_[kOrders] = {};
  WaitQueue waiting_;
  uint64_t in_use_ = 0;
  uint64_t waits_ = 0;
  bool registered_ = false;
};

}  // namespace rt
