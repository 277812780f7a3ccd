// Goal: a cache directory is made, found again, and refused whenever it is not this cache's, each
// time with a sentence that names the path and the remedy, and without touching what is refused.
// Method: real directories under the test's temporary one.
#include "source/store/io/cache_files.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <span>
#include <string>
#include <system_error>
#include <thread>

#include "source/base/crc32c.h"
#include "source/store/io/cached_data.h"
#include "source/store/io/stripe_store.h"

namespace store {
namespace {

class CacheDirectory : public testing::Test {
 protected:
  CacheDirectory() {
    std::string pattern = testing::TempDir() + "/cache_files_XXXXXX";
    root_ = mkdtemp(pattern.data());
    layout_.directory = root_ + "/deep/main";
    layout_.max_size_bytes = 2 * kMinCacheBytes;
    layout_.stripes = 2;
    layout_.segment_bytes = kMinSegmentBytes;
    layout_.now_s = 1000;
  }
  ~CacheDirectory() override { std::filesystem::remove_all(root_); }

  std::string data(int stripe) const {
    return layout_.directory + "/stripe-00" + std::to_string(stripe) + ".data";
  }
  static std::string contents(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  }
  void write(const std::string& path, const std::string& bytes) {
    std::filesystem::create_directories(layout_.directory);
    std::ofstream(path, std::ios::binary) << bytes;
  }
  void make() { ASSERT_EQ(CacheFiles::open(layout_).error, ""); }
  // Refused, and both the path and the remedy are named.
  void expectRefused(const std::string& path, const std::string& why, const std::string& remedy) {
    const CacheFiles::Opened opened = CacheFiles::open(layout_);
    EXPECT_EQ(opened.files, nullptr);
    EXPECT_TRUE(opened.error.starts_with(path)) << opened.error;
    EXPECT_NE(opened.error.find(why), std::string::npos) << opened.error;
    EXPECT_NE(opened.error.find(remedy), std::string::npos) << opened.error;
  }

  static int openDescriptors(const std::string& path) {
    int count = 0;
    std::error_code gone;  // a descriptor may be closed while they are listed
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
      count += std::filesystem::read_symlink(entry.path(), gone) == path ? 1 : 0;
    }
    return count;
  }

  std::string root_;
  CacheLayout layout_;
};

// Written past the page cache whatever direct_io says, and read through it.
TEST_F(CacheDirectory, ForSendfileTheDataIsOpenTwice) {
  layout_.direct_io = false;
  layout_.sendfile = true;
  const CacheFiles::Opened opened = CacheFiles::open(layout_);
  if (opened.files == nullptr) {
    EXPECT_NE(opened.error.find("set disk_io to AUTO"), std::string::npos) << opened.error;
    GTEST_SKIP() << "this file system is not one for SENDFILE";
  }
  EXPECT_TRUE(opened.files->direct());
  ASSERT_EQ(opened.files->stripes().size(), 2U);
  for (const StripeFiles& stripe : opened.files->stripes()) {
    EXPECT_NE(fcntl(stripe.data_fd, F_GETFL) & O_DIRECT, 0);
    EXPECT_EQ(fcntl(stripe.cached_fd, F_GETFL) & O_DIRECT, 0);
    EXPECT_EQ(fcntl(stripe.cached_fd, F_GETFL) & O_ACCMODE, O_RDONLY);
    EXPECT_NE(stripe.mapped, nullptr);
    const StripeShared shared(stripe, nullptr, nullptr);
    EXPECT_EQ(shared.hitFile().fd, stripe.cached_fd);
    EXPECT_EQ(shared.recordFile().fd, stripe.data_fd);
  }
  // Nothing is left of the trial.
  for (const auto& entry : std::filesystem::directory_iterator(layout_.directory)) {
    EXPECT_EQ(entry.path().string().find("probe"), std::string::npos);
  }
}

TEST_F(CacheDirectory, WithoutSendfileItIsOpenOnce) {
  const CacheFiles::Opened opened = CacheFiles::open(layout_);
  ASSERT_NE(opened.files, nullptr);
  const StripeFiles& stripe = opened.files->stripes()[0];
  EXPECT_EQ(stripe.cached_fd, -1);
  EXPECT_EQ(stripe.mapped, nullptr);
  EXPECT_EQ(StripeShared(stripe, nullptr, nullptr).hitFile().fd, stripe.data_fd);
}

// A file system in memory has no pages but the file itself.
TEST(HeldPages, AreRefusedWhereTheyWouldChange) {
  if (access("/dev/shm", W_OK) != 0) {
    GTEST_SKIP() << "no file system in memory here";
  }
  EXPECT_NE(checkHeldPages("/dev/shm").find("SENDFILE: /dev/shm"), std::string::npos);
  EXPECT_NE(checkHeldPages("/nonexistent").find("SENDFILE: /nonexistent"), std::string::npos);
}

TEST_F(CacheDirectory, IsMadeWithAllItsFiles) {
  const CacheFiles::Opened opened = CacheFiles::open(layout_);
  ASSERT_EQ(opened.error, "");
  ASSERT_EQ(opened.files->stripes().size(), 2U);
  for (uint32_t i = 0; i < 2; i++) {
    const StripeFiles& stripe = opened.files->stripes()[i];
    EXPECT_EQ(stripe.superblock.stripe, i);
    EXPECT_EQ(stripe.superblock.stripe_count, 2U);
    EXPECT_EQ(stripe.superblock.segment_bytes, kMinSegmentBytes);
    EXPECT_EQ(stripe.superblock.segment_count, kMinSegments);
    EXPECT_EQ(stripe.superblock.formatted_s, 1000U);
    struct stat s{};
    ASSERT_EQ(fstat(stripe.data_fd, &s), 0);
    EXPECT_EQ(static_cast<uint64_t>(s.st_size),
              kDataOffset + uint64_t{kMinSegments} * kMinSegmentBytes);
    for (const int fd : {stripe.snapshot_fds[0], stripe.snapshot_fds[1], stripe.journal_fds[0],
                         stripe.journal_fds[1]}) {
      EXPECT_GE(fd, 0);
    }
  }
  const StripeFiles& first = opened.files->stripes()[0];
  const StripeFiles& second = opened.files->stripes()[1];
  EXPECT_EQ(first.superblock.cache_uuid, second.superblock.cache_uuid);
  EXPECT_EQ(first.superblock.hash_seed, second.superblock.hash_seed);
  EXPECT_EQ(opened.files->bytes(), 2 * kMinCacheBytes);
}

TEST_F(CacheDirectory, IsFoundAgain) {
  Superblock before;
  {
    const CacheFiles::Opened opened = CacheFiles::open(layout_);
    ASSERT_EQ(opened.error, "");
    before = opened.files->stripes()[1].superblock;
  }
  layout_.now_s = 2000;
  const CacheFiles::Opened opened = CacheFiles::open(layout_);
  ASSERT_EQ(opened.error, "");
  EXPECT_EQ(opened.files->stripes()[1].superblock, before);
}

TEST_F(CacheDirectory, KeepsItsIdentityWhenItGrows) {
  make();
  layout_.max_size_bytes += 4 * kMinSegmentBytes;
  const CacheFiles::Opened opened = CacheFiles::open(layout_);
  ASSERT_EQ(opened.error, "");
  EXPECT_EQ(opened.files->stripes()[0].superblock.segment_count, kMinSegments + 2);
  EXPECT_EQ(opened.files->stripes()[0].superblock.formatted_s, 1000U);
}

TEST_F(CacheDirectory, KeepsItsCutWhenItsSizeWouldMakeAnother) {
  layout_.stripes = 0;
  layout_.segment_bytes = 0;
  layout_.max_size_bytes = uint64_t{64} << 20;
  Superblock before;
  {
    const CacheFiles::Opened opened = CacheFiles::open(layout_);
    ASSERT_EQ(opened.error, "");
    before = opened.files->stripes()[0].superblock;
  }
  for (const uint64_t mebibytes : {256, 600, 40}) {
    layout_.max_size_bytes = mebibytes << 20;
    const CacheFiles::Opened opened = CacheFiles::open(layout_);
    ASSERT_EQ(opened.error, "") << mebibytes;
    if (mebibytes < 600) {
      const uint32_t segments = opened.files->segmentsFor(layout_.max_size_bytes);
      ASSERT_EQ(opened.files->setSegments(segments), "");
      ASSERT_EQ(opened.files->trimLogs(), "");
    }
    const Superblock& now = opened.files->stripes()[0].superblock;
    EXPECT_EQ(now.stripe_count, before.stripe_count);
    EXPECT_EQ(now.segment_bytes, before.segment_bytes);
    EXPECT_EQ(now.cache_uuid, before.cache_uuid);
    EXPECT_EQ(opened.files->stripes().size(), before.stripe_count);
    EXPECT_LE(opened.files->bytes(), layout_.max_size_bytes);
    EXPECT_GT(opened.files->bytes(),
              layout_.max_size_bytes - uint64_t{now.segment_bytes} * now.stripe_count);
  }
}

TEST_F(CacheDirectory, TooSmallForItsCutIsRefusedAndLeftAlone) {
  layout_.stripes = 4;
  layout_.max_size_bytes = 4 * kMinCacheBytes;
  make();
  const std::string bytes = contents(data(3));
  layout_.stripes = 0;
  layout_.max_size_bytes = 4 * kMinCacheBytes - 1;
  expectRefused(layout_.directory, "too small", std::to_string(4 * kMinCacheBytes));
  EXPECT_EQ(contents(data(3)), bytes);
  layout_.max_size_bytes = 4 * kMinCacheBytes;
  EXPECT_EQ(CacheFiles::open(layout_).error, "");
}

// The stripes must give up first what goes: a start cuts nothing.
TEST_F(CacheDirectory, OpensAsLargeAsItWas) {
  layout_.max_size_bytes += 8 * kMinSegmentBytes;
  make();
  layout_.max_size_bytes -= 8 * kMinSegmentBytes;
  const CacheFiles::Opened opened = CacheFiles::open(layout_);
  ASSERT_EQ(opened.error, "");
  EXPECT_EQ(opened.files->stripes()[1].superblock.segment_count, kMinSegments + 4);
  EXPECT_EQ(opened.files->segmentsFor(layout_.max_size_bytes), kMinSegments);
  EXPECT_EQ(opened.files->segmentsFor(layout_.max_size_bytes - 1), 0u);
  EXPECT_EQ(opened.files->bytesFor(kMinSegments), layout_.max_size_bytes);
}

// What a smaller size cut off may have been purged since: it must not come back.
TEST_F(CacheDirectory, WhatIsCutOffDoesNotComeBack) {
  const uint64_t small = layout_.max_size_bytes;
  const uint64_t large = small + 8 * kMinSegmentBytes;
  const size_t last = kDataOffset + (kMinSegments + 3) * size_t{kMinSegmentBytes};
  layout_.max_size_bytes = large;
  make();
  std::string bytes = contents(data(0));
  ASSERT_GT(bytes.size(), last);
  bytes.replace(last, 5, "alive");
  write(data(0), bytes);
  {
    const CacheFiles::Opened opened = CacheFiles::open(layout_);
    ASSERT_EQ(opened.error, "");
    ASSERT_EQ(opened.files->setSegments(opened.files->segmentsFor(small)), "");
    EXPECT_EQ(opened.files->bytes(), small);
    EXPECT_EQ(contents(data(0)).substr(last, 5), "alive");
    ASSERT_EQ(opened.files->trimLogs(), "");
  }
  EXPECT_EQ(contents(data(0)).size(), kDataOffset + kMinSegments * size_t{kMinSegmentBytes});
  layout_.max_size_bytes = large;
  make();
  EXPECT_EQ(contents(data(0)).substr(last, 5), std::string(5, '\0'));
}

// As a crash leaves it: the superblock says less than the file has.
TEST_F(CacheDirectory, TheSuperblockSaysWhatBelongsToTheLog) {
  make();
  std::string bytes = contents(data(0));
  const size_t end = bytes.size();
  bytes.resize(end + 3 * size_t{kMinSegmentBytes}, 'x');
  write(data(0), bytes);
  layout_.max_size_bytes += 8 * kMinSegmentBytes;
  make();
  bytes = contents(data(0));
  EXPECT_EQ(bytes.size(), end + 4 * size_t{kMinSegmentBytes});
  EXPECT_EQ(bytes.find('x', end), std::string::npos);
}

TEST_F(CacheDirectory, OfTheLeastSizeAndOneByteLess) {
  layout_.stripes = 1;
  layout_.max_size_bytes = kMinCacheBytes - 1;
  expectRefused(layout_.directory, "too small", std::to_string(kMinCacheBytes));
  EXPECT_FALSE(std::filesystem::exists(layout_.directory));
  layout_.max_size_bytes = kMinCacheBytes;
  EXPECT_EQ(CacheFiles::open(layout_).error, "");
}

TEST_F(CacheDirectory, InUseIsRefusedUntilItIsFree) {
  {
    const CacheFiles::Opened first = CacheFiles::open(layout_);
    ASSERT_EQ(first.error, "");
    expectRefused(layout_.directory, "in use", "directory of its own");
  }
  EXPECT_EQ(CacheFiles::open(layout_).error, "");
}

// A process that was killed may hold the lock a moment longer than it lives.
TEST_F(CacheDirectory, InUseIsWaitedFor) {
  CacheFiles::Opened holder = CacheFiles::open(layout_);
  ASSERT_EQ(holder.error, "");
  layout_.lock_patience_ms = 60'000;
  std::thread other([this] { EXPECT_EQ(CacheFiles::open(layout_).error, ""); });
  while (openDescriptors(layout_.directory + "/lock") < 2) {
    std::this_thread::yield();
  }
  holder.files.reset();
  other.join();
}

TEST_F(CacheDirectory, AForeignFileIsLeftAlone) {
  const std::string text = "somebody's letters";
  write(data(0), text);
  expectRefused(data(0), "not a Ringfence cache file", "directory of its own");
  EXPECT_EQ(contents(data(0)), text);
}

TEST_F(CacheDirectory, AnotherVersionIsLeftAlone) {
  make();
  std::string bytes = contents(data(0));
  for (const size_t at : {size_t{0}, size_t{kSuperblockCopyOffset}}) {
    bytes[at + 8] = kFormatVersion + 1;  // behind the magic
    const std::span<const std::byte> block = std::as_bytes(std::span(bytes)).subspan(at, 4092);
    const uint32_t crc = base::crc32c(block);
    std::memcpy(bytes.data() + at + 4092, &crc, sizeof crc);
  }
  write(data(0), bytes);
  expectRefused(data(0), "another version", "empty directory");
  EXPECT_EQ(contents(data(0)), bytes);
}

TEST_F(CacheDirectory, OfOtherGeometryIsLeftAlone) {
  make();
  const std::string bytes = contents(data(0));
  layout_.stripes = 1;
  expectRefused(data(0), "number of stripes", "restore `stripes`");
  layout_.stripes = 2;
  layout_.segment_bytes = 2 * kMinSegmentBytes;
  layout_.max_size_bytes *= 3;
  expectRefused(data(0), "segment size", "delete the directory");
  EXPECT_EQ(contents(data(0)), bytes);
}

TEST_F(CacheDirectory, KeepsItsCutWhenNoneIsConfigured) {
  make();
  layout_.stripes = 0;
  layout_.segment_bytes = 0;
  layout_.max_size_bytes *= 100;
  const CacheFiles::Opened opened = CacheFiles::open(layout_);
  ASSERT_EQ(opened.error, "");
  ASSERT_EQ(opened.files->stripes().size(), 2U);
  EXPECT_EQ(opened.files->stripes()[1].superblock.segment_bytes, kMinSegmentBytes);
  EXPECT_GT(opened.files->stripes()[1].superblock.segment_count, kMinSegments);
}

TEST_F(CacheDirectory, WithFilesOfTwoCachesIsRefused) {
  make();
  const std::string other = contents(data(1));
  std::filesystem::remove_all(layout_.directory);
  make();
  write(data(1), other);
  expectRefused(data(1), "another cache", "delete the directory");
}

TEST_F(CacheDirectory, OneDamagedSuperblockIsMendedAndTwoAreRefused) {
  make();
  std::string bytes = contents(data(0));
  bytes[100] ^= 1;
  write(data(0), bytes);
  EXPECT_EQ(CacheFiles::open(layout_).error, "");
  bytes = contents(data(0));
  bytes[100] ^= 2;
  bytes[kSuperblockCopyOffset + 100] ^= 1;
  write(data(0), bytes);
  expectRefused(data(0), "damaged", "delete the directory");
}

TEST_F(CacheDirectory, ThatIsAFileOrCannotBeMadeIsRefused) {
  layout_.directory = root_ + "/file";
  std::ofstream(layout_.directory) << "x";
  expectRefused(layout_.directory, "not a directory", "set `path`");
  layout_.directory = root_ + "/file/below";
  expectRefused(layout_.directory, "cannot make", "Not a directory");
}

TEST(CutCache, KeepsToItsLimits) {
  EXPECT_EQ(cutCache(kMinCacheBytes, 1, kMinSegmentBytes).segments_per_stripe, kMinSegments);
  EXPECT_EQ(cutCache(kMinCacheBytes - 1, 1, kMinSegmentBytes).stripe_count, 0U);
  EXPECT_EQ(cutCache(0, 0, 0).stripe_count, 0U);
  EXPECT_EQ(cutCache(kMinCacheBytes, 0, 0).stripe_count, 1U);
  for (const uint64_t bytes : {uint64_t{100} << 20, uint64_t{10} << 30, uint64_t{2} << 40}) {
    const StripeCut cut = cutCache(bytes, 0, 0);
    EXPECT_LE(
        cut.stripe_count * (kDataOffset + uint64_t{cut.segments_per_stripe} * cut.segment_bytes),
        bytes);
    EXPECT_GE(cut.segments_per_stripe,
              cut.segment_bytes == kMinSegmentBytes ? kMinSegments : kUsualSegments);
    EXPECT_LE(cut.segments_per_stripe, kMaxSegments);
  }
}

}  // namespace
}  // namespace store
