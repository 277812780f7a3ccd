// Reads records from a stripe's file into private buffers and verifies them. Any shard reads any
// stripe; nothing is pinned: a segment that is overwritten during the read fails the verification.
//
// Limits: reads in flight a shard (kDefaultReads; more wait, oldest first, since a device's queue
// that is full makes even submitting block); a deadline after which the caller goes to the origin.
#pragma once

#include <cstdint>
#include <span>

#include "source/base/result.h"
#include "source/rt/buffer_pool.h"
#include "source/rt/credits.h"
#include "source/rt/io.h"
#include "source/store/core/record.h"
#include "source/store/core/segment_table.h"
#include "source/telemetry/histogram.h"

namespace store {

inline constexpr uint32_t kDefaultReads = 96;

struct ReadStats {
  uint64_t reads = 0;
  uint64_t bytes = 0;
  uint64_t short_reads = 0;  // continued until whole
  uint64_t errors = 0;       // the disk said no
  uint64_t timeouts = 0;
  uint64_t corrupt = 0;          // a checksum did not hold
  uint64_t stale_locations = 0;  // an intact record of another time: the segment was overwritten
  telemetry::Histogram latency_ns;
};

// Where a stripe's records lie; copied freely.
struct RecordFile {
  int fd = -1;
  uint32_t segment_bytes = 0;
  uint32_t salt = 0;
};

class RecordReader {
 public:
  RecordReader(rt::Reactor& reactor, rt::BufferPool& pool, uint32_t max_in_flight = kDefaultReads)
      : reactor_(reactor), pool_(pool), in_flight_(max_in_flight) {}

  // The whole record at `at` into a buffer of its own. Errors: io_error, timeout, corrupt,
  // stale_location.
  struct Read {
    rt::Buffer buffer;
    RecordView record;  // views into buffer
  };
  rt::Task<base::Result<Read>> read(RecordFile file, Location at, rt::CancelScope& scope,
                                    base::MonoTime deadline);
  // Raw bytes of the file, whole or an error; `into` is page-aligned pool memory.
  rt::Task<base::Status> readBytes(int fd, std::span<std::byte> into, uint64_t offset,
                                   rt::CancelScope& scope, base::MonoTime deadline);

  const ReadStats& stats() const { return stats_; }
  rt::BufferPool& pool() { return pool_; }

 private:
  rt::Reactor& reactor_;
  rt::BufferPool& pool_;
  rt::Credits in_flight_;
  ReadStats stats_;
};

}  // namespace store
