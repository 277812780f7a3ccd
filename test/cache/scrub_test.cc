// Goal: a large object of which one chunk has rotted is dropped by scrubbing, before anybody gets
// half of it; others stay. Method: a shard on the simulated disk, whose bytes the test flips.
#include <gtest/gtest.h>

#include "source/store/core/extents.h"
#include "source/store/core/record.h"
#include "test/cache/cache_world.h"

namespace cache {
namespace {

constexpr uint64_t kMiB = 1024 * 1024;

CacheWorld::Cut oneStripe() {
  CacheWorld::Cut cut;
  cut.stripes = 1;
  return cut;
}

class ScrubTest : public testing::Test {
 protected:
  void SetUp() override {
    Answer answer;
    answer.bytes = 5 * kMiB;
    w_.setScript([answer](const FetchPlan&, uint64_t) { return answer; });
    for (const char* path : {"/a", "/b", "/c"}) {
      ASSERT_EQ(w_.get({.path = path}).came, Came::filled);
    }
    w_.runFor(base::kSecond_ns);
  }

  std::span<std::byte> onDisk(store::Location at) {
    const uint64_t offset =
        store::segmentOffset(at.segment, 4 << 20) + uint64_t{at.offset_units} * store::kUnitBytes;
    return w_.world.disk()
        .contents("stripe-0-0")
        .subspan(offset, uint64_t{at.length_units} * store::kUnitBytes);
  }
  // The chunk that holds a byte of the object.
  store::Location chunkOf(const std::string& path, uint64_t byte) {
    Stripe& stripe = w_.stripeOf(path);
    const store::Location at = stripe.table().locate(w_.entry(path).value());
    const base::Result<store::RecordView> head = store::decodeRecord(
        onDisk(at), store::RecordPlace{at.sequence, at.offset_units, stripe.salt()});
    CHECK(head.ok());
    const base::Result<store::ExtentTable> extents =
        store::ExtentTable::parse(head.value().body, head.value().header.object_length);
    CHECK(extents.ok());
    return extents.value().at(extents.value().indexOf(byte)).location();
  }

  CacheWorld w_{31, oneStripe(), sim::Options()};
};

TEST_F(ScrubTest, ALargeObjectWithARottenChunkIsDropped) {
  onDisk(chunkOf("/a", kMiB))[2000] ^= std::byte{1};
  w_.cache().setScrubRate(1 << 30);
  w_.runFor(10 * base::kSecond_ns);
  EXPECT_EQ(w_.stripeOf("/a").store().scrubStats().damaged, 1U);
  EXPECT_FALSE(w_.entry("/a").has_value());
  EXPECT_TRUE(w_.entry("/b").has_value());
  EXPECT_TRUE(w_.entry("/c").has_value());
}

// The chunk is of an object that has been stored anew since.
TEST_F(ScrubTest, AChunkOfAnOlderVersionIsNobodysLoss) {
  const store::Location old = chunkOf("/a", kMiB);
  ASSERT_TRUE(w_.purge("/a"));
  ASSERT_EQ(w_.get({.path = "/a"}).came, Came::filled);
  w_.runFor(base::kSecond_ns);
  onDisk(old)[2000] ^= std::byte{1};
  w_.cache().setScrubRate(1 << 30);
  w_.runFor(10 * base::kSecond_ns);
  EXPECT_EQ(w_.stripeOf("/a").store().scrubStats().damaged, 1U);
  EXPECT_TRUE(w_.entry("/a").has_value());
}

}  // namespace
}  // namespace cache
