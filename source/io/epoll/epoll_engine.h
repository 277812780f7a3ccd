// The epoll engine, for kernels and containers that forbid io_uring: Asio's epoll reactor waits for
// readiness (poller.h), then the engine does the system call; files opened for direct I/O go
// through kernel AIO, what the page cache has is read at once, and the rest of the file operations
// go to one helper thread.
//
//   prepare -> tried at the next enter -> done
//                  | would block             | direct I/O            | page cache, append
//                  v                         v                       v
//   in line at its descriptor's side   DiskQueue (eventfd)     FileWorker (eventfd)
//
// A connected socket stays registered from its accept or connect to its close, so it must be closed
// with a `close` operation of the same engine. Everything else is registered only while something
// waits for it.
//
// Sleeps end in steps of a millisecond. Descriptors that are waited for become non-blocking.
#pragma once

#include <memory>
#include <vector>

#include "source/base/result.h"
#include "source/io/aio/disk_queue.h"
#include "source/io/epoll/file_worker.h"
#include "source/io/epoll/poller.h"
#include "source/rt/io_engine.h"

namespace io {

// An eventfd for every shard, by which its peers wake it; made before the threads start and
// outliving every engine.
class EventDoorbells {
 public:
  // The error's sys says why not (EMFILE).
  static base::Result<std::unique_ptr<EventDoorbells>> create(uint16_t shards);
  ~EventDoorbells();
  // -1: there is no such shard.
  int get(base::ShardId shard) const {
    return base::index(shard) < fds_.size() ? fds_[base::index(shard)] : -1;
  }

 private:
  EventDoorbells() = default;
  std::vector<int> fds_;
};

struct EpollOptions {
  uint32_t aio_entries = kDefaultAioEntries;
};

class EpollEngine final : public rt::IoEngine {
 public:
  // On the thread that will use it. The error's sys says why not (EMFILE, or EAGAIN for
  // fs.aio-max-nr).
  static base::Result<std::unique_ptr<EpollEngine>> create(const EpollOptions& options,
                                                           base::ShardId self,
                                                           const EventDoorbells& doorbells);
  ~EpollEngine() override;

  void prepare(rt::Op& op) override;
  void cancel(rt::Op& op) override;
  void ring(base::ShardId peer) override;
  size_t enter(base::MonoTime sleep_until, rt::OpList& completed) override;
  base::MonoTime monotonic() override;
  base::UnixSeconds wall() override;
  int64_t wallMilliseconds() override;
  rt::CpuTime cpuTime() override;
  void provideReceiveBuffers(std::byte* memory, uint32_t size, uint32_t count) override;
  void recycle(uint16_t buffer_id) override;
  bool registerRegion(std::span<std::byte> region) override;
  const rt::IoStats& stats() const override { return stats_; }

 private:
  // The operations that wait at one descriptor, in order.
  struct Line {
    rt::OpList sides[2];  // by Side
    bool connection = false;
    bool both = false;  // a poll waits for either side
    bool empty() const { return sides[0].empty() && sides[1].empty(); }
  };

  EpollEngine(base::ShardId self, const EventDoorbells& doorbells)
      : self_(self), doorbells_(doorbells) {}

  // epoll_engine.cc
  void flush();
  void start(rt::Op& op);
  void startAtLine(rt::Op& op);
  void startFile(rt::Op& op);
  void startClose(rt::Op& op);
  void stop(rt::Op& op);
  void ringPeers();
  void finish(rt::Op& op, int32_t result);
  Line& lineOf(int fd);
  void armLine(int fd);
  void endLine(int fd, int32_t result);
  void beginConnection(int fd);
  void runLine(int fd, Side side);
  uint64_t sleepFor(base::MonoTime sleep_until);
  void await(base::MonoTime sleep_until);
  void handle(const Poller::Event& event);

  // attempts.cc: one try of an operation. False: it would block.
  bool attempt(rt::Op& op);
  bool attemptAccept(rt::Op& op);
  bool attemptConnect(rt::Op& op);
  bool attemptReceive(rt::Op& op);
  bool attemptSend(rt::Op& op);
  bool attemptPoll(rt::Op& op);
  bool attemptStream(rt::Op& op);
  bool finishCall(rt::Op& op, ssize_t result);

  base::ShardId self_;
  const EventDoorbells& doorbells_;
  std::unique_ptr<Poller> poller_;
  std::unique_ptr<DiskQueue> disk_;
  std::unique_ptr<FileWorker> worker_;
  std::vector<Line> lines_;  // by descriptor
  rt::OpList queued_;
  rt::OpList ended_;
  std::vector<rt::Op*> cancels_;
  std::vector<base::ShardId> rings_;
  std::vector<Poller::Event> events_;
  std::byte* buffer_memory_ = nullptr;
  uint32_t buffer_size_ = 0;
  std::vector<uint16_t> free_buffers_;
  bool again_ = false;  // this try follows a wait
  rt::IoStats stats_;
};

}  // namespace io
