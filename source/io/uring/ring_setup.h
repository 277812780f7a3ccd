// How a shard's ring is set up: the settings, and the making of a ring with them.
#pragma once

#include <liburing.h>

#include <cstdint>
#include <optional>

namespace io {

// Where completions become visible: when the ring's thread asks for them (defer), when it enters
// the kernel for any reason (coop), or at once, by an interrupt of the thread.
enum class Completions : uint8_t { defer, coop, interrupt };

struct UringOptions {
  uint32_t sq_entries = 1024;
  uint32_t cq_entries = 16384;
  Completions completions = Completions::defer;
  uint32_t submit_batch = UINT32_MAX;  // operations that one enter hands over at most
  bool sqpoll = false;                 // goes with Completions::interrupt only
  uint32_t sqpoll_idle_ms = 1000;
  std::optional<uint32_t> sqpoll_cpu;
  bool registered_buffers = true;
  bool registered_files = true;
  uint32_t napi_busy_poll_us = 0;  // 0: none
};

// A ring with these options. 0 or -errno; -EINVAL also where the kernel does not know an option.
int openRing(io_uring& ring, const UringOptions& options);

// Whether the kernel says in the ring's memory that completions wait for an enter.
inline bool hasWork(const io_uring& ring) {
  return (__atomic_load_n(ring.sq.kflags, __ATOMIC_RELAXED) &
          (IORING_SQ_TASKRUN | IORING_SQ_CQ_OVERFLOW)) != 0;
}
// Whether submitting needs a system call; with a polling kernel thread only if that sleeps.
inline bool sleepsInKernel(const io_uring& ring) {
  return (__atomic_load_n(ring.sq.kflags, __ATOMIC_RELAXED) & IORING_SQ_NEED_WAKEUP) != 0;
}

}  // namespace io
