#include "source/store/core/recovery.h"

#include <algorithm>

namespace store {
namespace {

EntryKind entryKindOf(RecordKind kind) {
  switch (kind) {
    case RecordKind::object:
      return EntryKind::object;
    case RecordKind::head:
      return EntryKind::extents;
    case RecordKind::vary_rule:
      return EntryKind::vary_rule;
    case RecordKind::chunk:
      return EntryKind::free;
    case RecordKind::pad:
      return EntryKind::free;
  }
  return EntryKind::free;
}

}  // namespace

Entry entryOf(const TocEntry& line, uint32_t segment, uint64_t sequence, uint32_t expiry) {
  EntryFields fields;
  fields.kind = entryKindOf(line.recordKind());
  fields.segment = segment;
  fields.offset_units = line.offset_units;
  fields.length_units = line.length_units;
  fields.expiry = expiry;
  fields.generation = generationOf(sequence);
  return Entry::make(line.hash(), fields);
}

RecoveryMerge::RecoveryMerge(IndexShard& index, const SegmentTable& table, const PurgeSet& purges)
    : index_(index), table_(table), purges_(purges) {}

Recovered RecoveryMerge::counted(Recovered outcome) {
  counts_[static_cast<size_t>(outcome)]++;
  return outcome;
}

Recovered RecoveryMerge::addSnapshotEntry(const SnapshotHeader& header,
                                          std::span<const uint64_t> sequences,
                                          const PlacedEntry& placed) {
  return counted(judgeSnapshotEntry(header, sequences, placed));
}

Recovered RecoveryMerge::addRecord(uint32_t segment, uint64_t sequence, const TocEntry& line,
                                   std::span<const Label> labels) {
  return counted(judgeRecord(segment, sequence, line, labels));
}

LogPosition RecoveryMerge::positionOf(const Entry& entry) const {
  return table_.locate(entry).position();
}

// Takes the entry unless the index knows better. What the index has without a record (a hit for a
// miss, an object in RAM) is of this life and therefore newer than anything found on the disk.
Recovered RecoveryMerge::merge(uint64_t bucket, const Entry& entry, LogPosition at) {
  const std::optional<Entry> known = index_.findAt(bucket, entry.tag());
  if (!known) {
    return index_.restore(bucket, entry) ? Recovered::taken : Recovered::no_place;
  }
  const bool of_this_life = !known->placed() && !isBuried(*known);
  if (of_this_life || positionOf(*known) >= at) {
    return Recovered::older;
  }
  index_.replaceAt(bucket, *known, entry);
  return Recovered::taken;
}

// A purge of a label concerns one version: what it had replaced must stay replaced.
void RecoveryMerge::bury(uint64_t bucket, const Entry& entry, LogPosition at) {
  EntryFields fields;
  fields.kind = EntryKind::hit_for_miss;
  fields.segment = entry.segment();
  fields.offset_units = entry.offsetUnits();
  fields.expiry = kBuriedExpiry;
  fields.generation = entry.generation();
  merge(bucket, Entry::make(entry.tag(), fields), at);
  buried_++;
}

Recovered RecoveryMerge::judgeSnapshotEntry(const SnapshotHeader& header,
                                            std::span<const uint64_t> sequences,
                                            const PlacedEntry& placed) {
  const Entry& found = placed.entry;
  if (!found.placed() || header.bucket_count != index_.bucketCount() ||
      !purges_.labelsPurgedBefore(header.journal_number) || placed.bucket >= header.bucket_count ||
      found.segment() >= sequences.size()) {
    return Recovered::not_placed;
  }
  const uint64_t sequence = sequences[found.segment()];
  // A segment that was open is read anyway. What it does not tell of itself must not be in the
  // index: no purge by label would find it.
  if (sequence > header.sealed_sequence) {
    return Recovered::not_placed;
  }
  if (sequence == 0 || table_.sequence(found.segment()) != sequence ||
      found.generation() != generationOf(sequence)) {
    return Recovered::stale;
  }
  const LogPosition at{sequence, found.offsetUnits()};
  const uint64_t other = index_.partner(placed.bucket, found.tag());
  const PurgeVerdict verdict = purges_.verdictByTag(found.tag(), at, [&](base::Hash128 purged) {
    const uint64_t bucket = index_.bucketOf(purged);
    return bucket == placed.bucket || bucket == other;
  });
  if (verdict == PurgeVerdict::drop) {
    return Recovered::purged;
  }
  Entry entry =
      found.withInBuffer(false).withExpiry(index_.reencode(found.expiry(), header.epoch_s));
  if (verdict == PurgeVerdict::stale) {
    entry = entry.withStaleNow();
  }
  return merge(placed.bucket, entry, at);
}

Recovered RecoveryMerge::judgeRecord(uint32_t segment, uint64_t sequence, const TocEntry& line,
                                     std::span<const Label> labels) {
  if (entryKindOf(line.recordKind()) == EntryKind::free) {
    return Recovered::not_placed;
  }
  if (sequence == 0 || table_.sequence(segment) != sequence) {
    return Recovered::stale;
  }
  const LogPosition at{sequence, line.offset_units};
  const PurgeVerdict by_key = purges_.verdict(line.hash(), at);
  const PurgeVerdict verdict = PurgeSet::worse(by_key, purges_.labelVerdict(labels, at));
  Entry entry = entryOf(line, segment, sequence, index_.expiryFor(line.expires_s));
  if (verdict == PurgeVerdict::drop) {
    if (by_key != PurgeVerdict::drop) {
      bury(index_.bucketOf(line.hash()), entry, at);
    }
    return Recovered::purged;
  }
  if (verdict == PurgeVerdict::stale) {
    entry = entry.withStaleNow();
  }
  return merge(index_.bucketOf(line.hash()), entry, at);
}

uint64_t RecoveryMerge::nextLife(uint64_t journal_generation, uint64_t snapshot_sequence) const {
  uint64_t sequence = std::max(snapshot_sequence, purges_.newest().sequence);
  for (uint32_t segment = 0; segment < table_.count(); segment++) {
    sequence = std::max(sequence, table_.sequence(segment));
  }
  return std::max(lifeOf(sequence), journal_generation) + 1;
}

}  // namespace store
