#include "source/store/io/stripe_store.h"

#include <utility>
#include <vector>

namespace store {
namespace {

// The index's times begin a day before the start, so that clocks that disagree do no harm.
constexpr uint32_t kEpochSlack_s = 86400;

}  // namespace

struct StripeStore::Saving {
  explicit Saving(rt::CancelScope& parent) : scope(parent) {}
  rt::CancelScope scope;
  bool scans = false;  // it has its turn at the index
  bool ended = false;
  bool given_up = false;
  base::Status status = base::Unit{};
  rt::WaitQueue end;
};

base::Result<std::unique_ptr<StripeShared>> makeStripeShared(const StripeFiles& files,
                                                             uint64_t capacity_objects,
                                                             uint32_t now_s) {
  auto table = std::make_unique<SegmentTable>(files.superblock.segment_count);
  IndexOptions options;
  options.capacity_objects = capacity_objects;
  options.epoch_s = now_s > kEpochSlack_s ? now_s - kEpochSlack_s : 0;
  base::Result<std::unique_ptr<IndexShard>> index = IndexShard::create(options, *table);
  if (!index.ok()) {
    return index.error();
  }
  auto shared = std::make_unique<StripeShared>(files, std::move(table), std::move(index.value()));
  shared->filter_bytes = capacity_objects * kFilterBytesPerObject;
  return shared;
}

StripeStore::StripeStore(rt::Reactor& reactor, RecordReader& reader, StripeShared& shared,
                         DiskEvents* events)
    : reactor_(reactor),
      reader_(reader),
      shared_(shared),
      events_(events),
      segments_(reader, shared.recordFile(), static_cast<uint16_t>(shared.files.superblock.stripe)),
      filters_(shared.table->capacity(), shared.filter_bytes),
      journal_(shared.files.journal_fds, shared.files.data_fd, shared.files.superblock.salt()),
      snapshots_(reader.pool(), shared.files.snapshot_fds, shared.files.superblock.salt()),
      background_(reactor, 4) {}

StripeStore::~StripeStore() = default;

SegmentIdentity StripeStore::identity(uint32_t segment) const {
  const Superblock& s = shared_.files.superblock;
  return SegmentIdentity{segment, static_cast<uint16_t>(s.stripe), s.segment_bytes, s.salt()};
}

rt::Task<void> StripeStore::stop() {
  background_.cancelAll();
  co_await background_.join();
  if (!ready()) {
    co_return;
  }
  co_await log_->stop();
  rt::CancelScope never;
  Saving last(never);
  base::Status saved = co_await save(last);
  if (!saved.ok()) {
    co_return;  // the next start reads the footers instead
  }
}

rt::Task<bool> StripeStore::resize(uint32_t segment_count, rt::CancelScope& scope) {
  while (!ready()) {
    if (!co_await rt::Sleep(reactor_.now() + kAskReady_ns, scope)) {
      co_return false;
    }
  }
  const bool done = co_await log_->resize(segment_count, scope);
  co_return done;
}

void StripeStore::forgetCut() {
  if (ready() && allocator_->endIsReached()) {
    allocator_->forgetBehindEnd();
  }
}

rt::Task<base::Status> StripeStore::save(Saving& saving) {
  rt::CancelScope& scope = saving.scope;
  const uint64_t records = log_->stats().appended_records;
  SnapshotHeader header;
  header.bucket_count = shared_.index->bucketCount();
  header.sealed_sequence = allocator_->sealedSequence();
  header.journal_number = journal_.nextNumber();
  header.segment_count = shared_.table->capacity();  // the log may grow meanwhile
  header.epoch_s = shared_.index->epoch();
  header.written_s = static_cast<uint32_t>(reactor_.turn().wall.s);
  std::vector<uint64_t> sequences;
  for (uint32_t i = 0; i < header.segment_count; i++) {
    sequences.push_back(shared_.table->sequence(i));
  }
  // A snapshot promises that what it names is on the disk.
  const rt::IoResult synced = co_await rt::FileOp(rt::OpKind::fsync, shared_.files.data_fd, {}, 0,
                                                  false, scope, base::kNever);
  if (!synced.ok()) {
    co_return synced.error(base::Blame::disk);
  }
  base::Status turn = co_await scans_.acquire(1, scope);
  if (!turn.ok()) {
    co_return turn;
  }
  saving.scans = true;
  base::Status saved =
      co_await snapshots_.save(header, std::move(sequences), *shared_.index, scope);
  if (std::exchange(saving.scans, false)) {
    scans_.release(1);
  }
  if (saved.ok()) {
    saved_records_ = records;
    saved_purges_ = header.journal_number;
  }
  co_return saved;
}

rt::Task<void> StripeStore::saveInBackground(Saving* saving) {
  saving->status = co_await save(*saving);
  saving->ended = true;
  saving->end.wakeAll();
  if (saving->given_up) {
    saving_.reset();
  }
}

// A disk that hangs keeps the snapshot's memory, and nobody else: it is given up, and no other is
// begun before the disk has let go of it.
rt::Task<void> StripeStore::snapshotLoop() {
  rt::CancelScope& scope = background_.scope();
  while (co_await rt::Sleep(reactor_.now() + kSnapshotEvery_ns, scope)) {
    shared_.index->advanceEpoch(static_cast<uint32_t>(reactor_.turn().wall.s),
                                shared_.index->bucketCount());
    if (saving_ != nullptr || (log_->stats().appended_records == saved_records_ &&
                               journal_.nextNumber() == saved_purges_)) {
      continue;
    }
    saving_ = std::make_unique<Saving>(scope);
    Saving& saving = *saving_;
    const bool spawned = background_.spawn(saveInBackground(&saving));
    CHECK(spawned);
    uint64_t written = UINT64_MAX;
    while (!saving.ended && !scope.requested() && written != snapshots_.blocksWritten()) {
      written = snapshots_.blocksWritten();
      static_cast<void>(co_await saving.end.wait(scope, reactor_.now() + kSnapshotPatience_ns));
    }
    if (saving.ended) {
      (saving.status.ok() ? snapshot_stats_.saved : snapshot_stats_.failed)++;
      saving_.reset();
      continue;
    }
    saving.given_up = true;
    snapshot_stats_.late += scope.requested() ? 0 : 1;
    saving.scope.request();
    if (std::exchange(saving.scans, false)) {
      scans_.release(1);
    }
  }
}

rt::Task<base::Result<uint64_t>> StripeStore::purge(base::Hash128 hash, bool soft,
                                                    rt::CancelScope& scope) {
  if (!ready()) {
    shared_.index->erase(hash);
    dropAtRecovery(hash);
    co_return base::Error{base::Code::no_capacity, base::Blame::disk};
  }
  PurgeRecord record;
  record.kind = PurgeKind::key;
  record.soft = soft;
  record.hash = hash;
  record.before = log_->position();
  record.time_s = static_cast<uint32_t>(reactor_.turn().wall.s);
  // In force first, then durable: nobody is served the old object while the disk syncs.
  uint64_t concerned = 0;
  const std::optional<Entry> entry = shared_.index->find(hash);
  if (entry.has_value() && entry->kind() != EntryKind::hit_for_miss) {
    concerned = 1;
  }
  if (soft && entry.has_value()) {
    shared_.index->replaceIf(hash, *entry, entry->withStaleNow());
  } else {
    shared_.index->erase(hash);
  }
  base::Status durable = co_await journal_.append(record, allocator_->oldestSequence(), scope);
  if (!durable.ok()) {
    co_return durable.error();
  }
  co_return concerned;
}

rt::Task<base::Status> StripeStore::recordErased(std::vector<Erased> erased, IfNotByKey otherwise,
                                                 rt::CancelScope& scope) {
  base::Status status = base::Unit{};
  for (size_t at = 0; at < erased.size() && status.ok(); at += kJournalBatch) {
    std::vector<PurgeRecord> batch;
    for (size_t i = at; i < std::min<size_t>(erased.size(), at + kJournalBatch); i++) {
      PurgeRecord& record = batch.emplace_back();
      record.kind = erased[i].kind;
      record.soft = erased[i].soft;
      record.hash = erased[i].hash;
      record.before = erased[i].before;
      record.time_s = static_cast<uint32_t>(reactor_.turn().wall.s);
    }
    status = co_await journal_.appendAll(std::move(batch), allocator_->oldestSequence(), scope);
  }
  if (!status.ok() && otherwise == IfNotByKey::give_stripe_up) {
    status = co_await journal_.giveUp(scope);
  }
  co_return status;
}

rt::Task<base::Result<uint64_t>> StripeStore::purgeAll(rt::CancelScope& scope) {
  if (!ready()) {
    dropAllAtRecovery();
  }
  base::Status turn = co_await scans_.acquire(1, scope);
  if (!turn.ok()) {
    co_return turn.error();
  }
  if (!ready()) {
    static_cast<void>(co_await eraseBefore(PurgeSet::kAfterEverything));
    scans_.release(1);
    co_return base::Error{base::Code::no_capacity, base::Blame::disk};
  }
  PurgeRecord record;
  record.kind = PurgeKind::everything;
  record.before = log_->position();
  record.time_s = static_cast<uint32_t>(reactor_.turn().wall.s);
  log_->holdCopies(nullptr);
  const uint64_t concerned = co_await eraseBefore(record.before);
  log_->allowCopies(nullptr);
  scans_.release(1);
  base::Status durable = co_await journal_.append(record, allocator_->oldestSequence(), scope);
  if (!durable.ok()) {
    co_return durable.error();
  }
  co_return concerned;
}

rt::Task<base::Status> StripeStore::note(std::vector<PurgeRecord> purges) {
  rt::CancelScope never;
  co_return co_await journal_.appendAll(std::move(purges), allocator_->oldestSequence(), never);
}

void StripeStore::dropAtRecovery(base::Hash128 hash) {
  CHECK(!ready());
  // For the recovery that may be under way; the next one begins with all of them.
  if (dropped_.size() < kMaxDropped) {
    dropped_.push_back(hash);
    purges_.drop(hash);
  } else {
    dropAllAtRecovery();
  }
}

void StripeStore::dropAllAtRecovery() {
  CHECK(!ready());
  all_dropped_ = true;
  purges_.raiseFloor(PurgeSet::kAfterEverything);
}

void StripeStore::applyDropped() {
  for (const base::Hash128& hash : dropped_) {
    purges_.drop(hash);
  }
  if (all_dropped_) {
    purges_.raiseFloor(PurgeSet::kAfterEverything);
  }
}

rt::Task<std::vector<Erased>> StripeStore::purgeDropped(rt::CancelScope& scope) {
  dropped_saved_ = 0;
  const LogPosition before = log_->position();
  std::vector<Erased> erased;
  if (std::exchange(all_dropped_, false)) {
    dropped_.clear();
    base::Result<uint64_t> done = co_await purgeAll(scope);
    erased.resize(done.ok() ? 0 : 1, Erased{PurgeKind::everything, false, {}, before});
    co_return erased;
  }
  for (const base::Hash128& hash : std::exchange(dropped_, {})) {
    shared_.index->erase(hash);
    erased.push_back(Erased{PurgeKind::key, false, hash, before});
  }
  base::Status durable = co_await recordErased(erased, IfNotByKey::fail, scope);
  if (durable.ok()) {
    erased.clear();
  }
  co_return erased;
}

uint64_t StripeStore::droppedUnsaved() const {
  return droppedTotal() - dropped_saved_;
}

rt::Task<base::Status> StripeStore::saveDropped(IfNotByKey otherwise, rt::CancelScope& scope) {
  CHECK(!ready());
  const uint64_t total = droppedTotal();
  if (total == dropped_saved_) {
    co_return base::Unit{};
  }
  if (!journal_.known()) {
    PurgeSet unused;
    static_cast<void>(co_await journal_.recover(unused, Unreadable::fails, scope));
  }
  const auto now_s = static_cast<uint32_t>(reactor_.turn().wall.s);
  const std::vector<base::Hash128> keys = dropped_;  // more may come meanwhile
  base::Status saved = co_await journal_.noteDropped(keys, all_dropped_, now_s, scope);
  if (!saved.ok() && otherwise == IfNotByKey::give_stripe_up) {
    saved = co_await journal_.giveUp(scope);
  }
  dropped_saved_ = saved.ok() ? total : dropped_saved_;
  co_return saved;
}

// In steps, with other work in between; records appended meanwhile are later in the log and stay.
rt::Task<uint64_t> StripeStore::eraseBefore(LogPosition before) {
  uint64_t erased = 0;
  std::vector<PlacedEntry> step;
  IndexShard& index = *shared_.index;
  index.beginScan();
  bool more = true;
  while (more) {
    step.clear();
    more = index.scanStep(kScanBuckets, step);
    for (const PlacedEntry& placed : step) {
      const Location at = shared_.table->locate(placed.entry);
      const bool later = placed.entry.placed() && at.sequence != 0 && at.position() >= before;
      if (!later && index.eraseAt(placed.bucket, placed.entry)) {
        erased += placed.entry.placed() ? 1 : 0;
      }
    }
    co_await rt::NextTurn();
  }
  co_return erased;
}

}  // namespace store
