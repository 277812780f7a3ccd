// Any bytes as a journal: the records found are consecutive or the gap is told, and compaction
// gives the same verdicts.
#include "source/store/core/journal.h"

#include <algorithm>

#include "source/store/core/purge_set.h"
#include "test/fuzz/store/input.h"

namespace {

constexpr uint32_t kSalt = 5;

void repair(std::span<std::byte> bytes) {
  if (bytes.size() < store::kJournalHeaderBytes) {
    return;
  }
  fuzz::seal(bytes.first(store::kJournalHeaderBytes), 36, kSalt);
  for (size_t at = store::kJournalHeaderBytes; at + store::kJournalRecordBytes <= bytes.size();
       at += store::kJournalRecordBytes) {
    fuzz::seal(bytes.subspan(at, store::kJournalRecordBytes), store::kJournalRecordBytes - 4,
               kSalt);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fuzz::Input input = fuzz::take(data, size);
  if (input.repaired()) {
    repair(input.bytes);
  }
  const base::Result<store::JournalRead> read = store::decodeJournal(input.bytes, kSalt);
  if (!read.ok()) {
    return 0;
  }
  const store::JournalRead& journal = read.value();
  CHECK(journal.valid_bytes <= input.bytes.size());
  // A stand-in for what was lost is no slot of the file.
  const size_t found = journal.records.size() - (journal.damaged_slots > 0 ? 1 : 0);
  const size_t slots = found + journal.damaged_slots;
  CHECK(journal.next_number == journal.header.first_number + slots);
  CHECK(journal.valid_bytes ==
        store::kJournalHeaderBytes + slots * uint64_t{store::kJournalRecordBytes});
  CHECK(slots >= journal.header.initial_records);
  const uint64_t oldest = input.mode >> 2;
  const std::vector<store::PurgeRecord> kept = store::compactJournal(journal.records, oldest, 1);
  CHECK(kept.size() <= journal.records.size());
  store::PurgeSet all;
  store::PurgeSet compacted;
  all.addAll(journal.records);
  compacted.addAll(kept);
  for (const store::PurgeRecord& record : journal.records) {
    for (const uint64_t sequence : {oldest, record.before.sequence}) {
      const store::LogPosition at{std::max(sequence, oldest),
                                  std::max(record.before.offset_units, 9u) - 1};
      CHECK(all.verdict(record.hash, at) == compacted.verdict(record.hash, at));
    }
  }
  return 0;
}
