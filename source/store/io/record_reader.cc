#include "source/store/io/record_reader.h"

#include <utility>

#include "source/rt/op_wait.h"

namespace store {

RecordReader::RecordReader(rt::Reactor& reactor, rt::BufferPool& pool, uint32_t max_in_flight,
                           DiskEvents* events)
    : reactor_(reactor),
      pool_(pool),
      max_in_flight_(max_in_flight),
      events_(events),
      left_(reactor, UINT32_MAX) {}

RecordReader::~RecordReader() = default;

RecordReader::Lane& RecordReader::laneOf(uint16_t disk) {
  while (lanes_.size() <= disk) {
    lanes_.push_back(std::make_unique<Lane>(max_in_flight_));
  }
  return *lanes_[disk];
}

RecordReader::Slot* RecordReader::takeSlot() {
  if (free_slots_.empty()) {
    slots_.push_back(std::make_unique<Slot>());
    free_slots_.reserve(slots_.size());
    return slots_.back().get();
  }
  Slot* slot = free_slots_.back();
  free_slots_.pop_back();
  return slot;
}

void RecordReader::note(uint16_t disk, Lane& lane, const rt::IoResult& result) {
  if (result.ended == rt::Ended::cancelled) {
    return;
  }
  if (result.ok()) {
    if (lane.health.succeeded() && events_ != nullptr) {
      events_->diskBack(disk, DiskWork::read);
    }
    return;
  }
  const bool timed_out = result.ended == rt::Ended::timed_out;
  (timed_out ? stats_.timeouts : stats_.errors)++;
  const int32_t error = timed_out ? 0 : -result.result;
  if (lane.health.failed(reactor_.now(), error) && events_ != nullptr) {
    events_->diskOut(disk, DiskWork::read, error);
  }
}

// Fills `buffer`, which is empty afterwards if the disk has kept it.
rt::Task<base::Status> RecordReader::fill(RecordFile file, rt::Buffer& buffer, uint32_t bytes,
                                          uint64_t offset, rt::CancelScope& scope,
                                          base::MonoTime deadline) {
  Lane& lane = laneOf(file.disk);
  if (!lane.in_flight.tryAcquire(1)) {
    base::Status taken = co_await lane.in_flight.acquire(1, scope, deadline);
    if (!taken.ok()) {
      stats_.timeouts += taken.error().code == base::Code::timeout ? 1 : 0;
      co_return taken;
    }
  }
  const uint64_t begun_ns = reactor_.engine().monotonic().ns;
  Slot* slot = takeSlot();
  slot->buffer = std::move(buffer);
  base::Status status = base::Unit{};
  uint32_t done = 0;
  while (done < bytes && status.ok()) {
    rt::Op& op = slot->op;
    op.kind = rt::OpKind::read;
    op.fd = file.fd;
    op.addr = slot->buffer.data() + done;
    op.len = bytes - done;
    op.offset = offset + done;
    op.fixed = pool_.registered();
    rt::IoResult result = co_await rt::OpWait(op, scope, deadline);
    if (result.ok() && result.result == 0) {
      result.result = -EIO;  // the file is shorter than it was
    }
    note(file.disk, lane, result);
    if (op.state != rt::Op::State::done) {
      stats_.left++;
      const bool spawned = left_.spawn(awaitEnd(&lane, slot));
      CHECK(spawned);
      co_return result.error(base::Blame::disk);
    }
    if (result.ok()) {
      done += static_cast<uint32_t>(result.result);
      stats_.short_reads += done < bytes ? 1 : 0;
    } else {
      status = result.error(base::Blame::disk);
    }
  }
  buffer = std::move(slot->buffer);
  free_slots_.push_back(slot);
  lane.in_flight.release(1);
  stats_.reads++;
  stats_.bytes += done;
  stats_.latency_ns.record(reactor_.engine().monotonic().ns - begun_ns);
  co_return status;
}

rt::Task<void> RecordReader::awaitEnd(Lane* lane, Slot* slot) {
  co_await rt::OpEnd(slot->op);
  slot->buffer.reset();
  free_slots_.push_back(slot);
  lane->in_flight.release(1);
  stats_.left--;
}

rt::Task<void> RecordReader::stop() {
  co_await left_.join();
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

rt::Task<base::Result<RecordReader::Read>> RecordReader::read(RecordFile file, Location at,
                                                              rt::CancelScope& scope,
                                                              base::MonoTime deadline) {
  const uint32_t bytes = at.length_units * kUnitBytes;
  if (at.sequence == 0 || bytes == 0 || bytes > rt::BufferPool::kMax_bytes) {
    stats_.stale_locations++;
    co_return base::Error{base::Code::stale_location, base::Blame::disk};
  }
  if (!laneOf(file.disk).health.usable(reactor_.now())) {
    stats_.refused++;
    co_return base::Error{base::Code::no_capacity, base::Blame::disk};
  }
  Read read{pool_.tryTake(bytes), {}};
  if (!read.buffer) {
    base::Result<rt::Buffer> taken = co_await pool_.take(bytes, scope, deadline);
    if (!taken.ok()) {
      co_return taken.error();
    }
    read.buffer = std::move(taken.value());
  }
  const uint64_t offset =
      segmentOffset(at.segment, file.segment_bytes) + uint64_t{at.offset_units} * kUnitBytes;
  base::Status status = co_await fill(file, read.buffer, bytes, offset, scope, deadline);
  if (!status.ok()) {
    co_return status.error();
  }
  base::Result<RecordView> record = decodeRecord(
      read.buffer.span().first(bytes), RecordPlace{at.sequence, at.offset_units, file.salt});
  if (!record.ok()) {
    (record.error().code == base::Code::corrupt ? stats_.corrupt : stats_.stale_locations)++;
    co_return record.error();
  }
  read.record = record.value();
  co_return std::move(read);
}

}  // namespace store
