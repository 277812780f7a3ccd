// Goal: a reader on another thread never sees halves of two entries and never resurrects what the
// owner replaced. Method: every version of a key's entry carries the same number in both words; one
// thread publishes, moves and erases, the others find and touch. Meant for the thread sanitizer as
// well.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "source/base/random.h"
#include "source/store/core/index.h"

namespace store {
namespace {

constexpr uint64_t kKeys = 900;

base::Hash128 hashOf(uint64_t key) {
  return base::Hash128{mix64(key + 1), mix64(key + 0x51ed270b7f4a7c15ULL)};
}

// Version v: in w0 as segment and offset, in w1 as length and expiry.
Entry versioned(uint64_t key, uint32_t v) {
  EntryFields f;
  f.kind = EntryKind::object;
  f.segment = v & 0xfffff;
  f.offset_units = v & 0x7fff;
  f.length_units = v & 0xffff;
  f.expiry = v & 0xffffff;
  return Entry::make(hashOf(key), f);
}

bool whole(const Entry& e) {
  const uint32_t v = e.expiry();
  return e.segment() == (v & 0xfffff) && e.offsetUnits() == (v & 0x7fff) &&
         e.lengthUnits() == (v & 0xffff);
}

TEST(IndexConcurrency, ReadersSeeWholeEntriesOnly) {
  const SegmentTable segments(1);
  IndexOptions options;
  options.capacity_objects = kKeys;
  const auto created = IndexShard::create(options, segments);
  IndexShard& index = *created.value();
  std::atomic<bool> stop{false};
  std::atomic<uint64_t> torn{0};
  std::atomic<uint64_t> found{0};
  const auto read = [&](uint64_t seed) {
    base::Random random(seed);
    while (!stop.load(std::memory_order_relaxed)) {
      const uint64_t key = random.below(kKeys);
      if (const std::optional<Entry> entry = index.find(hashOf(key))) {
        torn += whole(*entry) ? 0 : 1;
        found++;
        index.touch(hashOf(key));
      }
    }
  };
  std::thread first(read, 1);
  std::thread second(read, 2);
  base::Random random(3);
  uint32_t version = 1;
  for (int i = 0; i < 300000 || found.load() < 10000; i++) {
    const uint64_t key = random.below(kKeys);
    if (random.chance(1, 4)) {
      index.erase(hashOf(key));
    } else {
      index.publish(hashOf(key), versioned(key, version));
      version = version % 0xffffff + 1;
      const std::optional<Entry> own = index.find(hashOf(key));
      ASSERT_TRUE(own.has_value());
      ASSERT_TRUE(sameVersion(*own, versioned(key, version == 1 ? 0xffffff : version - 1)));
    }
  }
  stop = true;
  first.join();
  second.join();
  EXPECT_EQ(torn.load(), 0u);
  EXPECT_GT(index.moves(), 0u);
}

}  // namespace
}  // namespace store
