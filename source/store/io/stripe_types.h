// What a stripe's store takes and gives besides records: reports, figures, pages of what it holds,
// and what was erased and must not come back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "source/base/hash.h"
#include "source/store/core/entry.h"
#include "source/store/core/journal.h"
#include "source/store/core/layout.h"
#include "source/store/core/selector.h"

namespace store {

// What is not to come back, and is not durable yet.
struct Erased {
  PurgeKind kind = PurgeKind::key;
  bool soft = false;
  base::Hash128 hash;  // as in a PurgeRecord
  LogPosition before;
};

// When what was erased cannot be written down key by key: nothing, so that it can be tried again,
// or the next start is made to drop all that the stripe holds.
enum class IfNotByKey : uint8_t { fail, give_stripe_up };

struct RecoveryReport {
  bool from_snapshot = false;
  uint64_t entries = 0;
  uint32_t segments_read = 0;    // by footer or walk
  uint32_t segments_walked = 0;  // no footer
  uint32_t segments_lost = 0;    // unreadable; they are written over
  uint64_t purged = 0;
};
void addTo(RecoveryReport& sum, const RecoveryReport& report);

struct PurgeStats {
  uint64_t segments_read = 0;        // tables of contents that purges read
  uint64_t segments_unfiltered = 0;  // of those, because the segment had no filter
  uint64_t segments_lost = 0;        // given up, since nobody could say what was in them
  uint64_t lines = 0;                // looked at
  uint64_t keys_read = 0;            // records read for their keys
};

struct SnapshotStats {
  uint64_t saved = 0;
  uint64_t failed = 0;
  uint64_t late = 0;  // given up at kSnapshotPatience_ns
};

struct ScrubStats {
  uint64_t passes = 0;  // over everything
  uint64_t records = 0;
  uint64_t bytes = 0;
  uint64_t damaged = 0;     // a checksum did not hold
  uint64_t unreadable = 0;  // the disk said no
};

// A page of what a stripe holds, in the order of the log.
struct ListQuery {
  std::optional<Selector> selector;
  LogPosition after;  // where the page before ended
  uint32_t limit = 0;
};
struct ListedRecord {
  std::string key;
  std::vector<std::byte> meta;
  uint64_t body_bytes = 0;
  Entry entry;
};
struct ListPage {
  std::vector<ListedRecord> records;
  // Where the next page goes on; none at the end. A page may be short, or empty, and not the last.
  std::optional<LogPosition> next;
};

}  // namespace store
