// Goal: after any crash the index holds of each key the newest record that the disk still has, and
// nothing that was purged. Method: a stripe's log as plain data, written by random histories; a
// crash that loses any subset of what was not synced; recovery from snapshot, tables and journal in
// random order and with repetitions, judged by a direct reading of the log.
#include "source/store/core/recovery.h"

#include <gtest/gtest.h>

#include <array>

#include <algorithm>
#include <map>

#include "source/base/random.h"

namespace store {
namespace {

constexpr uint32_t kSegments = 12;
constexpr uint64_t kKeys = 60;
constexpr uint64_t kLabels = 6;
constexpr uint32_t kEpoch = 1'800'000'000;
constexpr uint32_t kSalt = 3;

base::Hash128 hashOf(uint64_t key) {
  return base::Hash128{mix64(key + 1), mix64(key + 0x51ed270b7f4a7c15ULL)};
}

std::unique_ptr<IndexShard> makeIndex(const SegmentTable& table, uint32_t epoch_s = kEpoch) {
  base::Result<std::unique_ptr<IndexShard>> index =
      IndexShard::create(IndexOptions{200, epoch_s}, table);
  CHECK(index.ok());
  return std::move(index.value());
}

struct DiskSegment {
  uint64_t sequence = 0;
  std::vector<TocEntry> lines;
  size_t synced = 0;  // lines; the first sync also makes the header safe
};

struct SavedSnapshot {
  SnapshotHeader header;
  std::vector<uint64_t> sequences;
  std::vector<PlacedEntry> entries;
};

// As StripeStore does when all is merged.
void eraseBuried(IndexShard& index) {
  std::vector<PlacedEntry> all;
  index.beginScan();
  while (index.scanStep(64, all)) {
  }
  for (const PlacedEntry& placed : all) {
    if (isBuried(placed.entry)) {
      index.eraseAt(placed.bucket, placed.entry);
    }
  }
}

// One life of a stripe's owner: what is in RAM, and what it has put on the disk.
class Stripe {
 public:
  explicit Stripe(uint64_t seed) : random_(seed), table_(kSegments), index_(makeIndex(table_)) {
    sequence_ = firstSequence(1);
    openNext();
  }

  void step() {
    const uint64_t key = random_.below(kKeys);
    switch (random_.below(20)) {
      case 0:
        openNext();
        break;
      case 1:
        purge(key, random_.chance(1, 3));
        break;
      case 2:
        random_.chance(1, 6) ? purgeAll(random_.chance(1, 2)) : write(key);
        break;
      case 3:
        random_.chance(1, 4) ? snapshot() : write(key);
        break;
      case 5:
        random_.chance(1, 4) ? purgeLabel(random_.below(kLabels), random_.chance(1, 3))
                             : write(key);
        break;
      case 4:
        index_->touch(hashOf(key));
        break;
      default:
        write(key);
    }
  }

  // Loses writes of the newest segments, recovers, and checks against the log.
  void crashAndRecover() {
    if (random_.chance(1, 2)) {
      loseUnsynced();
    }
    if (snapshot_ && random_.chance(1, 4)) {
      snapshot_.reset();  // both snapshots rotten
    }
    PurgeSet purges;
    purges.addAll(journal_);
    for (uint32_t s = 0; s < kSegments; s++) {
      table_.setSequence(s, disk_[s].sequence);
    }
    // The clock may have gone on or back since.
    const uint32_t epoch = kEpoch + static_cast<uint32_t>(random_.below(5000));
    index_ = makeIndex(table_, epoch);
    RecoveryMerge merge(*index_, table_, purges);
    mergeInRandomOrder(merge, purges);
    eraseBuried(*index_);
    check(purges);
    const uint64_t life =
        merge.nextLife(generation_, snapshot_ ? snapshot_->header.sealed_sequence : 0);
    ASSERT_GT(firstSequence(life), highest_used_);
    generation_ = life;
    sequence_ = firstSequence(life);
    openNext();
    snapshot();
  }

 private:
  void openNext() {
    segment_ = (segment_ + 1) % kSegments;
    // What the index still has of the segment goes.
    for (const TocEntry& line : disk_[segment_].lines) {
      const std::optional<Entry> entry = index_->find(line.hash());
      if (entry && entry->segment() == segment_) {
        index_->erase(line.hash());
      }
    }
    disk_[segment_] = DiskSegment{sequence_, {}, 0};
    table_.setSequence(segment_, sequence_);
    highest_used_ = std::max(highest_used_, sequence_);
    sequence_++;
    offset_ = 8;
  }

  LogPosition position() const { return LogPosition{disk_[segment_].sequence, offset_}; }

  void write(uint64_t key) {
    TocEntry line;
    line.hash_hi = hashOf(key).hi;
    line.hash_lo = hashOf(key).lo;
    line.expires_s = kEpoch + static_cast<uint32_t>(random_.below(10000));
    line.offset_units = static_cast<uint16_t>(offset_);
    line.length_units = static_cast<uint16_t>(random_.between(1, 9));
    line.kind = static_cast<uint8_t>(random_.between(1, 4));
    line.object_id = random_.below(kLabels);  // stands for the labels: itself and the next
    line.label_count = 2;
    disk_[segment_].lines.push_back(line);
    offset_ += line.length_units;
    if (line.recordKind() != RecordKind::chunk) {
      index_->publish(line.hash(), entryOf(line, segment_, disk_[segment_].sequence,
                                           index_->expiryFor(line.expires_s)));
    }
  }

  static std::array<Label, 2> labelsOf(const TocEntry& line) {
    return {line.object_id, line.object_id + 1};
  }

  void journal(PurgeRecord record) {
    record.number = journal_.size() + 1;
    journal_.push_back(record);
  }

  // Every current version with the label, as a purge finds them in the tables of contents.
  void purgeLabel(Label label, bool soft) {
    PurgeRecord r;
    r.kind = PurgeKind::label;
    r.hash.lo = label;
    r.soft = soft;
    r.before = position();
    journal(r);
    for (uint32_t s = 0; s < kSegments; s++) {
      for (const TocEntry& line : disk_[s].lines) {
        const std::optional<Entry> entry = index_->find(line.hash());
        if (!hasLabel(labelsOf(line), label) || !entry || entry->segment() != s ||
            entry->offsetUnits() != line.offset_units) {
          continue;
        }
        if (soft) {
          index_->replaceIf(line.hash(), *entry, entry->withStaleNow());
        } else {
          index_->eraseIf(line.hash(), *entry);
        }
      }
    }
  }

  void purge(uint64_t key, bool soft) {
    PurgeRecord r;
    r.hash = hashOf(key);
    r.soft = soft;
    r.before = position();
    journal(r);
    if (soft) {
      const std::optional<Entry> entry = index_->find(r.hash);
      if (entry) {
        index_->replaceIf(r.hash, *entry, entry->withStaleNow());
      }
    } else {
      index_->erase(r.hash);
    }
  }

  void purgeAll(bool soft) {
    PurgeRecord r;
    r.kind = PurgeKind::everything;
    r.soft = soft;
    r.before = position();
    journal(r);
    for (uint64_t key = 0; key < kKeys; key++) {
      const std::optional<Entry> entry = index_->find(hashOf(key));
      if (entry && soft) {
        index_->replaceIf(hashOf(key), *entry, entry->withStaleNow());
      } else if (entry) {
        index_->erase(hashOf(key));
      }
    }
  }

  // The log is synced first: a snapshot promises nothing that can be lost.
  void snapshot() {
    for (DiskSegment& segment : disk_) {
      segment.synced = segment.lines.size();
    }
    SavedSnapshot saved;
    saved.header.number = 1;
    saved.header.bucket_count = index_->bucketCount();
    saved.header.segment_count = kSegments;
    saved.header.epoch_s = index_->epoch();
    saved.header.sealed_sequence = disk_[segment_].sequence - 1;
    saved.header.journal_number = journal_.size() + 1;
    for (uint32_t s = 0; s < kSegments; s++) {
      saved.sequences.push_back(table_.sequence(s));
    }
    SnapshotEncoder encoder(saved.header, saved.sequences, *index_, kSalt);
    SnapshotDecoder decoder(kSalt);
    std::vector<std::byte> block(kSnapshotBlockBytes);
    while (encoder.next(block)) {
      ASSERT_TRUE(decoder.feed(block, saved.entries).ok());
    }
    ASSERT_TRUE(decoder.complete());
    snapshot_ = saved;
  }

  // The two newest segments lose their ends, or their whole, back to what was there before.
  void loseUnsynced() {
    for (int i = 0; i < 2; i++) {
      const uint32_t s = (segment_ + kSegments - static_cast<uint32_t>(i)) % kSegments;
      std::vector<TocEntry>& lines = disk_[s].lines;
      lines.resize(random_.between(disk_[s].synced, lines.size()));
      if (disk_[s].synced == 0 && random_.chance(1, 4)) {
        disk_[s] = DiskSegment{};
      }
    }
  }

  void mergeInRandomOrder(RecoveryMerge& merge, const PurgeSet& purges) {
    const bool usable = snapshot_ && purges.labelsPurgedBefore(snapshot_->header.journal_number);
    const bool all = random_.chance(1, 3);
    struct Piece {
      uint32_t segment;  // kSegments: a snapshot entry
      size_t index;
    };
    std::vector<Piece> pieces;
    for (uint32_t s = 0; s < kSegments; s++) {
      for (size_t i = 0; i < disk_[s].lines.size(); i++) {
        // With a snapshot, older segments need not be read (but may all be).
        const bool needed = !usable || disk_[s].sequence > snapshot_->header.sealed_sequence;
        if (needed || all) {
          pieces.push_back({s, i});
        }
      }
    }
    for (size_t i = 0; snapshot_ && i < snapshot_->entries.size(); i++) {
      pieces.push_back({kSegments, i});
    }
    const size_t count = pieces.size();
    for (size_t i = 0; i < count / 5; i++) {
      pieces.push_back(pieces[random_.below(count)]);  // some twice
    }
    for (size_t i = pieces.size(); i > 1; i--) {
      std::swap(pieces[i - 1], pieces[random_.below(i)]);
    }
    for (const Piece& p : pieces) {
      if (p.segment == kSegments) {
        merge.addSnapshotEntry(snapshot_->header, snapshot_->sequences,
                               snapshot_->entries[p.index]);
      } else {
        const TocEntry& line = disk_[p.segment].lines[p.index];
        merge.addRecord(p.segment, disk_[p.segment].sequence, line, labelsOf(line));
      }
    }
    ASSERT_EQ(merge.count(Recovered::no_place), 0u);
  }

  void check(const PurgeSet& purges) {
    for (uint64_t key = 0; key < kKeys; key++) {
      const base::Hash128 hash = hashOf(key);
      LogPosition newest;
      const TocEntry* expected = nullptr;
      uint32_t in_segment = 0;
      for (uint32_t s = 0; s < kSegments; s++) {
        for (const TocEntry& line : disk_[s].lines) {
          const LogPosition at{disk_[s].sequence, line.offset_units};
          if (line.hash() == hash && line.recordKind() != RecordKind::chunk && at > newest) {
            newest = at;
            expected = &line;
            in_segment = s;
          }
        }
      }
      const std::optional<Entry> found = index_->find(hash);
      const PurgeVerdict verdict =
          expected == nullptr ? PurgeVerdict::drop
                              : PurgeSet::worse(purges.verdict(hash, newest),
                                                purges.labelVerdict(labelsOf(*expected), newest));
      if (verdict == PurgeVerdict::drop) {
        ASSERT_FALSE(found.has_value()) << "key " << key << " came back";
        continue;
      }
      ASSERT_TRUE(found.has_value()) << "key " << key << " was lost";
      ASSERT_EQ(found->segment(), in_segment);
      ASSERT_EQ(found->offsetUnits(), expected->offset_units);
      ASSERT_EQ(table_.locate(*found).sequence, newest.sequence);
      if (verdict == PurgeVerdict::stale) {
        ASSERT_TRUE(found->staleNow());
      }
      const auto now = index_->epoch() + static_cast<uint32_t>(random_.below(10000));
      // Whatever the clock did between the lives.
      if (now >= expected->expires_s) {
        ASSERT_NE(index_->hint(*found, now), ExpiryHint::fresh);
      }
    }
  }

  base::Random random_;
  SegmentTable table_;
  std::unique_ptr<IndexShard> index_;
  DiskSegment disk_[kSegments];
  std::vector<PurgeRecord> journal_;
  std::optional<SavedSnapshot> snapshot_;
  uint32_t segment_ = 0;
  uint32_t offset_ = 8;
  uint64_t sequence_ = 0;
  uint64_t highest_used_ = 0;
  uint64_t generation_ = 1;
};

TEST(Recovery, AnyHistoryWithCrashes) {
  for (uint64_t seed = 1; seed <= 150; seed++) {
    SCOPED_TRACE(seed);
    Stripe stripe(seed);
    base::Random random(seed);
    for (int life = 0; life < 4; life++) {
      const uint64_t steps = random.below(400);
      for (uint64_t i = 0; i < steps; i++) {
        stripe.step();
      }
      stripe.crashAndRecover();
      if (testing::Test::HasFatalFailure()) {
        return;
      }
    }
  }
}

TocEntry line(uint64_t key, uint16_t offset) {
  TocEntry l;
  l.hash_hi = hashOf(key).hi;
  l.hash_lo = hashOf(key).lo;
  l.offset_units = offset;
  l.length_units = 2;
  l.kind = static_cast<uint8_t>(RecordKind::object);
  return l;
}

TEST(Recovery, WhatThisLifeHasPublishedWinsOverTheDisk) {
  SegmentTable table(kSegments);
  table.setSequence(1, 100);
  const auto index = makeIndex(table);
  const PurgeSet purges;
  RecoveryMerge merge(*index, table, purges);
  const Entry hfm = Entry::makeUnplaced(hashOf(1), EntryKind::hit_for_miss, 1, 60);
  index->publish(hashOf(1), hfm);
  EXPECT_EQ(merge.addRecord(1, 100, line(1, 8), {}), Recovered::older);
  EXPECT_EQ(index->find(hashOf(1)), hfm);
  table.setSequence(2, firstSequence(9));
  EXPECT_EQ(merge.addRecord(2, firstSequence(9), line(2, 8), {}), Recovered::taken);
  EXPECT_EQ(merge.addRecord(1, 100, line(2, 60), {}), Recovered::older);
  EXPECT_EQ(index->find(hashOf(2))->segment(), 2u);
}

TEST(Recovery, ASegmentWithAnotherSequenceIsStale) {
  SegmentTable table(kSegments);
  table.setSequence(1, 101);
  const auto index = makeIndex(table);
  const PurgeSet purges;
  RecoveryMerge merge(*index, table, purges);
  EXPECT_EQ(merge.addRecord(1, 100, line(1, 8), {}), Recovered::stale);
  EXPECT_EQ(merge.addRecord(2, 0, line(1, 8), {}), Recovered::stale);
  SnapshotHeader header;
  header.bucket_count = index->bucketCount();
  header.segment_count = kSegments;
  header.sealed_sequence = 101;
  std::vector<uint64_t> sequences(kSegments, 0);
  sequences[1] = 100;
  PlacedEntry placed{index->bucketOf(hashOf(1)), entryOf(line(1, 8), 1, 100, kExpiryAsk)};
  EXPECT_EQ(merge.addSnapshotEntry(header, sequences, placed), Recovered::stale);
  table.setSequence(1, 100);
  EXPECT_EQ(merge.addSnapshotEntry(header, sequences, placed), Recovered::taken);
  header.bucket_count++;  // an index of another size
  EXPECT_EQ(merge.addSnapshotEntry(header, sequences, placed), Recovered::not_placed);
}

TEST(Recovery, ChunksHaveNoEntry) {
  SegmentTable table(kSegments);
  table.setSequence(1, 100);
  const auto index = makeIndex(table);
  const PurgeSet purges;
  RecoveryMerge merge(*index, table, purges);
  TocEntry chunk = line(1, 8);
  chunk.kind = static_cast<uint8_t>(RecordKind::chunk);
  EXPECT_EQ(merge.addRecord(1, 100, chunk, {}), Recovered::not_placed);
  EXPECT_EQ(index->size(), 0u);
}

TEST(Recovery, TheNextLifeIsAfterEverythingSeen) {
  SegmentTable table(kSegments);
  const auto index = makeIndex(table);
  PurgeSet purges;
  const RecoveryMerge merge(*index, table, purges);
  EXPECT_EQ(merge.nextLife(0, 0), 1u);  // a new file
  EXPECT_EQ(merge.nextLife(5, 0), 6u);
  EXPECT_EQ(merge.nextLife(5, firstSequence(7)), 8u);
  table.setSequence(3, firstSequence(9) + 77);
  EXPECT_EQ(merge.nextLife(5, firstSequence(7)), 10u);
  PurgeRecord purge;
  purge.before = LogPosition{firstSequence(12), 8};
  purges.add(purge);
  EXPECT_EQ(merge.nextLife(5, firstSequence(7)), 13u);
  purges.raiseFloor(LogPosition{UINT64_MAX, 0});  // no journal could be read
  EXPECT_EQ(merge.nextLife(5, firstSequence(7)), 13u);
}

}  // namespace
}  // namespace store
