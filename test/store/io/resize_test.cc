// Goal: a log becomes longer and shorter while it is used. What lies before its new end stays, what
// lies behind goes, and neither a crash nor a later change brings back what had been replaced.
// Method: lives of a stripe on the simulated disk; what a smaller file loses is overwritten.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>

#include "source/base/random.h"
#include "test/store/io/stripe_world.h"

namespace store {
namespace {

constexpr uint32_t kBytes = 50'000;
constexpr uint32_t kMost = 40;

StripeWorld::Cut cutInto(uint32_t segments) {
  StripeWorld::Cut cut;
  cut.segments = segments;
  cut.most_segments = kMost;
  return cut;
}

std::string keyOf(uint64_t number) {
  return "http://example.com/" + std::to_string(number);
}

void append(Life& life, uint64_t number, uint64_t version = 1) {
  Piece piece;
  piece.key = keyOf(number);
  piece.version = version;
  piece.bytes = kBytes;
  ASSERT_EQ(life.append(piece).code, base::Code::ok);
  life.runFor(2 * base::kMillisecond_ns);  // reclaim keeps up
}

uint32_t usedSegments(Life& life) {
  return life.store().log().allocator().usedCount();
}

// As the file system does it.
void truncate(StripeWorld& world, uint32_t segments) {
  const std::span<std::byte> file = world.world.disk().contents("data");
  const uint64_t end = kDataOffset + uint64_t{segments} * world.cut.segment_bytes;
  if (file.size() > end) {
    std::ranges::fill(file.subspan(end), std::byte{0});
  }
  world.cut.segments = segments;
}

TEST(Resize, ALongerLogHoldsMore) {
  StripeWorld world(1, sim::Options(), cutInto(8));
  Life life(world);
  ASSERT_TRUE(life.recover().ok());
  for (uint64_t i = 0; i < 300; i++) {
    append(life, i);
  }
  ASSERT_LE(usedSegments(life), 8u);
  life.flush();
  std::vector<uint64_t> before;
  for (uint64_t i = 0; i < 300; i++) {
    if (life.read(keyOf(i)).has_value()) {
      before.push_back(i);
    }
  }
  ASSERT_GT(before.size(), 50u);
  world.cut.segments = 32;
  EXPECT_TRUE(life.resize(32));
  EXPECT_EQ(life.store().segmentCount(), 32u);
  EXPECT_EQ(life.store().log().allocator().freeCount(), 32 - usedSegments(life));
  for (uint64_t i = 1000; i < 1300; i++) {
    append(life, i);
  }
  EXPECT_GT(usedSegments(life), 16u);
  for (const uint64_t i : before) {
    EXPECT_TRUE(life.read(keyOf(i)).has_value()) << i;
  }
  life.stop();
  Life next(world);
  ASSERT_TRUE(next.recover().ok());
  for (const uint64_t i : before) {
    EXPECT_TRUE(next.read(keyOf(i)).has_value()) << i;
  }
  EXPECT_TRUE(next.read(keyOf(1299)).has_value());
}

TEST(Resize, ToTheCapacityAtMost) {
  StripeWorld world(1, sim::Options(), cutInto(8));
  Life life(world);
  ASSERT_TRUE(life.recover().ok());
  EXPECT_EQ(life.shared().table->capacity(), SegmentTable::kLeastCapacity);
  EXPECT_EQ(SegmentTable::capacityFor(100), 100 * SegmentTable::kGrowth);
  EXPECT_EQ(SegmentTable::capacityFor(kMaxSegments), kMaxSegments);
  EXPECT_TRUE(life.resize(SegmentTable::kLeastCapacity));
  EXPECT_TRUE(life.resize(8));
  EXPECT_TRUE(life.resize(kMinSegments));
}

TEST(Resize, AShorterLogGivesUpWhatIsBehindItsEnd) {
  StripeWorld world(2, sim::Options(), cutInto(32));
  Life life(world);
  ASSERT_TRUE(life.recover().ok());
  std::map<uint64_t, uint32_t> segment_of;
  for (uint64_t i = 0; i < 450; i++) {
    append(life, i);
  }
  life.flush();
  for (uint64_t i = 0; i < 450; i++) {
    if (const std::optional<Entry> entry = life.entry(keyOf(i))) {
      segment_of[i] = entry->segment();
    }
  }
  constexpr uint32_t kEnd = 12;
  ASSERT_TRUE(life.resize(kEnd));
  EXPECT_LE(usedSegments(life), kEnd);
  uint32_t stayed = 0;  // but for what makes the usual room
  for (const auto& [i, segment] : segment_of) {
    const bool found = life.read(keyOf(i)).has_value();
    EXPECT_TRUE(!found || segment < kEnd) << i;
    stayed += found ? 1 : 0;
  }
  EXPECT_GT(stayed, 100u);
  EXPECT_LT(stayed, segment_of.size());
  life.store().forgetCut();
  EXPECT_EQ(life.store().segmentCount(), kEnd);
  truncate(world, kEnd);
  for (uint64_t i = 1000; i < 1400; i++) {
    append(life, i);
    const std::optional<Entry> entry = life.entry(keyOf(i));
    ASSERT_TRUE(entry.has_value());
    EXPECT_LT(entry->segment(), kEnd);
  }
}

TEST(Resize, TheOpenSegmentMayBeBehindTheEnd) {
  StripeWorld world(3, sim::Options(), cutInto(32));
  Life life(world);
  ASSERT_TRUE(life.recover().ok());
  uint64_t last = 0;
  while (!life.store().log().allocator().hasOpen() ||
         life.store().log().allocator().opened().segment < 20) {
    append(life, last++);
  }
  EXPECT_TRUE(life.read(keyOf(last - 1)).has_value());
  ASSERT_TRUE(life.resize(kMinSegments));
  EXPECT_FALSE(life.read(keyOf(last - 1)).has_value());
  append(life, last);
  EXPECT_TRUE(life.read(keyOf(last)).has_value());
}

TEST(Resize, StopsWithTheStripe) {
  StripeWorld world(4, sim::Options(), cutInto(32));
  Life life(world);
  bool done = true;
  life.startResize(8, &done);  // it waits for the recovery, which does not come
  life.runFor(base::kSecond_ns);
  life.host().group().cancelAll();
  life.stop();
  EXPECT_FALSE(done);
}

class Resized : public testing::TestWithParam<uint64_t> {};

TEST_P(Resized, NothingComesBack) {
  base::Random random(GetParam());
  StripeWorld world(GetParam(), sim::Options(), cutInto(24));
  std::map<uint64_t, uint64_t> newest;
  uint64_t version = 0;
  uint32_t found_in_all = 0;
  for (uint32_t era = 0; era < 12; era++) {
    Life life(world);
    ASSERT_TRUE(life.recover().ok());
    for (const auto& [number, expected] : newest) {
      const std::optional<FoundRecord> found = life.read(keyOf(number));
      if (found.has_value()) {
        ASSERT_EQ(found->version, expected) << "era " << era << ", key " << number;
        found_in_all++;
      }
    }
    for (uint32_t step = 0; step < 3; step++) {
      for (uint32_t i = 0; i < 150; i++) {
        const uint64_t number = random.below(400);
        newest[number] = ++version;
        append(life, number, version);
        life.shared().index->touch(life.hash(keyOf(random.below(40))));
      }
      const auto segments = static_cast<uint32_t>(random.between(kMinSegments, kMost));
      const bool longer = segments > world.cut.segments;
      world.cut.segments = std::max(world.cut.segments, segments);
      ASSERT_TRUE(life.resize(segments));
      // A crash may come before the superblock has been told, or after.
      if (!longer && (step < 2 || random.chance(1, 2))) {
        truncate(world, segments);
        life.store().forgetCut();
      }
    }
    life.flush();
    if (random.chance(1, 2)) {
      life.die(false);
    } else {
      life.stop();
    }
  }
  EXPECT_GT(found_in_all, 100u);
}
INSTANTIATE_TEST_SUITE_P(Seeds, Resized, testing::Range(uint64_t{1}, uint64_t{9}));

// While a log becomes longer or shorter the process is killed, or the power fails. What was
// replaced stays so, where only the process died; what was purged stays so in any case.
class KilledWhileResizing : public testing::TestWithParam<uint64_t> {};

TEST_P(KilledWhileResizing, NothingComesBack) {
  base::Random random(GetParam() ^ 0x6b696c6cULL);
  StripeWorld world(GetParam(), sim::Options(), cutInto(24));
  std::map<uint64_t, uint64_t> newest;
  std::map<uint64_t, uint64_t> purged;  // versions up to this one
  uint64_t version = 0;
  bool power = false;
  uint32_t found_in_all = 0;
  uint32_t halfway = 0;
  for (uint32_t era = 0; era < 24; era++) {
    Life life(world);
    ASSERT_TRUE(life.recover().ok());
    for (uint64_t number = 0; number < 400; number++) {
      const std::optional<FoundRecord> found = life.read(keyOf(number));
      if (!found.has_value()) {
        continue;
      }
      ASSERT_GT(found->version, purged[number]) << "era " << era << ", key " << number;
      ASSERT_TRUE(power || found->version == newest[number]) << "era " << era << ", key " << number;
      newest[number] = found->version;
      found_in_all++;
    }
    for (uint32_t i = 0; i < 150; i++) {
      const uint64_t number = random.below(400);
      newest[number] = ++version;
      append(life, number, version);
    }
    for (uint32_t i = 0; i < 5; i++) {
      const uint64_t number = random.below(400);
      ASSERT_TRUE(life.purge(keyOf(number)).ok());
      purged[number] = version;
    }
    life.flush();
    const auto segments = static_cast<uint32_t>(random.between(kMinSegments, kMost));
    const bool longer = segments > world.cut.segments;
    world.cut.segments = std::max(world.cut.segments, segments);
    bool done = false;
    life.startResize(segments, &done);
    life.runFor(random.below(60 * base::kMillisecond_ns));
    halfway += done ? 0 : 1;
    power = random.chance(1, 3);
    const bool told = done && !longer && random.chance(1, 2);
    life.die(power);
    if (told) {
      truncate(world, segments);
    }
  }
  EXPECT_GT(found_in_all, 100U);
  EXPECT_GT(halfway, 0U);
}
INSTANTIATE_TEST_SUITE_P(Seeds, KilledWhileResizing, testing::Range(uint64_t{1}, uint64_t{13}));

}  // namespace
}  // namespace store
