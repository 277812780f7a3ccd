// Goal: the io_uring engine keeps the contract of all engines, also when the operations of its
// files go through kernel AIO. Method: the contract's suite on real sockets, files and rings.
#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <thread>
#include <vector>

#include "source/io/aio/aio_engine.h"
#include "source/io/uring/uring_engine.h"
#include "test/contract/io_engine_contract.h"
#include "test/contract/real_descriptors.h"

namespace contract {
namespace {

// The ways that completions come back, and batches so small that every turn has several.
enum class Mode { defer, coop, interrupt, sqpoll, small };

io::UringOptions optionsOf(Mode mode) {
  io::UringOptions options;
  switch (mode) {
    case Mode::defer:
      break;
    case Mode::coop:
      options.completions = io::Completions::coop;
      break;
    case Mode::interrupt:
      options.completions = io::Completions::interrupt;
      break;
    case Mode::sqpoll:
      options.completions = io::Completions::interrupt;
      options.sqpoll = true;
      options.sqpoll_idle_ms = 1;  // so that it is found asleep, too
      break;
    case Mode::small:
      options.sq_entries = 16;
      options.cq_entries = 32;
      options.submit_batch = 3;
      options.registered_buffers = false;
      options.registered_files = false;
      break;
  }
  return options;
}

std::unique_ptr<io::UringEngine> makeEngine(base::ShardId shard, io::Doorbells& doorbells,
                                            Mode mode = Mode::defer) {
  auto made = io::UringEngine::create(optionsOf(mode), shard, doorbells);
  CHECK(made.ok());
  return std::move(made.value());
}

// Where io_uring is forbidden there is nothing to test.
bool allowed() {
  io::Doorbells doorbells(1);
  return io::UringEngine::create(io::UringOptions{}, base::ShardId{0}, doorbells).ok();
}

class UringRig : public RealDescriptors {
 public:
  explicit UringRig(Mode mode) {
    for (uint16_t i = 0; i < 2; i++) {
      engines_[i] = makeEngine(base::ShardId{i}, doorbells_, mode);
    }
  }
  rt::IoEngine& engine(uint16_t shard) override { return *engines_[shard]; }

 private:
  io::Doorbells doorbells_{2};
  std::unique_ptr<io::UringEngine> engines_[2];
};

class UringThreads : public Threads {
 public:
  UringThreads(uint16_t shards, Mode mode) : doorbells_(shards), mode_(mode) {}
  std::unique_ptr<rt::IoEngine> make(base::ShardId shard) override {
    return makeEngine(shard, doorbells_, mode_);
  }

 private:
  io::Doorbells doorbells_;
  Mode mode_;
};

std::unique_ptr<io::AioEngine> makeAioEngine(base::ShardId shard, io::Doorbells& doorbells) {
  auto made = io::AioEngine::create(makeEngine(shard, doorbells), {});
  CHECK(made.ok());
  return std::move(made.value());
}

// Every file goes through kernel AIO, every other descriptor through the ring.
class AioRig : public RealDescriptors {
 public:
  AioRig() {
    for (uint16_t i = 0; i < 2; i++) {
      engines_[i] = makeAioEngine(base::ShardId{i}, doorbells_);
    }
  }
  rt::IoEngine& engine(uint16_t shard) override { return *engines_[shard]; }
  int file() override {
    const int fd = RealDescriptors::file();
    engines_[0]->take(fd);
    return fd;
  }

 private:
  io::Doorbells doorbells_{2};
  std::unique_ptr<io::AioEngine> engines_[2];
};

class AioThreads : public Threads {
 public:
  explicit AioThreads(uint16_t shards) : doorbells_(shards) {}
  std::unique_ptr<rt::IoEngine> make(base::ShardId shard) override {
    return makeAioEngine(shard, doorbells_);
  }

 private:
  io::Doorbells doorbells_;
};

class UringSettings : public testing::Test {
 protected:
  void SetUp() override {
    if (!allowed()) {
      GTEST_SKIP() << "io_uring is forbidden here";
    }
  }
  // What one turn with `count` operations that end at once costs.
  rt::IoStats turnOf(const io::UringOptions& options, size_t count) {
    auto made = io::UringEngine::create(options, base::ShardId{0}, doorbells_);
    CHECK(made.ok());
    rt::IoEngine& engine = *made.value();
    std::vector<std::unique_ptr<rt::Op>> ops;
    for (size_t i = 0; i < count; i++) {
      ops.push_back(std::make_unique<rt::Op>());
      setPlain(*ops.back(), rt::OpKind::close, -1);
      engine.prepare(*ops.back());
    }
    rt::OpList done;
    engine.enter(base::MonoTime{0}, done);
    rt::IoStats stats = engine.stats();
    while (engine.stats().in_flight > 0) {
      engine.enter(base::kNever, done);
    }
    return stats;
  }
  io::Doorbells doorbells_{1};
};

TEST_F(UringSettings, ATurnHandsOverInBatches) {
  io::UringOptions options;
  options.submit_batch = 8;
  EXPECT_EQ(turnOf(options, 7).enters, 1U);
  EXPECT_EQ(turnOf(options, 17).submission_batch_max, 8U);
  EXPECT_GE(turnOf(options, 17).enters, 3U);
  EXPECT_EQ(turnOf(io::UringOptions{}, 17).submission_batch_max, 17U);
}

TEST_F(UringSettings, LookingWithoutAnythingToDoIsNoSystemCall) {
  for (const Mode mode : {Mode::defer, Mode::coop, Mode::interrupt, Mode::sqpoll}) {
    const std::unique_ptr<io::UringEngine> engine = makeEngine(base::ShardId{0}, doorbells_, mode);
    rt::OpList done;
    for (int i = 0; i < 10; i++) {
      EXPECT_EQ(engine->enter(base::MonoTime{0}, done), 0U);
    }
    EXPECT_EQ(engine->stats().enters, 0U);
  }
}

// The kernel hands over twenty at a time and says nothing of the others.
TEST_F(UringSettings, LookingFindsAllThatHasCompleted) {
  constexpr size_t kCount = 100;
  for (const Mode mode : {Mode::defer, Mode::coop, Mode::interrupt}) {
    const std::unique_ptr<io::UringEngine> engine = makeEngine(base::ShardId{0}, doorbells_, mode);
    const int event = eventfd(0, EFD_CLOEXEC);
    std::vector<std::unique_ptr<rt::Op>> ops;
    for (size_t i = 0; i < kCount; i++) {
      ops.push_back(std::make_unique<rt::Op>());
      setPoll(*ops.back(), event, POLLIN);
      engine->prepare(*ops.back());
    }
    rt::OpList done;
    size_t found = engine->enter(base::MonoTime{0}, done);
    EXPECT_EQ(found, 0U);
    ASSERT_EQ(eventfd_write(event, 1), 0);
    for (int i = 0; i < 10; i++) {
      found += engine->enter(base::MonoTime{0}, done);
    }
    EXPECT_EQ(found, kCount);
    while (engine->stats().in_flight > 0) {
      engine->enter(base::kNever, done);
    }
    close(event);
  }
}

TEST_F(UringSettings, BuffersAreRegisteredUnlessForbidden) {
  alignas(4096) static std::byte memory[8192];
  EXPECT_TRUE(makeEngine(base::ShardId{0}, doorbells_)->registerRegion(memory));
  EXPECT_FALSE(makeEngine(base::ShardId{0}, doorbells_, Mode::small)->registerRegion(memory));
}

// The kernel's own rules, io_uring_setup(2): they reach the caller as its error, not as a ring with
// other settings.
TEST_F(UringSettings, WhatTheKernelRefusesIsRefused) {
  io::UringOptions both;
  both.sqpoll = true;
  both.completions = io::Completions::defer;
  io::UringOptions nowhere = optionsOf(Mode::sqpoll);
  nowhere.sqpoll_cpu = 8191;
  for (const io::UringOptions& options : {both, nowhere}) {
    const base::Status possible = io::UringEngine::probe(options, 1);
    ASSERT_FALSE(possible.ok());
    EXPECT_EQ(possible.error().sys, EINVAL);
  }
  EXPECT_TRUE(io::UringEngine::probe(optionsOf(Mode::sqpoll), 2).ok());
}

// A shard's engine is destroyed by the thread that joins the shard's, which the ring does not know.
TEST(AioEngine, WithoutOperationsItEndsOnAnyThread) {
  if (!allowed()) {
    GTEST_SKIP() << "io_uring is forbidden here";
  }
  io::Doorbells doorbells(1);
  std::unique_ptr<io::AioEngine> engine;
  std::thread thread([&] {
    engine = makeAioEngine(base::ShardId{0}, doorbells);
    std::string path = testing::TempDir() + "/aio_engine.XXXXXX";
    const int fd = mkostemp(path.data(), O_CLOEXEC);
    unlink(path.c_str());
    engine->take(fd);
    char byte = 'x';
    rt::Op op;
    setFile(op, rt::OpKind::write, fd, &byte, 1, 0);
    engine->prepare(op);
    while (op.state != rt::Op::State::done) {
      rt::OpList list;
      engine->enter(base::kNever, list);
    }
    EXPECT_EQ(op.result, 1);
    close(fd);
  });
  thread.join();
  EXPECT_EQ(engine->stats().in_flight, 0U);
  engine.reset();
}

std::unique_ptr<Rig> makeAioRig() {
  return std::make_unique<AioRig>();
}
std::unique_ptr<Threads> makeAioThreads(uint16_t shards) {
  return std::make_unique<AioThreads>(shards);
}

template <Mode mode>
std::unique_ptr<Rig> makeRig() {
  return std::make_unique<UringRig>(mode);
}
template <Mode mode>
std::unique_ptr<Threads> makeThreads(uint16_t shards) {
  return std::make_unique<UringThreads>(shards, mode);
}
template <Mode mode>
EngineCase caseOf(const char* name) {
  return {name, makeRig<mode>, makeThreads<mode>};
}

std::string nameOf(const testing::TestParamInfo<EngineCase>& info) {
  return info.param.name;
}

std::vector<EngineCase> cases() {
  return allowed() ? std::vector<EngineCase>{caseOf<Mode::defer>("uring"),
                                             caseOf<Mode::coop>("uring_coop"),
                                             caseOf<Mode::interrupt>("uring_interrupt"),
                                             caseOf<Mode::sqpoll>("uring_sqpoll"),
                                             caseOf<Mode::small>("uring_small"),
                                             {"uring_aio", makeAioRig, makeAioThreads}}
                   : std::vector<EngineCase>{};
}

INSTANTIATE_TEST_SUITE_P(Uring, IoEngineContract, testing::ValuesIn(cases()), nameOf);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(IoEngineContract);

// Whoever judges a disk by the time needs to know that all it gave back has been seen.
TEST(UringCompletions, AnEnterThatLeavesSomeSaysSo) {
  if (!allowed()) {
    GTEST_SKIP() << "io_uring is forbidden here";
  }
  constexpr size_t kCount = 100;
  for (const Mode mode : {Mode::defer, Mode::coop, Mode::interrupt}) {
    UringRig rig(mode);
    rt::IoEngine& engine = rig.engine(0);
    std::vector<rt::Op> ops(kCount);
    std::vector<int> events;
    for (rt::Op& op : ops) {
      events.push_back(rig.event());
      setPoll(op, events.back(), POLLIN);
      engine.prepare(op);
    }
    rt::OpList completed;
    EXPECT_EQ(engine.enter(base::MonoTime{0}, completed), 0U);
    for (const int event : events) {
      rig.signal(event, 1);
    }
    size_t done = engine.enter(base::MonoTime{0}, completed);
    while (engine.mayHaveMore()) {
      done += engine.enter(base::MonoTime{0}, completed);
    }
    EXPECT_EQ(done, kCount);
    for (const int event : events) {
      rig.close(event);
    }
  }
}

// At the limit files are registered, and beyond it they work all the same.
TEST(UringFiles, FilesBeyondTheTableAreUsedAsTheyAre) {
  if (!allowed()) {
    GTEST_SKIP() << "io_uring is forbidden here";
  }
  rlimit open_files{};
  getrlimit(RLIMIT_NOFILE, &open_files);
  open_files.rlim_cur = open_files.rlim_max;
  setrlimit(RLIMIT_NOFILE, &open_files);
  UringRig rig(Mode::defer);
  rt::IoEngine& engine = rig.engine(0);
  std::vector<int> files;
  const int real = rig.file();
  for (uint32_t i = 0; i <= io::FileTable::kSlots; i++) {
    files.push_back(fcntl(real, F_DUPFD_CLOEXEC, 0));
    ASSERT_GE(files.back(), 0);
    engine.registerFile(files.back());
    EXPECT_EQ(engine.stats().files_registered, std::min(i + 1, io::FileTable::kSlots));
  }
  char byte = 'x';
  for (const int fd : {files.front(), files.back()}) {
    rt::Op op;
    rt::OpList completed;
    setFile(op, rt::OpKind::write, fd, &byte, 1, 0);
    engine.prepare(op);
    while (op.state != rt::Op::State::done) {
      engine.enter(base::kNever, completed);
    }
    EXPECT_EQ(completed.pop(), &op);
    EXPECT_EQ(op.result, 1);
  }
  engine.releaseFile(files.front());
  engine.registerFile(files.back());
  EXPECT_EQ(engine.stats().files_registered, io::FileTable::kSlots);
  for (const int fd : files) {
    engine.releaseFile(fd);
    ::close(fd);
  }
  EXPECT_EQ(engine.stats().files_registered, 0U);
  rig.close(real);
}

}  // namespace
}  // namespace contract
