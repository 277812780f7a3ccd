// StripeStore::recover: purge journal, segment headers, what is newer than the newest snapshot, and
// that snapshot. The merge itself is store/core/recovery.h; this file only reads.
//
// Requests are answered from the index meanwhile. So the newest comes first: what a key leads to at
// any time is its newest record, or nothing yet, and never one that another had replaced.
#include <algorithm>
#include <utility>
#include <vector>

#include "source/store/io/stripe_store.h"

namespace store {

rt::Task<base::Result<RecoveryReport>> StripeStore::recover(rt::CancelScope& scope,
                                                            Unreadable unreadable) {
  CHECK(!ready());
  RecoveryReport report;
  purges_ = PurgeSet();
  base::Status journal = co_await journal_.recover(purges_, unreadable, scope);
  if (!journal.ok()) {
    co_return journal.error();
  }
  applyDropped();
  std::vector<uint32_t> lost;
  base::Status headers = co_await readSequences(unreadable, lost, scope);
  if (headers.ok() && !lost.empty()) {
    headers = co_await blank(lost, scope);
  }
  if (!headers.ok()) {
    co_return headers.error();
  }
  RecoveryMerge merged(*shared_.index, *shared_.table, purges_);
  base::Result<uint64_t> known = co_await merge(merged, unreadable, report, scope);
  if (!known.ok()) {
    co_return known.error();
  }
  if (merged.buried() > 0) {
    co_await eraseBuried();
  }
  const uint64_t life = merged.nextLife(journal_.generation(), known.value());
  base::Status begun =
      co_await journal_.begin(life, static_cast<uint32_t>(reactor_.turn().wall.s), scope);
  if (!begun.ok()) {
    co_return begun.error();
  }
  startLog(life);
  report.segments_lost += static_cast<uint32_t>(lost.size());
  report.entries = shared_.index->size();
  report.purged = merged.count(Recovered::purged);
  co_return report;
}

// The newest sequence that a snapshot answers for; 0 when there is none.
rt::Task<base::Result<uint64_t>> StripeStore::merge(RecoveryMerge& merge, Unreadable unreadable,
                                                    RecoveryReport& report,
                                                    rt::CancelScope& scope) {
  // A snapshot of an index of another size is of no use, nor is one without a later purge of
  // labels: everything is read.
  const auto usable = [this](const SnapshotHeader& header) {
    return header.bucket_count == shared_.index->bucketCount() &&
           purges_.labelsPurgedBefore(header.journal_number);
  };
  segments_recovered_ = 0;
  base::Result<std::optional<SnapshotHeader>> newest = co_await snapshots_.newest(scope);
  if (!newest.ok()) {
    co_return newest.error();
  }
  const std::optional<SnapshotHeader>& header = newest.value();
  const uint64_t promised = header.has_value() && usable(*header) ? header->sealed_sequence : 0;
  const Between newer{promised, UINT64_MAX};
  base::Status read = co_await readSegments(newer, unreadable, merge, report, scope);
  if (!read.ok()) {
    co_return read.error();
  }
  auto take = [&merge](const SnapshotHeader& header, const std::vector<uint64_t>& sequences,
                       const PlacedEntry& entry) {
    merge.addSnapshotEntry(header, sequences, entry);
  };
  base::Result<bool> loaded = co_await snapshots_.load(take, scope);
  if (!loaded.ok()) {
    co_return loaded.error();
  }
  report.from_snapshot = loaded.value() && usable(snapshots_.loaded());
  const uint64_t known = report.from_snapshot ? snapshots_.loaded().sealed_sequence : 0;
  // One that turned out to be damaged had promised more.
  const Between missing{known, promised};
  read = co_await readSegments(missing, unreadable, merge, report, scope);
  if (!read.ok()) {
    co_return read.error();
  }
  segments_recovered_ = shared_.table->count();
  co_return known;
}

// The segments whose sequence is above one and at most the other, the newest first.
rt::Task<base::Status> StripeStore::readSegments(Between sequences, Unreadable unreadable,
                                                 RecoveryMerge& merge, RecoveryReport& report,
                                                 rt::CancelScope& scope) {
  std::vector<std::pair<uint64_t, uint32_t>> wanted;
  for (uint32_t segment = 0; segment < shared_.table->count(); segment++) {
    const uint64_t sequence = shared_.table->sequence(segment);
    if (sequence > sequences.above && sequence <= sequences.most) {
      wanted.emplace_back(sequence, segment);
    }
  }
  std::sort(wanted.rbegin(), wanted.rend());
  for (const auto& [sequence, segment] : wanted) {
    base::Status read = co_await readSegment(segment, merge, report, scope);
    if (!read.ok() && (unreadable == Unreadable::fails || scope.requested())) {
      co_return read;
    }
    report.segments_lost += read.ok() ? 0 : 1;  // its number counts: the next life begins behind
    segments_recovered_++;
  }
  co_return base::Unit{};
}

void addTo(RecoveryReport& sum, const RecoveryReport& report) {
  sum.from_snapshot = sum.from_snapshot || report.from_snapshot;
  sum.entries += report.entries;
  sum.segments_read += report.segments_read;
  sum.segments_walked += report.segments_walked;
  sum.segments_lost += report.segments_lost;
  sum.purged += report.purged;
}

// The log goes on behind what the segment table holds, in a life of its own.
void StripeStore::startLog(uint64_t life) {
  AllocatorOptions options;
  options.segment_bytes = shared_.files.superblock.segment_bytes;
  options.next_sequence = firstSequence(life);
  std::vector<uint64_t> sequences;
  for (uint32_t segment = 0; segment < shared_.table->count(); segment++) {
    sequences.push_back(shared_.table->sequence(segment));
  }
  allocator_ = std::make_unique<SegmentAllocator>(options, *shared_.table);
  for (uint32_t segment = 0; segment < sequences.size(); segment++) {
    if (sequences[segment] != 0) {
      allocator_->adopt(segment, sequences[segment]);
    }
  }
  LogOptions log_options;
  log_options.file = shared_.recordFile();
  log_options.events = events_;
  log_options.notes = this;
  log_options.stripe = static_cast<uint16_t>(shared_.files.superblock.stripe);
  log_ = std::make_unique<StripeLog>(reactor_, reader_, *shared_.index, *shared_.table, *allocator_,
                                     filters_, log_options);
  log_->start();
  const bool saving = background_.spawn(snapshotLoop());
  CHECK(saving);
  const bool filtering = background_.spawn(filterLoop());
  CHECK(filtering);
  const bool scrubbing = background_.spawn(scrubLoop());
  CHECK(scrubbing);
}

// The sequence that each segment's header has now: a read a segment, many in flight.
rt::Task<base::Status> StripeStore::readSequences(Unreadable unreadable,
                                                  std::vector<uint32_t>& lost,
                                                  rt::CancelScope& scope) {
  HeaderScan scan{unreadable, &lost, base::Unit{}};
  rt::TaskGroup readers(reactor_, kHeaderReads, scope);
  for (uint32_t first = 0; first < std::min(kHeaderReads, shared_.table->count()); first++) {
    const bool spawned = readers.spawn(readSequencesFrom(first, &scan, &scope));
    CHECK(spawned);
  }
  co_await readers.join();
  // A disk that gives no header at all is not one with bad places.
  if (scan.status.ok() && lost.size() == shared_.table->count()) {
    co_return base::Error{base::Code::io_error, base::Blame::disk};
  }
  co_return scan.status;
}

// Gives up segments whose header could not be read: should it be readable another time, what they
// hold may be older than purges that have been forgotten by then.
rt::Task<base::Status> StripeStore::blank(std::vector<uint32_t> segments, rt::CancelScope& scope) {
  base::Result<rt::Buffer> page = co_await reader_.pool().take(kPageBytes, scope);
  if (!page.ok()) {
    co_return page.error();
  }
  const std::span<std::byte> zeros = page.value().span().first(kPageBytes);
  std::fill(zeros.begin(), zeros.end(), std::byte{0});
  for (const uint32_t segment : segments) {
    const rt::IoResult written = co_await rt::FileOp(
        rt::OpKind::write, shared_.files.data_fd, zeros,
        segmentOffset(segment, shared_.files.superblock.segment_bytes), false, scope, base::kNever);
    if (written.result != static_cast<int32_t>(kPageBytes)) {
      co_return written.ok() ? base::Error{base::Code::io_error, base::Blame::disk}
                             : written.error(base::Blame::disk);
    }
  }
  const rt::IoResult synced = co_await rt::FileOp(rt::OpKind::fsync, shared_.files.data_fd, {}, 0,
                                                  false, scope, base::kNever);
  if (!synced.ok()) {
    co_return synced.error(base::Blame::disk);
  }
  co_return base::Unit{};
}

// Every kHeaderReads-th segment.
rt::Task<void> StripeStore::readSequencesFrom(uint32_t first, HeaderScan* scan,
                                              rt::CancelScope* scope) {
  base::Result<rt::Buffer> page = co_await reader_.pool().take(kPageBytes, *scope);
  for (uint32_t segment = first; page.ok() && segment < shared_.table->count();
       segment += kHeaderReads) {
    const std::span<std::byte> bytes = page.value().span().first(kPageBytes);
    base::Status read = co_await reader_.readBytes(
        shared_.recordFile(), bytes, segmentOffset(segment, shared_.files.superblock.segment_bytes),
        *scope);
    if (!read.ok() && (scan->unreadable == Unreadable::fails || scope->requested())) {
      scan->status = read;
      co_return;
    }
    if (!read.ok()) {
      scan->lost->push_back(segment);
      shared_.table->setSequence(segment, 0);
      continue;
    }
    base::Result<SegmentHeader> header = decodeSegmentHeader(bytes, identity(segment));
    shared_.table->setSequence(segment, header.ok() ? header.value().sequence : 0);
  }
  if (!page.ok()) {
    scan->status = page.error();
  }
}

// The records of one segment: from its footer, or by walking it.
rt::Task<base::Status> StripeStore::readSegment(uint32_t segment, RecoveryMerge& merge,
                                                RecoveryReport& report, rt::CancelScope& scope) {
  const OpenedSegment wanted{segment, shared_.table->sequence(segment)};
  report.segments_read++;
  Contents contents;
  base::Result<Footer> footer = co_await segments_.footer(wanted, scope);
  if (footer.ok()) {
    contents = std::move(footer.value());
  } else if (footer.error().code == base::Code::corrupt ||
             footer.error().code == base::Code::stale_location) {
    base::Result<TailWalk> walk = co_await segments_.walk(wanted, scope);
    if (!walk.ok()) {
      co_return walk.error();
    }
    contents = std::move(walk.value());
    report.segments_walked++;
    walked_[wanted.sequence] = contents.entries.size();
  } else {
    co_return footer.error();
  }
  LabelSet set;
  contents.each([&](const TocEntry& line, std::span<const Label> labels) {
    merge.addRecord(segment, wanted.sequence, line, labels);
    for (const Label label : labels) {
      set.add(label);
    }
  });
  filters_.set(segment, wanted.sequence, set);
  co_return base::Unit{};
}

rt::Task<void> StripeStore::eraseBuried() {
  rt::CancelScope never;
  base::Status turn = co_await scans_.acquire(1, never);
  CHECK(turn.ok());
  std::vector<PlacedEntry> step;
  shared_.index->beginScan();
  for (bool more = true; more;) {
    step.clear();
    more = shared_.index->scanStep(kScanBuckets, step);
    for (const PlacedEntry& placed : step) {
      if (isBuried(placed.entry)) {
        shared_.index->eraseAt(placed.bucket, placed.entry);
      }
    }
    co_await rt::NextTurn();
  }
  scans_.release(1);
}

// Makes the filters of segments that recovery had no reason to read. Until a segment has one, every
// purge reads it.
rt::Task<void> StripeStore::filterLoop() {
  rt::CancelScope& scope = background_.scope();
  for (uint32_t i = 0; i < shared_.table->count() && !scope.requested(); i++) {
    const OpenedSegment segment{i, shared_.table->sequence(i)};
    const SegmentState state = allocator_->state(i);
    if (segment.sequence == 0 || state != SegmentState::sealed ||
        filters_.has(i, segment.sequence)) {
      continue;
    }
    base::Result<Contents> contents = co_await contentsOf(segment, scope);
    if (contents.ok() && shared_.table->sequence(i) == segment.sequence) {
      LabelSet set;
      for (const Label label : contents.value().labels) {
        set.add(label);
      }
      filters_.set(i, segment.sequence, set);
    }
    co_await rt::NextTurn();
  }
}

}  // namespace store
