#include "source/io/epoll/epoll_engine.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "source/base/check.h"
#include "source/io/clock/clock.h"
#include "source/rt/send_file.h"
#include "source/rt/send_progress.h"

namespace io {
namespace {

// How soon kernel AIO is asked again when it had no room and nothing of ours is under way.
constexpr uint64_t kAgain_ns = base::kMillisecond_ns;
constexpr uint64_t kLongestSleep_ns = 3600 * base::kSecond_ns;

constexpr size_t at(Side side) {
  return static_cast<size_t>(side);
}

Side sideOf(const rt::Op& op) {
  switch (op.kind) {
    case rt::OpKind::connect:
    case rt::OpKind::send:
    case rt::OpKind::sendmsg:
    case rt::OpKind::write:
      return Side::write;
    case rt::OpKind::poll:
      return (op.len & POLLOUT) != 0 && (op.len & POLLIN) == 0 ? Side::write : Side::read;
    default:
      return Side::read;
  }
}

// Operations of connected sockets, whose registration is known to be theirs; a wait for room too.
bool isTraffic(const rt::Op& op) {
  return op.kind == rt::OpKind::recv || op.kind == rt::OpKind::recv_select || rt::isSend(op.kind) ||
         (op.kind == rt::OpKind::poll && op.len == POLLOUT);
}

uint64_t takeCount(int event_fd) {
  uint64_t count = 0;
  const ssize_t got = read(event_fd, &count, sizeof count);
  return got == sizeof count ? count : 0;
}

bool isRegular(int fd) {
  struct stat info{};
  return fstat(fd, &info) == 0 && S_ISREG(info.st_mode);
}

}  // namespace

base::Result<std::unique_ptr<EventDoorbells>> EventDoorbells::create(uint16_t shards) {
  std::unique_ptr<EventDoorbells> doorbells(new EventDoorbells());
  for (uint16_t i = 0; i < shards; i++) {
    const int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (fd < 0) {
      return base::Error{base::Code::no_capacity, base::Blame::self, base::Retry::never, errno};
    }
    doorbells->fds_.push_back(fd);
  }
  return doorbells;
}

EventDoorbells::~EventDoorbells() {
  for (const int fd : fds_) {
    close(fd);
  }
}

base::Result<std::unique_ptr<EpollEngine>> EpollEngine::create(const EpollOptions& options,
                                                               base::ShardId self,
                                                               const EventDoorbells& doorbells) {
  std::unique_ptr<EpollEngine> engine(new EpollEngine(self, doorbells));
  base::Result<std::unique_ptr<Poller>> poller = Poller::create();
  if (!poller.ok()) {
    return poller.error();
  }
  engine->poller_ = std::move(poller.value());
  base::Result<std::unique_ptr<DiskQueue>> disk =
      DiskQueue::create(options.aio_entries, engine->stats_);
  if (!disk.ok()) {
    return disk.error();
  }
  engine->disk_ = std::move(disk.value());
  base::Result<std::unique_ptr<FileWorker>> worker =
      FileWorker::create("files-" + std::to_string(base::index(self)));
  if (!worker.ok()) {
    return worker.error();
  }
  engine->worker_ = std::move(worker.value());
  for (const int fd : {doorbells.get(self), engine->disk_->eventFd(), engine->worker_->eventFd()}) {
    const int failed = engine->poller_->arm(fd, Side::read);
    if (failed < 0) {
      return base::Error{base::Code::unsupported, base::Blame::self, base::Retry::never, -failed};
    }
  }
  return engine;
}

EpollEngine::~EpollEngine() {
  CHECK(stats_.in_flight == 0);
  CHECK(queued_.empty());
}

void EpollEngine::prepare(rt::Op& op) {
  CHECK(op.state == rt::Op::State::idle || op.state == rt::Op::State::done);
  op.state = rt::Op::State::queued;
  op.cancel_requested = false;
  if (rt::isSend(op.kind) || op.kind == rt::OpKind::connect) {
    op.offset = 0;
  }
  stats_.in_flight++;
  stats_.in_flight_max = std::max(stats_.in_flight_max, stats_.in_flight);
  queued_.push(&op);
}

void EpollEngine::cancel(rt::Op& op) {
  if (op.state == rt::Op::State::queued || op.state == rt::Op::State::in_kernel) {
    op.cancel_requested = true;
    cancels_.push_back(&op);
  }
}

void EpollEngine::ring(base::ShardId peer) {
  if (std::find(rings_.begin(), rings_.end(), peer) == rings_.end()) {
    rings_.push_back(peer);
  }
}

void EpollEngine::finish(rt::Op& op, int32_t result) {
  op.result = result;
  op.state = rt::Op::State::done;
  ended_.push(&op);
}

// Lines.

void EpollEngine::beginConnection(int fd) {
  Line& line = lineOf(fd);
  if (line.empty()) {
    poller_->forget(fd);  // of an earlier descriptor with this number
  }
  line.connection = true;
}

EpollEngine::Line& EpollEngine::lineOf(int fd) {
  const auto index = static_cast<size_t>(fd);
  if (index >= lines_.size()) {
    lines_.resize(std::max(index + 1, 2 * lines_.size()));
  }
  return lines_[index];
}

void EpollEngine::armLine(int fd) {
  Line& line = lineOf(fd);
  if (line.empty()) {
    line.both = false;
    if (!line.connection) {
      poller_->forget(fd);
    }
    return;
  }
  for (const Side side : {Side::read, Side::write}) {
    const int failed = line.both || !line.sides[at(side)].empty() ? poller_->arm(fd, side) : 0;
    if (failed < 0) {
      endLine(fd, failed);
      return;
    }
  }
}

void EpollEngine::endLine(int fd, int32_t result) {
  Line& line = lineOf(fd);
  for (rt::OpList& side : line.sides) {
    while (rt::Op* op = side.pop()) {
      finish(*op, result);
    }
  }
  line = Line{};
}

// In order; polls take nothing from the descriptor and so hold nobody up.
void EpollEngine::runLine(int fd, Side side) {
  rt::OpList waiting = std::exchange(lineOf(fd).sides[at(side)], rt::OpList{});
  rt::OpList still;
  bool blocked = false;
  while (rt::Op* op = waiting.pop()) {
    again_ = true;
    const bool isPoll = op->kind == rt::OpKind::poll;
    if ((blocked && !isPoll) || !attempt(*op)) {
      blocked = blocked || !isPoll;
      still.push(op);
    }
  }
  again_ = false;
  lineOf(fd).sides[at(side)] = still;
}

// Starting and stopping.

void EpollEngine::startAtLine(rt::Op& op) {
  if (op.fd < 0) {
    finish(op, -EBADF);
    return;
  }
  const auto index = static_cast<size_t>(op.fd);
  const Side side = sideOf(op);
  bool busy = false;
  if (index < lines_.size()) {
    Line& line = lines_[index];
    busy = op.kind != rt::OpKind::poll && !line.sides[at(side)].empty();
    if (line.empty() && !(line.connection && isTraffic(op))) {
      // The number may have been another descriptor's, which was closed behind our back.
      poller_->forget(op.fd);
      line.connection = false;
    }
  }
  if (!busy && attempt(op)) {
    return;
  }
  op.state = rt::Op::State::in_kernel;
  Line& now = lineOf(op.fd);
  now.both = now.both ||
             (op.kind == rt::OpKind::poll && (op.len & POLLIN) != 0 && (op.len & POLLOUT) != 0);
  now.sides[at(side)].push(&op);
  armLine(op.fd);
}

void EpollEngine::startFile(rt::Op& op) {
  const int status = op.fixed ? -1 : fcntl(op.fd, F_GETFL);
  if (status < 0) {
    finish(op, op.fixed ? -EINVAL : -errno);  // there is no registered region here
    return;
  }
  if (op.kind == rt::OpKind::fsync || (status & O_DIRECT) != 0) {
    disk_->push(op);
    return;
  }
  if (op.kind == rt::OpKind::read) {
    const iovec piece{op.addr, op.len};
    const ssize_t got = preadv2(op.fd, &piece, 1, static_cast<off_t>(op.offset), RWF_NOWAIT);
    if (got >= 0 || (errno != EAGAIN && errno != EOPNOTSUPP && errno != EINTR)) {
      finish(op, got < 0 ? -errno : static_cast<int32_t>(got));
      return;
    }
  }
  worker_->push(op);
}

void EpollEngine::startClose(rt::Op& op) {
  if (op.fd >= 0) {
    endLine(op.fd, -ECANCELED);
  }
  finish(op, poller_->close(op.fd));
}

void EpollEngine::start(rt::Op& op) {
  if (op.kind == rt::OpKind::close) {
    startClose(op);
  } else if (op.cancel_requested) {
    finish(op, -ECANCELED);
  } else if (op.kind == rt::OpKind::shutdown) {
    finish(op, shutdown(op.fd, SHUT_WR) == 0 ? 0 : -errno);
  } else if (op.kind == rt::OpKind::send_file) {
    finish(op, rt::trySendFile(op));
  } else if (op.kind == rt::OpKind::fsync ||
             ((op.kind == rt::OpKind::read || op.kind == rt::OpKind::write) &&
              op.offset != rt::kStreamOffset)) {
    startFile(op);
  } else if ((op.kind == rt::OpKind::read || op.kind == rt::OpKind::write) && isRegular(op.fd)) {
    worker_->push(op);
  } else {
    startAtLine(op);
  }
}

// What has not been done yet ends here; what the disk has ends by itself.
void EpollEngine::stop(rt::Op& op) {
  if (op.state == rt::Op::State::done || disk_->cancel(op) || worker_->cancel(op)) {
    if (op.state != rt::Op::State::done) {
      finish(op, -ECANCELED);
    }
    return;
  }
  if (op.fd < 0 || static_cast<size_t>(op.fd) >= lines_.size()) {
    return;
  }
  for (rt::OpList& side : lines_[static_cast<size_t>(op.fd)].sides) {
    rt::OpList kept;
    while (rt::Op* one = side.pop()) {
      if (one == &op) {
        finish(op, -ECANCELED);
      } else {
        kept.push(one);
      }
    }
    side = kept;
  }
  armLine(op.fd);
}

void EpollEngine::ringPeers() {
  for (const base::ShardId peer : rings_) {
    const int fd = doorbells_.get(peer);
    const uint64_t one = 1;
    if (fd >= 0 && write(fd, &one, sizeof one) == sizeof one) {
      stats_.doorbells_rung++;
    }
  }
  rings_.clear();
}

void EpollEngine::flush() {
  uint64_t batch = 0;
  while (rt::Op* op = queued_.pop()) {
    start(*op);
    batch++;
  }
  for (rt::Op* op : cancels_) {
    stop(*op);
  }
  cancels_.clear();
  disk_->submit(ended_);
  ringPeers();
  stats_.submissions += batch;
  stats_.submission_batch_max = std::max(stats_.submission_batch_max, batch);
}

// The turn.

uint64_t EpollEngine::sleepFor(base::MonoTime sleep_until) {
  if (sleep_until.ns == 0 || !ended_.empty()) {
    return 0;
  }
  if (disk_->starving()) {
    return kAgain_ns;
  }
  if (sleep_until == base::kNever) {
    return UINT64_MAX;
  }
  const uint64_t now = monotonicNow().ns;
  return sleep_until.ns <= now ? 0 : std::min(sleep_until.ns - now, kLongestSleep_ns);
}

void EpollEngine::await(base::MonoTime sleep_until) {
  const uint64_t timeout_ns = sleepFor(sleep_until);
  stats_.enters++;
  if (timeout_ns == 0) {
    poller_->wait(0, events_);
    return;
  }
  stats_.sleeps++;
  const uint64_t before = monotonicNow().ns;
  poller_->wait(timeout_ns, events_);
  stats_.wait_ns += monotonicNow().ns - before;
}

void EpollEngine::handle(const Poller::Event& event) {
  const int fd = event.fd;
  if (fd == doorbells_.get(self_) || fd == disk_->eventFd() || fd == worker_->eventFd()) {
    const uint64_t count = takeCount(fd);
    stats_.doorbells_heard += fd == doorbells_.get(self_) ? count : 0;
    const int failed = poller_->arm(fd, Side::read);
    CHECK(failed == 0);  // it is registered for good
    return;
  }
  if (lineOf(fd).both) {
    runLine(fd, event.side == Side::read ? Side::write : Side::read);
  }
  runLine(fd, event.side);
  armLine(fd);
}

size_t EpollEngine::enter(base::MonoTime sleep_until, rt::OpList& completed) {
  flush();
  await(sleep_until);
  // By place: what is handled may close descriptors, never add events.
  for (const Poller::Event& event : events_) {
    handle(event);
  }
  events_.clear();
  rt::OpList files;
  disk_->reap(files);
  worker_->reap(files);
  while (rt::Op* op = files.pop()) {
    finish(*op, op->result);
  }
  size_t done = 0;
  while (rt::Op* op = ended_.pop()) {
    op->state = rt::Op::State::done;
    completed.push(op);
    done++;
  }
  stats_.in_flight -= done;
  stats_.completions += done;
  stats_.completion_batch_max = std::max<uint64_t>(stats_.completion_batch_max, done);
  return done;
}

base::MonoTime EpollEngine::monotonic() {
  return monotonicNow();
}

base::UnixSeconds EpollEngine::wall() {
  return wallNow();
}

int64_t EpollEngine::wallMilliseconds() {
  return wallMillisecondsNow();
}

rt::CpuTime EpollEngine::cpuTime() {
  return threadCpuTime();
}

// The last one given back is the first one used again: its memory is warm.
void EpollEngine::provideReceiveBuffers(std::byte* memory, uint32_t size, uint32_t count) {
  CHECK(buffer_memory_ == nullptr);
  CHECK(count <= 32768);
  buffer_memory_ = memory;
  buffer_size_ = size;
  free_buffers_.reserve(count);
  for (uint32_t i = count; i > 0; i--) {
    free_buffers_.push_back(static_cast<uint16_t>(i - 1));
  }
}

void EpollEngine::recycle(uint16_t buffer_id) {
  free_buffers_.push_back(buffer_id);
}

bool EpollEngine::registerRegion(std::span<std::byte>) {
  return false;  // libaio has none
}

}  // namespace io
