// Reads records from a stripe's file into a shard's own buffers and verifies them. Any shard reads
// any stripe; nothing is pinned: a segment that is overwritten during the read fails the
// verification. Who reads what another is reading, or still holds, shares it.
//
// A read is a task of its own, which ends when the disk gives the memory back; those who want it
// only wait for it, and leave when they have waited enough. So a disk that hangs delays nobody for
// longer than kDiskPatience_ns.
//
// Limits: reads in flight a shard and disk (kDefaultReads; more wait, oldest first, since a
// device's queue that is full makes even submitting block); a disk that fails again and again is
// not asked (disk_health.h).
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
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
// A read that the disk has not given back in this time is passed by. A shard that is behind with
// its work sees late what the disk gave back in time; it is then patient for up to
// kBusyPatience_ns.
inline constexpr uint64_t kDiskPatience_ns = base::kSecond_ns;
inline constexpr uint64_t kBusyPatience_ns = 5 * base::kSecond_ns;

struct ReadStats {
  uint64_t reads = 0;
  uint64_t bytes = 0;
  uint64_t short_reads = 0;  // continued until whole
  uint64_t errors = 0;       // the disk said no
  uint64_t timeouts = 0;
  uint64_t refused = 0;          // not tried: the disk was out of use
  uint64_t corrupt = 0;          // a checksum did not hold
  uint64_t stale_locations = 0;  // an intact record of another time: the segment was overwritten
  uint64_t late = 0;    // reads that took longer than kDiskPatience_ns and are still the disk's
  uint64_t shared = 0;  // wanted while another read, or held, the same
  uint64_t ahead = 0;   // begun before they were wanted
  telemetry::Histogram latency_ns;
};

// Where a stripe's records lie; copied freely.
struct RecordFile {
  int fd = -1;
  uint32_t segment_bytes = 0;
  uint32_t salt = 0;
  uint16_t disk = 0;  // files with the same number share a device
};

class RecordReader;

// A record that was asked for, read once for all who want it at the same time.
struct SharedRead {
  RecordFile file;
  Location at;
  SharedRead* next = nullptr;  // of its row in the table, or of the free ones
  bool listed = false;         // in the table, to be shared
  uint32_t users = 0;          // its task, and who waits for it or holds it
  base::MonoTime given{0};     // to the disk; 0: not yet
  bool late = false;
  bool done = false;
  bool ahead = false;  // nobody has wanted it yet
  base::Status status = base::Unit{};
  rt::Buffer buffer;
  RecordView record;  // views into buffer
  rt::WaitQueue ended;
};

// Holds a SharedRead; move-only.
class RecordRef {
 public:
  RecordRef() = default;
  RecordRef(RecordReader& reader, SharedRead& read);
  RecordRef(RecordRef&& other) noexcept
      : reader_(other.reader_), read_(std::exchange(other.read_, nullptr)) {}
  RecordRef& operator=(RecordRef&& other) noexcept;
  ~RecordRef() { reset(); }
  void reset();
  explicit operator bool() const { return read_ != nullptr; }
  const RecordView& record() const { return read_->record; }
  RecordFile file() const { return read_->file; }
  Location at() const { return read_->at; }
  // When the disk was asked for it.
  base::MonoTime when() const { return read_->given; }
  // The record's bytes.
  std::span<std::byte> bytes() const;

 private:
  RecordReader* reader_ = nullptr;
  SharedRead* read_ = nullptr;
};

class RecordReader {
 public:
  // `events` may be null: nobody is told when a disk goes out of use.
  RecordReader(rt::Reactor& reactor, rt::BufferPool& pool, uint32_t max_in_flight = kDefaultReads,
               DiskEvents* events = nullptr);
  ~RecordReader();

  // The whole, verified record at `at`. The deadline is for all of it, also for waiting until the
  // disk has time. Errors: io_error, timeout, no_capacity (the disk is out of use), corrupt,
  // stale_location, cancelled.
  rt::Task<base::Result<RecordRef>> read(RecordFile file, Location at, rt::CancelScope& scope,
                                         base::MonoTime deadline);
  // Begins to read what will be wanted next, if there is room for it now: half of the memory, and
  // of the places of its disk, stay for what is wanted already. A read() of it meanwhile shares it;
  // letting go ends it. Empty: not begun. (read_ahead.cc)
  RecordRef ahead(RecordFile file, Location at);
  // Raw bytes of the file, whole or an error; `into` is page-aligned pool memory. For recovery and
  // reclaim, which wait for as long as it takes.
  rt::Task<base::Status> readBytes(RecordFile file, std::span<std::byte> into, uint64_t offset,
                                   rt::CancelScope& scope);
  // Waits for the reads that the disk still has. Nothing is read any more.
  rt::Task<void> stop();

  const DiskHealth& health(uint16_t disk) { return laneOf(disk).health; }
  const ReadStats& stats() const { return stats_; }
  rt::BufferPool& pool() { return pool_; }

 private:
  friend class RecordRef;
  static constexpr size_t kRows = 256;
  struct Lane {
    explicit Lane(uint32_t reads) : in_flight(reads) {}
    rt::Credits in_flight;
    DiskHealth health;
  };
  Lane& laneOf(uint16_t disk);
  static size_t rowOf(RecordFile file, Location at);
  SharedRead* find(RecordFile file, Location at) const;
  SharedRead& begin(RecordFile file, Location at);
  void unlist(SharedRead& read);
  void drop(SharedRead& read);
  rt::Task<base::Status> awaitEnd(SharedRead* read, rt::CancelScope& scope,
                                  base::MonoTime deadline);
  rt::Task<void> run(SharedRead* read);
  rt::Task<base::Status> fetch(SharedRead* read, uint32_t bytes);
  base::Status verify(SharedRead& read, uint32_t bytes);
  bool isLate(const SharedRead& read) const;
  void noteLate(SharedRead& read);
  void noteEnd(SharedRead& read, const rt::IoResult& result);

  rt::Reactor& reactor_;
  rt::BufferPool& pool_;
  uint32_t max_in_flight_;
  DiskEvents* events_;
  std::vector<std::unique_ptr<Lane>> lanes_;  // by disk
  std::vector<std::unique_ptr<SharedRead>> reads_;
  SharedRead* free_ = nullptr;
  std::array<SharedRead*, kRows> rows_{};
  ReadStats stats_;
  rt::TaskGroup tasks_;
};

inline RecordRef::RecordRef(RecordReader& reader, SharedRead& read)
    : reader_(&reader), read_(&read) {
  read.users++;
}

inline RecordRef& RecordRef::operator=(RecordRef&& other) noexcept {
  if (this != &other) {
    reset();
    reader_ = other.reader_;
    read_ = std::exchange(other.read_, nullptr);
  }
  return *this;
}

inline void RecordRef::reset() {
  if (read_ != nullptr) {
    reader_->drop(*std::exchange(read_, nullptr));
  }
}

inline std::span<std::byte> RecordRef::bytes() const {
  return read_->buffer.span().first(uint64_t{read_->at.length_units} * kUnitBytes);
}

}  // namespace store
