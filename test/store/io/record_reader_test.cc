// Goal: reading a record takes no longer than its deadline whatever the disk does, leaves the
// memory to the kernel for as long as it has it, and asks a disk that fails no more than it should.
// Method: a stripe on the simulated disk, which hangs, fails and comes back when told to.
#include "source/store/io/record_reader.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "test/store/io/stripe_world.h"

namespace store {
namespace {

class Events final : public DiskEvents {
 public:
  void diskOut(uint16_t disk, DiskWork work, int32_t error) override {
    log += "out " + std::to_string(disk) + (work == DiskWork::read ? " read " : " write ") +
           std::to_string(error) + "; ";
  }
  void diskBack(uint16_t disk, DiskWork work) override {
    log += "back " + std::to_string(disk) + (work == DiskWork::read ? " read; " : " write; ");
  }
  void recovered(uint16_t, uint32_t, const RecoveryReport&, uint64_t) override {}
  void notRecovered(uint16_t, uint32_t, const base::Error&) override {}
  void invalidationsLost(uint16_t, uint32_t, uint64_t, const base::Error&) override {}
  void notStopped(uint16_t, uint32_t) override {}
  std::string log;
};

class RecordReaderTest : public testing::Test {
 protected:
  static constexpr uint32_t kPlaces = 4;
  static constexpr uint32_t kRecords = 10;

  void SetUp() override {
    ASSERT_TRUE(life_.recover().ok());
    file_ = life_.shared().recordFile();
    file_.disk = 1;
    for (uint32_t i = 0; i < kRecords; i++) {
      const std::string key = "key " + std::to_string(i);
      ASSERT_EQ(life_.append({.key = key, .version = 1, .bytes = 20'000}).code, base::Code::ok);
      life_.flush();
      at_.push_back(life_.shared().table->locate(life_.entry(key).value_or(Entry())));
    }
  }
  void TearDown() override {
    setDisk(sim::DiskOptions());
    life_.host().spawn(stopping(&reader_));
    life_.finish();
    life_.stop();
    EXPECT_EQ(life_.pool().bytesInUse(), 0U);
  }
  static rt::Task<void> stopping(RecordReader* reader) { co_await reader->stop(); }
  struct Outcome {
    base::Code code = base::Code::cancelled;
    uint64_t took_ns = 0;
    RecordRef held;
  };
  rt::Task<void> reading(uint32_t record, Outcome* outcome) {
    co_await rt::Yield();  // started from outside, the clock may be that of the last turn
    const base::MonoTime begun = life_.host().reactor().now();
    base::Result<RecordRef> read =
        co_await reader_.read(file_, at_[record], scope_, begun + limit_ns_);
    outcome->code = read.ok() ? base::Code::ok : read.error().code;
    outcome->took_ns = life_.host().reactor().now().ns - begun.ns;
    if (read.ok()) {
      outcome->held = std::move(read.value());
    }
  }
  // One turn that takes so long, once the disk has been asked.
  rt::Task<void> working(uint64_t ns) {
    const uint64_t before = diskReads();
    while (diskReads() == before) {
      co_await rt::Yield();
    }
    world_.world.core().advanceTo(world_.world.core().now() + ns);
  }
  Outcome read(uint32_t record = 0) {
    Outcome outcome;
    life_.host().spawn(reading(record, &outcome));
    life_.finish();
    return outcome;
  }
  void setDisk(const sim::DiskOptions& options) { world_.world.disk().setOptions(options); }
  uint64_t diskReads() { return world_.world.disk().counts().reads; }

  StripeWorld world_{41};
  Life life_{world_};
  Events events_;
  RecordReader reader_{life_.host().reactor(), life_.pool(), kPlaces, &events_};
  RecordFile file_;
  std::vector<Location> at_;
  rt::CancelScope scope_;
  uint64_t limit_ns_ = 60 * base::kSecond_ns;
};

TEST_F(RecordReaderTest, ADiskThatHangsIsWaitedForASecondAndKeepsTheMemory) {
  sim::DiskOptions hung;
  hung.hang = sim::kAlways;
  setDisk(hung);
  const uint64_t before = life_.pool().bytesInUse();
  const Outcome outcome = read();
  EXPECT_EQ(outcome.code, base::Code::timeout);
  EXPECT_GE(outcome.took_ns, kDiskPatience_ns);
  EXPECT_LT(outcome.took_ns, kDiskPatience_ns + 100 * base::kMillisecond_ns);
  EXPECT_EQ(reader_.stats().late, 1U);
  EXPECT_EQ(reader_.stats().timeouts, 1U);
  EXPECT_GT(life_.pool().bytesInUse(), before);  // the kernel may still write there
  // Whoever wants the same need not wait as long again.
  EXPECT_EQ(read().code, base::Code::timeout);
  EXPECT_LT(read().took_ns, base::kMillisecond_ns);
  EXPECT_EQ(reader_.stats().timeouts, 1U);
  setDisk(sim::DiskOptions());
  life_.runFor(base::kSecond_ns);
  EXPECT_EQ(reader_.stats().late, 0U);
  EXPECT_EQ(life_.pool().bytesInUse(), before);
  EXPECT_EQ(read().code, base::Code::ok);
}

// The disk gave the read back in time; the shard did not look.
TEST_F(RecordReaderTest, ATurnThatTakesTooLongIsNotTheDisksDelay) {
  Outcome outcome;
  life_.host().spawn(reading(0, &outcome));
  life_.host().spawn(working(2 * kDiskPatience_ns));
  life_.finish();
  EXPECT_EQ(outcome.code, base::Code::ok);
  EXPECT_GE(outcome.took_ns, 2 * kDiskPatience_ns);
  EXPECT_EQ(reader_.stats().late, 0U);
  EXPECT_EQ(reader_.stats().timeouts, 0U);
}

TEST_F(RecordReaderTest, AShardThatIsAlwaysBehindIsPatientForSoLongOnly) {
  sim::DiskOptions hung;
  hung.hang = sim::kAlways;
  setDisk(hung);
  life_.host().engine().setBehind(true);
  const Outcome outcome = read();
  EXPECT_EQ(outcome.code, base::Code::timeout);
  EXPECT_EQ(reader_.stats().timeouts, 1U);
  EXPECT_GE(outcome.took_ns, kBusyPatience_ns);
  EXPECT_LT(outcome.took_ns, kBusyPatience_ns + 100 * base::kMillisecond_ns);
  life_.host().engine().setBehind(false);
}

// What was begun ahead is read once, and whoever wants it gets that read.
TEST_F(RecordReaderTest, AReadAheadIsSharedByWhoWantsIt) {
  const uint64_t reads = diskReads();
  RecordRef ahead = reader_.ahead(file_, at_[0]);
  ASSERT_TRUE(ahead);
  Outcome outcome = read(0);
  EXPECT_EQ(outcome.code, base::Code::ok);
  EXPECT_EQ(outcome.held.record().key, "key 0");
  EXPECT_EQ(diskReads(), reads + 1);
  EXPECT_EQ(reader_.stats().ahead, 1U);
  EXPECT_EQ(reader_.stats().shared, 0U);
  EXPECT_EQ(read(0).code, base::Code::ok);
  EXPECT_EQ(reader_.stats().shared, 1U);
}

TEST_F(RecordReaderTest, AReadAheadThatNobodyWantsAnyMoreGivesItsMemoryBack) {
  const uint64_t before = life_.pool().bytesInUse();
  RecordRef ahead = reader_.ahead(file_, at_[0]);
  ASSERT_TRUE(ahead);
  ahead.reset();
  life_.runFor(base::kSecond_ns);
  EXPECT_EQ(life_.pool().bytesInUse(), before);
  EXPECT_EQ(read(0).code, base::Code::ok);
}

// One that failed is read again for who wants it.
TEST_F(RecordReaderTest, AFailedReadAheadIsTriedAgain) {
  sim::DiskOptions failing;
  failing.read_error = sim::kAlways;
  setDisk(failing);
  RecordRef ahead = reader_.ahead(file_, at_[0]);
  ASSERT_TRUE(ahead);
  life_.runFor(base::kSecond_ns);
  setDisk(sim::DiskOptions());
  EXPECT_EQ(read(0).code, base::Code::ok);
}

TEST_F(RecordReaderTest, ReadsAheadLeaveHalfOfThePlaces) {
  std::vector<RecordRef> held;
  sim::DiskOptions hung;
  hung.hang = sim::kAlways;
  setDisk(hung);
  for (uint32_t i = 0; i < kPlaces / 2; i++) {
    held.push_back(reader_.ahead(file_, at_[i]));
    EXPECT_TRUE(held.back());
    life_.runFor(base::kMillisecond_ns);
  }
  EXPECT_FALSE(reader_.ahead(file_, at_[kPlaces / 2]));
  setDisk(sim::DiskOptions());
  life_.runFor(base::kSecond_ns);
  EXPECT_TRUE(reader_.ahead(file_, at_[kPlaces / 2]));
}

TEST_F(RecordReaderTest, ReadsAheadLeaveHalfOfTheMemory) {
  const uint64_t half = life_.pool().region().size() / 2;
  std::vector<rt::Buffer> taken;
  while (life_.pool().bytesInUse() + 32'768 < half) {
    taken.push_back(life_.pool().tryTake(32'768));
  }
  taken.push_back(life_.pool().tryTake(32'768));
  EXPECT_FALSE(reader_.ahead(file_, at_[0]));
  taken.pop_back();
  taken.pop_back();
  EXPECT_TRUE(reader_.ahead(file_, at_[0]));
  taken.clear();
}

TEST_F(RecordReaderTest, ACallersDeadlineMayBeShorter) {
  sim::DiskOptions hung;
  hung.hang = sim::kAlways;
  setDisk(hung);
  limit_ns_ = 10 * base::kMillisecond_ns;
  EXPECT_EQ(read().code, base::Code::timeout);
  EXPECT_EQ(reader_.stats().timeouts, 0U);  // that says nothing of the disk
}

TEST_F(RecordReaderTest, ReadsThatHangTakeNoPlacesOfAnotherDisk) {
  sim::DiskOptions hung;
  hung.hang = sim::kAlways;
  setDisk(hung);
  for (uint32_t i = 0; i < kPlaces; i++) {
    EXPECT_EQ(read(i).code, base::Code::timeout);
  }
  hung.hang = 1;  // one in a million: what hangs goes on hanging
  setDisk(hung);
  limit_ns_ = 3 * base::kSecond_ns;
  const Outcome waited = read(kPlaces);  // for a place: all are taken
  EXPECT_EQ(waited.code, base::Code::timeout);
  EXPECT_GE(waited.took_ns, limit_ns_);
  file_.disk = 2;
  EXPECT_EQ(read(kPlaces + 1).code, base::Code::ok);
}

TEST_F(RecordReaderTest, WhatIsBeingReadOrHeldIsSharedAndReadOnce) {
  const uint64_t before = diskReads();
  std::vector<Outcome> outcomes(5);
  for (Outcome& outcome : outcomes) {
    life_.host().spawn(reading(0, &outcome));
  }
  life_.finish();
  for (const Outcome& outcome : outcomes) {
    EXPECT_EQ(outcome.code, base::Code::ok);
    EXPECT_EQ(outcome.held.record().body.data(), outcomes[0].held.record().body.data());
  }
  EXPECT_EQ(diskReads(), before + 1);
  Outcome later = read();
  EXPECT_EQ(later.code, base::Code::ok);
  EXPECT_EQ(diskReads(), before + 1);
  EXPECT_EQ(reader_.stats().shared, 5U);
  outcomes.clear();
  EXPECT_GT(later.held.record().body.size(), 0U);
  later.held.reset();
  EXPECT_EQ(read().code, base::Code::ok);
  EXPECT_EQ(diskReads(), before + 2);
}

// A chunk may be asked for while it is still in its owner's buffer. Who asks again once it has been
// written must not get the answer of a read that began before.
TEST_F(RecordReaderTest, AReadThatBeganBeforeIsNoReasonToCallARecordStale) {
  std::span<std::byte> page = world_.world.disk().contents("data").subspan(
      segmentOffset(at_[0].segment, file_.segment_bytes) +
          uint64_t{at_[0].offset_units} * kUnitBytes,
      kUnitBytes);
  const std::vector<std::byte> written(page.begin(), page.end());
  std::fill(page.begin(), page.end(), std::byte{0});
  const uint64_t before = diskReads();
  Outcome early;
  life_.host().spawn(reading(0, &early));
  ASSERT_EQ(
      world_.world.run([&] { return diskReads() > before; }, world_.world.now() + base::kSecond_ns),
      sim::Ran::done);  // the bytes have been taken; nobody has been told yet
  std::copy(written.begin(), written.end(), page.begin());
  EXPECT_EQ(read().code, base::Code::ok);
  EXPECT_NE(early.code, base::Code::ok);
}

TEST_F(RecordReaderTest, OneWhoLeavesTakesNothingFromTheOthers) {
  Outcome left;
  Outcome stays;
  limit_ns_ = 0;
  life_.host().spawn(reading(0, &left));
  life_.runFor(1);
  limit_ns_ = base::kSecond_ns;
  life_.host().spawn(reading(0, &stays));
  life_.finish();
  EXPECT_EQ(left.code, base::Code::timeout);
  EXPECT_EQ(stays.code, base::Code::ok);
}

TEST_F(RecordReaderTest, ADiskThatFailsIsNotAskedForAWhile) {
  sim::DiskOptions broken;
  broken.read_error = sim::kAlways;
  setDisk(broken);
  for (uint32_t i = 0; i < DiskHealth::kFailures; i++) {
    EXPECT_EQ(events_.log, "");
    EXPECT_EQ(read().code, base::Code::io_error);
  }
  EXPECT_EQ(events_.log, "out 1 read 5; ");
  const uint64_t asked = diskReads();
  EXPECT_EQ(read().code, base::Code::no_capacity);
  EXPECT_EQ(reader_.stats().refused, 1U);
  EXPECT_EQ(diskReads(), asked);
  setDisk(sim::DiskOptions());
  life_.runFor(DiskHealth::kPause_ns);
  EXPECT_EQ(read().code, base::Code::ok);
  EXPECT_EQ(events_.log, "out 1 read 5; back 1 read; ");
  EXPECT_EQ(read().code, base::Code::ok);
}

TEST_F(RecordReaderTest, AShortReadIsContinued) {
  sim::DiskOptions shorts;
  shorts.short_transfer = sim::kAlways;
  setDisk(shorts);
  EXPECT_EQ(read().code, base::Code::ok);
  EXPECT_GT(reader_.stats().short_reads, 0U);
}

TEST_F(RecordReaderTest, ADamagedRecordIsCorruptAndAnotherTimesIsStale) {
  for (std::byte& byte : world_.world.disk().contents("data").subspan(
           segmentOffset(at_[0].segment, file_.segment_bytes) +
               uint64_t{at_[0].offset_units} * kUnitBytes + 10'000,
           1)) {
    byte ^= std::byte{1};
  }
  EXPECT_EQ(read().code, base::Code::corrupt);
  at_[0].sequence++;
  EXPECT_EQ(read().code, base::Code::stale_location);
  EXPECT_EQ(reader_.stats().corrupt, 1U);
  EXPECT_EQ(reader_.stats().stale_locations, 1U);
  EXPECT_EQ(events_.log, "");  // the disk did what it was asked
}

}  // namespace
}  // namespace store
