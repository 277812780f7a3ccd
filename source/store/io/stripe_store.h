// One stripe as its owner has it: files, log, purge journal and snapshots, behind the index that
// every shard reads. recover() makes the index from the disk; stop() leaves the disk so that the
// next start is quick.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "source/base/result.h"
#include "source/rt/credits.h"
#include "source/rt/task_group.h"
#include "source/store/core/allocator.h"
#include "source/store/core/index.h"
#include "source/store/core/recovery.h"
#include "source/store/io/journal_file.h"
#include "source/store/io/log.h"
#include "source/store/io/record_reader.h"
#include "source/store/io/segment_reader.h"
#include "source/store/io/snapshot_file.h"
#include "source/store/io/stripe_files.h"
#include "source/store/io/stripe_types.h"

namespace store {

// What every shard may use: made before the shards start, outlives them.
struct StripeShared {
  StripeShared(const StripeFiles& f, std::unique_ptr<SegmentTable> t, std::unique_ptr<IndexShard> i)
      : files(f), table(std::move(t)), index(std::move(i)) {}
  RecordFile recordFile() const {
    return RecordFile{files.data_fd, files.superblock.segment_bytes, files.superblock.salt(),
                      files.disk};
  }
  // The same as those read it who send it to clients.
  RecordFile hitFile() const {
    RecordFile file = recordFile();
    file.fd = files.cached_fd >= 0 ? files.cached_fd : file.fd;
    return file;
  }
  StripeFiles files;
  std::unique_ptr<SegmentTable> table;
  std::unique_ptr<IndexShard> index;
  uint64_t filter_bytes = 0;  // the most that filters of labels may take (labels.h)
};
// no_capacity when the memory for the index cannot be had. now_s: Unix seconds.
base::Result<std::unique_ptr<StripeShared>> makeStripeShared(const StripeFiles& files,
                                                             uint64_t capacity_objects,
                                                             uint32_t now_s);

// A line of a table of contents, and where it was.
struct LineAt {
  OpenedSegment segment;
  TocEntry line;
};
// Whether the entry leads to the very record of the line.
bool pointsTo(const Entry& entry, const LineAt& at);

class StripeStore final : private PurgeNotes {
 public:
  static constexpr uint32_t kWalks = 2;             // purges by label at once; more wait
  static constexpr uint32_t kStepLines = 512;       // between two turns
  static constexpr uint32_t kScanBuckets = 1024;    // the same, of the index
  static constexpr uint32_t kKeyReads = 8;          // at once, for one purge
  static constexpr uint32_t kListSegments = 8;      // read for one page
  static constexpr uint32_t kJournalBatch = 16384;  // records of one append
  static constexpr uint64_t kSnapshotEvery_ns = 60 * base::kSecond_ns;
  // Without a block that is written; less than purges wait, which need the index too.
  static constexpr uint64_t kSnapshotPatience_ns = 15 * base::kSecond_ns;
  static constexpr uint32_t kHeaderReads = 32;  // at once, during recovery
  static constexpr size_t kMaxDropped = 65536;
  static constexpr uint64_t kScrubEvery_ns = 60 * base::kSecond_ns;  // a pass begins, at most
  static constexpr uint64_t kAskReady_ns = 20 * base::kMillisecond_ns;

  StripeStore(rt::Reactor& reactor, RecordReader& reader, StripeShared& shared,
              DiskEvents* events = nullptr);
  ~StripeStore();

  // Before anything else. An error means the disk cannot be read or written: the stripe stores
  // nothing until a later call succeeds.
  rt::Task<base::Result<RecoveryReport>> recover(rt::CancelScope& scope,
                                                 Unreadable unreadable = Unreadable::fails);
  bool ready() const { return log_ != nullptr; }
  // Of an attempt to recover: segments that have been dealt with. What is in the index already may
  // be served.
  uint32_t segmentsRecovered() const { return segments_recovered_; }
  // Nobody appends any more: writes everything out and saves a snapshot.
  rt::Task<void> stop();

  // The log gets another number of segments, as StripeLog::resize; once the store is ready, until
  // when it waits. What is given up is gone for good when forgetCut() is called: the superblock has
  // no such segments any more.
  rt::Task<bool> resize(uint32_t segment_count, rt::CancelScope& scope);
  void forgetCut();
  uint32_t segmentCount() const { return shared_.table->count(); }

  StripeLog& log() { return *log_; }
  IndexShard& index() { return *shared_.index; }
  StripeShared& shared() { return shared_; }

  // While the store is not ready: a recovery of this process does not bring the key back, nor, once
  // there are more than kMaxDropped, anything. What the index has already is the caller's to erase.
  void dropAtRecovery(base::Hash128 hash);
  void dropAllAtRecovery();
  // Once it is ready: makes durable what was dropped in that way. Returns what could not be.
  rt::Task<std::vector<Erased>> purgeDropped(rt::CancelScope& scope);
  // While it is not ready, and no recovery runs: the same for the next start. An error: what was
  // dropped is in force in this process only.
  rt::Task<base::Status> saveDropped(IfNotByKey otherwise, rt::CancelScope& scope);
  uint64_t droppedUnsaved() const;

  // Durable and in force on every shard when it returns. The number of objects it concerned.
  rt::Task<base::Result<uint64_t>> purge(base::Hash128 hash, bool soft, rt::CancelScope& scope);
  rt::Task<base::Result<uint64_t>> purgeAll(rt::CancelScope& scope);
  // Makes durable what was erased from the index.
  rt::Task<base::Status> recordErased(std::vector<Erased> erased, IfNotByKey otherwise,
                                      rt::CancelScope& scope);
  // What the selector selects among the records that were appended before the call. Of a soft purge
  // vary rules stay.
  rt::Task<base::Result<uint64_t>> purgeSelected(Selector selector, bool soft,
                                                 rt::CancelScope& scope);

  // For purges that a disk keeps waiting: what they have not looked at is given up, so that they
  // are in force.
  void dropUnwalked();

  rt::Task<base::Result<ListPage>> list(ListQuery query, rt::CancelScope& scope);

  const LabelFilters& filters() const { return filters_; }
  const PurgeStats& purgeStats() const { return purge_stats_; }
  const SnapshotStats& snapshotStats() const { return snapshot_stats_; }

  // scrub.cc. 0, as at first: not at all.
  void setScrubRate(uint64_t bytes_per_s);
  const ScrubStats& scrubStats() const { return scrub_stats_; }

 private:
  struct HeaderScan {
    Unreadable unreadable;
    std::vector<uint32_t>* lost;  // segments whose header could not be read
    base::Status status;
  };
  rt::Task<base::Status> readSequences(Unreadable unreadable, std::vector<uint32_t>& lost,
                                       rt::CancelScope& scope);
  rt::Task<void> readSequencesFrom(uint32_t first, HeaderScan* scan, rt::CancelScope* scope);
  rt::Task<base::Status> blank(std::vector<uint32_t> segments, rt::CancelScope& scope);
  rt::Task<base::Result<uint64_t>> merge(RecoveryMerge& merge, Unreadable unreadable,
                                         RecoveryReport& report, rt::CancelScope& scope);
  struct Between {
    uint64_t above;
    uint64_t most;
  };
  rt::Task<base::Status> readSegments(Between sequences, Unreadable unreadable,
                                      RecoveryMerge& merge, RecoveryReport& report,
                                      rt::CancelScope& scope);
  rt::Task<base::Status> readSegment(uint32_t segment, RecoveryMerge& merge, RecoveryReport& report,
                                     rt::CancelScope& scope);
  // A snapshot. Who waits for it may leave first; it ends when the kernel lets it.
  struct Saving;
  rt::Task<base::Status> save(Saving& saving);
  rt::Task<void> snapshotLoop();
  rt::Task<void> saveInBackground(Saving* saving);
  rt::Task<uint64_t> eraseBefore(LogPosition before);
  void startLog(uint64_t life);
  void applyDropped();
  uint64_t droppedTotal() const { return dropped_.size() + (all_dropped_ ? 1 : 0); }
  rt::Task<base::Status> note(std::vector<PurgeRecord> purges) override;
  rt::Task<void> filterLoop();
  rt::Task<void> eraseBuried();
  // purge_walk.cc
  struct Walk;
  rt::Task<void> walkFree(Walk& walk);
  rt::Task<void> walkSegment(Walk& walk, OpenedSegment segment);
  rt::Task<void> takeLines(Walk& walk, const std::vector<LineAt>& lines);
  rt::Task<void> takeByKey(Walk* walk, const std::vector<LineAt>* lines, size_t first);
  void take(Walk& walk, const LineAt& line);
  void giveUp(Walk& walk, OpenedSegment segment);
  rt::Task<base::Result<Contents>> contentsOf(OpenedSegment segment, rt::CancelScope& scope);
  rt::Task<base::Status> journalWalk(Walk& walk, rt::CancelScope& scope);
  // object_list.cc
  rt::Task<base::Result<bool>> listSegment(OpenedSegment segment, const ListQuery& query,
                                           ListPage& page, rt::CancelScope& scope);
  rt::Task<base::Result<RecordRef>> readCurrent(LineAt at, rt::CancelScope& scope);
  rt::Task<void> scrubLoop();
  rt::Task<void> scrubSegment(OpenedSegment segment, rt::CancelScope& scope);
  rt::Task<void> scrubRecord(LineAt at, Entry entry, rt::CancelScope& scope);
  rt::Task<bool> isPartOf(Location chunk, Entry entry, rt::CancelScope& scope);
  SegmentIdentity identity(uint32_t segment) const;

  rt::Reactor& reactor_;
  RecordReader& reader_;
  StripeShared& shared_;
  DiskEvents* events_;
  SegmentReader segments_;
  LabelFilters filters_;
  PurgeStats purge_stats_;
  std::map<uint64_t, size_t> walked_;  // sequences of segments without a footer: lines they had
  rt::Credits walks_{kWalks};
  std::vector<Walk*> walking_;
  JournalFile journal_;
  SnapshotFiles snapshots_;
  PurgeSet purges_;
  std::vector<base::Hash128> dropped_;  // keys, before the store was ready
  bool all_dropped_ = false;
  uint64_t dropped_saved_ = 0;  // of droppedTotal()
  uint32_t segments_recovered_ = 0;
  std::unique_ptr<SegmentAllocator> allocator_;
  std::unique_ptr<StripeLog> log_;
  rt::TaskGroup background_;
  rt::Credits scans_{1};  // the index can be scanned by one at a time
  std::unique_ptr<Saving> saving_;
  SnapshotStats snapshot_stats_;
  uint64_t saved_records_ = UINT64_MAX;  // appended when the last snapshot was saved
  uint64_t saved_purges_ = 0;            // the journal's next number then
  uint64_t scrub_rate_ = 0;
  rt::WaitQueue scrub_rate_changed_;
  ScrubStats scrub_stats_;
};

}  // namespace store
