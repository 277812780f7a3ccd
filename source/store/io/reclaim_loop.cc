// The reclaiming half of StripeLog: makes segments free before the log runs out of them. Which one
// and within which budget is decided by store/core/eviction.h, what is to be done with each record
// by store/core/reclaim.h; this file only reads, appends and erases.
#include <algorithm>
#include <utility>

#include "source/rt/wait.h"
#include "source/store/core/extents.h"
#include "source/store/core/record_writer.h"
#include "source/store/io/log.h"

namespace store {
namespace {

// A pin lasts for one system call; this is how often it is looked for.
constexpr uint64_t kPinWait_ns = base::kMillisecond_ns;

}  // namespace

rt::Task<void> StripeLog::reclaimLoop() {
  while (!background_.requested()) {
    const std::optional<ReclaimInput> input = nextToReclaim();
    if (!input.has_value()) {
      if (std::exchange(end_waits_, false)) {
        static_cast<void>(co_await rt::Sleep(reactor_.now() + kNoteAgain_ns, background_));
      } else {
        co_await reclaim_wanted_.wait(background_);
      }
      continue;
    }
    const bool freed = co_await reclaim(*input);
    end_waits_ = !freed && input->segment >= allocator_.end();
    segment_free_.wakeAll();
  }
  segment_free_.wakeAll();
}

// What is behind the end goes first and whole.
std::optional<ReclaimInput> StripeLog::nextToReclaim() {
  const auto now_s = static_cast<uint32_t>(reactor_.turn().wall.s);
  const std::optional<OpenedSegment> behind = allocator_.nextBehindEnd();
  if (!behind.has_value() || end_waits_ || !replaced_known_) {
    return eviction_.next(allocator_, now_s);
  }
  ReclaimInput input;
  input.segment = behind->segment;
  input.sequence = behind->sequence;
  input.queue = allocator_.queueOf(behind->segment);
  input.now_s = now_s;
  return input;
}

rt::Task<bool> StripeLog::resize(uint32_t segment_count, rt::CancelScope& scope) {
  const bool shorter = segment_count < table_.count();
  replaced_known_ = replaced_known_ && !shorter;
  allocator_.setEnd(segment_count);
  eviction_.setSegmentCount(segment_count);
  segment_free_.wakeAll();
  base::Status turn = co_await turn_.acquire(1, scope);
  if (!turn.ok()) {
    co_return false;
  }
  while (allocator_.hasOpen() && allocator_.opened().segment >= allocator_.end()) {
    closeSlab();
    if (sealing_ < kSealing) {
      sealSegment();
    } else {
      co_await written_.wait(never_);
    }
  }
  const bool blanked = !shorter || co_await blankUnused();
  turn_.release(1);
  if (!blanked) {
    co_return false;
  }
  if (shorter) {
    co_await findReplaced(scope);
  }
  reclaim_wanted_.wakeOne();
  auto how = rt::WaitQueue::Woken::by_wake;
  while (!allocator_.endIsReached() && how == rt::WaitQueue::Woken::by_wake &&
         !background_.requested()) {
    how = co_await segment_free_.wait(scope);
  }
  co_return allocator_.endIsReached();
}

// Segments that are not in use are written over oldest first, so that a crash brings back no
// version without the one that replaced it. Cutting goes by place and not by age: what is cut must
// not leave behind what is older. The caller has the turn, so that none is opened meanwhile.
rt::Task<bool> StripeLog::blankUnused() {
  const std::vector<OpenedSegment> left = allocator_.leftOnDisk();
  for (const OpenedSegment& segment : left) {
    base::Status written = co_await blank(segment.segment);
    if (!written.ok()) {
      co_return false;
    }
  }
  const rt::IoResult synced =
      co_await rt::FileOp(rt::OpKind::fsync, options_.file.fd, {}, 0, false, never_, base::kNever);
  if (!synced.ok()) {
    co_return false;
  }
  for (const OpenedSegment& segment : left) {
    allocator_.blanked(segment.segment);
  }
  co_return true;
}

// The table of contents; of a segment that lost it in a crash, what recovery found, if it goes out
// of its turn or stays behind what does.
rt::Task<base::Result<Footer>> StripeLog::linesOf(OpenedSegment segment, rt::CancelScope& scope) {
  base::Result<Footer> footer = co_await segments_.footer(segment, scope);
  const bool needed = allocator_.end() < table_.count() && segment.sequence < first_of_life_;
  if (footer.ok() || !needed || footer.error().code == base::Code::io_error) {
    co_return footer;
  }
  base::Result<TailWalk> walk = co_await segments_.walk(segment, scope);
  if (!walk.ok()) {
    co_return walk.error();
  }
  Footer found;
  found.entries = std::move(walk.value().entries);
  found.labels = std::move(walk.value().labels);
  found.sequence = segment.sequence;
  co_return std::move(found);
}

// Which record took the place of which is not known of earlier lives, whose segments are freed in
// their order but for those behind the end. So what lies before the end and is not what the index
// leads to is looked for here. (The versions of this life have their successors.)
rt::Task<void> StripeLog::findReplaced(rt::CancelScope& scope) {
  replaced_.clear();
  bool all = true;
  for (uint32_t segment = 0; segment < allocator_.end() && !scope.requested(); segment++) {
    // Also what has been freed since blankUnused(), and is not written over.
    const OpenedSegment at{segment, allocator_.onDisk(segment)};
    if (at.sequence == 0 || at.sequence >= first_of_life_) {
      continue;
    }
    base::Result<Footer> footer = co_await linesOf(at, scope);
    all = all && footer.ok();
    if (!footer.ok()) {
      continue;
    }
    for (const TocEntry& line : footer.value().entries) {
      const std::optional<Entry> entry = index_.find(line.hash());
      const bool current = entry.has_value() && entry->placed() && entry->segment() == segment &&
                           entry->offsetUnits() == line.offset_units &&
                           entry->generation() == generationOf(at.sequence);
      if (!current && line.recordKind() != RecordKind::chunk) {
        replaced_.push_back(line.hash().lo);
      }
    }
  }
  std::ranges::sort(replaced_);
  all_replaced_ = all;
  replaced_known_ = !scope.requested();
}

// Of a segment of an earlier life that goes out of its turn.
void StripeLog::markSuccessors(OpenedSegment victim, std::span<const TocEntry> lines) {
  if (victim.segment < allocator_.end() || victim.sequence >= first_of_life_ ||
      successors_.any(victim.segment)) {
    return;
  }
  for (const TocEntry& line : lines) {
    const bool may_have_replaced =
        !replaced_known_ || !all_replaced_ || std::ranges::binary_search(replaced_, line.hash().lo);
    if (may_have_replaced && line.recordKind() != RecordKind::chunk) {
      successors_.add(
          Location{victim.sequence, victim.segment, line.offset_units, line.length_units});
    }
  }
}

// Takes a segment's header away, without which nothing in it is found.
rt::Task<base::Status> StripeLog::blank(uint32_t segment) {
  base::Status turn = co_await footer_turn_.acquire(1, never_);
  CHECK(turn.ok());
  const std::span<std::byte> page(footer_.get(), kPageBytes);
  std::ranges::fill(page, std::byte{0});
  base::Status written =
      co_await writeBytes(page, segmentOffset(segment, options_.file.segment_bytes), false);
  footer_turn_.release(1);
  co_return written;
}

// True: the segment is free.
rt::Task<bool> StripeLog::reclaim(ReclaimInput input) {
  const OpenedSegment victim{input.segment, input.sequence};
  base::Result<Footer> footer = co_await linesOf(victim, never_);
  if (footer.ok()) {
    ReclaimPlan plan = planReclaim(input, footer.value().entries, index_);
    for (const ReclaimPlan::Drop& drop : plan.drop) {
      stats_.dropped_records += index_.eraseIf(drop.hash, drop.entry) ? 1 : 0;
      eviction_.dropped(drop.hash, drop.entry, uint64_t{drop.entry.lengthUnits()} * kUnitBytes,
                        input);
    }
    for (const Reinsertion& what : plan.reinsert) {
      co_await reinsert(victim, what);
    }
    input.budget_bytes = plan.budget_bytes;
    for (LargeObject& object : plan.large) {
      const bool there = co_await settleHead(object);
      if (there) {
        co_await reclaimLarge(input, object);
      }
    }
  }
  if (footer.ok()) {
    markSuccessors(victim, footer.value().entries);
  }
  const bool may_free = co_await mayFree(victim, input.queue, footer);
  if (!may_free) {
    co_return false;
  }
  // Entries that a lost footer could not name point to a sequence that is gone: they are misses.
  table_.retire(victim.segment);
  while (table_.pinned(victim.segment)) {
    co_await rt::Sleep(reactor_.now() + kPinWait_ns, never_);
  }
  allocator_.beginReclaim(victim.segment);
  base::Status blanked = base::Error{base::Code::cancelled};
  if (victim.segment >= allocator_.end()) {
    blanked = co_await blank(victim.segment);
  }
  allocator_.finishReclaim(victim.segment);
  if (blanked.ok() && allocator_.state(victim.segment) != SegmentState::bad) {
    allocator_.blanked(victim.segment);
  }
  filters_.drop(victim.segment);
  successors_.drop(victim.segment);
  forgetUnlisted(victim.segment);
  stats_.reclaimed_segments++;
  co_return true;
}

// Tells the purge journal what must not come back once the segment's records are gone. False: the
// segment stays in use, since that could not be written or is not known, and its turn comes again.
rt::Task<bool> StripeLog::mayFree(OpenedSegment victim, SegmentQueue queue,
                                  const base::Result<Footer>& footer) {
  // Behind the end it goes before what is older and out of use.
  const bool has_older = victim.segment < allocator_.end()
                             ? allocator_.hasOlder(victim.sequence)
                             : allocator_.oldestSequence() < victim.sequence;
  const bool unknown =
      !footer.ok() && victim.segment >= allocator_.end() && victim.sequence < first_of_life_;
  const bool bound =
      options_.notes != nullptr && (successors_.any(victim.segment) || unknown) && has_older;
  if (!bound) {
    co_return true;
  }
  if (!footer.ok()) {
    // Whose successors they are is not known, so the segment waits until nothing older is left. In
    // main it is the oldest already, if it is not behind the end.
    if (queue == SegmentQueue::small) {
      allocator_.moveToMain(victim.segment);
    }
    co_return queue == SegmentQueue::main&& victim.segment < allocator_.end();
  }
  std::vector<PurgeRecord> purges =
      purgesToFree(victim, footer.value().entries, successors_, index_, table_,
                   static_cast<uint32_t>(reactor_.turn().wall.s));
  const size_t count = purges.size();
  base::Status noted = co_await options_.notes->note(std::move(purges));
  if (!noted.ok()) {
    static_cast<void>(co_await rt::Sleep(reactor_.now() + kNoteAgain_ns, background_));
    co_return false;
  }
  stats_.noted_records += count;
  co_return true;
}

rt::Task<void> StripeLog::reinsert(OpenedSegment victim, Reinsertion what) {
  const Location at{victim.sequence, victim.segment, what.line.offset_units,
                    what.line.length_units};
  base::Result<RecordRef> read = co_await reader_.read(options_.file, at, never_, base::kNever);
  if (read.ok()) {
    Publish publish;
    publish.kind = what.entry.kind();
    publish.expires_s = what.line.expires_s;
    publish.frequency = what.frequency;
    publish.replaces = what.entry;
    publish.is_copy = true;
    base::Status turn = co_await turn_.acquire(1, never_);
    CHECK(turn.ok());
    base::Result<Appended> appended = co_await appendOnce(read.value().bytes(), publish);
    turn_.release(1);
    if (appended.ok()) {
      stats_.reinserted_records++;
      stats_.reinserted_bytes += uint64_t{what.line.length_units} * kUnitBytes;
      eviction_.spend(uint64_t{what.line.length_units} * kUnitBytes);
    }
  }
  // Gone unless it was replaced: by the copy, or by something newer.
  stats_.dropped_records += index_.eraseIf(what.line.hash(), what.entry) ? 1 : 0;
}

// The head may be in the write buffer still, as when the key has been stored anew since. True: it
// is the key's version, and can be read.
rt::Task<bool> StripeLog::settleHead(LargeObject& object) {
  if (!object.head.inBuffer()) {
    co_return true;
  }
  static_cast<void>(co_await flush(reactor_.now() + kAppendWait_ns));
  const std::optional<Entry> now = index_.find(object.hash);
  if (!now.has_value() || now->kind() != EntryKind::extents || now->inBuffer()) {
    co_return false;
  }
  object.head = *now;
  co_return true;
}

rt::Task<void> StripeLog::reclaimLarge(ReclaimInput& input, const LargeObject& object) {
  const Location head_at = table_.locate(object.head);
  base::Result<RecordRef> head =
      co_await reader_.read(options_.file, head_at, never_, base::kNever);
  LargeOutcome outcome{LargeDecision::drop, 0};
  if (head.ok()) {
    const RecordView& record = head.value().record();
    base::Result<ExtentTable> extents =
        ExtentTable::parse(record.body, record.header.object_length);
    if (extents.ok()) {
      outcome = decideLarge(object, record.header.object_id, extents.value(), input, table_);
    }
  }
  bool kept = outcome.decision == LargeDecision::ignore;
  if (outcome.decision == LargeDecision::keep) {
    const OpenedSegment victim{input.segment, input.sequence};
    kept = co_await moveLarge(victim, object, head.value(), outcome.frequency);
    input.budget_bytes -= std::min(input.budget_bytes, object.bytes);
    eviction_.spend(object.bytes);
  }
  if (!kept) {
    stats_.dropped_records += index_.eraseIf(object.hash, object.head) ? 1 : 0;
    eviction_.dropped(object.hash, object.head, object.bytes, input);
  }
}

// Writes the object's chunks of this segment again, then its head with their new places.
rt::Task<bool> StripeLog::moveLarge(OpenedSegment victim, const LargeObject& object,
                                    const RecordRef& head, uint8_t frequency) {
  const RecordView& old = head.record();
  base::Result<ExtentTable> table = ExtentTable::parse(old.body, old.header.object_length);
  CHECK(table.ok());
  std::vector<Extent> extents;
  for (uint32_t i = 0; i < table.value().count(); i++) {
    extents.push_back(table.value().at(i));
  }
  for (const TocEntry& line : object.chunks) {
    const Location at_old{victim.sequence, victim.segment, line.offset_units, line.length_units};
    base::Result<RecordRef> chunk =
        co_await reader_.read(options_.file, at_old, never_, base::kNever);
    if (!chunk.ok() || line.chunk_number >= extents.size()) {
      co_return false;
    }
    const Publish unlisted;
    base::Status turn = co_await turn_.acquire(1, never_);
    CHECK(turn.ok());
    base::Result<Appended> moved = co_await appendOnce(chunk.value().bytes(), unlisted);
    turn_.release(1);
    if (!moved.ok()) {
      co_return false;
    }
    const Location at = moved.value().at;
    Extent& extent = extents[line.chunk_number];
    extent.sequence = at.sequence;
    extent.segment = at.segment;
    extent.offset_units = static_cast<uint16_t>(at.offset_units);
    extent.length_units = static_cast<uint16_t>(at.length_units);
    stats_.reinserted_bytes += uint64_t{line.length_units} * kUnitBytes;
  }
  std::vector<std::byte> body;
  base::Status encoded = encodeExtents(extents, old.header.object_length, body);
  if (!encoded.ok()) {
    co_return false;
  }
  RecordFields fields;
  fields.kind = RecordKind::head;
  fields.place.salt = options_.file.salt;
  fields.hash = old.hash();
  fields.object_id = old.header.object_id;
  fields.object_length = old.header.object_length;
  fields.written_s = old.header.written_s;
  fields.expires_s = old.header.expires_s;
  const std::vector<Label> labels = unpackLabels(old.labels);
  fields.labels = labels;
  std::vector<std::byte> record(recordBytes(static_cast<uint32_t>(old.key.size()),
                                            old.header.meta_length,
                                            static_cast<uint32_t>(body.size())));
  const base::Result<uint32_t> length = encodeRecord(record, fields, old.key, old.meta, body);
  CHECK(length.ok());
  Publish publish;
  publish.kind = EntryKind::extents;
  publish.expires_s = old.header.expires_s;
  publish.frequency = frequency;
  publish.replaces = object.head;
  publish.is_copy = true;
  base::Status turn = co_await turn_.acquire(1, never_);
  CHECK(turn.ok());
  base::Result<Appended> moved = co_await appendOnce(record, publish);
  turn_.release(1);
  co_return moved.ok();
}

}  // namespace store
