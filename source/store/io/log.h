// StripeLog: the writing end of one stripe, used by its owner only. Records are copied into a write
// buffer (a slab), indexed at once as `in buffer`, written in large pieces, and then indexed as on
// the disk.
//
//   append -> slab -> write (full, or flush_after) -> index entry without `in buffer`
//   segment full -> footer -> sealed; few free segments -> reclaim the oldest (reclaim_loop.cc)
//
// Memory comes from the shard's pool. One slab and the footers' piece are the log's own, so that it
// goes on when the pool is empty: who holds the pool's memory may be waiting for an append.
//
// Limits: kSlabs of kSlab_bytes; appends wait for a slab, first come, first served. After
// kAppendWait_ns without a slab or a free segment an append is refused (no_capacity): the response
// reaches its client, it is only not kept. So a disk that hangs delays nobody for longer, and once
// writes fail or hang again and again nobody at all (disk_health.h). No fsync: what a crash loses
// is a miss. A write error drops what it concerned.
#pragma once

#include <cstdint>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <vector>

#include "source/base/result.h"
#include "source/rt/buffer_pool.h"
#include "source/rt/credits.h"
#include "source/rt/io.h"
#include "source/rt/task_group.h"
#include "source/store/core/allocator.h"
#include "source/store/core/eviction.h"
#include "source/store/core/index.h"
#include "source/store/core/reclaim.h"
#include "source/store/core/record.h"
#include "source/store/core/segment.h"
#include "source/store/core/selector.h"
#include "source/store/core/successors.h"
#include "source/store/io/log_types.h"
#include "source/store/io/record_reader.h"
#include "source/store/io/segment_reader.h"

namespace store {

class StripeLog {
 public:
  static constexpr uint32_t kSlab_bytes = 1 << 20;
  static constexpr uint32_t kSlabs = 3;  // one that fills, two that are written
  static constexpr uint32_t kSealing =
      4;  // footers being written; an append that seals one more waits
  static constexpr uint32_t kFooterPiece_bytes = 256 << 10;
  static constexpr uint64_t kAppendWait_ns = base::kSecond_ns;
  static constexpr uint64_t kNoteAgain_ns = 100 * base::kMillisecond_ns;
  static constexpr size_t kLostRanges = 64;

  StripeLog(rt::Reactor& reactor, RecordReader& reader, IndexShard& index, SegmentTable& table,
            SegmentAllocator& allocator, LabelFilters& filters, const LogOptions& options);
  ~StripeLog();

  // Starts the background work (flush timer, reclaim); stop() ends it.
  void start();
  // Writes everything out, seals the open segment, and ends the background work. No append is
  // running.
  rt::Task<void> stop();

  // Makes the log longer at once; or shorter, when what is behind its new end has been given up and
  // nothing uses it. False: cancelled before.
  rt::Task<bool> resize(uint32_t segment_count, rt::CancelScope& scope);

  // Appends a finished record (record_writer.h; at any place) and publishes it. `record` stays as
  // it is until the end. Errors: no_capacity, cancelled.
  rt::Task<base::Result<Appended>> append(std::span<std::byte> record, Publish publish,
                                          rt::CancelScope& scope);
  // Returns when everything that was appended before has been written or has failed: true; false
  // at the deadline.
  rt::Task<bool> flush(base::MonoTime deadline = base::kNever);

  // Whether it is worth appending: false while writes fail or hang. After each pause the one who is
  // told so is the one who tries.
  bool usable() { return health_.usable(reactor_.now()); }
  bool isOut() const { return health_.out(); }
  const DiskHealth& health() const { return health_; }
  // Whether what lies there is known to have been lost in a write error; remembered for the newest
  // kLostRanges.
  bool isLost(Location at) const;

  // While a purge runs, what it selects is not written again (nullptr: everything): a copy would be
  // later in the log than the purge. The selector lives until allowCopies().
  void holdCopies(const Selector* selector) { held_.push_back(selector); }
  void allowCopies(const Selector* selector);

  // Visits the lines of the open segment, and of those whose table of contents is not known to be
  // on the disk: visit(OpenedSegment, TocEntry, labels). What is in no other table is in these.
  template <class Visit>
  void eachRecentLine(Visit visit) const;
  bool isRecent(uint32_t segment) const;
  // Whether the record there took the place of another one, which may still be on the disk.
  bool isSuccessor(uint32_t segment, uint32_t offset_units) const {
    return successors_.has(segment, offset_units);
  }

  // Where the next record will lie: purges concern what is before it.
  LogPosition position() const { return allocator_.position(); }
  const WriteStats& stats() const { return stats_; }
  IndexShard& index() { return index_; }
  const SegmentAllocator& allocator() const { return allocator_; }

 private:
  struct Pending {
    base::Hash128 hash;
    Entry entry;
  };
  struct FreePages {
    void operator()(std::byte* pages) const {
      ::operator delete[](pages, std::align_val_t{kPageBytes});
    }
  };
  using Pages = std::unique_ptr<std::byte[], FreePages>;
  // One write buffer: a run of whole pages of one segment, written once.
  struct Slab {
    rt::Buffer buffer;  // empty: the reserve
    std::span<std::byte> bytes;
    uint32_t segment = 0;
    uint64_t sequence = 0;
    uint32_t begin_units = 0;
    uint32_t used = 0;
    std::vector<Pending> pending;
  };

  rt::Task<base::Status> openSlab(base::MonoTime deadline);
  void noteFailure(int32_t error);
  bool openSegment();
  void sealSegment();
  rt::Task<base::Result<Appended>> appendOnce(std::span<std::byte> record, const Publish& publish,
                                              base::MonoTime deadline = base::kNever);
  bool isReplaced(const RecordView& record, const Publish& publish) const;
  bool isHeld(const RecordView& record) const;
  Appended place(std::span<std::byte> record, const RecordView& view, Location at,
                 const Publish& publish);
  void closeSlab();
  rt::Task<void> writeSlab(std::unique_ptr<Slab> slab, uint64_t number);
  rt::Task<void> writeFooter(std::vector<std::byte> footer, uint32_t segment, uint64_t number);
  void forgetUnlisted(uint32_t segment);
  uint64_t beginWrite();
  void endWrite(uint64_t number);
  rt::Task<base::Status> writeBytes(std::span<std::byte> bytes, uint64_t offset, bool fixed);
  void settle(const Slab& slab, bool ok);
  bool isWriting(uint32_t segment) const;
  rt::Task<void> flushLoop();

  rt::Task<void> reclaimLoop();
  std::optional<ReclaimInput> nextToReclaim();
  rt::Task<base::Status> blank(uint32_t segment);
  rt::Task<bool> blankUnused();
  rt::Task<base::Result<Footer>> linesOf(OpenedSegment segment, rt::CancelScope& scope);
  rt::Task<void> findReplaced(rt::CancelScope& scope);
  void markSuccessors(OpenedSegment victim, std::span<const TocEntry> lines);
  rt::Task<bool> reclaim(ReclaimInput input);
  rt::Task<bool> mayFree(OpenedSegment victim, SegmentQueue queue,
                         const base::Result<Footer>& footer);
  rt::Task<void> reinsert(OpenedSegment victim, Reinsertion what);
  rt::Task<bool> settleHead(LargeObject& object);
  rt::Task<void> reclaimLarge(ReclaimInput& input, const LargeObject& object);
  rt::Task<bool> moveLarge(OpenedSegment victim, const LargeObject& object, const RecordRef& head,
                           uint8_t frequency);
  SegmentIdentity identity(uint32_t segment) const {
    return SegmentIdentity{segment, options_.stripe, options_.file.segment_bytes,
                           options_.file.salt};
  }

  rt::Reactor& reactor_;
  RecordReader& reader_;
  IndexShard& index_;
  SegmentTable& table_;
  SegmentAllocator& allocator_;
  LabelFilters& filters_;
  SegmentReader segments_;
  LogOptions options_;
  Eviction eviction_;
  Successors successors_;
  WriteStats stats_;
  DiskHealth health_;
  struct LostRange {
    LogPosition begin;
    LogPosition end;
  };
  std::vector<LostRange> lost_;  // a ring of kLostRanges
  size_t next_lost_ = 0;

  rt::TaskGroup loops_;
  rt::TaskGroup tasks_;         // the writes
  rt::CancelScope background_;  // ends the loops
  rt::CancelScope never_;       // a write is not cancelled: it ends, or its deadline does
  rt::Credits turn_{1};         // appends go one by one, in order
  rt::Credits slabs_{kSlabs};
  Pages reserve_;
  bool reserve_in_use_ = false;
  Pages footer_;
  rt::Credits footer_turn_{1};
  std::unique_ptr<Slab> open_;  // the slab that takes records
  Contents toc_;                // of the open segment
  LabelSet labels_;             // the same segment's
  // Sealed segments whose footer is not on the disk: it is being written, or could not be.
  struct Unlisted {
    OpenedSegment segment;
    Contents contents;
  };
  std::vector<Unlisted> unlisted_;
  bool header_due_ = false;        // the open segment's header is not in a slab yet
  rt::WaitQueue dirty_;            // wakes the flush loop
  std::vector<uint32_t> writing_;  // segments of the slabs being written
  rt::WaitQueue written_;          // woken after every write
  rt::WaitQueue reclaim_wanted_;
  rt::WaitQueue segment_free_;
  bool end_waits_ = false;  // a segment behind the end could not be freed just now
  const uint64_t first_of_life_;
  bool replaced_known_ = false;  // `replaced_` is of this end
  bool all_replaced_ = false;    // and all of them are in it
  std::vector<uint64_t>
      replaced_;  // keys, sorted: before the end lies a version of an earlier life
  uint32_t sealing_ = 0;
  std::vector<const Selector*> held_;
  uint64_t writes_begun_ = 0;
  std::vector<uint64_t> running_;  // the numbers of the writes that have not ended, oldest first
};

template <class Visit>
void StripeLog::eachRecentLine(Visit visit) const {
  const auto each = [&visit](OpenedSegment segment, const Contents& contents) {
    contents.each(
        [&](const TocEntry& line, std::span<const Label> labels) { visit(segment, line, labels); });
  };
  for (const Unlisted& unlisted : unlisted_) {
    each(unlisted.segment, unlisted.contents);
  }
  if (allocator_.hasOpen()) {
    each(allocator_.opened(), toc_);
  }
}

}  // namespace store
