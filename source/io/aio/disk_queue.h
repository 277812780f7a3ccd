// Kernel AIO (libaio) for one shard: reads, writes and syncs of files, submitted in batches and
// announced by an eventfd. Asynchronous only past the page cache (O_DIRECT): on other files the
// kernel does the work while it is submitted.
//
// Limits: `entries` operations in the kernel; more wait here, first come, first served.
#pragma once

#include <libaio.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "source/base/result.h"
#include "source/rt/io_engine.h"

namespace io {

inline constexpr uint32_t kDefaultAioEntries = 128;

class DiskQueue {
 public:
  // The error's sys says why not: EAGAIN means that fs.aio-max-nr is used up.
  // `stats` outlives it and counts submissions to the kernel (enters), and retries.
  static base::Result<std::unique_ptr<DiskQueue>> create(uint32_t entries, rt::IoStats& stats);
  // Nothing is in the kernel any more.
  ~DiskQueue();
  DiskQueue(const DiskQueue&) = delete;
  DiskQueue& operator=(const DiskQueue&) = delete;

  // Readable (a count of eight bytes) when operations have ended; whoever waits for it reads it.
  int eventFd() const { return event_fd_; }
  // op.kind is read, write or fsync.
  void push(rt::Op& op) { waiting_.push(&op); }
  // True: the operation still waited here and is its owner's again. False: it ends by itself.
  bool cancel(rt::Op& op);
  // Hands what waits to the kernel. Operations that it refuses go to `ended` with their result.
  void submit(rt::OpList& ended);
  // Appends operations that have ended, result set. Never waits.
  void reap(rt::OpList& ended);
  // Something waits and nothing in the kernel will end and so announce itself: submit again soon.
  bool starving() const { return !waiting_.empty() && in_kernel_ == 0; }

 private:
  static constexpr uint32_t kBatch = 32;

  DiskQueue(uint32_t entries, rt::IoStats& stats);
  uint32_t fillBatch();
  void accept(uint32_t count);

  rt::IoStats& stats_;
  io_context_t context_ = nullptr;
  int event_fd_ = -1;
  std::vector<iocb> slots_;
  std::vector<iocb*> free_;
  rt::OpList waiting_;
  iocb* batch_[kBatch] = {};
  uint32_t in_kernel_ = 0;
};

}  // namespace io
