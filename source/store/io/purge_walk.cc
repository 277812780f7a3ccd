// Purging by tag or by prefix: the segments that may have the label, the lines that have it, and
// the index entries that still lead to those lines' records. docs/invalidation.md is the design.
#include <algorithm>
#include <utility>

#include "source/store/io/stripe_store.h"

namespace store {

// One purge under way.
struct StripeStore::Walk {
  Selector selector;
  bool soft = false;
  LogPosition before;
  uint64_t purged = 0;
  std::vector<OpenedSegment> older;  // segments on the disk that may have the label
  size_t next = 0;                   // of these: the first that has not been looked at
  bool lost = false;                 // a segment was given up: what was in it is not known
  std::vector<base::Hash128> taken;  // what is to be journaled by key
};

bool pointsTo(const Entry& entry, const LineAt& at) {
  return entry.placed() && entry.segment() == at.segment.segment &&
         entry.offsetUnits() == at.line.offset_units &&
         entry.generation() == generationOf(at.segment.sequence);
}

rt::Task<base::Result<uint64_t>> StripeStore::purgeSelected(Selector selector, bool soft,
                                                            rt::CancelScope& scope) {
  if (!ready()) {
    co_return base::Error{base::Code::no_capacity, base::Blame::disk};
  }
  base::Status turn = co_await walks_.acquire(1, scope);
  if (!turn.ok()) {
    co_return turn.error();
  }
  Walk walk;
  walk.selector = std::move(selector);
  walk.soft = soft;
  walk.before = log_->position();
  log_->holdCopies(&walk.selector);
  // What is in memory and which segments there are is taken down in one step: a segment whose table
  // is written a moment later is in the first list, and not missed.
  std::vector<LineAt> recent;
  log_->eachRecentLine(
      [&](OpenedSegment segment, const TocEntry& line, std::span<const Label> labels) {
        if (hasLabel(labels, walk.selector.label)) {
          recent.push_back(LineAt{segment, line});
        }
      });
  for (uint32_t i = 0; i < shared_.table->count(); i++) {
    const OpenedSegment segment{i, shared_.table->sequence(i)};
    if (segment.sequence != 0 && !log_->isRecent(i) &&
        filters_.mayHave(i, segment.sequence, walk.selector.label)) {
      purge_stats_.segments_unfiltered += filters_.has(i, segment.sequence) ? 0 : 1;
      walk.older.push_back(segment);
    }
  }
  walking_.push_back(&walk);
  co_await takeLines(walk, recent);
  for (; walk.next < walk.older.size(); walk.next++) {
    co_await walkSegment(walk, walk.older[walk.next]);
  }
  std::erase(walking_, &walk);
  if (!walk.selector.key_prefix.empty()) {
    co_await walkFree(walk);
  }
  log_->allowCopies(&walk.selector);
  base::Status durable = co_await journalWalk(walk, scope);
  walks_.release(1);
  if (!durable.ok()) {
    co_return durable.error();
  }
  co_return walk.purged;
}

// The table of contents of a sealed segment, or what recovery found when there was none. An error
// when it cannot be had as it was.
rt::Task<base::Result<Contents>> StripeStore::contentsOf(OpenedSegment segment,
                                                         rt::CancelScope& scope) {
  base::Result<Footer> footer = co_await segments_.footer(segment, scope);
  if (footer.ok()) {
    co_return Contents(std::move(footer.value()));
  }
  const auto walked = walked_.find(segment.sequence);
  if (walked == walked_.end() || footer.error().code == base::Code::io_error) {
    co_return footer.error();
  }
  const size_t lines = walked->second;
  base::Result<TailWalk> walk = co_await segments_.walk(segment, scope);
  if (!walk.ok()) {
    co_return walk.error();
  }
  if (walk.value().entries.size() < lines) {
    co_return base::Error{base::Code::corrupt, base::Blame::disk};
  }
  co_return Contents(std::move(walk.value()));
}

// Segments that are out of use but not written over yet: a crash would bring back what is in them,
// unless its keys are journaled.
rt::Task<void> StripeStore::walkFree(Walk& walk) {
  for (uint32_t i = 0; i < shared_.table->count(); i++) {
    const OpenedSegment segment{i, allocator_->onDisk(i)};
    if (segment.sequence != 0 && segment.sequence != shared_.table->sequence(i)) {
      co_await walkSegment(walk, segment);
    }
  }
}

rt::Task<void> StripeStore::walkSegment(Walk& walk, OpenedSegment segment) {
  const bool by_key = !walk.selector.key_prefix.empty();
  const auto gone = [&] {
    return by_key ? allocator_->onDisk(segment.segment) != segment.sequence
                  : shared_.table->sequence(segment.segment) != segment.sequence;
  };
  if (gone()) {
    co_return;  // reclaimed meanwhile, and nothing that is selected was written again
  }
  purge_stats_.segments_read++;
  rt::CancelScope never;
  base::Result<Contents> contents = co_await contentsOf(segment, never);
  if (gone()) {
    co_return;
  }
  if (!contents.ok() && shared_.table->sequence(segment.segment) != segment.sequence) {
    walk.lost = true;  // it is free, and what a start may find in it is not known
    co_return;
  }
  if (!contents.ok()) {
    giveUp(walk, segment);
    co_return;
  }
  purge_stats_.lines += contents.value().entries.size();
  std::vector<LineAt> lines;
  contents.value().each([&](const TocEntry& line, std::span<const Label> labels) {
    if (hasLabel(labels, walk.selector.label)) {
      lines.push_back(LineAt{segment, line});
    }
  });
  co_await rt::NextTurn();
  co_await takeLines(walk, lines);
}

// Nobody can say what is in it, so nothing of it is served any more.
void StripeStore::giveUp(Walk& walk, OpenedSegment segment) {
  shared_.table->setSequence(segment.segment, 0);
  filters_.drop(segment.segment);
  purge_stats_.segments_lost++;
  walk.lost = true;
}

void StripeStore::dropUnwalked() {
  for (Walk* walk : walking_) {
    for (size_t i = walk->next; i < walk->older.size(); i++) {
      const OpenedSegment segment = walk->older[i];
      if (shared_.table->sequence(segment.segment) == segment.sequence) {
        giveUp(*walk, segment);
      }
    }
  }
}

rt::Task<void> StripeStore::takeLines(Walk& walk, const std::vector<LineAt>& lines) {
  if (!walk.selector.key_prefix.empty()) {
    rt::TaskGroup readers(reactor_, kKeyReads);
    for (uint32_t first = 0; first < std::min<size_t>(kKeyReads, lines.size()); first++) {
      const bool spawned = readers.spawn(takeByKey(&walk, &lines, first));
      CHECK(spawned);
    }
    co_await readers.join();
    co_return;
  }
  for (size_t i = 0; i < lines.size(); i++) {
    take(walk, lines[i]);
    if (i % kStepLines == kStepLines - 1) {
      co_await rt::NextTurn();
    }
  }
}

// Every kKeyReads-th line: reads the record's key and takes it if that begins with the prefix. A
// record that cannot be read cannot be cleared of it either. What the index does not lead to any
// more is journaled all the same: a start after a crash may find it.
rt::Task<void> StripeStore::takeByKey(Walk* walk, const std::vector<LineAt>* lines, size_t first) {
  rt::CancelScope never;
  for (size_t i = first; i < lines->size(); i += kKeyReads) {
    const LineAt& at = (*lines)[i];
    purge_stats_.keys_read++;
    base::Result<RecordRef> read = co_await readCurrent(at, never);
    if (!read.ok() || walk->selector.selects(read.value().record())) {
      walk->taken.push_back(at.line.hash());
      take(*walk, at);
    }
  }
}

void StripeStore::take(Walk& walk, const LineAt& at) {
  const base::Hash128 hash = at.line.hash();
  const std::optional<Entry> entry = shared_.index->find(hash);
  const LogPosition position{at.segment.sequence, at.line.offset_units};
  if (!entry.has_value() || !pointsTo(*entry, at) || position >= walk.before) {
    return;
  }
  const bool object = entry->kind() != EntryKind::vary_rule;
  if (walk.soft && !object) {
    return;  // its variants become stale one by one
  }
  // What it replaced need not have the label, and comes back if a crash loses this record.
  if (walk.selector.key_prefix.empty() &&
      log_->isSuccessor(at.segment.segment, at.line.offset_units)) {
    walk.taken.push_back(hash);
  }
  const bool done = walk.soft ? shared_.index->replaceIf(hash, *entry, entry->withStaleNow())
                              : shared_.index->eraseIf(hash, *entry);
  walk.purged += done && object ? 1 : 0;
}

rt::Task<base::Status> StripeStore::journalWalk(Walk& walk, rt::CancelScope& scope) {
  PurgeRecord record;
  record.soft = walk.soft;
  record.before = walk.before;
  record.time_s = static_cast<uint32_t>(reactor_.turn().wall.s);
  // Of a segment that was given up the next start may know more: there the label has to do.
  if (walk.selector.key_prefix.empty() || walk.lost) {
    record.kind = PurgeKind::label;
    record.hash = base::Hash128{0, walk.selector.label};
    base::Status durable = co_await journal_.append(record, allocator_->oldestSequence(), scope);
    if (!durable.ok()) {
      co_return durable;
    }
  }
  record.kind = PurgeKind::key;
  for (size_t at = 0; at < walk.taken.size(); at += kJournalBatch) {
    std::vector<PurgeRecord> batch;
    for (size_t i = at; i < std::min<size_t>(walk.taken.size(), at + kJournalBatch); i++) {
      record.hash = walk.taken[i];
      batch.push_back(record);
    }
    base::Status durable =
        co_await journal_.appendAll(std::move(batch), allocator_->oldestSequence(), scope);
    if (!durable.ok()) {
      co_return durable;
    }
  }
  co_return base::Unit{};
}

}  // namespace store
