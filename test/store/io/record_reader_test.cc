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

constexpr uint64_t kPatience_ns = 100 * base::kMillisecond_ns;

class Events final : public DiskEvents {
 public:
  void diskOut(uint16_t disk, DiskWork work, int32_t error) override {
    log += "out " + std::to_string(disk) + (work == DiskWork::read ? " read " : " write ") +
           std::to_string(error) + "; ";
  }
  void diskBack(uint16_t disk, DiskWork work) override {
    log += "back " + std::to_string(disk) + (work == DiskWork::read ? " read; " : " write; ");
  }
  std::string log;
};

class RecordReaderTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(life_.recover().ok());
    ASSERT_EQ(life_.append({.key = "a", .version = 1, .bytes = 20'000}).code, base::Code::ok);
    life_.flush();
    file_ = life_.shared().recordFile();
    file_.disk = 1;
    const std::optional<Entry> entry = life_.entry("a");
    ASSERT_TRUE(entry.has_value());
    at_ = life_.shared().table->locate(*entry);
  }
  void TearDown() override {
    setDisk(sim::DiskOptions());
    life_.host().spawn(stopping(&reader_));
    life_.finish();
    life_.stop();
    EXPECT_EQ(life_.pool().bytesInUse(), 0U);
  }
  static rt::Task<void> stopping(RecordReader* reader) { co_await reader->stop(); }
  rt::Task<void> reading(base::Code* code, uint64_t* took_ns) {
    co_await rt::Yield();  // started from outside, the clock may be that of the last turn
    const base::MonoTime begun = life_.host().reactor().now();
    base::Result<RecordReader::Read> read =
        co_await reader_.read(file_, at_, scope_, begun + kPatience_ns);
    *code = read.ok() ? base::Code::ok : read.error().code;
    *took_ns = life_.host().reactor().now().ns - begun.ns;
  }
  base::Code read() {
    base::Code code = base::Code::cancelled;
    life_.host().spawn(reading(&code, &took_ns_));
    life_.finish();
    return code;
  }
  void setDisk(const sim::DiskOptions& options) { world_.world.disk().setOptions(options); }

  StripeWorld world_{41};
  Life life_{world_};
  Events events_;
  RecordReader reader_{life_.host().reactor(), life_.pool(), 4, &events_};
  RecordFile file_;
  Location at_;
  rt::CancelScope scope_;
  uint64_t took_ns_ = 0;
};

TEST_F(RecordReaderTest, ADiskThatHangsIsLeftAtTheDeadlineWithTheMemory) {
  sim::DiskOptions hung;
  hung.hang = sim::kAlways;
  setDisk(hung);
  const uint64_t before = life_.pool().bytesInUse();
  while (reader_.stats().left == 0) {  // some can be cancelled before they reach the device
    EXPECT_EQ(read(), base::Code::timeout);
    EXPECT_LT(took_ns_, 2 * kPatience_ns);
  }
  EXPECT_GT(life_.pool().bytesInUse(), before);  // the kernel may still write there
  setDisk(sim::DiskOptions());
  life_.runFor(base::kSecond_ns);
  EXPECT_EQ(reader_.stats().left, 0U);
  EXPECT_EQ(life_.pool().bytesInUse(), before);
  EXPECT_EQ(read(), base::Code::ok);
}

TEST_F(RecordReaderTest, ReadsThatHangTakeNoPlacesOfAnotherDisk) {
  sim::DiskOptions hung;
  hung.hang = sim::kAlways;
  setDisk(hung);
  // Some can be cancelled before they reach the device; and before the eighth failure in a row.
  for (uint32_t i = 0; reader_.stats().left < 4 && i + 1 < DiskHealth::kFailures; i++) {
    EXPECT_EQ(read(), base::Code::timeout);
  }
  ASSERT_EQ(reader_.stats().left, 4U);
  hung.hang = 1;  // one in a million: what hangs goes on hanging
  setDisk(hung);
  EXPECT_EQ(read(), base::Code::timeout);  // all four places are taken
  file_.disk = 2;
  EXPECT_EQ(read(), base::Code::ok);
}

TEST_F(RecordReaderTest, ADiskThatFailsIsNotAskedForAWhile) {
  sim::DiskOptions broken;
  broken.read_error = sim::kAlways;
  setDisk(broken);
  for (uint32_t i = 0; i < DiskHealth::kFailures; i++) {
    EXPECT_EQ(events_.log, "");
    EXPECT_EQ(read(), base::Code::io_error);
  }
  EXPECT_EQ(events_.log, "out 1 read 5; ");
  const uint64_t asked = world_.world.disk().counts().reads;
  EXPECT_EQ(read(), base::Code::no_capacity);
  EXPECT_EQ(reader_.stats().refused, 1U);
  EXPECT_EQ(world_.world.disk().counts().reads, asked);
  setDisk(sim::DiskOptions());
  life_.runFor(DiskHealth::kPause_ns);
  EXPECT_EQ(read(), base::Code::ok);
  EXPECT_EQ(events_.log, "out 1 read 5; back 1 read; ");
  EXPECT_EQ(read(), base::Code::ok);
}

TEST_F(RecordReaderTest, AShortReadIsContinued) {
  sim::DiskOptions shorts;
  shorts.short_transfer = sim::kAlways;
  setDisk(shorts);
  EXPECT_EQ(read(), base::Code::ok);
  EXPECT_GT(reader_.stats().short_reads, 0U);
}

TEST_F(RecordReaderTest, ADamagedRecordIsCorruptAndAnotherTimesIsStale) {
  for (std::byte& byte : world_.world.disk().contents("data").subspan(
           segmentOffset(at_.segment, file_.segment_bytes) +
               uint64_t{at_.offset_units} * kUnitBytes + 10'000,
           1)) {
    byte ^= std::byte{1};
  }
  EXPECT_EQ(read(), base::Code::corrupt);
  at_.sequence++;
  EXPECT_EQ(read(), base::Code::stale_location);
  EXPECT_EQ(reader_.stats().corrupt, 1U);
  EXPECT_EQ(reader_.stats().stale_locations, 1U);
  EXPECT_EQ(events_.log, "");  // the disk did what it was asked
}

}  // namespace
}  // namespace store
