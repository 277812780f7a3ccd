// The io_uring engine: one ring a shard, created on the shard's own thread (the kernel ties a
// SINGLE_ISSUER ring to its creator). By default completions are delivered only inside enter()
// (DEFER_TASKRUN), at most about 20 a call, which is also the batch that a turn works on. An enter
// that may not wait is a system call only if there is something to submit, or the kernel has said
// in the ring's memory that something has completed.
#pragma once

#include <liburing.h>

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "source/base/result.h"
#include "source/io/uring/file_table.h"
#include "source/io/uring/ring_setup.h"
#include "source/rt/io_engine.h"

namespace io {

// The ring of every shard, so that peers can wake each other; made before the threads start and
// outliving every engine.
class Doorbells {
 public:
  explicit Doorbells(uint16_t shards);
  void set(base::ShardId shard, int ring_fd) {
    rings_[base::index(shard)].store(ring_fd, std::memory_order_release);
  }
  // -1: not there yet, or gone.
  int get(base::ShardId shard) const {
    return rings_[base::index(shard)].load(std::memory_order_acquire);
  }
  uint16_t size() const { return shards_; }

 private:
  uint16_t shards_;
  std::unique_ptr<std::atomic<int>[]> rings_;
};

class UringEngine final : public rt::IoEngine {
 public:
  // On the thread that will use it. The error's sys says why not (EPERM, ENOSYS, ENOMEM: io_uring
  // is forbidden, missing or short of memory).
  static base::Result<std::unique_ptr<UringEngine>> create(const UringOptions& options,
                                                           base::ShardId self,
                                                           Doorbells& doorbells);
  // Whether `engines` rings of this size can be had, with receive buffers; nothing is left of them.
  // The error is create()'s.
  static base::Status probe(const UringOptions& options, uint16_t engines);
  ~UringEngine() override;

  void prepare(rt::Op& op) override;
  void cancel(rt::Op& op) override;
  void ring(base::ShardId peer) override;
  size_t enter(base::MonoTime sleep_until, rt::OpList& completed) override;
  bool mayHaveMore() const override { return maybe_more_; }
  void finishDoorbells() override;
  base::MonoTime monotonic() override;
  base::UnixSeconds wall() override;
  int64_t wallMilliseconds() override;
  rt::CpuTime cpuTime() override;
  void provideReceiveBuffers(std::byte* memory, uint32_t size, uint32_t count) override;
  void recycle(uint16_t buffer_id) override;
  bool registerRegion(std::span<std::byte> region) override;
  void registerFile(int fd) override;
  void releaseFile(int fd) override;
  const rt::IoStats& stats() const override { return stats_; }

 private:
  UringEngine(const UringOptions& options, base::ShardId self, Doorbells& doorbells)
      : options_(options), self_(self), doorbells_(doorbells) {}

  io_uring_sqe* nextSqe();
  void fill(io_uring_sqe* sqe, rt::Op& op);
  void useSlot(io_uring_sqe* sqe, const rt::Op& op) const;
  void queue(rt::Op& op);
  void flush(rt::Op& op);
  void flushQueued();
  void flushCancels();
  void ringDoorbells();
  void submit();
  void submitAndLook();
  void submitAndWait(base::MonoTime sleep_until);
  size_t reap(rt::OpList& completed);
  // True when the operation is done; false when it was queued again (a partial send, EAGAIN).
  bool finish(rt::Op& op, int32_t result, uint32_t flags);

  UringOptions options_;
  base::ShardId self_;
  Doorbells& doorbells_;
  io_uring ring_{};
  bool ring_ready_ = false;
  FileTable files_;
  rt::OpList queued_;
  rt::OpList sends_;  // likewise; they go last, since the kernel copies their bytes at once
  uint32_t unsubmitted_ = 0;
  uint32_t ringing_ = 0;  // doorbells whose way to the peer is not over
  rt::OpList tried_;      // ended without the ring
  std::vector<rt::Op*> cancels_;
  std::vector<base::ShardId> rings_;
  io_uring_buf_ring* buffers_ = nullptr;
  std::byte* buffer_memory_ = nullptr;
  uint32_t buffer_size_ = 0;
  uint32_t buffer_count_ = 0;
  bool maybe_more_ = false;  // the last look got as many as one enter gives
  rt::IoStats stats_;
};

}  // namespace io
