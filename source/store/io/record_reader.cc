#include "source/store/io/record_reader.h"

#include <algorithm>
#include <utility>

namespace store {
namespace {

// How soon a shard that was behind looks again whether it has caught up.
constexpr uint64_t kLookAgain_ns = base::kMillisecond_ns;

}  // namespace

RecordReader::RecordReader(rt::Reactor& reactor, rt::BufferPool& pool, uint32_t max_in_flight,
                           DiskEvents* events)
    : reactor_(reactor),
      pool_(pool),
      max_in_flight_(max_in_flight),
      events_(events),
      tasks_(reactor, UINT32_MAX) {}

RecordReader::~RecordReader() = default;

RecordReader::Lane& RecordReader::laneOf(uint16_t disk) {
  while (lanes_.size() <= disk) {
    lanes_.push_back(std::make_unique<Lane>(max_in_flight_));
  }
  return *lanes_[disk];
}

// The table of what is being read, or held.

size_t RecordReader::rowOf(RecordFile file, Location at) {
  const uint64_t place = (uint64_t{at.segment} << 32) | at.offset_units;
  return mix64(place + static_cast<uint64_t>(file.fd) * 0x9e3779b97f4a7c15ULL) % kRows;
}

SharedRead* RecordReader::find(RecordFile file, Location at) const {
  for (SharedRead* read = rows_[rowOf(file, at)]; read != nullptr; read = read->next) {
    // A number of a descriptor may come again, for another disk's file.
    if (read->file.fd == file.fd && read->file.salt == file.salt && read->at == at) {
      return read;
    }
  }
  return nullptr;
}

SharedRead& RecordReader::begin(RecordFile file, Location at) {
  if (free_ == nullptr) {
    reads_.push_back(std::make_unique<SharedRead>());
    free_ = reads_.back().get();
  }
  SharedRead& read = *std::exchange(free_, free_->next);
  SharedRead*& row = rows_[rowOf(file, at)];
  read.file = file;
  read.at = at;
  read.next = std::exchange(row, &read);
  read.listed = true;
  read.users = 1;
  read.given = base::MonoTime{0};
  read.late = false;
  read.done = false;
  read.ahead = false;
  read.status = base::Unit{};
  return read;
}

void RecordReader::unlist(SharedRead& read) {
  if (!read.listed) {
    return;
  }
  SharedRead** link = &rows_[rowOf(read.file, read.at)];
  while (*link != &read) {
    link = &(*link)->next;
  }
  *link = read.next;
  read.listed = false;
}

void RecordReader::drop(SharedRead& read) {
  if (--read.users > 0) {
    return;
  }
  unlist(read);
  read.buffer.reset();
  read.record = RecordView();
  read.next = std::exchange(free_, &read);
}

// Reading.

rt::Task<base::Result<RecordRef>> RecordReader::read(RecordFile file, Location at,
                                                     rt::CancelScope& scope,
                                                     base::MonoTime deadline) {
  const uint32_t bytes = at.length_units * kUnitBytes;
  if (at.sequence == 0 || bytes == 0 || bytes > rt::BufferPool::kMax_bytes) {
    stats_.stale_locations++;
    co_return base::Error{base::Code::stale_location, base::Blame::disk};
  }
  while (true) {
    SharedRead* read = find(file, at);
    const bool found = read != nullptr;
    if (!found && !laneOf(file.disk).health.usable(reactor_.now())) {
      stats_.refused++;
      co_return base::Error{base::Code::no_capacity, base::Blame::disk};
    }
    read = found ? read : &begin(file, at);
    RecordRef ref(*this, *read);
    if (found) {
      stats_.shared += std::exchange(read->ahead, false) ? 0 : 1;
    } else {
      const bool spawned = tasks_.spawn(run(read));
      CHECK(spawned);
    }
    base::Status ended = co_await awaitEnd(read, scope, deadline);
    if (ended.ok()) {
      co_return std::move(ref);
    }
    // A read that began before this call may have come before the write that this caller knows of.
    const bool too_early = found && (ended.error().code == base::Code::stale_location ||
                                     ended.error().code == base::Code::corrupt);
    if (!too_early) {
      co_return ended.error();
    }
  }
}

// The read goes on when its caller leaves, at the deadline or since the disk takes too long.
rt::Task<base::Status> RecordReader::awaitEnd(SharedRead* read, rt::CancelScope& scope,
                                              base::MonoTime deadline) {
  base::MonoTime soonest{0};
  while (!read->done) {
    if (!isLate(*read)) {
      const base::MonoTime now = reactor_.now();
      const base::MonoTime patient = (read->given.ns > 0 ? read->given : now) + kDiskPatience_ns;
      const base::MonoTime until = std::max(std::min(deadline, patient), soonest);
      if (co_await read->ended.wait(scope, until) == rt::WaitQueue::Woken::cancelled) {
        co_return base::Error{base::Code::cancelled, base::Blame::self};
      }
      soonest = reactor_.now() + kLookAgain_ns;
    }
    const bool enough = isLate(*read) || reactor_.caughtUp() >= deadline ||
                        reactor_.now() >= deadline + kBusyPatience_ns;
    if (!read->done && (enough || laneOf(read->file.disk).health.out())) {
      noteLate(*read);
      co_return base::Error{base::Code::timeout, base::Blame::disk};
    }
  }
  co_return read->status;
}

rt::Task<void> RecordReader::run(SharedRead* read) {
  const uint32_t bytes = read->at.length_units * kUnitBytes;
  Lane& lane = laneOf(read->file.disk);
  rt::CancelScope never;
  read->buffer = pool_.tryTake(bytes);
  if (!read->buffer) {
    base::Result<rt::Buffer> taken = co_await pool_.take(bytes, never);
    CHECK(taken.ok());
    read->buffer = std::move(taken.value());
  }
  if (!lane.in_flight.tryAcquire(1)) {
    base::Status place = co_await lane.in_flight.acquire(1, never);
    CHECK(place.ok());
  }
  if (read->users > 1) {
    read->status = co_await fetch(read, bytes);
  } else {
    read->status = base::Error{base::Code::cancelled, base::Blame::self};  // nobody waits any more
  }
  lane.in_flight.release(1);
  if (read->status.ok()) {
    read->status = verify(*read, bytes);
  }
  if (!read->status.ok()) {
    unlist(*read);  // the next one who wants it tries again
  }
  read->done = true;
  read->ended.wakeAll();
  drop(*read);
}

rt::Task<base::Status> RecordReader::fetch(SharedRead* read, uint32_t bytes) {
  const uint64_t offset = segmentOffset(read->at.segment, read->file.segment_bytes) +
                          uint64_t{read->at.offset_units} * kUnitBytes;
  read->given = reactor_.now();
  const uint64_t begun_ns = reactor_.engine().monotonic().ns;
  rt::CancelScope never;
  rt::IoResult result;
  uint32_t done = 0;
  while (done < bytes) {
    result = co_await rt::FileOp(rt::OpKind::read, read->file.fd,
                                 read->buffer.span().subspan(done, bytes - done), offset + done,
                                 pool_.registered(), never, base::kNever);
    if (result.result == 0) {
      result.result = -EIO;  // the file is shorter than it was
    }
    if (!result.ok()) {
      break;
    }
    done += static_cast<uint32_t>(result.result);
    stats_.short_reads += done < bytes ? 1 : 0;
  }
  noteEnd(*read, result);
  stats_.reads++;
  stats_.bytes += done;
  stats_.latency_ns.record(reactor_.engine().monotonic().ns - begun_ns);
  if (!result.ok()) {
    co_return result.error(base::Blame::disk);
  }
  co_return base::Unit{};
}

base::Status RecordReader::verify(SharedRead& read, uint32_t bytes) {
  base::Result<RecordView> record =
      decodeRecord(read.buffer.span().first(bytes),
                   RecordPlace{read.at.sequence, read.at.offset_units, read.file.salt});
  if (!record.ok()) {
    (record.error().code == base::Code::corrupt ? stats_.corrupt : stats_.stale_locations)++;
    return record.error();
  }
  read.record = record.value();
  return base::Unit{};
}

// Whether it is the disk that takes so long, and not this shard.
bool RecordReader::isLate(const SharedRead& read) const {
  return read.given.ns > 0 && (reactor_.caughtUp() >= read.given + kDiskPatience_ns ||
                               reactor_.now() >= read.given + kBusyPatience_ns);
}

// Counted once for all who wait.
void RecordReader::noteLate(SharedRead& read) {
  if (!isLate(read) || read.late) {
    return;
  }
  read.late = true;
  stats_.late++;
  stats_.timeouts++;
  if (laneOf(read.file.disk).health.failed(reactor_.now(), 0) && events_ != nullptr) {
    events_->diskOut(read.file.disk, DiskWork::read, 0);
  }
}

void RecordReader::noteEnd(SharedRead& read, const rt::IoResult& result) {
  DiskHealth& health = laneOf(read.file.disk).health;
  stats_.late -= read.late ? 1 : 0;
  if (result.ok()) {
    if (health.succeeded() && events_ != nullptr) {
      events_->diskBack(read.file.disk, DiskWork::read);
    }
    return;
  }
  stats_.errors++;
  if (health.failed(reactor_.now(), -result.result) && events_ != nullptr) {
    events_->diskOut(read.file.disk, DiskWork::read, -result.result);
  }
}

rt::Task<void> RecordReader::stop() {
  co_await tasks_.join();
}

rt::Task<base::Status> RecordReader::readBytes(RecordFile file, std::span<std::byte> into,
                                               uint64_t offset, rt::CancelScope& scope) {
  Lane& lane = laneOf(file.disk);
  base::Status status = co_await lane.in_flight.acquire(1, scope);
  if (!status.ok()) {
    co_return status;
  }
  const uint64_t begun_ns = reactor_.engine().monotonic().ns;
  size_t done = 0;
  while (done < into.size()) {
    const rt::IoResult result =
        co_await rt::FileOp(rt::OpKind::read, file.fd, into.subspan(done), offset + done,
                            pool_.registered(), scope, base::kNever);
    if (result.result <= 0) {
      stats_.errors += scope.requested() ? 0 : 1;
      // Nothing: the file is shorter than it was.
      status = result.ok() ? base::Error{base::Code::io_error, base::Blame::disk}
                           : result.error(base::Blame::disk);
      break;
    }
    done += static_cast<size_t>(result.result);
    stats_.short_reads += done < into.size() ? 1 : 0;
  }
  lane.in_flight.release(1);
  stats_.reads++;
  stats_.bytes += done;
  stats_.latency_ns.record(reactor_.engine().monotonic().ns - begun_ns);
  co_return status;
}

}  // namespace store
