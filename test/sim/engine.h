// The simulated engine of one host. What the kernel would do is done by a Kernel (the world); the
// engine keeps the books: each operation completes exactly once, and only enter() hands completions
// over.
//
// Cancelling races with completion as it does in a kernel: a request is acted on after it was
// handed over with enter(), some time later, and loses to a result that came first.
//
// Misuse stops the program: an operation prepared twice, a descriptor closed while operations wait
// on it, a receive buffer recycled twice, the bytes of a write changed while it was under way.
#pragma once

#include <deque>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "source/rt/io_engine.h"
#include "test/sim/core.h"

namespace sim {

class SimEngine;

// One operation in the simulated kernel.
struct Pending {
  rt::Op* op = nullptr;
  SimEngine* engine = nullptr;
  uint64_t id = 0;                // unique for ever; 0: free
  uint64_t node = 0;              // the socket, file or event it waits on
  uint64_t total = 0;             // bytes to send
  uint64_t progress = 0;          // bytes sent
  uint64_t checksum = 0;          // of the bytes of a write while it is under way
  std::vector<uint64_t> sectors;  // a sync: what was not durable when it began
  bool settled = false;           // its result is decided, though it may not have been handed over
  bool direct = false;            // the descriptor asks for aligned transfers
};

// What an engine needs of its world.
class Kernel {
 public:
  virtual ~Kernel() = default;
  virtual void start(Pending& pending) = 0;
  virtual void cancel(Pending& pending) = 0;  // not settled yet
  virtual void ringDoorbell(SimEngine& from, base::ShardId to) = 0;
  // Lets time pass until the engine has something or until `until`.
  virtual void sleep(SimEngine& engine, base::MonoTime until) = 0;
};

class SimEngine : public rt::IoEngine {
 public:
  SimEngine(Core& core, Kernel& kernel, uint32_t host, bool can_register);
  ~SimEngine() override;

  void prepare(rt::Op& op) override;
  void cancel(rt::Op& op) override;
  void ring(base::ShardId peer) override { rings_.push_back(peer); }
  size_t enter(base::MonoTime sleep_until, rt::OpList& completed) override;
  bool mayHaveMore() const override { return behind_; }
  base::MonoTime monotonic() override { return base::MonoTime{core_.now()}; }
  base::UnixSeconds wall() override;
  void provideReceiveBuffers(std::byte* memory, uint32_t size, uint32_t count) override;
  void recycle(uint16_t buffer_id) override;
  bool registerRegion(std::span<std::byte> region) override;
  const rt::IoStats& stats() const override { return stats_; }

  // Says after every enter that there may be more; nothing is held back.
  void setBehind(bool behind) { behind_ = behind; }

  // For the kernel.
  uint32_t host() const { return host_; }
  void setWall(uint64_t start_s) { wall_start_s_ = start_s; }
  // Decides the result. The operation is handed over at the next enter, or, with a delay, later.
  void finish(Pending& pending, int32_t result, uint64_t delay_ns = 0);
  // A receive buffer at random; false when none is free.
  bool takeReceiveBuffer(uint16_t& id, std::span<std::byte>& bytes);
  bool receiveBuffersLeft() const { return !free_buffers_.empty(); }
  bool inRegion(const void* address, uint32_t length) const;
  void hearDoorbell() { doorbell_ = true; }
  void countShortTransfer() { stats_.short_transfers++; }
  // Whether enter() would find something to do without waiting.
  bool hasWork() const {
    return doorbell_ || !finished_.empty() || !queued_.empty() || !cancels_.empty() ||
           !rings_.empty();
  }
  bool hasNews() const { return doorbell_ || !finished_.empty(); }
  uint64_t inFlight() const { return stats_.in_flight; }
  // Every operation in the kernel, oldest first.
  std::vector<Pending*> inKernel();

 private:
  void submit();
  void handOver(Pending& pending);

  Core& core_;
  Kernel& kernel_;
  uint32_t host_;
  bool can_register_;
  uint64_t wall_start_s_ = 0;
  uint64_t next_id_ = 1;
  rt::OpList queued_;
  std::vector<rt::Op*> cancels_;
  std::vector<base::ShardId> rings_;
  bool doorbell_ = false;
  bool behind_ = false;
  std::deque<Pending> pool_;  // stable addresses
  std::vector<Pending*> free_;
  std::unordered_map<const rt::Op*, Pending*> in_kernel_;  // only looked up, never walked
  rt::OpList finished_;
  std::byte* buffers_ = nullptr;
  uint32_t buffer_bytes_ = 0;
  std::vector<uint16_t> free_buffers_;
  std::vector<bool> buffer_free_;
  std::span<std::byte> region_;
  rt::IoStats stats_;
};

}  // namespace sim
