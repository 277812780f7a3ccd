// What StripeLog takes and tells.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "source/base/result.h"
#include "source/base/types.h"
#include "source/rt/task.h"
#include "source/store/core/entry.h"
#include "source/store/core/journal.h"
#include "source/store/core/layout.h"
#include "source/store/io/record_reader.h"
#include "source/telemetry/histogram.h"

namespace store {

struct WriteStats {
  uint64_t appended_records = 0;
  uint64_t appended_bytes = 0;  // of records, as given
  uint64_t writes = 0;
  uint64_t written_bytes = 0;  // to the disk, with padding, headers and footers
  uint64_t errors = 0;
  uint64_t refused = 0;  // no slab or no free segment in time
  uint64_t reclaimed_segments = 0;
  uint64_t reinserted_records = 0;
  uint64_t reinserted_bytes = 0;
  uint64_t dropped_records = 0;  // evicted by reclaim
  uint64_t noted_records = 0;    // told to the purge journal (successors.h)
  telemetry::Histogram latency_ns;
};

// Makes purges durable that the log needs before it may free a segment: the purge journal.
class PurgeNotes {
 public:
  virtual rt::Task<base::Status> note(std::vector<PurgeRecord> purges) = 0;

 protected:
  ~PurgeNotes() = default;
};

struct LogOptions {
  RecordFile file;
  uint16_t stripe = 0;
  uint64_t flush_after_ns = 50 * base::kMillisecond_ns;
  DiskEvents* events = nullptr;
  PurgeNotes* notes = nullptr;  // without one, nothing is noted
};

// How a record is made known. kind free: not at all (chunks are found through their head).
struct Publish {
  EntryKind kind = EntryKind::free;
  uint32_t expires_s = 0;
  uint8_t frequency = 0;
  std::optional<Entry>
      replaces;  // only if this is still the key's version, else nothing is written
  const bool* doomed =
      nullptr;           // set while the append waited for its turn: nothing is written either
  bool is_copy = false;  // the same version, written again by reclaim
};

struct Appended {
  Location at;
  Entry entry;  // as published, while nothing newer has been
};

}  // namespace store
