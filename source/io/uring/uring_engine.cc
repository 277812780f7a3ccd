#include "source/io/uring/uring_engine.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>

#include "source/base/check.h"
#include "source/io/clock/clock.h"
#include "source/rt/send_file.h"
#include "source/rt/send_progress.h"

namespace io {
namespace {

constexpr uint16_t kBufferGroup = 1;
// What one enter delivers of deferred completions; the kernel does not say when it has more.
constexpr unsigned kDelivered = 20;
// Of sends in one enter: some milliseconds of copying.
constexpr size_t kFlushed_bytes = 8 << 20;
// user_data is an Op's address or one of these.
constexpr uint64_t kDoorbell = 1;
constexpr uint64_t kIgnored = 2;
constexpr uint64_t kRung = 3;  // a doorbell of ours has been heard

bool isSocketWait(rt::OpKind kind) {
  return kind == rt::OpKind::accept || kind == rt::OpKind::recv ||
         kind == rt::OpKind::recv_select || rt::isSend(kind);
}

// A buffer ring of `count` entries at `memory`, which is page-aligned. 0 or -errno.
int registerBuffers(io_uring& ring, void* memory, uint32_t count) {
  io_uring_buf_reg registration{};
  registration.ring_addr = reinterpret_cast<uint64_t>(memory);
  registration.ring_entries = count;
  registration.bgid = kBufferGroup;
  return io_uring_register_buf_ring(&ring, &registration, 0);
}

}  // namespace

Doorbells::Doorbells(uint16_t shards)
    : shards_(shards), rings_(std::make_unique<std::atomic<int>[]>(shards)) {
  for (uint16_t i = 0; i < shards; i++) {
    rings_[i].store(-1, std::memory_order_relaxed);
  }
}

base::Result<std::unique_ptr<UringEngine>> UringEngine::create(const UringOptions& options,
                                                               base::ShardId self,
                                                               Doorbells& doorbells) {
  std::unique_ptr<UringEngine> engine(new UringEngine(options, self, doorbells));
  const int failed = openRing(engine->ring_, options);
  if (failed < 0) {
    return base::Error{base::Code::unsupported, base::Blame::self, base::Retry::never, -failed};
  }
  engine->ring_ready_ = true;
  io_uring_register_ring_fd(&engine->ring_);  // saves a descriptor lookup an enter; fine without
  if (options.registered_files) {
    engine->files_.open(engine->ring_);  // fine without
  }
  doorbells.set(self, engine->ring_.ring_fd);
  return engine;
}

base::Status UringEngine::probe(const UringOptions& options, uint16_t engines) {
  constexpr uint32_t kEntries = 16;
  alignas(4096) std::byte buffers[4096] = {};
  std::vector<io_uring> rings;
  int failed = 0;
  while (failed == 0 && rings.size() < engines) {
    io_uring ring{};
    failed = openRing(ring, options);
    if (failed == 0) {
      rings.push_back(ring);
      failed = registerBuffers(ring, buffers, kEntries);
      io_uring_unregister_buf_ring(&ring, kBufferGroup);
    }
  }
  for (io_uring& ring : rings) {
    io_uring_queue_exit(&ring);
  }
  if (failed < 0) {
    return base::Error{base::Code::unsupported, base::Blame::self, base::Retry::never, -failed};
  }
  return base::Unit{};
}

UringEngine::~UringEngine() {
  if (!ring_ready_) {
    return;
  }
  CHECK(queued_.empty() && sends_.empty());
  CHECK(stats_.in_flight == 0);
  doorbells_.set(self_, -1);
  if (buffers_ != nullptr) {
    io_uring_unregister_buf_ring(&ring_, kBufferGroup);
    munmap(buffers_, buffer_count_ * sizeof(io_uring_buf));
  }
  io_uring_queue_exit(&ring_);
}

void UringEngine::prepare(rt::Op& op) {
  CHECK(op.state == rt::Op::State::idle || op.state == rt::Op::State::done);
  op.state = rt::Op::State::queued;
  op.cancel_requested = false;
  if (rt::isSend(op.kind)) {
    op.offset = 0;
  }
  stats_.in_flight++;
  stats_.in_flight_max = std::max(stats_.in_flight_max, stats_.in_flight);
  queue(op);
}

void UringEngine::queue(rt::Op& op) {
  const bool copies = rt::isSend(op.kind) || op.kind == rt::OpKind::send_file;
  (copies ? sends_ : queued_).push(&op);
}

void UringEngine::cancel(rt::Op& op) {
  if (op.state == rt::Op::State::queued || op.state == rt::Op::State::in_kernel) {
    op.cancel_requested = true;
    cancels_.push_back(&op);  // sent after what is queued, so it always finds the operation
  }
}

void UringEngine::ring(base::ShardId peer) {
  if (std::find(rings_.begin(), rings_.end(), peer) == rings_.end()) {
    rings_.push_back(peer);
  }
}

io_uring_sqe* UringEngine::nextSqe() {
  io_uring_sqe* sqe = io_uring_get_sqe(&ring_);
  while (sqe == nullptr) {
    submit();
    if (options_.sqpoll) {
      io_uring_sqring_wait(&ring_);  // the kernel's thread empties it
    }
    sqe = io_uring_get_sqe(&ring_);
  }
  return sqe;
}

void UringEngine::submit() {
  stats_.enters += !options_.sqpoll || sleepsInKernel(ring_) ? 1 : 0;
  io_uring_submit(&ring_);
}

// After its preparation: by the file's place in the ring's table, if it has one.
void UringEngine::useSlot(io_uring_sqe* sqe, const rt::Op& op) const {
  if (const std::optional<uint32_t> slot = files_.slotOf(op.fd)) {
    sqe->fd = static_cast<int>(*slot);
    sqe->flags |= IOSQE_FIXED_FILE;
  }
}

void UringEngine::fill(io_uring_sqe* sqe, rt::Op& op) {
  switch (op.kind) {
    case rt::OpKind::accept:
      io_uring_prep_accept(sqe, op.fd, nullptr, nullptr, SOCK_CLOEXEC);
      break;
    case rt::OpKind::connect:
      io_uring_prep_connect(sqe, op.fd, static_cast<const sockaddr*>(op.addr), op.len);
      break;
    case rt::OpKind::recv:
      io_uring_prep_recv(sqe, op.fd, op.addr, op.len, 0);
      sqe->ioprio |= op.later ? IORING_RECVSEND_POLL_FIRST : 0;
      break;
    case rt::OpKind::recv_select:
      io_uring_prep_recv(sqe, op.fd, nullptr, buffer_size_, 0);
      sqe->ioprio |= op.later ? IORING_RECVSEND_POLL_FIRST : 0;
      sqe->flags |= IOSQE_BUFFER_SELECT;
      sqe->buf_group = kBufferGroup;
      break;
    case rt::OpKind::send:
      io_uring_prep_send(sqe, op.fd, op.addr, op.len, MSG_NOSIGNAL | MSG_WAITALL);
      break;
    case rt::OpKind::sendmsg:
      io_uring_prep_sendmsg(sqe, op.fd, static_cast<const msghdr*>(op.addr),
                            MSG_NOSIGNAL | MSG_WAITALL);
      break;
    case rt::OpKind::send_file:  // see flushQueued()
      CHECK(false);
      break;
    case rt::OpKind::read:
      if (op.fixed) {
        io_uring_prep_read_fixed(sqe, op.fd, op.addr, op.len, op.offset, 0);
      } else {
        io_uring_prep_read(sqe, op.fd, op.addr, op.len, op.offset);
      }
      useSlot(sqe, op);
      break;
    case rt::OpKind::write:
      if (op.fixed) {
        io_uring_prep_write_fixed(sqe, op.fd, op.addr, op.len, op.offset, 0);
      } else {
        io_uring_prep_write(sqe, op.fd, op.addr, op.len, op.offset);
      }
      useSlot(sqe, op);
      break;
    case rt::OpKind::fsync:
      io_uring_prep_fsync(sqe, op.fd, IORING_FSYNC_DATASYNC);
      useSlot(sqe, op);
      break;
    case rt::OpKind::poll:
      io_uring_prep_poll_add(sqe, op.fd, op.len);
      break;
    case rt::OpKind::shutdown:
      io_uring_prep_shutdown(sqe, op.fd, SHUT_WR);
      break;
    case rt::OpKind::close:
      io_uring_prep_close(sqe, op.fd);
      break;
  }
  io_uring_sqe_set_data64(sqe, reinterpret_cast<uint64_t>(&op));
}

// Before everything else: sends do their work while they are submitted, and the peer can begin its
// own meanwhile.
void UringEngine::ringDoorbells() {
  for (base::ShardId peer : rings_) {
    const int fd = doorbells_.get(peer);
    if (fd >= 0) {
      io_uring_sqe* sqe = nextSqe();
      io_uring_prep_msg_ring(sqe, fd, 0, kDoorbell, 0);
      // A ring with deferred completions posts to its peer within the enter. Another one's kernel
      // thread or worker may do it later, and would not if the ring were gone by then.
      const bool at_once = options_.completions == Completions::defer && !options_.sqpoll;
      io_uring_sqe_set_data64(sqe, at_once ? kIgnored : kRung);
      sqe->flags |= at_once ? IOSQE_CQE_SKIP_SUCCESS : 0;
      ringing_ += at_once ? 0 : 1;
      stats_.doorbells_rung++;
    }
  }
  rings_.clear();
}

void UringEngine::flush(rt::Op& op) {
  stats_.submissions++;
  if (op.kind == rt::OpKind::send_file) {
    // The ring's own way, two splices through a pipe, is always a worker thread's.
    op.result = op.cancel_requested ? -ECANCELED : rt::trySendFile(op);
    op.state = rt::Op::State::done;
    tried_.push(&op);
    return;
  }
  fill(nextSqe(), op);
  op.state = rt::Op::State::in_kernel;
  stats_.submission_batch_max = std::max<uint64_t>(stats_.submission_batch_max, ++unsubmitted_);
  if (unsubmitted_ == options_.submit_batch) {
    submit();
    unsubmitted_ = 0;
  }
}

// What takes the kernel no time comes first: a disk works while sends are copied. After so many
// bytes of sends the others wait for the next enter, and completions are looked at before.
void UringEngine::flushQueued() {
  ringDoorbells();
  unsubmitted_ = 0;
  while (rt::Op* op = queued_.pop()) {
    flush(*op);
  }
  size_t sent = 0;
  while (sent < kFlushed_bytes && !sends_.empty()) {
    rt::Op* op = sends_.pop();
    sent += op->kind == rt::OpKind::send_file ? op->len : rt::bytesLeft(*op);
    flush(*op);
  }
  flushCancels();
}

void UringEngine::flushCancels() {
  size_t kept = 0;
  for (rt::Op* op : cancels_) {
    // A completed operation has left the table by now, and its address may be another's: it is not
    // named.
    if (op->state == rt::Op::State::in_kernel) {
      io_uring_sqe* sqe = nextSqe();
      io_uring_prep_cancel64(sqe, reinterpret_cast<uint64_t>(op), 0);
      io_uring_sqe_set_data64(sqe, kIgnored);
      sqe->flags |= IOSQE_CQE_SKIP_SUCCESS;
    } else if (op->state == rt::Op::State::queued) {
      cancels_[kept++] = op;  // a send that has not gone yet
    }
  }
  cancels_.resize(kept);
}

// Never waits.
void UringEngine::submitAndLook() {
  if (hasWork(ring_) || maybe_more_ || (!options_.sqpoll && io_uring_sq_ready(&ring_) > 0)) {
    stats_.enters++;
    io_uring_submit_and_get_events(&ring_);
  } else if (options_.sqpoll && io_uring_sq_ready(&ring_) > 0) {
    submit();
  }
}

void UringEngine::submitAndWait(base::MonoTime sleep_until) {
  if (sleep_until.ns == 0) {
    submitAndLook();
    return;
  }
  const uint64_t before = monotonicNow().ns;
  if (sleep_until != base::kNever && sleep_until.ns <= before) {
    submitAndLook();
    return;
  }
  stats_.enters++;
  stats_.sleeps++;
  if (sleep_until == base::kNever) {
    io_uring_submit_and_wait(&ring_, 1);
  } else {
    const uint64_t left = sleep_until.ns - before;
    __kernel_timespec wait{static_cast<int64_t>(left / base::kSecond_ns),
                           static_cast<long long>(left % base::kSecond_ns)};
    io_uring_cqe* first = nullptr;
    io_uring_submit_and_wait_timeout(&ring_, &first, 1, &wait, nullptr);
  }
  stats_.wait_ns += monotonicNow().ns - before;
}

bool UringEngine::finish(rt::Op& op, int32_t result, uint32_t flags) {
  if ((flags & IORING_CQE_F_BUFFER) != 0) {
    op.buffer_id = static_cast<uint16_t>(flags >> IORING_CQE_BUFFER_SHIFT);
    if (result <= 0) {
      recycle(op.buffer_id);  // chosen, but not filled
    }
  }
  if ((result == -EAGAIN || result == -EINTR) && !op.cancel_requested) {
    stats_.retries++;
    if (result == -EAGAIN && isSocketWait(op.kind)) {
      const int status = fcntl(op.fd, F_GETFL);
      if (status >= 0 && (status & O_NONBLOCK) != 0) {
        fcntl(op.fd, F_SETFL, status & ~O_NONBLOCK);
      }
    }
    op.state = rt::Op::State::queued;
    queue(op);
    return false;
  }
  if (rt::isSend(op.kind) && result >= 0) {
    const size_t wanted = rt::bytesLeft(op);
    if (static_cast<size_t>(result) < wanted && result > 0) {
      stats_.short_transfers++;
      if (!op.cancel_requested) {
        rt::moveSend(op, static_cast<size_t>(result));
        op.state = rt::Op::State::queued;
        queue(op);
        return false;
      }
      op.offset += static_cast<uint32_t>(result);
      result = -ECANCELED;
    } else {
      result += static_cast<int32_t>(op.offset);
    }
  }
  op.result = result;
  op.state = rt::Op::State::done;
  return true;
}

size_t UringEngine::reap(rt::OpList& completed) {
  io_uring_cqe* cqe = nullptr;
  unsigned head = 0;
  unsigned seen = 0;
  size_t done = 0;
  io_uring_for_each_cqe(&ring_, head, cqe) {
    seen++;
    if (cqe->user_data == kDoorbell) {
      stats_.doorbells_heard++;
      continue;
    }
    if (cqe->user_data == kIgnored || cqe->user_data == kRung) {
      ringing_ -= cqe->user_data == kRung ? 1 : 0;
      continue;
    }
    auto* op = reinterpret_cast<rt::Op*>(cqe->user_data);
    if (finish(*op, cqe->res, cqe->flags)) {
      completed.push(op);
      done++;
    }
  }
  io_uring_cq_advance(&ring_, seen);
  maybe_more_ = seen >= kDelivered && options_.completions == Completions::defer;
  while (rt::Op* op = tried_.pop()) {
    completed.push(op);
    done++;
  }
  stats_.in_flight -= done;
  stats_.completions += done;
  stats_.completion_batch_max = std::max<uint64_t>(stats_.completion_batch_max, seen);
  if ((*ring_.sq.kflags & IORING_SQ_CQ_OVERFLOW) != 0) {
    stats_.cq_overflows++;
  }
  return done;
}

size_t UringEngine::enter(base::MonoTime sleep_until, rt::OpList& completed) {
  flushQueued();
  if (sleep_until.ns != 0 &&
      (io_uring_cq_ready(&ring_) > 0 || !tried_.empty() || !sends_.empty())) {
    sleep_until.ns = 0;
  }
  submitAndWait(sleep_until);
  return reap(completed);
}

void UringEngine::finishDoorbells() {
  CHECK(stats_.in_flight == 0);
  rt::OpList none;
  while (ringing_ > 0) {
    io_uring_submit_and_wait(&ring_, 1);
    reap(none);
  }
}

base::MonoTime UringEngine::monotonic() {
  return monotonicNow();
}

base::UnixSeconds UringEngine::wall() {
  return wallNow();
}

int64_t UringEngine::wallMilliseconds() {
  return wallMillisecondsNow();
}

rt::CpuTime UringEngine::cpuTime() {
  return threadCpuTime();
}

void UringEngine::provideReceiveBuffers(std::byte* memory, uint32_t size, uint32_t count) {
  CHECK(buffers_ == nullptr);
  void* map = mmap(nullptr, count * sizeof(io_uring_buf), PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  CHECK(map != MAP_FAILED);
  buffers_ = static_cast<io_uring_buf_ring*>(map);
  buffer_memory_ = memory;
  buffer_size_ = size;
  buffer_count_ = count;
  const int failed = registerBuffers(ring_, map, count);
  CHECK(failed == 0);
  io_uring_buf_ring_init(buffers_);
  for (uint32_t i = 0; i < count; i++) {
    io_uring_buf_ring_add(buffers_, memory + size_t{i} * size, size, static_cast<uint16_t>(i),
                          io_uring_buf_ring_mask(count), static_cast<int>(i));
  }
  io_uring_buf_ring_advance(buffers_, static_cast<int>(count));
}

void UringEngine::recycle(uint16_t buffer_id) {
  io_uring_buf_ring_add(buffers_, buffer_memory_ + size_t{buffer_id} * buffer_size_, buffer_size_,
                        buffer_id, io_uring_buf_ring_mask(buffer_count_), 0);
  io_uring_buf_ring_advance(buffers_, 1);
}

bool UringEngine::registerRegion(std::span<std::byte> region) {
  if (!options_.registered_buffers) {
    return false;
  }
  iovec piece{region.data(), region.size()};
  return io_uring_register_buffers(&ring_, &piece, 1) == 0;
}

void UringEngine::registerFile(int fd) {
  files_.add(ring_, fd);
  stats_.files_registered = files_.size();
}

void UringEngine::releaseFile(int fd) {
  files_.remove(ring_, fd);
  stats_.files_registered = files_.size();
}

}  // namespace io
