// Reads records from a stripe's file into private buffers and verifies them. Any shard reads any
// stripe; nothing is pinned: a segment that is overwritten during the read fails the verification.
//
// Limits: reads in flight a shard and disk (kDefaultReads; more wait, oldest first, since a
// device's queue that is full makes even submitting block); a deadline, after which the caller goes
// to the origin, even if the disk keeps the read; a disk that fails again and again is not asked
// (disk_health.h).
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "source/base/result.h"
#include "source/rt/buffer_pool.h"
#include "source/rt/credits.h"
#include "source/rt/io.h"
#include "source/rt/task_group.h"
#include "source/store/core/disk_health.h"
#include "source/store/core/record.h"
#include "source/store/core/segment_table.h"
#include "source/store/io/disk_events.h"
#include "source/telemetry/histogram.h"

namespace store {

inline constexpr uint32_t kDefaultReads = 96;
// A disk that has not answered in this time is passed by.
inline constexpr uint64_t kDiskPatience_ns = base::kSecond_ns;

struct ReadStats {
  uint64_t reads = 0;
  uint64_t bytes = 0;
  uint64_t short_reads = 0;  // continued until whole
  uint64_t errors = 0;       // the disk said no
  uint64_t timeouts = 0;
  uint64_t refused = 0;          // not tried: the disk was out of use
  uint64_t corrupt = 0;          // a checksum did not hold
  uint64_t stale_locations = 0;  // an intact record of another time: the segment was overwritten
  uint64_t left = 0;             // reads that outlasted their deadline and are still the disk's
  telemetry::Histogram latency_ns;
};

// Where a stripe's records lie; copied freely.
struct RecordFile {
  int fd = -1;
  uint32_t segment_bytes = 0;
  uint32_t salt = 0;
  uint16_t disk = 0;  // files with the same number share a device
};

class RecordReader {
 public:
  // `events` may be null: nobody is told when a disk goes out of use.
  RecordReader(rt::Reactor& reactor, rt::BufferPool& pool, uint32_t max_in_flight = kDefaultReads,
               DiskEvents* events = nullptr);
  ~RecordReader();

  // The whole record at `at` into a buffer of its own. Errors: io_error, timeout, no_capacity (the
  // disk is out of use), corrupt, stale_location.
  struct Read {
    rt::Buffer buffer;
    RecordView record;  // views into buffer
  };
  rt::Task<base::Result<Read>> read(RecordFile file, Location at, rt::CancelScope& scope,
                                    base::MonoTime deadline);
  // Raw bytes of the file, whole or an error; `into` is page-aligned pool memory. For recovery and
  // reclaim, which wait for as long as it takes.
  rt::Task<base::Status> readBytes(RecordFile file, std::span<std::byte> into, uint64_t offset,
                                   rt::CancelScope& scope);
  // Waits for the reads that were left. Nothing else is read any more.
  rt::Task<void> stop();

  const DiskHealth& health(uint16_t disk) { return laneOf(disk).health; }
  const ReadStats& stats() const { return stats_; }
  rt::BufferPool& pool() { return pool_; }

 private:
  struct Lane {
    explicit Lane(uint32_t reads) : in_flight(reads) {}
    rt::Credits in_flight;
    DiskHealth health;
  };
  // A read that the kernel has, with its memory.
  struct Slot {
    rt::Op op;
    rt::Buffer buffer;
  };
  Lane& laneOf(uint16_t disk);
  Slot* takeSlot();
  rt::Task<base::Status> fill(RecordFile file, rt::Buffer& buffer, uint32_t bytes, uint64_t offset,
                              rt::CancelScope& scope, base::MonoTime deadline);
  rt::Task<void> awaitEnd(Lane* lane, Slot* slot);
  void note(uint16_t disk, Lane& lane, const rt::IoResult& result);

  rt::Reactor& reactor_;
  rt::BufferPool& pool_;
  uint32_t max_in_flight_;
  DiskEvents* events_;
  std::vector<std::unique_ptr<Lane>> lanes_;  // by disk
  std::vector<std::unique_ptr<Slot>> slots_;
  std::vector<Slot*> free_slots_;
  ReadStats stats_;
  rt::TaskGroup left_;
};

}  // namespace store
