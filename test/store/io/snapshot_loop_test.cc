// Goal: a snapshot that a disk keeps waiting is given up and counted, and is in nobody's way.
// Method: a stripe on a simulated disk that hangs from any moment of a snapshot on.
#include <gtest/gtest.h>

#include <optional>

#include "test/store/io/stripe_world.h"

namespace store {
namespace {

// Whenever in the course of one: the index is free again for a purge that needs it, no other is
// begun, and later ones are saved.
TEST(Snapshots, AreGivenUpWhenTheDiskHangs) {
  for (uint64_t delay_ms = 0; delay_ms < 24; delay_ms += 2) {
    SCOPED_TRACE(delay_ms);
    sim::Options options;
    options.disk.latency_min_ns = options.disk.latency_max_ns = 2 * base::kMillisecond_ns;
    StripeWorld world(35, options);
    Life life(world);
    ASSERT_TRUE(life.recover().ok());
    ASSERT_EQ(life.append({.key = "a"}).code, base::Code::ok);
    life.flush();
    const uint64_t begun_ns = world.world.now().ns;
    life.runFor(StripeStore::kSnapshotEvery_ns - 20 * base::kMillisecond_ns);
    life.runFor(delay_ms * base::kMillisecond_ns + 10 * base::kMillisecond_ns);
    sim::DiskOptions hanging = options.disk;
    hanging.hang = sim::kAlways;
    world.world.setDisk(hanging);
    life.runFor(3 * StripeStore::kSnapshotEvery_ns);
    ASSERT_GT(world.world.now().ns, begun_ns);
    const SnapshotStats& stats = life.store().snapshotStats();
    EXPECT_GE(stats.late + stats.saved, 1U);  // again, once the kernel lets go
    std::optional<base::Status> purged;
    life.startPurgeAll(&purged);
    life.runFor(base::kSecond_ns);
    EXPECT_FALSE(life.entry("a").has_value());
    EXPECT_FALSE(purged.has_value());
    world.world.setDisk(options.disk);
    life.runFor(base::kSecond_ns);
    ASSERT_TRUE(purged.has_value());
    EXPECT_TRUE(purged->ok());
    ASSERT_EQ(life.append({.key = "b"}).code, base::Code::ok);
    const uint64_t saved = stats.saved;
    life.runFor(2 * StripeStore::kSnapshotEvery_ns);
    EXPECT_GT(stats.saved, saved);
    life.stop();
    Life next(world);
    ASSERT_TRUE(next.recover().ok());
    EXPECT_FALSE(next.entry("a").has_value());
    EXPECT_TRUE(next.entry("b").has_value());
    next.stop();
  }
}

}  // namespace
}  // namespace store
