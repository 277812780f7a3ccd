// Goal: a shard's reads fit the device's queue with those of all shards, and leave room for writes.
// Method: the pure rule in a table; sysfs of this machine for its reading.
#include "source/server/device.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

namespace server {
namespace {

TEST(ReadsPerShard, AreTheDevicesShare) {
  EXPECT_EQ(readsPerShard(256, 1, 96), 96U);
  EXPECT_EQ(readsPerShard(256, 2, 96), 96U);  // 224 for reads
  EXPECT_EQ(readsPerShard(256, 3, 96), 74U);
  EXPECT_EQ(readsPerShard(64, 2, 96), 28U);
  EXPECT_EQ(readsPerShard(2, 8, 96), kFewestReads);
  EXPECT_EQ(readsPerShard(1023, 4, 96), 96U);
}

TEST(ReadsPerShard, WithoutADeviceAreTheMost) {
  EXPECT_EQ(readsPerShard(std::nullopt, 64, 96), 96U);
}

TEST(DeviceQueue, OfMemoryThereIsNone) {
  const int fd = memfd_create("none", MFD_CLOEXEC);
  ASSERT_GE(fd, 0);
  EXPECT_EQ(deviceQueue(fd), std::nullopt);
  close(fd);
  EXPECT_EQ(deviceQueue(-1), std::nullopt);
}

// Whatever is under the test's folder: a device with a queue, or none.
TEST(DeviceQueue, OfAFileIsItsDisks) {
  const int fd = open(".", O_RDONLY | O_CLOEXEC | O_DIRECTORY);
  ASSERT_GE(fd, 0);
  const std::optional<uint32_t> queue = deviceQueue(fd);
  EXPECT_TRUE(!queue.has_value() || *queue > 0);
  close(fd);
}

}  // namespace
}  // namespace server
