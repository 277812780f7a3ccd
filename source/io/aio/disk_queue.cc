#include "source/io/aio/disk_queue.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "source/base/check.h"

namespace io {
namespace {

constexpr long kEvents = 64;

void fill(iocb& block, rt::Op& op, int event_fd) {
  switch (op.kind) {
    case rt::OpKind::read:
      io_prep_pread(&block, op.fd, op.addr, op.len, static_cast<long long>(op.offset));
      break;
    case rt::OpKind::write:
      io_prep_pwrite(&block, op.fd, op.addr, op.len, static_cast<long long>(op.offset));
      break;
    default:
      CHECK(op.kind == rt::OpKind::fsync);
      io_prep_fdsync(&block, op.fd);
      break;
  }
  io_set_eventfd(&block, event_fd);
  block.data = &op;
}

}  // namespace

DiskQueue::DiskQueue(uint32_t entries, rt::IoStats& stats) : stats_(stats), slots_(entries) {
  free_.reserve(entries);
  for (iocb& block : slots_) {
    free_.push_back(&block);
  }
}

base::Result<std::unique_ptr<DiskQueue>> DiskQueue::create(uint32_t entries, rt::IoStats& stats) {
  std::unique_ptr<DiskQueue> queue(new DiskQueue(entries, stats));
  const int failed = io_setup(static_cast<int>(entries), &queue->context_);
  if (failed < 0) {
    queue->context_ = nullptr;
    return base::Error{base::Code::unsupported, base::Blame::self, base::Retry::never, -failed};
  }
  queue->event_fd_ = eventfd(0, EFD_CLOEXEC);
  if (queue->event_fd_ < 0) {
    return base::Error{base::Code::no_capacity, base::Blame::self, base::Retry::never, errno};
  }
  return queue;
}

DiskQueue::~DiskQueue() {
  CHECK(in_kernel_ == 0);
  CHECK(waiting_.empty());
  if (context_ != nullptr) {
    io_destroy(context_);
  }
  if (event_fd_ >= 0) {
    close(event_fd_);
  }
}

bool DiskQueue::cancel(rt::Op& op) {
  rt::OpList kept;
  bool found = false;
  while (rt::Op* one = waiting_.pop()) {
    if (one == &op) {
      found = true;
    } else {
      kept.push(one);
    }
  }
  waiting_ = kept;
  return found;
}

// The first of what waits, as many as there are slots for.
uint32_t DiskQueue::fillBatch() {
  uint32_t count = 0;
  for (rt::Op* op = waiting_.head; op != nullptr && count < kBatch && count < free_.size();
       op = op->next) {
    batch_[count] = free_[free_.size() - 1 - count];
    fill(*batch_[count], *op, event_fd_);
    count++;
  }
  return count;
}

void DiskQueue::accept(uint32_t count) {
  for (uint32_t i = 0; i < count; i++) {
    waiting_.pop()->state = rt::Op::State::in_kernel;
    free_.pop_back();
  }
  in_kernel_ += count;
}

void DiskQueue::submit(rt::OpList& ended) {
  while (true) {
    const uint32_t count = fillBatch();
    if (count == 0) {
      return;
    }
    stats_.enters++;
    const int result = io_submit(context_, count, batch_);
    if (result > 0) {
      accept(static_cast<uint32_t>(result));  // a refusal stops a batch: what it is comes next time
    } else if (result == -EAGAIN || result == -EINTR || result == 0) {
      stats_.retries++;
      return;  // the kernel has no room now
    } else {
      rt::Op* refused = waiting_.pop();  // the first one is at fault: an unknown descriptor or such
      refused->result = result;
      ended.push(refused);
    }
  }
}

void DiskQueue::reap(rt::OpList& ended) {
  io_event events[kEvents];
  timespec no_wait{};
  int count = kEvents;
  while (in_kernel_ > 0 && count == kEvents) {
    count = io_getevents(context_, 0, kEvents, events, &no_wait);
    for (int i = 0; i < count; i++) {
      auto* op = static_cast<rt::Op*>(events[i].data);
      const auto result = static_cast<int32_t>(static_cast<long>(events[i].res));
      free_.push_back(events[i].obj);
      in_kernel_--;
      if ((result == -EAGAIN || result == -EINTR) && !op->cancel_requested) {
        stats_.retries++;
        op->state = rt::Op::State::queued;
        waiting_.push(op);
        continue;
      }
      op->result = result;
      ended.push(op);
    }
  }
}

}  // namespace io
