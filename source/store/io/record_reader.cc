#include "source/store/io/record_reader.h"

#include <utility>

namespace store {

rt::Task<base::Status> RecordReader::readBytes(int fd, std::span<std::byte> into, uint64_t offset,
                                               rt::CancelScope& scope, base::MonoTime deadline) {
  if (!in_flight_.tryAcquire(1)) {
    base::Status taken = co_await in_flight_.acquire(1, scope, deadline);
    if (!taken.ok()) {
      co_return taken;
    }
  }
  const uint64_t begun_ns = reactor_.engine().monotonic().ns;
  base::Status status = base::Unit{};
  size_t done = 0;
  while (done < into.size()) {
    const rt::IoResult result =
        co_await rt::FileOp(rt::OpKind::read, fd, into.subspan(done), offset + done,
                            pool_.registered(), scope, deadline);
    if (!result.ok()) {
      status = result.error(base::Blame::disk);
      (result.ended == rt::Ended::timed_out ? stats_.timeouts : stats_.errors)++;
      break;
    }
    if (result.result == 0) {
      status =
          base::Error{base::Code::io_error, base::Blame::disk};  // the file is shorter than it was
      stats_.errors++;
      break;
    }
    done += static_cast<size_t>(result.result);
    stats_.short_reads += done < into.size() ? 1 : 0;
  }
  in_flight_.release(1);
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
  base::Status status =
      co_await readBytes(file.fd, read.buffer.span().first(bytes), offset, scope, deadline);
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
