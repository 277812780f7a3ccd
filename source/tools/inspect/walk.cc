#include "source/tools/inspect/walk.h"

#include <algorithm>

#include "source/store/core/snapshot.h"

namespace inspect {
namespace {

bool blank(std::span<const std::byte> bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](std::byte b) { return b == std::byte{0}; });
}

// One segment in memory, and what is known of it.
struct Loaded {
  const Stripe& stripe;
  store::SegmentIdentity identity;
  uint64_t file_offset = 0;
  std::vector<std::byte> bytes;
  uint64_t sequence = 0;
};

class SegmentWalk {
 public:
  SegmentWalk(const Directory& directory, const Stripe& stripe, RecordVisitor& visitor,
              Findings& findings)
      : directory_(directory), stripe_(stripe), visitor_(visitor), findings_(findings) {}

  void walk(uint32_t segment) {
    const store::Superblock& s = stripe_.superblock;
    Loaded loaded{stripe_,
                  {segment, static_cast<uint16_t>(s.stripe), s.segment_bytes, s.salt()},
                  store::segmentOffset(segment, s.segment_bytes),
                  {},
                  0};
    loaded.bytes.resize(s.segment_bytes);
    if (!stripe_.data.readAt(loaded.file_offset, loaded.bytes)) {
      return fault(loaded, FaultKind::unreadable, 0, "the disk gave an error");
    }
    const auto first = std::span(loaded.bytes).first(store::kSegmentHeaderBytes);
    const auto header = store::decodeSegmentHeader(first, loaded.identity);
    if (!header.ok()) {
      if (!blank(first)) {
        fault(loaded, FaultKind::segment_header, 0, "the segment's header does not verify");
      }
      return;
    }
    loaded.sequence = header.value().sequence;
    findings_.totals.segments++;
    const size_t faults = findings_.faults.size();
    contents(loaded);
    if (findings_.faults.size() > faults && directory_.server_runs && changed(loaded)) {
      findings_.faults.resize(faults);
      findings_.notes.push_back(where(loaded) + " was written over while it was read");
    }
  }

 private:
  std::string where(const Loaded& loaded) const {
    return stripe_.data.path() + " segment " + std::to_string(loaded.identity.segment);
  }

  void fault(const Loaded& loaded, FaultKind kind, uint64_t offset, std::string what) {
    findings_.faults.push_back({kind, loaded.identity.stripe, loaded.identity.segment,
                                loaded.file_offset + offset, stripe_.data.path(), std::move(what)});
  }

  // Whether the server has opened the segment anew, or is writing it.
  bool changed(const Loaded& loaded) const {
    std::vector<std::byte> page(store::kSegmentHeaderBytes);
    const bool read = stripe_.data.readAt(loaded.file_offset, page);
    const auto header = store::decodeSegmentHeader(page, loaded.identity);
    return !read || !header.ok() || header.value().sequence != loaded.sequence;
  }

  void contents(const Loaded& loaded) {
    const auto last = std::span(loaded.bytes).last(store::kUnitBytes);
    const auto trailer = store::decodeTrailer(last, loaded.identity);
    if (!trailer.ok() && !blank(last)) {
      fault(loaded, FaultKind::segment_footer, loaded.bytes.size() - last.size(),
            "the segment's trailer does not verify");
    }
    // A trailer of an earlier sequence is what the segment held before it was opened again.
    if (!trailer.ok() || trailer.value().sequence != loaded.sequence) {
      return unsealed(loaded);
    }
    const auto footer = store::decodeFooter(loaded.bytes, loaded.identity);
    if (!footer.ok()) {
      fault(loaded, FaultKind::segment_footer, loaded.bytes.size() - trailer.value().footer_bytes,
            "the segment's table of contents does not verify");
      return unsealed(loaded);
    }
    findings_.totals.sealed++;
    footer.value().each([&](const store::TocEntry& line, std::span<const store::Label> labels) {
      listed(loaded, line, labels);
    });
  }

  void unsealed(const Loaded& loaded) {
    const store::TailWalk tail =
        store::walkTail(loaded.bytes, loaded.sequence, loaded.identity.salt);
    for (const store::TocEntry& line : tail.entries) {
      visit(loaded, line, false);
    }
    findings_.notes.push_back(where(loaded) + " has no footer: " +
                              std::to_string(tail.entries.size()) + " records were found in it, " +
                              std::to_string(tail.broken_bodies) + " more are unfinished");
  }

  void listed(const Loaded& loaded, const store::TocEntry& line,
              std::span<const store::Label> labels) {
    const uint64_t offset = uint64_t{line.offset_units} * store::kUnitBytes;
    const store::RecordPlace place{loaded.sequence, line.offset_units, loaded.identity.salt};
    const auto record = store::decodeRecord(std::span(loaded.bytes).subspan(offset), place);
    if (!record.ok()) {
      const bool moved = record.error().code == base::Code::stale_location;
      fault(loaded, FaultKind::record, offset,
            moved ? "an intact record of another place or time lies here"
                  : "the record does not verify");
    } else if (store::tocEntryOf(record.value().header) != line ||
               !std::ranges::equal(store::unpackLabels(record.value().labels), labels)) {
      fault(loaded, FaultKind::record_not_as_listed, offset,
            "the record is intact but not the one, or not with the labels, that the table of "
            "contents names");
    } else {
      visit(loaded, line, true);
    }
  }

  void visit(const Loaded& loaded, const store::TocEntry& line, bool sealed) {
    const store::RecordPlace place{loaded.sequence, line.offset_units, loaded.identity.salt};
    const auto record = store::decodeRecord(
        std::span(loaded.bytes).subspan(size_t{line.offset_units} * store::kUnitBytes), place);
    if (!record.ok()) {
      return;
    }
    findings_.totals.records++;
    findings_.totals.record_bytes += record.value().totalBytes();
    visitor_.seen(stripe_,
                  {record.value(),
                   {loaded.sequence, loaded.identity.segment, line.offset_units, line.length_units},
                   sealed});
  }

  const Directory& directory_;
  const Stripe& stripe_;
  RecordVisitor& visitor_;
  Findings& findings_;
};

// Whether the snapshot in the file is complete; counts it.
bool readSnapshot(const File& file, uint32_t salt, Totals& totals) {
  store::SnapshotDecoder decoder(salt);
  std::vector<std::byte> block(store::kSnapshotBlockBytes);
  std::vector<store::PlacedEntry> entries;
  for (uint64_t at = 0; at < file.bytes() && !decoder.complete(); at += block.size()) {
    entries.clear();
    if (!file.readAt(at, block) || !decoder.feed(block, entries).ok()) {
      return false;
    }
  }
  totals.snapshots += decoder.complete() ? 1 : 0;
  totals.snapshot_entries += decoder.complete() ? decoder.entries() : 0;
  return decoder.complete();
}

}  // namespace

std::string_view name(FaultKind kind) {
  switch (kind) {
    case FaultKind::superblock_copy:
      return "superblock_copy";
    case FaultKind::unreadable:
      return "unreadable";
    case FaultKind::segment_header:
      return "segment_header";
    case FaultKind::segment_footer:
      return "segment_footer";
    case FaultKind::record:
      return "record";
    case FaultKind::record_not_as_listed:
      return "record_not_as_listed";
    case FaultKind::snapshot:
      return "snapshot";
    case FaultKind::journal:
      return "journal";
    case FaultKind::journal_records:
      return "journal_records";
  }
  return "unknown";
}

void checkSuperblock(const Stripe& stripe, Findings& findings) {
  for (size_t i = 0; i < stripe.superblock_bad.size(); i++) {
    if (stripe.superblock_bad[i]) {
      findings.faults.push_back({FaultKind::superblock_copy, stripe.superblock.stripe, std::nullopt,
                                 i * store::kSuperblockCopyOffset, stripe.data.path(),
                                 "this copy of the superblock does not verify; the other does"});
    }
  }
}

void walkSegments(const Directory& directory, const Stripe& stripe, RecordVisitor& visitor,
                  Findings& findings) {
  SegmentWalk walk(directory, stripe, visitor, findings);
  for (uint32_t segment = 0; segment < stripe.superblock.segment_count; segment++) {
    walk.walk(segment);
  }
}

void walkSnapshots(const Directory& directory, const Stripe& stripe, Findings& findings) {
  for (const File& file : stripe.snapshots) {
    std::vector<std::byte> first(store::kSnapshotBlockBytes);
    if (!file.isOpen() || !file.readAt(0, first) || blank(first) ||
        readSnapshot(file, stripe.superblock.salt(), findings.totals)) {
      continue;
    }
    if (directory.server_runs) {
      findings.notes.push_back(file.path() + " is not complete: it may be being written");
      continue;
    }
    findings.faults.push_back({FaultKind::snapshot, stripe.superblock.stripe, std::nullopt, 0,
                               file.path(),
                               "the snapshot is damaged or was never finished; a start reads the "
                               "other one, or the segments' footers"});
  }
}

std::optional<store::JournalRead> walkJournals(const Directory& directory, const Stripe& stripe,
                                               Findings& findings) {
  std::optional<store::JournalRead> best;
  const File* best_file = nullptr;
  bool something = false;
  for (const File& file : stripe.journals) {
    const std::vector<std::byte> bytes = file.readAll();
    something = something || !blank(bytes);
    base::Result<store::JournalRead> read = store::decodeJournal(bytes, stripe.superblock.salt());
    if (read.ok() &&
        (!best.has_value() || read.value().header.generation > best->header.generation)) {
      best = std::move(read.value());
      best_file = &file;
    }
  }
  const uint32_t number = stripe.superblock.stripe;
  if (!best.has_value()) {
    if (something && !directory.server_runs) {
      findings.faults.push_back({FaultKind::journal, number, std::nullopt, 0,
                                 stripe.journals[0].path(),
                                 "neither purge journal can be read; a start will drop "
                                 "everything in this stripe"});
    }
    return best;
  }
  findings.totals.purges += best->records.size();
  if (best->damaged_slots > 0) {
    findings.faults.push_back({FaultKind::journal_records, number, std::nullopt, 0,
                               best_file->path(),
                               std::to_string(best->damaged_slots) +
                                   " purges are damaged; a purge of everything before the next "
                                   "one takes their place"});
  }
  if (best->torn_tail) {
    findings.notes.push_back(best_file->path() + " ends with an unfinished append");
  }
  return best;
}

}  // namespace inspect
