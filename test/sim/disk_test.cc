// Goal: the simulated disk keeps to its fault model: what was synced survives every crash, what was
// not is old or new sector by sector, and every fault that can be asked for happens. Method:
// coroutines that write, sync and crash over many seeds, against a model of what may be found.
#include "test/sim/disk.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <cstring>
#include <set>
#include <string>
#include <vector>

#include "source/rt/io.h"
#include "test/sim/script.h"
#include "test/sim/world.h"

namespace sim {
namespace {

constexpr base::MonoTime kLong{1000 * base::kSecond_ns};
constexpr uint32_t kSector = Disk::kSector_bytes;

// The operations run one after the other on a host; results stay in the order of the calls.
class DiskTest : public testing::Test {
 protected:
  void start(uint64_t seed, const DiskOptions& disk) {
    Options options;
    options.disk = disk;
    world_ = std::make_unique<SimWorld>(seed, options);
    host_ = &world_->addHost();
  }
  void finish() { EXPECT_EQ(world_->runToEnd(*host_, kLong), Ran::done); }
  int32_t run(rt::OpKind kind, int fd, std::span<std::byte> bytes, uint64_t offset) {
    int32_t result = 1;
    host_->spawn(fileOp(kind, fd, bytes, offset, host_->scope(), result));
    finish();
    return result;
  }
  int32_t write(int fd, uint64_t offset, std::vector<std::byte>& bytes) {
    return run(rt::OpKind::write, fd, bytes, offset);
  }
  int32_t sync(int fd) { return run(rt::OpKind::fsync, fd, {}, 0); }
  static std::vector<std::byte> fill(char letter, size_t sectors) {
    return std::vector<std::byte>(sectors * kSector, static_cast<std::byte>(letter));
  }
  // The letter that fills each sector; '?' for a mixture.
  std::string letters(std::string_view name) {
    std::string text;
    const std::span<std::byte> all = world_->disk().contents(name);
    for (size_t at = 0; at + kSector <= all.size(); at += kSector) {
      const std::byte first = all[at];
      bool same = true;
      for (const std::byte byte : all.subspan(at, kSector)) {
        same = same && byte == first;
      }
      text += !same ? '?' : first == std::byte{0} ? '.' : static_cast<char>(first);
    }
    return text;
  }

  static rt::Task<void> fileOp(rt::OpKind kind, int fd, std::span<std::byte> bytes, uint64_t offset,
                               rt::CancelScope& scope, int32_t& result) {
    const rt::IoResult done =
        co_await rt::FileOp(kind, fd, bytes, offset, false, scope, base::kNever);
    result = done.result;
  }

  std::unique_ptr<SimWorld> world_;
  SimHost* host_ = nullptr;
};

TEST_F(DiskTest, WhatWasSyncedSurvivesEveryCrash) {
  for (uint64_t seed = 1; seed <= 50; seed++) {
    start(seed, DiskOptions());
    const int fd = world_->openFile(*host_, "f", {.length = 8 * kSector});
    std::vector<std::byte> a = fill('a', 8);
    EXPECT_EQ(write(fd, 0, a), static_cast<int32_t>(a.size()));
    EXPECT_EQ(sync(fd), 0);
    world_->crashDisk();
    EXPECT_EQ(letters("f"), "aaaaaaaa");
  }
}

TEST_F(DiskTest, UnsyncedSectorsAreOldOrNewIndependently) {
  std::set<std::string> seen;
  for (uint64_t seed = 1; seed <= 300; seed++) {
    start(seed, DiskOptions());
    const int fd = world_->openFile(*host_, "f", {.length = 2 * kSector});
    std::vector<std::byte> a = fill('a', 2);
    std::vector<std::byte> b = fill('b', 2);
    write(fd, 0, a);
    sync(fd);
    write(fd, 0, b);
    EXPECT_EQ(letters("f"), "bb");
    world_->crashDisk();
    seen.insert(letters("f"));
  }
  EXPECT_EQ(seen, (std::set<std::string>{"aa", "ab", "ba", "bb"}));
}

TEST_F(DiskTest, AWriteUnderWayIsTornAtSectors) {
  std::set<std::string> seen;
  for (uint64_t seed = 1; seed <= 300; seed++) {
    start(seed, DiskOptions());
    const int fd = world_->openFile(*host_, "f", {.length = 3 * kSector});
    std::vector<std::byte> a = fill('a', 2);
    int32_t result = 1;
    host_->spawn(fileOp(rt::OpKind::write, fd, a, kSector / 2, host_->scope(), result));
    world_->runFor(1000);  // handed over, and no disk is so fast
    world_->crashDisk();
    finish();
    EXPECT_EQ(result, -EIO);
    for (const char letter : letters("f")) {
      EXPECT_TRUE(letter == '.' || letter == 'a' || letter == '?');
    }
    seen.insert(letters("f"));
  }
  EXPECT_EQ(seen.size(), 8U);  // half of the first, the second, half of the third: each or not
}

TEST_F(DiskTest, ASyncDoesNotCoverWritesThatEndAfterItBegan) {
  bool lost = false;
  for (uint64_t seed = 1; seed <= 100; seed++) {
    start(seed, DiskOptions());
    const int fd = world_->openFile(*host_, "f", {.length = kSector});
    std::vector<std::byte> a = fill('a', 1);
    int32_t wrote = 0;
    int32_t synced = 0;
    host_->spawn(fileOp(rt::OpKind::fsync, fd, {}, 0, host_->scope(), synced));
    host_->spawn(fileOp(rt::OpKind::write, fd, a, 0, host_->scope(), wrote));
    finish();
    EXPECT_EQ(synced, 0);
    EXPECT_EQ(wrote, static_cast<int32_t>(kSector));
    world_->crashDisk();
    lost = lost || letters("f") == ".";
  }
  EXPECT_TRUE(lost);
}

TEST_F(DiskTest, AfterAFailedSyncTheBytesAreVisibleUntilTheCrash) {
  DiskOptions options;
  options.sync_error = kAlways;
  options.write_back = 0;
  start(1, options);
  const int fd = world_->openFile(*host_, "f", {.length = kSector});
  std::vector<std::byte> a = fill('a', 1);
  write(fd, 0, a);
  EXPECT_EQ(sync(fd), -EIO);
  EXPECT_EQ(letters("f"), "a");
  world_->disk().setOptions(DiskOptions());
  EXPECT_EQ(sync(fd), 0);  // claims success, as Linux does
  world_->crashDisk();
  EXPECT_EQ(letters("f"), ".");
}

TEST_F(DiskTest, ErrorsComeWhenAskedFor) {
  DiskOptions options;
  options.read_error = options.write_error = kAlways;
  start(1, options);
  const int fd = world_->openFile(*host_, "f", {.length = kSector});
  std::vector<std::byte> a = fill('a', 1);
  EXPECT_EQ(write(fd, 0, a), -EIO);
  EXPECT_EQ(run(rt::OpKind::read, fd, a, 0), -EIO);
  EXPECT_EQ(world_->disk().counts().errors, 2U);
}

TEST_F(DiskTest, ShortTransfersEndAtSectors) {
  DiskOptions options;
  options.short_transfer = kAlways;
  start(1, options);
  const int fd = world_->openFile(*host_, "f", {.length = 8 * kSector});
  std::vector<std::byte> a = fill('a', 8);
  const int32_t wrote = write(fd, 0, a);
  EXPECT_GT(wrote, 0);
  EXPECT_LT(wrote, static_cast<int32_t>(8 * kSector));
  EXPECT_EQ(wrote % kSector, 0U);
  EXPECT_EQ(letters("f"),
            std::string(wrote / kSector, 'a') + std::string(8 - wrote / kSector, '.'));
}

TEST_F(DiskTest, AFileGrowsToItsLimitAndNotOneByteMore) {
  start(1, DiskOptions());
  const int fd = world_->openFile(*host_, "f", {.length = 0, .limit = 2 * kSector});
  std::vector<std::byte> a = fill('a', 3);
  EXPECT_EQ(write(fd, 0, a),
            static_cast<int32_t>(2 * kSector));  // short: there was room for so much
  EXPECT_EQ(write(fd, 2 * kSector, a), -ENOSPC);
  EXPECT_EQ(letters("f"), "aa");
}

TEST_F(DiskTest, DirectDescriptorsAskForAlignment) {
  start(1, DiskOptions());
  const int fd = world_->openFile(*host_, "f", {.length = 8 * kSector, .direct = true});
  alignas(512) static std::byte space[2 * kSector];
  const std::span<std::byte> all(space);
  EXPECT_EQ(run(rt::OpKind::read, fd, all, 0), static_cast<int32_t>(all.size()));
  EXPECT_EQ(run(rt::OpKind::read, fd, all, 1), -EINVAL);
  EXPECT_EQ(run(rt::OpKind::read, fd, all.first(100), 0), -EINVAL);
  EXPECT_EQ(run(rt::OpKind::read, fd, all.subspan(8, kSector), 0), -EINVAL);
}

TEST_F(DiskTest, BrokenDisksLoseMisdirectAndRot) {
  DiskOptions lose;
  lose.lost_write = kAlways;
  start(1, lose);
  int fd = world_->openFile(*host_, "f", {.length = 4 * kSector});
  std::vector<std::byte> a = fill('a', 1);
  EXPECT_EQ(write(fd, 0, a), static_cast<int32_t>(kSector));
  EXPECT_EQ(letters("f"), "....");

  DiskOptions misdirect;
  misdirect.misdirected_write = kAlways;
  std::set<std::string> seen;
  for (uint64_t seed = 1; seed <= 50; seed++) {
    start(seed, misdirect);
    fd = world_->openFile(*host_, "f", {.length = 4 * kSector});
    EXPECT_EQ(write(fd, 0, a), static_cast<int32_t>(kSector));
    seen.insert(letters("f"));
  }
  EXPECT_EQ(seen, (std::set<std::string>{"a...", ".a..", "..a.", "...a"}));

  DiskOptions rot;
  rot.bit_rot = kAlways;
  start(1, rot);
  fd = world_->openFile(*host_, "f", {.length = kSector});
  std::vector<std::byte> got = fill('x', 1);
  EXPECT_EQ(run(rt::OpKind::read, fd, got, 0), static_cast<int32_t>(kSector));
  int bits = 0;
  for (const std::byte byte : got) {
    bits += __builtin_popcount(static_cast<unsigned>(byte));
  }
  EXPECT_EQ(bits, 1);  // of a sector of zeros
}

TEST_F(DiskTest, ReopeningByNameFindsTheSameFile) {
  start(1, DiskOptions());
  const int first = world_->openFile(*host_, "f", {.length = kSector});
  std::vector<std::byte> a = fill('a', 1);
  write(first, 0, a);
  world_->closeNow(first);
  const int second = world_->openFile(*host_, "f", {.length = 5 * kSector});
  EXPECT_EQ(run(rt::OpKind::read, second, a, 0), static_cast<int32_t>(kSector));
  EXPECT_EQ(letters("f"), "a");  // the length of a file that exists does not change
}

// --- Killing a process ---

TEST_F(DiskTest, AKilledProcessEndsWithoutFurtherEffect) {
  for (uint64_t seed = 1; seed <= 30; seed++) {
    start(seed, DiskOptions());
    SimHost& other = world_->addHost({1});
    const int fd = world_->openFile(*host_, "f", {.length = kSector});
    const int listener = world_->listen(*host_, 80);
    std::vector<std::byte> a = fill('a', 1);
    int32_t wrote = 0;
    host_->spawn(fileOp(rt::OpKind::write, fd, a, 0, host_->scope(), wrote));
    host_->spawn([](int fd, rt::CancelScope& scope) -> rt::Task<void> {
      const rt::IoResult accepted = co_await rt::Accept(fd, scope);
      EXPECT_EQ(accepted.result, -ECANCELED);
      co_await rt::Close(fd);
    }(listener, host_->scope()));
    world_->runFor(1000);
    world_->kill(0);
    finish();
    EXPECT_EQ(wrote, -ECANCELED);
    EXPECT_EQ(write(fd, 0, a), -ECANCELED);
    // Nobody listens any more.
    int32_t connected = 0;
    other.spawn([](SimWorld& world, SimHost& host, int32_t& result) -> rt::Task<void> {
      const int fd = world.socket(host);
      result = co_await connectTo(fd, 80, host.scope());
      co_await rt::Close(fd);
    }(*world_, other, connected));
    EXPECT_EQ(world_->runToEnd(other, kLong), Ran::done);
    EXPECT_EQ(connected, -ECONNREFUSED);
  }
}

}  // namespace
}  // namespace sim
