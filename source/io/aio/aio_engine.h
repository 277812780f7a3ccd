// Any engine, with the disk operations of chosen files through kernel AIO: caches with
// `disk_io: LIBAIO` on the io_uring engine. The inner engine waits for the AIO's eventfd beside
// everything else.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "source/io/aio/disk_queue.h"
#include "source/rt/io_engine.h"

namespace io {

class AioEngine final : public rt::IoEngine {
 public:
  // On the thread that will use it. The error is DiskQueue's.
  static base::Result<std::unique_ptr<AioEngine>> create(std::unique_ptr<rt::IoEngine> inner,
                                                         std::span<const int> files);
  ~AioEngine() override;

  // From now on reads, writes and syncs of this file go through kernel AIO; nothing of it is under
  // way.
  void take(int fd);

  void prepare(rt::Op& op) override;
  void cancel(rt::Op& op) override;
  void ring(base::ShardId peer) override { inner_->ring(peer); }
  size_t enter(base::MonoTime sleep_until, rt::OpList& completed) override;
  bool mayHaveMore() const override { return inner_->mayHaveMore(); }
  base::MonoTime monotonic() override { return inner_->monotonic(); }
  base::UnixSeconds wall() override { return inner_->wall(); }
  int64_t wallMilliseconds() override { return inner_->wallMilliseconds(); }
  rt::CpuTime cpuTime() override { return inner_->cpuTime(); }
  void provideReceiveBuffers(std::byte* memory, uint32_t size, uint32_t count) override {
    inner_->provideReceiveBuffers(memory, size, count);
  }
  void recycle(uint16_t buffer_id) override { inner_->recycle(buffer_id); }
  bool registerRegion(std::span<std::byte> region) override;
  const rt::IoStats& stats() const override;

 private:
  explicit AioEngine(std::unique_ptr<rt::IoEngine> inner);
  bool takes(const rt::Op& op) const;
  bool isListening() const;
  void listen();

  std::unique_ptr<rt::IoEngine> inner_;
  rt::IoStats own_;             // of the files' operations
  mutable rt::IoStats merged_;  // what stats() last gave
  std::unique_ptr<DiskQueue> disk_;
  std::vector<bool> files_;  // by descriptor
  std::span<std::byte> region_;
  rt::OpList ended_;
  rt::Op wake_;  // the read of the eventfd, in the inner engine from the first enter on
  uint64_t events_ = 0;
  uint64_t listens_ = 0;  // of wake_, which the inner engine counts and we do not
  uint64_t wakes_ = 0;
};

}  // namespace io
