// Goal: the io_uring engine keeps the contract of all engines, also when the operations of its
// files go through kernel AIO. Method: the contract's suite on real sockets, files and rings.
#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <thread>

#include "source/io/aio/aio_engine.h"
#include "source/io/uring/uring_engine.h"
#include "test/contract/io_engine_contract.h"
#include "test/contract/real_descriptors.h"

namespace contract {
namespace {

std::unique_ptr<io::UringEngine> makeEngine(base::ShardId shard, io::Doorbells& doorbells) {
  auto made = io::UringEngine::create(io::UringOptions{}, shard, doorbells);
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
  UringRig() {
    for (uint16_t i = 0; i < 2; i++) {
      engines_[i] = makeEngine(base::ShardId{i}, doorbells_);
    }
  }
  rt::IoEngine& engine(uint16_t shard) override { return *engines_[shard]; }

 private:
  io::Doorbells doorbells_{2};
  std::unique_ptr<io::UringEngine> engines_[2];
};

class UringThreads : public Threads {
 public:
  explicit UringThreads(uint16_t shards) : doorbells_(shards) {}
  std::unique_ptr<rt::IoEngine> make(base::ShardId shard) override {
    return makeEngine(shard, doorbells_);
  }

 private:
  io::Doorbells doorbells_;
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

std::unique_ptr<Rig> makeRig() {
  return std::make_unique<UringRig>();
}
std::unique_ptr<Threads> makeThreads(uint16_t shards) {
  return std::make_unique<UringThreads>(shards);
}

std::string nameOf(const testing::TestParamInfo<EngineCase>& info) {
  return info.param.name;
}

std::vector<EngineCase> cases() {
  return allowed() ? std::vector<EngineCase>{{"uring", makeRig, makeThreads},
                                             {"uring_aio", makeAioRig, makeAioThreads}}
                   : std::vector<EngineCase>{};
}

INSTANTIATE_TEST_SUITE_P(Uring, IoEngineContract, testing::ValuesIn(cases()), nameOf);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(IoEngineContract);

}  // namespace
}  // namespace contract
