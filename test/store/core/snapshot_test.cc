// Goal: a snapshot gives back the index it was taken of, or is known to be incomplete. Method:
// round trips through blocks, every kind of damage to them, an index that changes while it is
// written.
#include "source/store/core/snapshot.h"

#include <gtest/gtest.h>

#include <set>

#include "source/base/random.h"

namespace store {
namespace {

using Block = std::vector<std::byte>;
constexpr uint32_t kSalt = 123;

base::Hash128 hashOf(uint64_t key) {
  return base::Hash128{mix64(key + 1), mix64(key + 0x51ed270b7f4a7c15ULL)};
}

Entry entryFor(uint64_t key, EntryKind kind = EntryKind::object) {
  EntryFields f;
  f.kind = kind;
  f.segment = static_cast<uint32_t>(key % 50);
  f.offset_units = static_cast<uint32_t>(8 + key % 30000);
  f.length_units = static_cast<uint32_t>(1 + key % 500);
  f.expiry = static_cast<uint32_t>(key);
  f.frequency = static_cast<uint8_t>(key % 4);
  return Entry::make(hashOf(key), f);
}

std::unique_ptr<IndexShard> makeIndex(uint64_t capacity, const SegmentTable& segments) {
  base::Result<std::unique_ptr<IndexShard>> index =
      IndexShard::create(IndexOptions{capacity, 0}, segments);
  CHECK(index.ok());
  return std::move(index.value());
}

SnapshotHeader headerFor(const IndexShard& index, uint32_t segment_count) {
  SnapshotHeader h;
  h.number = 41;
  h.bucket_count = index.bucketCount();
  h.sealed_sequence = 900;
  h.journal_number = 12;
  h.segment_count = segment_count;
  h.epoch_s = index.epoch();
  h.written_s = 1'800'000'000;
  return h;
}

std::vector<uint64_t> sequencesFor(uint32_t count) {
  std::vector<uint64_t> sequences(count);
  for (uint32_t i = 0; i < count; i++) {
    sequences[i] = 100 + i;
  }
  return sequences;
}

std::vector<Block> encode(IndexShard& index, uint32_t segment_count) {
  SnapshotEncoder encoder(headerFor(index, segment_count), sequencesFor(segment_count), index,
                          kSalt);
  std::vector<Block> blocks;
  Block block(kSnapshotBlockBytes);
  while (encoder.next(block)) {
    blocks.push_back(block);
  }
  EXPECT_FALSE(encoder.next(block));
  return blocks;
}

TEST(Snapshot, RoundTripOfAnySize) {
  const SegmentTable segments(1);
  for (const uint64_t count : {0, 1, 2728, 2729, 2730, 20000}) {
    for (const uint32_t segment_count : {50u, 8188u, 8189u, 20000u}) {
      const auto index = makeIndex(20000, segments);
      for (uint64_t key = 0; key < count; key++) {
        index->publish(hashOf(key), entryFor(key));
      }
      SnapshotDecoder decoder(kSalt);
      std::vector<PlacedEntry> entries;
      for (const Block& block : encode(*index, segment_count)) {
        ASSERT_FALSE(decoder.complete());
        ASSERT_TRUE(decoder.feed(block, entries).ok());
      }
      ASSERT_TRUE(decoder.complete());
      EXPECT_EQ(decoder.header(), headerFor(*index, segment_count));
      EXPECT_EQ(decoder.sequences(), sequencesFor(segment_count));
      ASSERT_EQ(entries.size(), count);
      EXPECT_EQ(decoder.entries(), count);
      const auto copy = makeIndex(20000, segments);
      for (const PlacedEntry& placed : entries) {
        ASSERT_TRUE(copy->restore(placed.bucket, placed.entry));
      }
      for (uint64_t key = 0; key < count; key++) {
        ASSERT_EQ(copy->find(hashOf(key)), entryFor(key));
      }
    }
  }
}

TEST(Snapshot, LeavesOutWhatHasNoRecordOnTheDisk) {
  const SegmentTable segments(1);
  const auto index = makeIndex(100, segments);
  index->publish(hashOf(1), entryFor(1));
  index->publish(hashOf(2), entryFor(2).withInBuffer(true));
  index->publish(hashOf(3), Entry::makeUnplaced(hashOf(3), EntryKind::hit_for_miss, 1, 1));
  index->publish(hashOf(4), Entry::makeUnplaced(hashOf(4), EntryKind::ram_only, 1, 1));
  index->publish(hashOf(5), entryFor(5, EntryKind::vary_rule));
  index->publish(hashOf(6), entryFor(6, EntryKind::extents));
  SnapshotDecoder decoder(kSalt);
  std::vector<PlacedEntry> entries;
  for (const Block& block : encode(*index, 50)) {
    ASSERT_TRUE(decoder.feed(block, entries).ok());
  }
  std::set<uint64_t> tags;
  for (const PlacedEntry& placed : entries) {
    tags.insert(placed.entry.tag());
    // A vary rule is read like any other record, so its length is needed.
    EXPECT_GT(placed.entry.lengthUnits(), 0U);
  }
  EXPECT_EQ(tags, (std::set<uint64_t>{tagOf(hashOf(1)), tagOf(hashOf(5)), tagOf(hashOf(6))}));
}

// A few hundred entries, so that each kind of block is there once.
std::vector<Block> smallSnapshot() {
  const SegmentTable segments(1);
  const auto index = makeIndex(400, segments);
  for (uint64_t key = 0; key < 300; key++) {
    index->publish(hashOf(key), entryFor(key));
  }
  return encode(*index, 60);
}

bool completeAfter(const std::vector<Block>& blocks) {
  SnapshotDecoder decoder(kSalt);
  std::vector<PlacedEntry> entries;
  for (const Block& block : blocks) {
    if (!decoder.feed(block, entries).ok()) {
      return false;
    }
  }
  return decoder.complete();
}

TEST(Snapshot, EveryFlippedByteIsNoticed) {
  std::vector<Block> blocks = smallSnapshot();
  ASSERT_EQ(blocks.size(), 4u);
  ASSERT_TRUE(completeAfter(blocks));
  base::Random random(1);
  for (Block& block : blocks) {
    // All of what is used, and a sample of the rest.
    for (size_t i = 0; i < block.size(); i += i < 300 ? 1 : random.between(1, 400)) {
      block[i] ^= std::byte{0x80};
      SnapshotDecoder decoder(kSalt);
      std::vector<PlacedEntry> entries;
      size_t accepted = 0;
      while (accepted < blocks.size() && decoder.feed(blocks[accepted], entries).ok()) {
        accepted++;
      }
      ASSERT_EQ(&blocks[accepted], &block) << i;
      ASSERT_FALSE(decoder.complete());
      block[i] ^= std::byte{0x80};
    }
  }
}

TEST(Snapshot, AMissingRepeatedOrForeignBlockIsNoticed) {
  const std::vector<Block> blocks = smallSnapshot();
  for (size_t i = 0; i < blocks.size(); i++) {
    std::vector<Block> missing = blocks;
    missing.erase(missing.begin() + static_cast<ptrdiff_t>(i));
    EXPECT_FALSE(completeAfter(missing)) << i;
    std::vector<Block> repeated = blocks;
    repeated.insert(repeated.begin() + static_cast<ptrdiff_t>(i), blocks[i]);
    EXPECT_FALSE(completeAfter(repeated)) << i;
    std::vector<Block> cut(blocks.begin(), blocks.begin() + static_cast<ptrdiff_t>(i));
    EXPECT_FALSE(completeAfter(cut)) << i;
  }
  // Blocks of an older snapshot in the same file.
  const SegmentTable segments(1);
  const auto index = makeIndex(400, segments);
  SnapshotHeader older = headerFor(*index, 60);
  older.number--;
  SnapshotEncoder encoder(older, sequencesFor(60), *index, kSalt);
  Block block(kSnapshotBlockBytes);
  ASSERT_TRUE(encoder.next(block));
  ASSERT_TRUE(encoder.next(block));
  std::vector<Block> mixed = blocks;
  mixed[1] = block;
  EXPECT_FALSE(completeAfter(mixed));
  // Another stripe's.
  SnapshotDecoder other(kSalt + 1);
  std::vector<PlacedEntry> entries;
  EXPECT_FALSE(other.feed(blocks[0], entries).ok());
  EXPECT_FALSE(peekSnapshot(blocks[0], kSalt + 1).ok());
  EXPECT_FALSE(peekSnapshot(blocks[1], kSalt).ok());
  EXPECT_EQ(peekSnapshot(blocks[0], kSalt).value().number, 41u);
}

TEST(Snapshot, WhatStaysWhileItIsWrittenIsInIt) {
  constexpr uint64_t kStay = 30000;
  const SegmentTable segments(1);
  const auto index = makeIndex(36000, segments);
  for (uint64_t key = 0; key < kStay; key++) {
    index->publish(hashOf(key), entryFor(key));
  }
  SnapshotEncoder encoder(headerFor(*index, 50), sequencesFor(50), *index, kSalt);
  SnapshotDecoder decoder(kSalt);
  std::vector<PlacedEntry> entries;
  Block block(kSnapshotBlockBytes);
  uint64_t next = kStay;
  while (encoder.next(block)) {
    ASSERT_TRUE(decoder.feed(block, entries).ok());
    for (int i = 0; i < 400; i++, next++) {
      index->publish(hashOf(next), entryFor(next));
      index->erase(hashOf(next - 4000 > kStay ? next - 4000 : next));
    }
  }
  ASSERT_TRUE(decoder.complete());
  EXPECT_EQ(encoder.entries(), entries.size());
  std::set<uint64_t> tags;
  for (const PlacedEntry& placed : entries) {
    tags.insert(placed.entry.tag());
  }
  for (uint64_t key = 0; key < kStay; key++) {
    ASSERT_TRUE(tags.contains(tagOf(hashOf(key)))) << key;
  }
}

}  // namespace
}  // namespace store
