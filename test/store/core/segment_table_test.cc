// Goal: what is pinned is not overwritten, and what is being overwritten cannot be pinned.
// Method: each order of the two; then two threads that race over plain memory, which the thread
// sanitizer watches.
#include "source/store/core/segment_table.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

namespace store {
namespace {

TEST(SegmentTable, PinsOnlyTheSequenceThatIsThere) {
  SegmentTable table(4);
  table.setSequence(2, 9);
  EXPECT_FALSE(table.pin(2, 8));
  EXPECT_FALSE(table.pinned(2));
  EXPECT_TRUE(table.pin(2, 9));
  EXPECT_TRUE(table.pinned(2));
  EXPECT_FALSE(table.pinned(1));
  table.unpin(2);
  EXPECT_FALSE(table.pinned(2));
}

TEST(SegmentTable, ARetiredSegmentKeepsItsPinsAndGetsNoMore) {
  SegmentTable table(4);
  table.setSequence(2, 9);
  EXPECT_TRUE(table.pin(2, 9));
  EXPECT_TRUE(table.pin(2, 9));
  table.retire(2);
  EXPECT_EQ(table.sequence(2), 0U);
  EXPECT_FALSE(table.pin(2, 9));
  table.unpin(2);
  EXPECT_TRUE(table.pinned(2));
  table.unpin(2);
  EXPECT_FALSE(table.pinned(2));
}

// The segment's bytes are a plain integer that always equals the sequence while it may be pinned.
TEST(SegmentTable, NobodyReadsWhatIsBeingWritten) {
  constexpr uint64_t kLives = 3000;
  SegmentTable table(1);
  uint64_t bytes = 1;
  table.setSequence(0, 1);
  std::atomic<uint64_t> wrong{0};
  std::atomic<bool> stop{false};
  const auto read = [&] {
    while (!stop.load(std::memory_order_relaxed)) {
      const uint64_t sequence = table.sequence(0);
      if (sequence != 0 && table.pin(0, sequence)) {
        wrong += bytes == sequence ? 0 : 1;
        table.unpin(0);
      }
    }
  };
  std::thread first(read);
  std::thread second(read);
  for (uint64_t life = 2; life < kLives; life++) {
    table.retire(0);
    while (table.pinned(0)) {
    }
    bytes = life;
    table.setSequence(0, life);
  }
  stop = true;
  first.join();
  second.join();
  EXPECT_EQ(wrong, 0U);
}

}  // namespace
}  // namespace store
