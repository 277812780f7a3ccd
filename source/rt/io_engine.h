// The one door to the outside world: sockets, files, clocks and doorbells of one shard.
// Implementations: io/uring, io/epoll, and the deterministic simulator of test/sim. test/contract
// pins what they share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "source/base/types.h"
#include "source/rt/op.h"

namespace rt {

// Plain counters of one engine, read only by its own shard. Times are nanoseconds.
struct IoStats {
  uint64_t enters = 0;       // system calls that submitted or waited
  uint64_t sleeps = 0;       // enters that were allowed to wait
  uint64_t submissions = 0;  // operations handed to the kernel
  uint64_t completions = 0;  // operations it gave back
  uint64_t submission_batch_max = 0;
  uint64_t completion_batch_max = 0;
  uint64_t cq_overflows = 0;  // completions the kernel had to park elsewhere
  uint64_t doorbells_rung = 0;
  uint64_t doorbells_heard = 0;
  uint64_t files_registered = 0;  // now
  uint64_t in_flight = 0;
  uint64_t in_flight_max = 0;
  uint64_t retries = 0;          // EAGAIN or EINTR, tried again by the engine
  uint64_t short_transfers = 0;  // sends that the engine had to continue
  uint64_t wait_ns = 0;          // spent inside enters that could wait
};

// Processor time of a thread, in nanoseconds.
struct CpuTime {
  uint64_t user_ns = 0;
  uint64_t kernel_ns = 0;
};

// All calls come from the shard's own thread. Descriptors are blocking ones: the engine does the
// waiting.
class IoEngine {
 public:
  virtual ~IoEngine() = default;

  // Queues an operation; never a system call. op.state is idle or done; op stays where it is until
  // done.
  virtual void prepare(Op& op) = 0;
  // Asks for an operation to end early. It still completes exactly once, with -ECANCELED or its own
  // result.
  virtual void cancel(Op& op) = 0;
  // Wakes a peer that may be asleep; sent with the next enter. Unknown or finished peers are
  // ignored.
  virtual void ring(base::ShardId peer) = 0;
  // Hands over what was queued and appends what has completed to `completed`; state is done, result
  // set. Waits for a first completion, a doorbell or `sleep_until`, unless sleep_until has passed
  // (0: never waits). Returns how many completed.
  virtual size_t enter(base::MonoTime sleep_until, OpList& completed) = 0;
  // Waits until the doorbells that were rung have reached their peers: the last call of the shard's
  // thread. Another one may destroy the engine after it.
  virtual void finishDoorbells() {}
  // Whether the last enter may have left, for the next, something that had completed by then.
  virtual bool mayHaveMore() const { return false; }

  virtual base::MonoTime monotonic() = 0;
  virtual base::UnixSeconds wall() = 0;
  // The same with milliseconds, for logs.
  virtual int64_t wallMilliseconds() { return wall().s * 1000; }
  // Of the calling thread; zeros where there is none to speak of. A system call.
  virtual CpuTime cpuTime() { return CpuTime(); }

  // The receive buffers of recv_select: `count` (a power of two) of `size` bytes each, once, before
  // use. When none is left a recv_select completes with -ENOBUFS.
  virtual void provideReceiveBuffers(std::byte* memory, uint32_t size, uint32_t count) = 0;
  // Gives a receive buffer back to the engine.
  virtual void recycle(uint16_t buffer_id) = 0;
  // Names the region that `fixed` operations use. False: not available; fixed operations are then
  // refused with -EINVAL, so callers must ask only if this was true.
  virtual bool registerRegion(std::span<std::byte> region) = 0;
  // A file that many operations will use, from now until releaseFile(), which comes before it is
  // closed: an engine may keep it ready for them. Operations name it by its descriptor all the
  // same.
  virtual void registerFile(int /*fd*/) {}
  virtual void releaseFile(int /*fd*/) {}

  virtual const IoStats& stats() const = 0;
};

}  // namespace rt
