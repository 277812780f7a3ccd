#include "source/io/aio/aio_engine.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace io {
namespace {

// How soon the kernel is asked again when it had no room and nothing is under way.
constexpr uint64_t kAgain_ns = base::kMillisecond_ns;

bool isDisk(rt::OpKind kind) {
  return kind == rt::OpKind::read || kind == rt::OpKind::write || kind == rt::OpKind::fsync;
}

}  // namespace

AioEngine::AioEngine(std::unique_ptr<rt::IoEngine> inner) : inner_(std::move(inner)) {}

base::Result<std::unique_ptr<AioEngine>> AioEngine::create(std::unique_ptr<rt::IoEngine> inner,
                                                           std::span<const int> files) {
  std::unique_ptr<AioEngine> engine(new AioEngine(std::move(inner)));
  base::Result<std::unique_ptr<DiskQueue>> disk =
      DiskQueue::create(kDefaultAioEntries, engine->own_);
  if (!disk.ok()) {
    return disk.error();
  }
  engine->disk_ = std::move(disk.value());
  for (const int fd : files) {
    engine->take(fd);
  }
  return engine;
}

// Without disk operations nothing waits for the eventfd, so this may be another thread than the
// inner engine's.
AioEngine::~AioEngine() {
  CHECK(own_.in_flight == 0);
  CHECK(!isListening());
}

void AioEngine::take(int fd) {
  if (static_cast<size_t>(fd) >= files_.size()) {
    files_.resize(static_cast<size_t>(fd) + 1, false);
  }
  files_[static_cast<size_t>(fd)] = true;
}

bool AioEngine::takes(const rt::Op& op) const {
  return isDisk(op.kind) && op.fd >= 0 && static_cast<size_t>(op.fd) < files_.size() &&
         files_[static_cast<size_t>(op.fd)];
}

bool AioEngine::isListening() const {
  return wake_.state == rt::Op::State::queued || wake_.state == rt::Op::State::in_kernel;
}

void AioEngine::listen() {
  wake_.kind = rt::OpKind::read;
  wake_.fd = disk_->eventFd();
  wake_.addr = &events_;
  wake_.len = sizeof events_;
  wake_.offset = rt::kStreamOffset;
  inner_->prepare(wake_);
  listens_++;
}

void AioEngine::prepare(rt::Op& op) {
  if (!takes(op)) {
    inner_->prepare(op);
    return;
  }
  CHECK(op.state == rt::Op::State::idle || op.state == rt::Op::State::done);
  op.state = rt::Op::State::queued;
  op.cancel_requested = false;
  own_.in_flight++;
  own_.submissions++;
  own_.in_flight_max = std::max(own_.in_flight_max, stats().in_flight);
  const auto* begin = static_cast<const std::byte*>(op.addr);
  const bool within = begin >= region_.data() && begin + op.len <= region_.data() + region_.size();
  if (op.fixed && !within) {
    op.result = -EINVAL;
    ended_.push(&op);
  } else {
    disk_->push(op);
  }
}

void AioEngine::cancel(rt::Op& op) {
  if (!takes(op)) {
    inner_->cancel(op);
  } else if (op.state == rt::Op::State::queued || op.state == rt::Op::State::in_kernel) {
    op.cancel_requested = true;
    if (disk_->cancel(op)) {
      op.result = -ECANCELED;
      ended_.push(&op);
    }
  }
}

size_t AioEngine::enter(base::MonoTime sleep_until, rt::OpList& completed) {
  size_t count = 0;
  const auto enterInner = [&](base::MonoTime until) {
    rt::OpList inner;
    count += inner_->enter(until, inner);
    while (rt::Op* op = inner.pop()) {
      if (op == &wake_) {
        wakes_++;
        count--;
      } else {
        completed.push(op);
      }
    }
  };
  disk_->submit(ended_);
  if (!ended_.empty()) {
    sleep_until.ns = 0;
  } else if (sleep_until.ns != 0 && disk_->starving()) {
    sleep_until = std::min(sleep_until, inner_->monotonic() + kAgain_ns);
  }
  if (sleep_until.ns != 0 && own_.in_flight > 0 && !isListening()) {
    listen();
  }
  enterInner(sleep_until);
  disk_->reap(ended_);
  while (rt::Op* op = ended_.pop()) {
    op->state = rt::Op::State::done;
    own_.in_flight--;
    own_.completions++;
    count++;
    completed.push(op);
  }
  if (own_.in_flight == 0 && isListening()) {
    const uint64_t one = 1;
    const ssize_t told = write(disk_->eventFd(), &one, sizeof one);
    CHECK(told == sizeof one);  // the count is small, and the descriptor our own
    while (isListening()) {
      enterInner(base::MonoTime{0});
    }
  }
  own_.completion_batch_max = std::max<uint64_t>(own_.completion_batch_max, count);
  return count;
}

bool AioEngine::registerRegion(std::span<std::byte> region) {
  region_ = region;
  return inner_->registerRegion(region);
}

const rt::IoStats& AioEngine::stats() const {
  merged_ = inner_->stats();
  merged_.enters += own_.enters;
  merged_.submissions += own_.submissions - listens_;
  merged_.completions += own_.completions - wakes_;
  merged_.in_flight += own_.in_flight - (isListening() ? 1 : 0);
  merged_.in_flight_max = std::max(merged_.in_flight_max, own_.in_flight_max);
  merged_.completion_batch_max = std::max(merged_.completion_batch_max, own_.completion_batch_max);
  merged_.retries += own_.retries;
  return merged_;
}

}  // namespace io
