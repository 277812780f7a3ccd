// Reads the parts of a stripe with the store's own decoders and says what is wrong with them.
//
// A fault is something that intact writing never leaves behind. What a crash may leave (a segment
// without its footer, an unfinished snapshot or append) is a note. While a server runs, what is
// being written is a note too.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "source/store/core/journal.h"
#include "source/store/core/record.h"
#include "source/store/core/segment.h"
#include "source/tools/inspect/directory.h"

namespace inspect {

enum class FaultKind : uint8_t {
  superblock_copy,       // one of the two does not verify
  unreadable,            // the disk gave an error
  segment_header,        // neither blank nor intact
  segment_footer,        // the trailer or the table of contents does not verify
  record,                // named by a footer, and does not verify
  record_not_as_listed,  // intact, but the footer says something else of it
  snapshot,              // begins well and is not complete
  journal,               // no file of the two can be read, though they are not empty
  journal_records,       // damaged slots with records behind them
};
std::string_view name(FaultKind kind);

struct Fault {
  FaultKind kind = FaultKind::record;
  uint32_t stripe = 0;
  std::optional<uint32_t> segment;
  std::optional<uint64_t> offset;  // in the file
  std::string file;
  std::string what;  // a sentence
};

struct Totals {
  uint64_t segments = 0;  // with a header
  uint64_t sealed = 0;
  uint64_t records = 0;
  uint64_t record_bytes = 0;
  uint64_t snapshots = 0;
  uint64_t snapshot_entries = 0;
  uint64_t purges = 0;
};

struct Findings {
  std::vector<Fault> faults;
  std::vector<std::string> notes;
  Totals totals;
};

// One verified record, while its segment is in memory.
struct FoundRecord {
  const store::RecordView& view;
  store::Location at;
  bool sealed = false;
};

// Calls `seen` for each verified record of the stripe, segment by segment.
class RecordVisitor {
 public:
  virtual ~RecordVisitor() = default;
  virtual void seen(const Stripe& stripe, const FoundRecord& record) = 0;
};
void walkSegments(const Directory& directory, const Stripe& stripe, RecordVisitor& visitor,
                  Findings& findings);
void walkSnapshots(const Directory& directory, const Stripe& stripe, Findings& findings);
// The purges in force; nullopt if they cannot be read (or there is no journal yet).
std::optional<store::JournalRead> walkJournals(const Directory& directory, const Stripe& stripe,
                                               Findings& findings);
void checkSuperblock(const Stripe& stripe, Findings& findings);

}  // namespace inspect
