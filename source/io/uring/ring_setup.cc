#include "source/io/uring/ring_setup.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

namespace io {
namespace {

// Of Linux 6.9; Debian 12's headers are older. From include/uapi/linux/io_uring.h.
constexpr unsigned kRegisterNapi = 27;
struct NapiRegistration {
  uint32_t busy_poll_us;
  uint8_t prefer_busy_poll;
  uint8_t opcode;
  uint8_t pad[2];
  uint32_t op_param;
  uint32_t reserved;
};
static_assert(sizeof(NapiRegistration) == 16);

// Some kernels answer with what was in force before, so the argument is theirs to write.
int registerNapi(const io_uring& ring, uint32_t busy_poll_us) {
  NapiRegistration registration{};
  registration.busy_poll_us = busy_poll_us;
  const long result = syscall(SYS_io_uring_register, ring.ring_fd, kRegisterNapi, &registration, 1);
  return result < 0 ? -errno : 0;
}

uint32_t flagsOf(const UringOptions& options) {
  uint32_t flags = IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_SUBMIT_ALL | IORING_SETUP_CLAMP |
                   IORING_SETUP_CQSIZE;
  switch (options.completions) {
    case Completions::defer:
      flags |= IORING_SETUP_DEFER_TASKRUN | IORING_SETUP_TASKRUN_FLAG;
      break;
    case Completions::coop:
      flags |= IORING_SETUP_COOP_TASKRUN | IORING_SETUP_TASKRUN_FLAG;
      break;
    case Completions::interrupt:
      break;
  }
  if (options.sqpoll) {
    flags |= IORING_SETUP_SQPOLL;
    flags |= options.sqpoll_cpu.has_value() ? IORING_SETUP_SQ_AFF : 0;
  }
  return flags;
}

}  // namespace

int openRing(io_uring& ring, const UringOptions& options) {
  io_uring_params params{};
  params.flags = flagsOf(options);
  params.cq_entries = options.cq_entries;
  if (options.sqpoll) {
    params.sq_thread_idle = options.sqpoll_idle_ms;
    params.sq_thread_cpu = options.sqpoll_cpu.value_or(0);
  }
  int failed = io_uring_queue_init_params(options.sq_entries, &ring, &params);
  if (failed == 0 && options.napi_busy_poll_us > 0) {
    failed = registerNapi(ring, options.napi_busy_poll_us);
    if (failed < 0) {
      io_uring_queue_exit(&ring);
    }
  }
  return failed;
}

}  // namespace io
