// Goal: a record counts as verified only under the whole of its name, not longer than its slot is
// its own, and only for a while. Method: all names that differ in one part; a set of one slot; the
// last moment and the one after it.
#include "source/store/core/verified_set.h"

#include <gtest/gtest.h>

#include "source/base/random.h"

namespace store {
namespace {

constexpr base::MonoTime kNow{1000};

VerifiedRecord record(uint16_t stripe, uint64_t sequence, uint32_t offset_units) {
  VerifiedRecord out;
  out.stripe = stripe;
  out.sequence = sequence;
  out.when = kNow;
  out.offset_units = offset_units;
  out.body_at = 200;
  out.body_bytes = 1000;
  return out;
}

Location at(uint64_t sequence, uint32_t offset_units) {
  return Location{sequence, 3, offset_units, 8};
}

TEST(VerifiedSet, KnowsARecordByItsWholeName) {
  VerifiedSet set(1024);
  EXPECT_EQ(set.find(1, at(7, 8), kNow), nullptr);
  set.add(record(1, 7, 8));
  ASSERT_NE(set.find(1, at(7, 8), kNow), nullptr);
  EXPECT_EQ(set.find(1, at(7, 8), kNow)->body_bytes, 1000U);
  EXPECT_EQ(set.find(2, at(7, 8), kNow), nullptr);
  EXPECT_EQ(set.find(1, at(8, 8), kNow), nullptr);
  EXPECT_EQ(set.find(1, at(7, 16), kNow), nullptr);
}

// An empty slot looks like sequence 0, which is nobody's.
TEST(VerifiedSet, NothingIsKnownOfNoSequence) {
  const VerifiedSet set(1);
  EXPECT_EQ(set.find(0, at(0, 0), kNow), nullptr);
}

TEST(VerifiedSet, ALaterRecordPushesAnEarlierOneOut) {
  VerifiedSet set(1);
  set.add(record(1, 7, 8));
  set.add(record(1, 7, 16));
  EXPECT_EQ(set.find(1, at(7, 8), kNow), nullptr);
  EXPECT_NE(set.find(1, at(7, 16), kNow), nullptr);
}

TEST(VerifiedSet, IsGoodForItsTimeAndNotLonger) {
  VerifiedSet set(1);
  set.add(record(1, 7, 8));
  EXPECT_NE(set.find(1, at(7, 8), kNow + (VerifiedSet::kGood_ns - 1)), nullptr);
  EXPECT_EQ(set.find(1, at(7, 8), kNow + VerifiedSet::kGood_ns), nullptr);
}

// As many records as slots: most of them stay, or the slots would be badly chosen.
TEST(VerifiedSet, SpreadsRecordsOverItsSlots) {
  constexpr uint32_t kSlots = 4096;
  VerifiedSet set(kSlots);
  base::Random random(5);
  std::vector<VerifiedRecord> all;
  for (uint32_t i = 0; i < kSlots / 4; i++) {
    const uint64_t sequence = (uint64_t{3} << 32) + i / 32;
    all.push_back(record(static_cast<uint16_t>(i % 8), sequence, 8 + (i % 32) * 1000));
    set.add(all.back());
  }
  uint32_t kept = 0;
  for (const VerifiedRecord& one : all) {
    kept += set.find(one.stripe, at(one.sequence, one.offset_units), kNow) != nullptr ? 1 : 0;
  }
  EXPECT_GT(kept, all.size() * 8 / 10);  // (1 - e^-0.25) / 0.25 is 0.88
}

}  // namespace
}  // namespace store
