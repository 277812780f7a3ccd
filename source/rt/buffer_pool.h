// A shard's memory for bytes in flight: one region of huge pages, split by a buddy allocator into
// blocks of 4 KiB to 1 MiB, aligned to their size, and registered with the engine for direct disk
// I/O. Running out is backpressure: take() waits, and those who hold memory only because their peer
// is slow are asked to let go (Holding).
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

// Somebody who holds memory of a pool while a peer takes its time. When others wait for memory and
// `patient_until` has passed, its scope is cancelled, once.
class Holding : public base::ListHook {
 public:
  Holding(BufferPool& pool, CancelScope& scope, base::MonoTime patient_until);

 private:
  friend class BufferPool;
  CancelScope& scope_;
  base::MonoTime patient_until_;
};

class BufferPool {
 public:
  // How often those who hold memory are looked at while others wait.
  static constexpr uint64_t kPressure_ns = 20 * base::kMillisecond_ns;
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
  uint64_t asked() const { return asked_; }  // to let go

 private:
  friend class Buffer;
  friend class Holding;
  static constexpr uint32_t kOrders = 9;  // 4 KiB << 8 = 1 MiB
  struct Free {
    Free* next;
    Free* previous;
  };
  struct Wait : WaitQueue::Wait {
    Wait(BufferPool& pool, uint32_t wanted, CancelScope& scope, base::MonoTime deadline)
        : WaitQueue::Wait(pool.waiting_, scope, deadline), pool(pool), order(wanted) {}
    ~Wait() {
      unlink();
      if (pool.waiting_.empty()) {
        pool.pressure_.unlink();
      }
    }
    template <class P>
    void await_suspend(std::coroutine_handle<P> handle) {
      pool.watch(*handle.promise().reactor);
      WaitQueue::Wait::await_suspend(handle);
    }
    BufferPool& pool;
    uint32_t order;
    Buffer buffer;  // set before the waiter is woken
  };
  struct Pressure : Timer {
    BufferPool* pool = nullptr;
  };
  static uint32_t orderOf(uint32_t bytes);
  // While somebody waits, asks now and then.
  void watch(Reactor& reactor);
  void askToLetGo();
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
  base::IntrusiveList<Holding> holdings_;
  Pressure pressure_;
  Reactor* reactor_ = nullptr;  // while pressure_ runs
  uint64_t asked_ = 0;
  uint64_t in_use_ = 0;
  uint64_t waits_ = 0;
  bool registered_ = false;
};

inline Holding::Holding(BufferPool& pool, CancelScope& scope, base::MonoTime patient_until)
    : scope_(scope), patient_until_(patient_until) {
  pool.holdings_.pushBack(this);
}

}  // namespace rt
