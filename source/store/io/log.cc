#include "source/store/io/log.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "source/store/core/record_writer.h"

namespace store {
namespace {

EvictionOptions evictionFor(const LogOptions& options, const IndexShard& index,
                            const SegmentTable& table) {
  EvictionOptions eviction;
  eviction.segment_bytes = options.file.segment_bytes;
  eviction.segment_count = table.count();
  // The index has room for four entries a bucket, and for more objects than usually fit.
  eviction.ghost_entries =
      static_cast<uint32_t>(std::min<uint64_t>(index.bucketCount() * 2, UINT32_MAX / 2));
  return eviction;
}

}  // namespace

StripeLog::StripeLog(rt::Reactor& reactor, RecordReader& reader, IndexShard& index,
                     SegmentTable& table, SegmentAllocator& allocator, LabelFilters& filters,
                     const LogOptions& options)
    : reactor_(reactor),
      reader_(reader),
      index_(index),
      table_(table),
      allocator_(allocator),
      filters_(filters),
      segments_(reader, options.file, options.stripe),
      options_(options),
      eviction_(evictionFor(options, index, table)),
      successors_(table.capacity()),
      loops_(reactor, 2),
      tasks_(reactor, kSlabs + kSealing + 1),
      reserve_(new(std::align_val_t{kPageBytes}) std::byte[kSlab_bytes]),
      footer_(new(std::align_val_t{kPageBytes}) std::byte[kFooterPiece_bytes]),
      first_of_life_(allocator.nextSequence()) {}

StripeLog::~StripeLog() {
  CHECK(open_ == nullptr);
}

void StripeLog::start() {
  const bool flushing = loops_.spawn(flushLoop());
  CHECK(flushing);
  const bool reclaiming = loops_.spawn(reclaimLoop());
  CHECK(reclaiming);
}

rt::Task<void> StripeLog::stop() {
  background_.request();
  co_await loops_.join();  // a reclaim that is under way still appends
  closeSlab();
  if (allocator_.hasOpen()) {
    sealSegment();
  }
  co_await tasks_.join();
}

// Appending.

rt::Task<base::Result<Appended>> StripeLog::append(std::span<std::byte> record, Publish publish,
                                                   rt::CancelScope& scope) {
  const base::MonoTime deadline = reactor_.now() + kAppendWait_ns;
  base::Error refused{base::Code::no_capacity, base::Blame::disk};
  if (publish.kind != EntryKind::free) {
    const RecordHeader header = loadStruct<RecordHeader>(record);
    const base::Hash128 hash{header.hash_hi, header.hash_lo};
    publish.frequency = std::max(publish.frequency, eviction_.welcome(hash));
  }
  while (true) {
    base::Status turn = co_await turn_.acquire(1, scope, deadline);
    if (!turn.ok()) {
      refused.code = turn.error().code;
      break;
    }
    base::Result<Appended> appended = co_await appendOnce(record, publish, deadline);
    turn_.release(1);
    if (appended.ok()) {
      eviction_.earn(uint64_t{appended.value().at.length_units} * kUnitBytes);
    }
    if (appended.ok() || record.size() > allocator_.maxRecordBytes()) {
      co_return appended;
    }
    if (appended.error().code != base::Code::no_capacity) {
      refused.code = appended.error().code;
      break;
    }
    // Nobody holds the turn while waiting for reclaim, which needs it to write records again.
    const rt::WaitQueue::Woken how = co_await segment_free_.wait(scope, deadline);
    if (how != rt::WaitQueue::Woken::by_wake) {
      stats_.refused++;
      co_return base::Error{
          how == rt::WaitQueue::Woken::cancelled ? base::Code::cancelled : base::Code::no_capacity,
          base::Blame::disk};
    }
  }
  if (refused.code == base::Code::timeout) {
    // The disk has taken nothing for so long, or appends would have had their turn.
    stats_.refused++;
    refused.code = base::Code::no_capacity;
    noteFailure(0);
  }
  co_return refused;
}

void StripeLog::noteFailure(int32_t error) {
  if (health_.failed(reactor_.now(), error) && options_.events != nullptr) {
    options_.events->diskOut(options_.file.disk, DiskWork::write, error);
  }
}

bool StripeLog::isLost(Location at) const {
  return std::any_of(lost_.begin(), lost_.end(), [at](const LostRange& range) {
    return range.begin <= at.position() && at.position() < range.end;
  });
}

// Finds a place in the open slab (closing full slabs, sealing full segments, opening new ones) and
// takes it. The check of what is replaced, the reservation and the copy happen without a suspension
// in between, so that a purge is either before all of it or after.
rt::Task<base::Result<Appended>> StripeLog::appendOnce(std::span<std::byte> record,
                                                       const Publish& publish,
                                                       base::MonoTime deadline) {
  const base::Error refused{base::Code::no_capacity, base::Blame::disk};
  const RecordHeader header = loadStruct<RecordHeader>(record);
  const RecordPlace was{header.sequence, header.offset_units, options_.file.salt};
  base::Result<RecordView> view = decodeHead(record, was);
  CHECK(view.ok());  // a record that we made or verified
  const uint32_t bytes = view.value().totalBytes();
  CHECK(bytes <= record.size());
  if (bytes > allocator_.maxRecordBytes() || bytes > kSlab_bytes - kSegmentHeaderBytes) {
    co_return refused;
  }
  while (true) {
    if (!allocator_.hasOpen() && !openSegment()) {
      co_return refused;
    }
    if (open_ == nullptr) {
      base::Status opened = co_await openSlab(deadline);
      if (!opened.ok()) {
        co_return opened.error();
      }
      continue;  // the flush loop or a stop may have run meanwhile
    }
    if (open_->used + bytes > kSlab_bytes) {
      closeSlab();
      continue;
    }
    if ((publish.doomed != nullptr && *publish.doomed) || isReplaced(view.value(), publish)) {
      co_return base::Error{base::Code::cancelled, base::Blame::self};
    }
    const std::optional<Location> at = allocator_.reserve(bytes, header.label_count);
    if (at.has_value()) {
      co_return place(record.first(bytes), view.value(), *at, publish);
    }
    closeSlab();
    while (sealing_ >= kSealing) {
      if (co_await written_.wait(never_, deadline) == rt::WaitQueue::Woken::timed_out) {
        co_return base::Error{base::Code::timeout, base::Blame::disk};
      }
    }
    sealSegment();
  }
}

bool StripeLog::isReplaced(const RecordView& record, const Publish& publish) const {
  if (!publish.replaces.has_value()) {
    return false;
  }
  const std::optional<Entry> now = index_.find(record.hash());
  return isHeld(record) || !now.has_value() || !sameVersion(*now, *publish.replaces);
}

bool StripeLog::isHeld(const RecordView& record) const {
  return std::any_of(held_.begin(), held_.end(), [&record](const Selector* selector) {
    return selector == nullptr || selector->selects(record);
  });
}

void StripeLog::allowCopies(const Selector* selector) {
  held_.erase(std::find(held_.begin(), held_.end(), selector));
}

bool StripeLog::isRecent(uint32_t segment) const {
  const auto same = [segment](const Unlisted& u) { return u.segment.segment == segment; };
  return (allocator_.hasOpen() && allocator_.opened().segment == segment) ||
         std::any_of(unlisted_.begin(), unlisted_.end(), same);
}

bool StripeLog::openSegment() {
  const std::optional<OpenedSegment> opened = allocator_.open(eviction_.queueToOpen(allocator_));
  if (allocator_.needsReclaim()) {
    reclaim_wanted_.wakeOne();
  }
  header_due_ = opened.has_value();
  return opened.has_value();
}

rt::Task<base::Status> StripeLog::openSlab(base::MonoTime deadline) {
  base::Status slot = co_await slabs_.acquire(1, never_, deadline);
  if (!slot.ok()) {
    co_return slot;
  }
  rt::Buffer buffer = reader_.pool().tryTake(kSlab_bytes);
  while (!buffer && reserve_in_use_) {
    if (co_await written_.wait(never_, deadline) == rt::WaitQueue::Woken::timed_out) {
      slabs_.release(1);
      co_return base::Error{base::Code::timeout, base::Blame::disk};
    }
    buffer = reader_.pool().tryTake(kSlab_bytes);
  }
  if (!allocator_.hasOpen()) {
    slabs_.release(1);
    co_return base::Error{base::Code::no_capacity};
  }
  auto slab = std::make_unique<Slab>();
  reserve_in_use_ = reserve_in_use_ || !buffer;
  slab->bytes = buffer ? buffer.span() : std::span(reserve_.get(), kSlab_bytes);
  slab->buffer = std::move(buffer);
  const OpenedSegment segment = allocator_.opened();
  slab->segment = segment.segment;
  slab->sequence = segment.sequence;
  if (header_due_) {
    header_due_ = false;
    encodeSegmentHeader(slab->bytes.first(kSegmentHeaderBytes), identity(segment.segment),
                        segment.sequence, static_cast<uint32_t>(reactor_.turn().wall.s));
    slab->used = kSegmentHeaderBytes;
  } else {
    slab->begin_units = allocator_.usedUnits();
  }
  open_ = std::move(slab);
  dirty_.wakeOne();
  co_return base::Unit{};
}

Appended StripeLog::place(std::span<std::byte> record, const RecordView& view, Location at,
                          const Publish& publish) {
  std::span<std::byte> to = open_->bytes.subspan(open_->used, record.size());
  std::memcpy(to.data(), record.data(), record.size());
  relocateRecord(to, view, RecordPlace{at.sequence, at.offset_units, options_.file.salt});
  open_->used += static_cast<uint32_t>(record.size());
  RecordView placed = view;
  placed.header = loadStruct<RecordHeader>(to);
  toc_.add(placed);
  for (size_t i = toc_.labels.size() - placed.header.label_count; i < toc_.labels.size(); i++) {
    labels_.add(toc_.labels[i]);
  }
  stats_.appended_records++;
  stats_.appended_bytes += record.size();

  EntryFields fields;
  fields.kind = publish.kind;
  fields.segment = at.segment;
  fields.offset_units = at.offset_units;
  fields.length_units = at.length_units;
  fields.expiry = index_.expiryFor(publish.expires_s);
  fields.generation = generationOf(at.sequence);
  fields.frequency = publish.frequency;
  fields.in_buffer = true;
  const Appended appended{at, Entry::make(view.hash(), fields)};
  if (publish.kind == EntryKind::free) {
    return appended;
  }
  const Published published = index_.publish(view.hash(), appended.entry);
  const bool replaced = published.how == PublishOutcome::replaced;
  const bool successor =
      publish.is_copy && replaced
          ? successors_.has(published.previous.segment(), published.previous.offsetUnits())
          : replaced;
  if (successor) {
    successors_.add(at);
  }
  open_->pending.push_back(Pending{view.hash(), appended.entry});
  return appended;
}

// Writing.

void StripeLog::closeSlab() {
  if (open_ == nullptr) {
    return;
  }
  const uint32_t units = allocator_.padUnits();
  if (units > 0) {
    const std::optional<Location> at = allocator_.reserve(units * kUnitBytes, 0, false);
    CHECK(at.has_value());  // the footer begins on a page, so the rest of this page is free
    const base::Result<uint32_t> padded =
        encodePad(open_->bytes.subspan(open_->used),
                  RecordPlace{at->sequence, at->offset_units, options_.file.salt}, units);
    CHECK(padded.ok());
    open_->used += units * kUnitBytes;
  }
  writing_.push_back(open_->segment);
  const bool spawned = tasks_.spawn(writeSlab(std::move(open_), beginWrite()));
  CHECK(spawned);  // no more than the slabs there are
}

uint64_t StripeLog::beginWrite() {
  running_.push_back(++writes_begun_);
  return writes_begun_;
}

void StripeLog::endWrite(uint64_t number) {
  running_.erase(std::find(running_.begin(), running_.end(), number));
  written_.wakeAll();
}

rt::Task<void> StripeLog::writeSlab(std::unique_ptr<Slab> slab, uint64_t number) {
  const uint64_t offset = segmentOffset(slab->segment, options_.file.segment_bytes) +
                          uint64_t{slab->begin_units} * kUnitBytes;
  const bool fixed = slab->buffer && reader_.pool().registered();
  base::Status status = co_await writeBytes(slab->bytes.first(slab->used), offset, fixed);
  settle(*slab, status.ok());
  writing_.erase(std::find(writing_.begin(), writing_.end(), slab->segment));
  reserve_in_use_ = reserve_in_use_ && slab->buffer;
  slab.reset();
  slabs_.release(1);
  endWrite(number);
}

bool StripeLog::isWriting(uint32_t segment) const {
  return std::find(writing_.begin(), writing_.end(), segment) != writing_.end();
}

void StripeLog::settle(const Slab& slab, bool ok) {
  if (!ok) {
    const LostRange range{LogPosition{slab.sequence, slab.begin_units},
                          LogPosition{slab.sequence, slab.begin_units + slab.used / kUnitBytes}};
    if (lost_.size() < kLostRanges) {
      lost_.push_back(range);
    } else {
      lost_[next_lost_++ % kLostRanges] = range;
    }
  }
  for (const Pending& pending : slab.pending) {
    const std::optional<Entry> now = index_.find(pending.hash);
    // Softly purged or not: it is this record.
    if (!now.has_value() || !sameVersion(now->withStaleNow(), pending.entry.withStaleNow())) {
      continue;
    }
    if (ok) {
      index_.replaceIf(pending.hash, *now, now->withInBuffer(false));
    } else {
      index_.eraseIf(pending.hash, *now);
    }
  }
}

rt::Task<base::Status> StripeLog::writeBytes(std::span<std::byte> bytes, uint64_t offset,
                                             bool fixed) {
  const uint64_t begun_ns = reactor_.engine().monotonic().ns;
  size_t done = 0;
  base::Status status = base::Unit{};
  while (done < bytes.size()) {
    const rt::IoResult result =
        co_await rt::FileOp(rt::OpKind::write, options_.file.fd, bytes.subspan(done), offset + done,
                            fixed, never_, base::kNever);
    if (result.result <= 0) {
      stats_.errors++;
      status = result.ok() ? base::Error{base::Code::io_error, base::Blame::disk}
                           : result.error(base::Blame::disk);
      break;
    }
    done += static_cast<size_t>(result.result);
  }
  if (!status.ok()) {
    noteFailure(status.error().sys);
  } else if (health_.succeeded() && options_.events != nullptr) {
    options_.events->diskBack(options_.file.disk, DiskWork::write);
  }
  stats_.writes++;
  stats_.written_bytes += done;
  stats_.latency_ns.record(reactor_.engine().monotonic().ns - begun_ns);
  co_return status;
}

void StripeLog::sealSegment() {
  const uint32_t used_units = allocator_.usedUnits();
  const OpenedSegment sealing = allocator_.seal();
  std::vector<std::byte> footer = encodeFooter(toc_.entries, toc_.labels, identity(sealing.segment),
                                               sealing.sequence, used_units);
  filters_.set(sealing.segment, sealing.sequence, labels_);
  labels_.clear();
  forgetUnlisted(sealing.segment);
  unlisted_.push_back(Unlisted{sealing, std::exchange(toc_, Contents{})});
  header_due_ = false;
  sealing_++;
  const bool spawned = tasks_.spawn(writeFooter(std::move(footer), sealing.segment, beginWrite()));
  CHECK(spawned);
}

rt::Task<void> StripeLog::writeFooter(std::vector<std::byte> footer, uint32_t segment,
                                      uint64_t number) {
  uint64_t offset = segmentOffset(segment, options_.file.segment_bytes) +
                    options_.file.segment_bytes - footer.size();
  size_t done = 0;
  base::Status status = co_await footer_turn_.acquire(1, never_);
  while (status.ok() && done < footer.size()) {
    const size_t piece = std::min<size_t>(footer.size() - done, kFooterPiece_bytes);
    const std::span<std::byte> bytes(footer_.get(), piece);
    std::memcpy(bytes.data(), footer.data() + done, piece);
    status = co_await writeBytes(bytes, offset + done, false);
    done += piece;
  }
  footer_turn_.release(1);
  while (isWriting(segment)) {
    co_await written_.wait(never_);
  }
  // Without its footer a segment still serves; only reclaim and recovery then know less of it, and
  // its lines stay in memory for purges.
  if (status.ok()) {
    forgetUnlisted(segment);
  }
  allocator_.sealed(segment);
  if (allocator_.needsReclaim() || segment >= allocator_.end()) {
    reclaim_wanted_.wakeOne();
  }
  sealing_--;
  endWrite(number);
}

void StripeLog::forgetUnlisted(uint32_t segment) {
  std::erase_if(unlisted_, [segment](const Unlisted& u) { return u.segment.segment == segment; });
}

rt::Task<bool> StripeLog::flush(base::MonoTime deadline) {
  closeSlab();
  const uint64_t target = writes_begun_;
  // Writes end in any order, and later ones may end first.
  while (!running_.empty() && running_.front() <= target) {
    if (co_await written_.wait(never_, deadline) == rt::WaitQueue::Woken::timed_out) {
      co_return false;
    }
  }
  co_return true;
}

rt::Task<void> StripeLog::flushLoop() {
  while (!background_.requested()) {
    if (open_ == nullptr) {
      co_await dirty_.wait(background_);
      continue;
    }
    const bool slept = co_await rt::Sleep(reactor_.now() + options_.flush_after_ns, background_);
    if (slept) {
      closeSlab();
    }
  }
}

}  // namespace store
