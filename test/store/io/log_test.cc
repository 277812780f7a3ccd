// Goal: what is appended to a stripe's log can be read back, while it is buffered, written, sealed,
// and reclaimed, and what goes wrong concerns the records it must concern and nothing else. Method:
// whole stripes on the simulated disk; every record that is read is checked against a function of
// its key and version.
#include "source/store/io/log.h"

#include <gtest/gtest.h>

#include <deque>
#include <string>
#include <vector>

#include "source/base/random.h"
#include "source/store/core/record_writer.h"
#include "test/store/io/stripe_world.h"

namespace store {
namespace {

constexpr uint64_t kManySteps = 250;

std::string keyOf(uint64_t number) {
  return "http://example.com/" + std::to_string(number);
}

TEST(Log, ReadsBackWhatWasAppended) {
  StripeWorld world(1);
  Life life(world);
  ASSERT_TRUE(life.recover().ok());
  for (const uint32_t bytes : {0U, 1U, 511U, 4096U, 131'072U, 131'073U, kMaxObjectBody}) {
    const std::string key = "size " + std::to_string(bytes);
    ASSERT_EQ(life.append({.key = key, .bytes = bytes}).code, base::Code::ok);
  }
  for (const uint32_t bytes : {0U, 1U, 511U, 4096U, 131'072U, 131'073U, kMaxObjectBody}) {
    const std::optional<FoundRecord> found = life.read("size " + std::to_string(bytes));
    ASSERT_TRUE(found.has_value()) << bytes;
    EXPECT_EQ(found->version, 1U);
  }
}

TEST(Log, TheTimerWritesWhatNothingElseWrites) {
  StripeWorld world(2);
  Life life(world);
  ASSERT_TRUE(life.recover().ok());
  ASSERT_EQ(life.append({.key = "a"}).code, base::Code::ok);
  ASSERT_TRUE(life.entry("a").has_value());
  EXPECT_TRUE(life.entry("a")->inBuffer());
  EXPECT_EQ(life.written().writes, 0U);
  const LogOptions defaults;
  life.runFor(defaults.flush_after_ns / 2);
  EXPECT_TRUE(life.entry("a")->inBuffer());
  life.runFor(defaults.flush_after_ns);
  EXPECT_FALSE(life.entry("a")->inBuffer());
  EXPECT_EQ(life.written().writes, 1U);
  EXPECT_EQ(life.written().written_bytes % kPageBytes, 0U);
  EXPECT_TRUE(life.read("a").has_value());
}

TEST(Log, AFlushEndsWhenWhatWasAppendedBeforeIsWritten) {
  StripeWorld world(3);
  Life life(world);
  ASSERT_TRUE(life.recover().ok());
  for (uint64_t i = 0; i < 20; i++) {
    ASSERT_EQ(life.append({.key = keyOf(i), .bytes = 100'000}).code, base::Code::ok);
  }
  life.flush();
  for (uint64_t i = 0; i < 20; i++) {
    EXPECT_FALSE(life.entry(keyOf(i))->inBuffer());
  }
}

// Writes end in any order. A flush must not count one that began after it.
TEST(Log, AFlushIsNotEndedByLaterWrites) {
  for (uint64_t seed = 1; seed <= 12; seed++) {
    sim::Options options;
    options.disk.spike = 500'000;
    options.disk.spike_max_ns = 50 * base::kMillisecond_ns;
    StripeWorld world(seed, options);
    Life life(world);
    ASSERT_TRUE(life.recover().ok());
    std::deque<AppendOutcome> outcomes(12);
    life.startAppend({.key = "first"}, &outcomes[0]);
    bool flushed = false;
    struct Flush {
      static rt::Task<void> run(StripeLog* log, bool* flushed) {
        co_await log->flush();
        *flushed = true;
      }
    };
    life.host().spawn(Flush::run(&life.store().log(), &flushed));
    for (uint64_t i = 1; i < outcomes.size(); i++) {
      life.startAppend({.key = keyOf(i), .bytes = 250'000}, &outcomes[i]);
    }
    ASSERT_EQ(world.world.run([&] { return flushed; }, world.world.now() + base::kSecond_ns),
              sim::Ran::done);
    EXPECT_FALSE(life.entry("first")->inBuffer()) << "seed " << seed;
    life.finish();
  }
}

TEST(Log, TheNewestVersionCounts) {
  StripeWorld world(4);
  Life life(world);
  ASSERT_TRUE(life.recover().ok());
  for (uint64_t version = 1; version <= 5; version++) {
    ASSERT_EQ(life.append({.key = "a", .version = version}).code, base::Code::ok);
    EXPECT_EQ(life.read("a")->version, version);
  }
}

TEST(Log, ReplacesOnlyTheVersionThatWasMeant) {
  StripeWorld world(5);
  Life life(world);
  ASSERT_TRUE(life.recover().ok());
  const AppendOutcome first = life.append({.key = "a", .version = 1});
  Piece copy{.key = "a", .version = 2};
  copy.replaces = first.appended->entry;
  const AppendOutcome second = life.append(copy);
  ASSERT_EQ(second.code, base::Code::ok);
  copy.version = 3;  // still meant for the first version
  EXPECT_EQ(life.append(copy).code, base::Code::cancelled);
  EXPECT_EQ(life.read("a")->version, 2U);
  ASSERT_TRUE(life.purge("a").ok());
  copy.replaces = second.appended->entry;
  EXPECT_EQ(life.append(copy).code, base::Code::cancelled);
  EXPECT_FALSE(life.read("a").has_value());
}

TEST(Log, WhatIsDoomedIsNotWritten) {
  StripeWorld world(6);
  Life life(world);
  ASSERT_TRUE(life.recover().ok());
  bool doomed = false;
  Piece piece{.key = "a"};
  piece.doomed = &doomed;
  ASSERT_EQ(life.append(piece).code, base::Code::ok);
  doomed = true;
  piece.version = 2;
  EXPECT_EQ(life.append(piece).code, base::Code::cancelled);
  EXPECT_EQ(life.read("a")->version, 1U);
}

TEST(Log, ARecordThatFitsNoSegmentIsRefusedAtOnce) {
  StripeWorld world(7);
  Life life(world);
  ASSERT_TRUE(life.recover().ok());
  const uint64_t before_ns = world.world.now().ns;
  std::vector<std::byte> chunk(bodyOf("x", 1, kMinSegmentBytes));
  // Only a chunk may be so long; its head is what an append looks at.
  RecordFields fields;
  fields.kind = RecordKind::chunk;
  fields.place.salt = life.shared().files.superblock.salt();
  fields.object_id = 1;
  std::vector<std::byte> record(recordBytes(0, 0, kMaxChunkBody));
  ASSERT_TRUE(encodeRecord(record, fields, {}, {}, chunk).ok());
  struct Append {
    static rt::Task<void> run(StripeLog* log, std::span<std::byte> record, rt::CancelScope* scope,
                              base::Code* code) {
      const Publish unlisted;
      base::Result<Appended> appended = co_await log->append(record, unlisted, *scope);
      *code = appended.ok() ? base::Code::ok : appended.error().code;
    }
  };
  base::Code code = base::Code::ok;
  life.host().spawn(Append::run(&life.store().log(), record, &life.host().scope(), &code));
  life.finish();
  EXPECT_EQ(code, base::Code::no_capacity);
  EXPECT_LT(world.world.now().ns - before_ns, StripeLog::kAppendWait_ns / 2);
}

// The log goes round many times. What was appended lately must be there; whatever is there must be
// the newest version; and no entry may point to nothing.
TEST(Log, WrapsManyTimesWithoutLosingWhatIsRecent) {
  for (uint64_t seed = 1; seed <= 3; seed++) {
    StripeWorld::Cut cut;
    cut.segments = 12;
    StripeWorld world(seed, sim::Options(), cut);
    Life life(world);
    ASSERT_TRUE(life.recover().ok());
    base::Random random(seed);
    std::map<uint64_t, uint64_t> newest;
    std::deque<std::pair<uint64_t, uint32_t>> recent;
    uint64_t recent_bytes = 0;
    for (uint64_t step = 1; step <= kManySteps; step++) {
      const uint64_t number = random.below(300);
      const auto bytes = static_cast<uint32_t>(random.below(kMaxObjectBody));
      ASSERT_EQ(life.append({.key = keyOf(number), .version = step, .bytes = bytes}).code,
                base::Code::ok);
      newest[number] = step;
      recent.emplace_back(number, bytes);
      recent_bytes += bytes;
      // The open segment and the two that were sealed last for the small queue are not reclaimed;
      // of each, a third at most is copies and a quarter is too short for the next record.
      while (recent_bytes > kMinSegmentBytes) {
        recent_bytes -= recent.front().second;
        recent.pop_front();
      }
      const uint64_t asked = recent[random.below(recent.size())].first;
      const std::optional<FoundRecord> found = life.read(keyOf(asked));
      ASSERT_TRUE(found.has_value())
          << "seed " << seed << " step " << step << " key " << asked << " since "
          << step - newest[asked] << " entry " << life.entry(keyOf(asked)).has_value()
          << " reclaimed " << life.written().reclaimed_segments << " dropped "
          << life.written().dropped_records << " again " << life.written().reinserted_bytes
          << " appended " << life.written().appended_bytes << " corrupt "
          << life.reader().stats().corrupt << " stale " << life.reader().stats().stale_locations;
      EXPECT_EQ(found->version, newest[asked]);
      life.shared().index->touch(life.hash(keyOf(asked)));
    }
    life.flush();
    life.runFor(base::kSecond_ns);
    EXPECT_GT(life.written().reclaimed_segments, 15U);
    EXPECT_GT(life.written().reinserted_records, 0U);
    uint64_t there = 0;
    for (const auto& [number, version] : newest) {
      const bool listed = life.entry(keyOf(number)).has_value();
      const std::optional<FoundRecord> found = life.read(keyOf(number));
      EXPECT_EQ(listed, found.has_value()) << number;
      if (found.has_value()) {
        EXPECT_EQ(found->version, version);
        there++;
      }
    }
    EXPECT_EQ(life.shared().index->size(), there);
    EXPECT_EQ(life.reader().stats().corrupt, 0U);
  }
}

TEST(Log, WhatIsHitSurvivesReclaim) {
  StripeWorld world(8);
  Life life(world);
  ASSERT_TRUE(life.recover().ok());
  ASSERT_EQ(life.append({.key = "hot", .bytes = 5000}).code, base::Code::ok);
  for (uint64_t i = 0; i < kManySteps; i++) {
    ASSERT_EQ(life.append({.key = keyOf(i), .bytes = 100'000}).code, base::Code::ok);
    life.shared().index->touch(life.hash("hot"));
    life.runFor(base::kMillisecond_ns);  // a log that is in haste writes nothing again
  }
  EXPECT_GT(life.written().reclaimed_segments, 16U);
  ASSERT_TRUE(life.read("hot").has_value());
  EXPECT_FALSE(life.entry(keyOf(0)).has_value());
}

// Appends of many at once, with reads of everything in between.
TEST(Log, ManyAppendsAtOnceAllEndUpReadable) {
  for (uint64_t seed = 1; seed <= 5; seed++) {
    sim::Options options;
    options.disk.short_transfer = 300'000;
    options.disk.spike = 50'000;
    StripeWorld world(seed, options);
    Life life(world);
    ASSERT_TRUE(life.recover().ok());
    for (int round = 0; round < 4; round++) {
      std::deque<AppendOutcome> outcomes(12);
      for (uint64_t i = 0; i < outcomes.size(); i++) {
        life.startAppend(
            {.key = keyOf(i), .version = static_cast<uint64_t>(round) + 1, .bytes = 150'000},
            &outcomes[i]);
      }
      life.finish();
      for (uint64_t i = 0; i < outcomes.size(); i++) {
        EXPECT_EQ(outcomes[i].code, base::Code::ok);
        const std::optional<FoundRecord> found = life.read(keyOf(i));
        ASSERT_TRUE(found.has_value());
        EXPECT_EQ(found->version, static_cast<uint64_t>(round) + 1);
      }
    }
  }
}

// A write that fails takes along the records it carried: none of them is found, and what was
// written before and after is.
TEST(Log, AWriteErrorDropsItsRecordsAndNoOthers) {
  StripeWorld world(9);
  Life life(world);
  ASSERT_TRUE(life.recover().ok());
  ASSERT_EQ(life.append({.key = "before"}).code, base::Code::ok);
  life.flush();
  sim::DiskOptions broken;
  broken.write_error = sim::kAlways;
  world.world.disk().setOptions(broken);
  ASSERT_EQ(life.append({.key = "lost 1"}).code, base::Code::ok);
  ASSERT_EQ(life.append({.key = "lost 2"}).code, base::Code::ok);
  ASSERT_EQ(life.append({.key = "before", .version = 2}).code, base::Code::ok);
  life.flush();
  EXPECT_EQ(life.written().errors, 1U);
  world.world.disk().setOptions(sim::DiskOptions());
  ASSERT_EQ(life.append({.key = "after"}).code, base::Code::ok);
  life.flush();
  EXPECT_FALSE(life.entry("lost 1").has_value());
  EXPECT_FALSE(life.entry("lost 2").has_value());
  EXPECT_FALSE(life.entry("before").has_value());  // the old version is not the key's any more
  EXPECT_TRUE(life.read("after").has_value());
}

TEST(Log, ReadErrorsDuringReclaimCostOnlyWhatWasToBeWrittenAgain) {
  sim::Options options;
  options.disk.read_error = 300'000;
  StripeWorld world(10, sim::Options());
  Life life(world);
  ASSERT_TRUE(life.recover().ok());
  world.world.disk().setOptions(options.disk);
  for (uint64_t i = 0; i < 150; i++) {
    ASSERT_EQ(life.append({.key = keyOf(i), .bytes = 100'000}).code, base::Code::ok);
    life.shared().index->touch(life.hash(keyOf(i)));
  }
  world.world.calm();
  life.flush();
  EXPECT_GT(life.written().reclaimed_segments, 5U);
  uint64_t there = 0;
  for (uint64_t i = 0; i < 150; i++) {
    there += life.read(keyOf(i)).has_value() ? 1 : 0;
  }
  EXPECT_GT(there, 20U);
  EXPECT_TRUE(life.read(keyOf(149)).has_value());
}

// Reads wait, so nothing can be reclaimed, and the log runs out of segments.
TEST(Log, WithoutAFreeSegmentAnAppendIsRefusedAfterAWhile) {
  StripeWorld::Cut cut;
  cut.reads = 1;
  StripeWorld world(11, sim::Options(), cut);
  Life life(world);
  ASSERT_TRUE(life.recover().ok());
  const int never_ready = world.world.openEvent(life.host());
  struct Read {
    static rt::Task<void> run(RecordReader* reader, int fd, rt::Buffer buffer,
                              rt::CancelScope* scope) {
      RecordFile file;
      file.fd = fd;
      base::Status read = co_await reader->readBytes(file, buffer.span().first(8), 0, *scope);
      EXPECT_FALSE(read.ok());
    }
  };
  rt::CancelScope blocker;
  life.host().spawn(Read::run(&life.reader(), never_ready, life.pool().tryTake(4096), &blocker));
  std::deque<AppendOutcome> outcomes;
  uint64_t appended = 0;
  while (true) {
    AppendOutcome& outcome = outcomes.emplace_back();
    const uint64_t begun_ns = world.world.now().ns;
    life.startAppend({.key = keyOf(appended), .bytes = 200'000}, &outcome);
    ASSERT_EQ(
        world.world.run([&] { return outcome.ended; }, world.world.now() + 10 * base::kSecond_ns),
        sim::Ran::done);
    if (outcome.code != base::Code::ok) {
      EXPECT_EQ(outcome.code, base::Code::no_capacity);
      EXPECT_GE(world.world.now().ns - begun_ns, StripeLog::kAppendWait_ns);
      break;
    }
    appended++;
    ASSERT_LT(appended, 100U);
  }
  EXPECT_EQ(life.written().refused, 1U);
  EXPECT_GE(appended, uint64_t{world.cut.segments} * 4);
  EXPECT_EQ(life.written().reclaimed_segments, 0U);
  // Once something can be reclaimed again, the log goes on.
  blocker.request();
  world.world.runFor(base::kSecond_ns);
  EXPECT_EQ(life.append({.key = "again", .bytes = 200'000}).code, base::Code::ok);
  EXPECT_TRUE(life.read("again").has_value());
  EXPECT_GT(life.written().reclaimed_segments, 0U);
  world.world.closeNow(never_ready);
}

// A stop may come while a segment is being reclaimed: what that still appends is written too.
TEST(Log, StopsInTheMiddleOfAReclaim) {
  for (uint64_t seed = 1; seed <= 5; seed++) {
    StripeWorld world(seed);
    {
      Life life(world);
      ASSERT_TRUE(life.recover().ok());
      uint64_t i = 0;
      while (life.written().reinserted_records == 0 && i < 200) {
        ASSERT_EQ(life.append({.key = keyOf(i), .bytes = 100'000}).code, base::Code::ok);
        life.shared().index->touch(life.hash(keyOf(i)));
        life.runFor(base::kMillisecond_ns);
        i++;
      }
      ASSERT_GT(life.written().reinserted_records, 0U);
      world.world.runFor(seed * 300 * base::kMicrosecond_ns);
      life.stop();
    }
    Life next(world);
    const base::Result<RecoveryReport> report = next.recover();
    ASSERT_TRUE(report.ok());
    EXPECT_TRUE(report.value().from_snapshot);
  }
}

// Footers may be slow while slabs are fast: the log waits rather than have any number of them.
TEST(Log, SlowFootersHoldTheLogBack) {
  for (uint64_t seed = 1; seed <= 2; seed++) {
    StripeWorld::Cut cut;
    cut.segments = 64;
    sim::Options options;
    options.disk.spike = 500'000;
    options.disk.spike_max_ns = 2 * base::kSecond_ns;
    StripeWorld world(seed, sim::Options(), cut);
    Life life(world);
    ASSERT_TRUE(life.recover().ok());
    world.world.disk().setOptions(options.disk);
    std::vector<std::string> kept;
    for (uint64_t i = 0; i < 160; i++) {
      // Reclaim is slow too, so some appends are refused.
      const base::Code code = life.append({.key = keyOf(i), .bytes = 250'000}).code;
      ASSERT_TRUE(code == base::Code::ok || code == base::Code::no_capacity);
      if (code == base::Code::ok) {
        kept.push_back(keyOf(i));
      }
    }
    world.world.calm();
    life.flush();
    ASSERT_GT(kept.size(), 80U);
    for (const std::string& key : std::span(kept).last(60)) {
      EXPECT_TRUE(life.read(key).has_value());
    }
  }
}

TEST(Log, ASoftPurgeOfABufferedRecordLeavesItReadable) {
  StripeWorld world(12);
  Life life(world);
  ASSERT_TRUE(life.recover().ok());
  ASSERT_EQ(life.append({.key = "a"}).code, base::Code::ok);
  ASSERT_TRUE(life.entry("a")->inBuffer());
  ASSERT_TRUE(life.purge("a", true).ok());
  life.flush();
  ASSERT_TRUE(life.entry("a").has_value());
  EXPECT_FALSE(life.entry("a")->inBuffer());
  const std::optional<FoundRecord> found = life.read("a");
  ASSERT_TRUE(found.has_value());
  EXPECT_TRUE(found->stale);
}

}  // namespace
}  // namespace store
