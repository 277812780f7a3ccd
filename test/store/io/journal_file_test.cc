// Goal: the purge journal keeps every purge that was answered, through compactions and crashes at
// any point of them, and its cost stays in proportion. Method: the journal alone on two files of
// the simulated disk, against the list of purges that it acknowledged.
#include "source/store/io/journal_file.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "test/sim/world.h"

namespace store {
namespace {

constexpr uint32_t kSalt = 99;
constexpr base::MonoTime kLong{100'000 * base::kSecond_ns};

base::Hash128 hashOf(uint64_t number) {
  return base::hash128({reinterpret_cast<const char*>(&number), sizeof number}, 1);
}

PurgeRecord purgeOf(uint64_t number, LogPosition before) {
  PurgeRecord record;
  record.hash = hashOf(number);
  record.before = before;
  return record;
}

// A journal of one process; the files outlive it.
class Process {
 public:
  Process(sim::SimWorld& world, uint32_t number)
      : world_(world), number_(number), host_(world.addHost({number, base::ShardId{0}})) {
    sim::FileSpec spec;
    spec.limit = 64 << 20;
    for (const char* name : {"a", "b", "data"}) {
      fds_.push_back(world.openFile(host_, name, spec));
    }
    journal_.emplace(std::array<int, 2>{fds_[0], fds_[1]}, fds_[2], kSalt);
  }
  ~Process() {
    for (const int fd : fds_) {
      world_.closeNow(fd);
    }
  }

  base::Status recover() {
    base::Status status = base::Unit{};
    host_.spawn(recovering(&status));
    finish();
    return status;
  }
  // Appends purges of these keys, and counts those that were acknowledged.
  void append(uint64_t first, uint64_t count, uint64_t oldest_live, uint64_t* acknowledged) {
    host_.spawn(appending(first, count, oldest_live, acknowledged));
  }
  bool giveUp() {
    base::Status status = base::Unit{};
    host_.spawn(givingUp(&status));
    finish();
    return status.ok();
  }
  base::Status noteDropped(std::vector<base::Hash128> keys) {
    base::Status status = base::Unit{};
    host_.spawn(noting(std::move(keys), &status));
    finish();
    return status;
  }
  void startRecovery(base::Status* status) { host_.spawn(recovering(status)); }
  void finish() { ASSERT_EQ(world_.runToEnd(host_, kLong), sim::Ran::done); }
  void die() {
    world_.kill(number_);
    finish();
    world_.crashDisk();
  }
  const PurgeSet& purges() const { return purges_; }
  JournalFile& journal() { return *journal_; }

 private:
  rt::Task<void> recovering(base::Status* status) {
    *status = co_await journal_->recover(purges_, Unreadable::fails, host_.scope());
    if (status->ok()) {
      *status = co_await journal_->begin(journal_->generation() + 1, 1, host_.scope());
    }
  }
  rt::Task<void> givingUp(base::Status* status) {
    *status = co_await journal_->giveUp(host_.scope());
  }
  rt::Task<void> noting(std::vector<base::Hash128> keys, base::Status* status) {
    if (!journal_->known()) {
      *status = co_await journal_->recover(purges_, Unreadable::fails, host_.scope());
    }
    if (status->ok()) {
      *status = co_await journal_->noteDropped(keys, false, 1, host_.scope());
    }
  }
  rt::Task<void> appending(uint64_t first, uint64_t count, uint64_t oldest_live,
                           uint64_t* acknowledged) {
    for (uint64_t i = 0; i < count; i++) {
      const PurgeRecord purge = purgeOf(first + i, LogPosition{first + i + 1, 0});
      base::Status appended = co_await journal_->append(purge, oldest_live, host_.scope());
      if (!appended.ok()) {
        co_return;
      }
      ++*acknowledged;
    }
  }

  sim::SimWorld& world_;
  uint32_t number_;
  sim::SimHost& host_;
  std::vector<int> fds_;
  PurgeSet purges_;
  std::optional<JournalFile> journal_;
};

TEST(JournalFile, KeepsWhatItAcknowledgedThroughCrashesAtAnyTime) {
  for (uint64_t seed = 1; seed <= 15; seed++) {
    SCOPED_TRACE(seed);
    sim::Options options;
    options.disk.write_back = 400'000;
    options.disk.short_transfer = 100'000;
    sim::SimWorld world(seed, options);
    uint64_t acknowledged = 0;
    for (uint32_t life = 1; life <= 6; life++) {
      Process process(world, life);
      ASSERT_TRUE(process.recover().ok());
      for (uint64_t i = 0; i < acknowledged; i++) {
        ASSERT_EQ(process.purges().verdict(hashOf(i), LogPosition{i + 1, 0}), PurgeVerdict::keep);
        ASSERT_EQ(process.purges().verdict(hashOf(i), LogPosition{i, 5}), PurgeVerdict::drop) << i;
      }
      process.append(acknowledged, 50, 0, &acknowledged);
      world.runFor(world.random().below(40 * base::kMillisecond_ns));
      process.die();
    }
  }
}

TEST(JournalFile, ACrashInTheMiddleOfRecoveryLosesNothing) {
  for (uint64_t seed = 1; seed <= 15; seed++) {
    SCOPED_TRACE(seed);
    sim::SimWorld world(seed);
    uint64_t acknowledged = 0;
    {
      Process process(world, 1);
      ASSERT_TRUE(process.recover().ok());
      process.append(0, 20, 0, &acknowledged);
      process.finish();
      ASSERT_EQ(acknowledged, 20U);
      process.die();
    }
    for (uint32_t life = 2; life <= 4; life++) {
      Process process(world, life);
      world.at(world.now() + world.random().below(12 * base::kMillisecond_ns),
               [&world, life] { world.kill(life); });
      static_cast<void>(process.recover());  // begins a new file; it may not get far
      world.runFor(20 * base::kMillisecond_ns);
      process.die();
    }
    Process process(world, 5);
    ASSERT_TRUE(process.recover().ok());
    for (uint64_t i = 0; i < acknowledged; i++) {
      ASSERT_EQ(process.purges().verdict(hashOf(i), LogPosition{i, 5}), PurgeVerdict::drop) << i;
    }
  }
}

// A journal as an earlier process left it, with this many purges.
void writeJournal(sim::SimWorld& world, std::string_view name, uint64_t purges) {
  JournalHeader header;
  header.generation = 1;
  std::span<std::byte> file = world.disk().contents(name);
  encodeJournalHeader(file.first(kJournalHeaderBytes), header, kSalt);
  for (uint64_t i = 0; i < purges; i++) {
    PurgeRecord record = purgeOf(i, LogPosition{i + 1, 0});
    record.number = i;
    encodePurge(file.subspan(kJournalHeaderBytes + i * kJournalRecordBytes, kJournalRecordBytes),
                record, kSalt);
  }
}

// Past its limit the journal is written anew, but not again and again when all of it is needed.
TEST(JournalFile, CompactsInProportion) {
  sim::SimWorld world(1);
  constexpr uint64_t kPurges = JournalFile::kCompactBytes / kJournalRecordBytes + 1;
  sim::FileSpec spec;
  spec.length = kJournalHeaderBytes + kPurges * kJournalRecordBytes;
  spec.limit = 64 << 20;
  world.closeNow(world.openFile(world.addHost(), "a", spec));
  writeJournal(world, "a", kPurges);
  Process process(world, 1);
  ASSERT_TRUE(process.recover().ok());
  EXPECT_EQ(process.journal().bytes(), spec.length);
  const uint64_t writes = world.disk().counts().writes;
  const uint64_t generation = process.journal().generation();
  uint64_t acknowledged = 0;
  process.append(kPurges, 30, 0, &acknowledged);
  process.finish();
  EXPECT_EQ(acknowledged, 30U);
  EXPECT_EQ(process.journal().generation(), generation);
  EXPECT_EQ(world.disk().counts().writes, writes + 30);
}

// Each of the two marks is enough, whatever the other file says, until a new journal is complete
// that says it too; and then nothing is dropped that came later.
TEST(JournalFile, AStripeThatWasGivenUpStaysSoThroughCrashesInRecovery) {
  for (uint64_t seed = 1; seed <= 24; seed++) {
    SCOPED_TRACE(seed);
    sim::SimWorld world(seed);
    const char* file = seed % 2 == 0 ? "a" : "b";
    std::vector<std::byte> journal;
    {
      Process process(world, 1);
      uint64_t acknowledged = 0;
      ASSERT_TRUE(process.recover().ok());
      process.append(0, 3, 0, &acknowledged);
      process.finish();
      ASSERT_EQ(acknowledged, 3U);
      const std::span<std::byte> before = world.disk().contents(file);
      journal.assign(before.begin(), before.end());
      ASSERT_TRUE(process.giveUp());
      process.append(3, 1, 0, &acknowledged);
      process.finish();
      EXPECT_EQ(acknowledged, 3U);  // nothing that was appended now would count
      process.die();
    }
    std::ranges::copy(journal, world.disk().contents(file).begin());
    ASSERT_FALSE(isGivenUp(world.disk().contents(file), kSalt));
    constexpr LogPosition kOld{7, 5};  // of an older life than any that begins now
    for (uint32_t life = 2; life <= 5; life++) {
      Process process(world, life);
      base::Status status = base::Unit{};
      process.startRecovery(&status);
      world.runFor(world.random().below(12 * base::kMillisecond_ns));
      process.die();
    }
    Process process(world, 6);
    ASSERT_TRUE(process.recover().ok());
    EXPECT_EQ(process.purges().verdict(hashOf(99), kOld), PurgeVerdict::drop);
    const LogPosition later{firstSequence(process.journal().generation()), 8};
    Process next(world, 7);
    ASSERT_TRUE(next.recover().ok());
    EXPECT_EQ(next.purges().verdict(hashOf(99), kOld), PurgeVerdict::drop);
    EXPECT_EQ(next.purges().verdict(hashOf(99), later), PurgeVerdict::keep);
  }
}

// A crash in the middle of noting leaves all of the older purges, and what was noted is kept.
TEST(JournalFile, WhatIsNotedOfAStripeThatIsNotInUseConcernsAllThatLiesThere) {
  for (uint64_t seed = 1; seed <= 24; seed++) {
    SCOPED_TRACE(seed);
    sim::SimWorld world(seed);
    uint64_t generation = 0;
    {
      Process process(world, 1);
      uint64_t acknowledged = 0;
      ASSERT_TRUE(process.recover().ok());
      process.append(0, 3, 0, &acknowledged);
      process.finish();
      generation = process.journal().generation();
      process.die();
    }
    const LogPosition newest{firstSequence(generation + 1) - 1, UINT32_MAX};
    {
      Process process(world, 2);
      world.at(world.now() + world.random().below(12 * base::kMillisecond_ns),
               [&world] { world.kill(2); });
      static_cast<void>(process.noteDropped({hashOf(10)}));
      process.die();
    }
    {
      Process process(world, 3);
      ASSERT_TRUE(process.noteDropped({hashOf(11), hashOf(12)}).ok());
      process.die();
    }
    Process process(world, 4);
    ASSERT_TRUE(process.recover().ok());
    for (const uint64_t key : {0U, 1U, 2U}) {
      EXPECT_EQ(process.purges().verdict(hashOf(key), LogPosition{key, 5}), PurgeVerdict::drop);
    }
    for (const uint64_t key : {11U, 12U}) {
      EXPECT_EQ(process.purges().verdict(hashOf(key), newest), PurgeVerdict::drop);
      const LogPosition later{firstSequence(process.journal().generation()), 8};
      EXPECT_EQ(process.purges().verdict(hashOf(key), later), PurgeVerdict::keep);
    }
    EXPECT_EQ(process.purges().verdict(hashOf(13), newest), PurgeVerdict::keep);
  }
}

}  // namespace
}  // namespace store
