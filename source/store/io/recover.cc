// StripeStore::recover: purge journal, segment headers, newest snapshot, then whatever is newer
// than it. The merge itself is store/core/recovery.h; this file only reads.
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
  RecoveryMerge merge(*shared_.index, *shared_.table, purges_);
  auto take = [&merge](const SnapshotHeader& header, const std::vector<uint64_t>& sequences,
                       const PlacedEntry& entry) {
    merge.addSnapshotEntry(header, sequences, entry);
  };
  base::Result<bool> loaded = co_await snapshots_.load(take, scope);
  if (!loaded.ok()) {
    co_return loaded.error();
  }
  // A snapshot of an index of another size is of no use: everything is read.
  report.from_snapshot =
      loaded.value() && snapshots_.loaded().bucket_count == shared_.index->bucketCount();
  const uint64_t known = report.from_snapshot ? snapshots_.loaded().sealed_sequence : 0;
  for (uint32_t segment = 0; segment < shared_.table->count(); segment++) {
    if (shared_.table->sequence(segment) > known) {
      base::Status read = co_await readSegment(segment, merge, report, scope);
      if (!read.ok() && (unreadable == Unreadable::fails || scope.requested())) {
        co_return read.error();
      }
      report.segments_lost += read.ok() ? 0 : 1;  // its number counts: the next life begins behind
    }
  }
  const uint64_t life = merge.nextLife(journal_.generation(), known);
  base::Status begun =
      co_await journal_.begin(life, static_cast<uint32_t>(reactor_.turn().wall.s), scope);
  if (!begun.ok()) {
    co_return begun.error();
  }
  startLog(life);
  report.segments_lost += static_cast<uint32_t>(lost.size());
  report.entries = shared_.index->size();
  report.purged = merge.count(Recovered::purged);
  co_return report;
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
  log_options.stripe = static_cast<uint16_t>(shared_.files.superblock.stripe);
  log_ = std::make_unique<StripeLog>(reactor_, reader_, *shared_.index, *shared_.table, *allocator_,
                                     log_options);
  log_->start();
  const bool spawned = background_.spawn(snapshotLoop());
  CHECK(spawned);
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
  const uint32_t segment_bytes = shared_.files.superblock.segment_bytes;
  const uint64_t begin = segmentOffset(segment, segment_bytes);
  const uint64_t sequence = shared_.table->sequence(segment);
  base::Result<rt::Buffer> buffer = co_await reader_.pool().take(rt::BufferPool::kMax_bytes, scope);
  if (!buffer.ok()) {
    co_return buffer.error();
  }
  report.segments_read++;
  // The footer is usually in the last part; a longer one, or none, takes the whole segment.
  std::vector<std::byte> whole(std::min(segment_bytes, rt::BufferPool::kMax_bytes));
  while (true) {
    const uint64_t from = begin + segment_bytes - whole.size();
    for (size_t done = 0; done < whole.size();) {
      const size_t piece = std::min<size_t>(whole.size() - done, rt::BufferPool::kMax_bytes);
      base::Status read = co_await reader_.readBytes(
          shared_.recordFile(), buffer.value().span().first(piece), from + done, scope);
      if (!read.ok()) {
        co_return read;
      }
      std::copy_n(buffer.value().data(), piece, whole.data() + done);
      done += piece;
    }
    base::Result<Footer> footer = decodeFooter(whole, identity(segment));
    if (footer.ok() && footer.value().sequence == sequence) {
      for (const TocEntry& line : footer.value().entries) {
        merge.addRecord(segment, sequence, line);
      }
      co_return base::Unit{};
    }
    if (whole.size() == segment_bytes) {
      break;
    }
    whole.assign(segment_bytes, std::byte{0});
  }
  report.segments_walked++;
  const TailWalk walk = walkTail(whole, sequence, shared_.files.superblock.salt());
  for (const TocEntry& line : walk.entries) {
    merge.addRecord(segment, sequence, line);
  }
  co_return base::Unit{};
}

}  // namespace store
