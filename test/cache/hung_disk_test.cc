// Goal: a disk that hangs keeps nobody for longer than is said: purges are answered, in force and
// not durable; a list is given up; a stop ends, and leaves the stripes that wait. Nothing is freed
// that the kernel has. Method: the simulated disk, of which from a moment on no operation ends,
// until it does.
#include <gtest/gtest.h>

#include <vector>

#include "test/cache/cache_world.h"

namespace cache {
namespace {

CacheWorld::Cut oneStripe() {
  CacheWorld::Cut cut;
  cut.stripes = 1;
  cut.segment_bytes = 1 << 20;
  cut.segments = 8;
  return cut;
}

sim::DiskOptions hanging() {
  sim::DiskOptions disk;
  disk.hang = sim::kAlways;
  return disk;
}

// Several segments of objects, of which each has the tag.
void fillTagged(CacheWorld& w) {
  w.setScript([](const FetchPlan&, uint64_t) {
    Answer answer;
    answer.head += "Cache-Tag: blue\r\n";
    answer.bytes = 100'000;
    return answer;
  });
  for (int i = 0; i < 40; i++) {
    EXPECT_EQ(w.get({.path = "/" + std::to_string(i)}).came, Came::filled);
  }
  w.runFor(base::kSecond_ns);
}

int stored(CacheWorld& w) {
  int count = 0;
  for (int i = 0; i < 40; i++) {
    const std::optional<store::Entry> entry = w.entry("/" + std::to_string(i));
    count += entry.has_value() && w.stripeOf("/0").table().locate(*entry).sequence != 0 ? 1 : 0;
  }
  return count;
}

class HungDisk : public testing::TestWithParam<CacheWorld::What> {};

TEST_P(HungDisk, LetsAPurgeBeAnsweredInForceAndDurableLater) {
  CacheWorld w(1, oneStripe(), sim::Options());
  fillTagged(w);
  ASSERT_EQ(stored(w), 40);
  w.world.setDisk(hanging());
  const CacheWorld::What what = GetParam();
  CacheWorld::PurgeOutcome outcome;
  w.startPurgeOf(what, what == CacheWorld::What::tag ? "blue" : "/7", &outcome);
  w.runFor(kPurgePatience_ns - base::kSecond_ns);
  EXPECT_FALSE(outcome.ended);
  EXPECT_FALSE(what != CacheWorld::What::tag && w.entry("/7").has_value());  // at once
  w.runFor(2 * base::kSecond_ns);
  ASSERT_TRUE(outcome.ended);
  EXPECT_EQ(outcome.code, base::Code::timeout);
  EXPECT_TRUE(outcome.in_force);
  EXPECT_GE(outcome.took_ns, kPurgePatience_ns);
  EXPECT_EQ(stored(w), what == CacheWorld::What::key ? 39 : 0);
  EXPECT_EQ(w.stripeOf("/7").stats().purges_late, 1U);
  w.world.setDisk(sim::DiskOptions());
  w.runFor(base::kSecond_ns);
  EXPECT_EQ(w.stripeOf("/7").purgesRunning(), 0U);
  CacheWorld::PurgeOutcome again;
  w.startPurgeOf(what, what == CacheWorld::What::tag ? "blue" : "/7", &again);
  w.finish();
  EXPECT_TRUE(again.ended);
  EXPECT_EQ(again.code, base::Code::ok);
}
INSTANTIATE_TEST_SUITE_P(Purges, HungDisk,
                         testing::Values(CacheWorld::What::key, CacheWorld::What::tag,
                                         CacheWorld::What::everything));

TEST(HungDiskLimits, PurgesWaitForItUpToTheirLimitAndNotOneMore) {
  CacheWorld w(2, oneStripe(), sim::Options());
  EXPECT_EQ(w.get({.path = "/7"}).came, Came::filled);
  w.world.setDisk(hanging());
  std::vector<CacheWorld::PurgeOutcome> outcomes(Stripe::kMaxPurges + 1);
  for (CacheWorld::PurgeOutcome& outcome : outcomes) {
    w.startPurgeOf(CacheWorld::What::key, "/7", &outcome);
  }
  w.runFor(base::kSecond_ns);
  EXPECT_EQ(w.stripeOf("/7").purgesRunning(), Stripe::kMaxPurges);
  EXPECT_EQ(w.stripeOf("/7").stats().purges_refused, 1U);
  EXPECT_TRUE(outcomes.back().ended);
  EXPECT_FALSE(outcomes.back().in_force);
  EXPECT_EQ(outcomes.back().code, base::Code::no_capacity);
  EXPECT_FALSE(outcomes[Stripe::kMaxPurges - 1].ended);
  w.world.setDisk(sim::DiskOptions());
  w.finish();
  EXPECT_EQ(outcomes[Stripe::kMaxPurges - 1].code, base::Code::ok);
}

TEST(HungDiskList, IsGivenUpInTimeAndWorksAgainWhenTheDiskDoes) {
  CacheWorld w(4, oneStripe(), sim::Options());
  fillTagged(w);
  w.world.setDisk(hanging());
  CacheWorld::ListOutcome outcome;
  w.startList(&outcome);
  w.runFor(kListPatience_ns - base::kSecond_ns);
  EXPECT_FALSE(outcome.ended);
  w.runFor(2 * base::kSecond_ns);
  ASSERT_TRUE(outcome.ended);
  EXPECT_EQ(outcome.code, base::Code::timeout);
  EXPECT_EQ(w.stripeOf("/0").stats().lists_late, 1U);
  EXPECT_EQ(w.stripeOf("/0").listsRunning(), 1U);  // what the kernel has memory of
  w.world.setDisk(sim::DiskOptions());
  w.runFor(base::kSecond_ns);
  EXPECT_EQ(w.stripeOf("/0").listsRunning(), 0U);
  CacheWorld::ListOutcome again;
  w.startList(&again);
  w.finish();
  ASSERT_TRUE(again.ended);
  EXPECT_EQ(again.code, base::Code::ok);
  EXPECT_GT(again.objects, 0U);
}

TEST(HungDiskLimits, ListsWaitForItUpToTheirLimitAndNotOneMore) {
  CacheWorld w(5, oneStripe(), sim::Options());
  fillTagged(w);
  w.world.setDisk(hanging());
  std::vector<CacheWorld::ListOutcome> outcomes(Stripe::kMaxLists + 1);
  for (CacheWorld::ListOutcome& outcome : outcomes) {
    w.startList(&outcome);
  }
  w.runFor(base::kSecond_ns);
  EXPECT_EQ(w.stripeOf("/0").listsRunning(), Stripe::kMaxLists);
  EXPECT_EQ(w.stripeOf("/0").stats().lists_refused, 1U);
  EXPECT_TRUE(outcomes.back().ended);
  EXPECT_EQ(outcomes.back().code, base::Code::no_capacity);
  EXPECT_FALSE(outcomes[Stripe::kMaxLists - 1].ended);
  w.world.setDisk(sim::DiskOptions());
  w.finish();
  EXPECT_EQ(outcomes[Stripe::kMaxLists - 1].code, base::Code::ok);
}

TEST(HungDiskStop, LeavesItsStripesAndStopsTheOthers) {
  CacheWorld::Cut cut = oneStripe();
  cut.disks = 2;
  CacheWorld w(3, cut, sim::Options());
  EXPECT_EQ(w.get({.path = "/a"}).came, Came::filled);
  w.runFor(base::kSecond_ns);
  w.world.setDisk(hanging());
  EXPECT_TRUE(w.invalidate("/a"));
  w.runFor(base::kSecond_ns);
  sim::DiskOptions nearly;
  nearly.hang = 1;  // in a million: what hangs goes on to, and what is begun from now on ends
  w.world.setDisk(nearly);
  w.stop_patience_ns = 20 * base::kSecond_ns;
  bool ended = false;
  w.startStop(&ended);
  w.runFor(w.stop_patience_ns - base::kSecond_ns);
  EXPECT_FALSE(ended);
  w.runFor(2 * base::kSecond_ns);
  EXPECT_TRUE(ended);
  EXPECT_EQ(w.stripes_hung, 1U);
  int stopped = 0;
  for (const std::unique_ptr<Stripe>& stripe : w.cache().stripes()) {
    stopped += stripe != nullptr && stripe->stopped() ? 1 : 0;
  }
  EXPECT_EQ(stopped, 1);
  EXPECT_EQ(w.cache().invalidationsLost(), 1U);
  EXPECT_GT(w.inKernel(), 0U);  // memory that must not be freed
  // The process would end here. For the world to end, the disk lets go.
  w.world.setDisk(sim::DiskOptions());
  w.stop();
  EXPECT_EQ(w.cache().invalidationsLost(), 0U);
}

}  // namespace
}  // namespace cache
