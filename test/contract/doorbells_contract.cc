// The contract's clauses about doorbells.
#include <poll.h>

#include <atomic>
#include <thread>

#include "source/rt/peers.h"
#include "source/rt/reactor.h"
#include "source/rt/task_group.h"
#include "test/contract/io_engine_contract.h"

namespace contract {
namespace {

TEST_P(IoEngineContract, ADoorbellEndsASleep) {
  rig_->engine(1).ring(base::ShardId{0});
  rt::OpList list;
  rig_->engine(1).enter(base::MonoTime{0}, list);
  const base::MonoTime begun = engine().monotonic();
  EXPECT_EQ(engine().enter(begun + 60 * base::kSecond_ns, list), 0U);
  EXPECT_LT(engine().monotonic().ns, begun.ns + 30 * base::kSecond_ns);
  EXPECT_EQ(engine().stats().doorbells_heard, 1U);
  EXPECT_EQ(rig_->engine(1).stats().doorbells_rung, 1U);
}

TEST_P(IoEngineContract, ADoorbellRungBeforeTheSleepIsNotLost) {
  rig_->engine(1).ring(base::ShardId{0});
  rt::OpList list;
  rig_->engine(1).enter(base::MonoTime{0}, list);
  rig_->engine(1).enter(rig_->engine(1).monotonic() + 20 * base::kMillisecond_ns, list);
  const base::MonoTime begun = engine().monotonic();
  engine().enter(begun + 60 * base::kSecond_ns, list);
  EXPECT_LT(engine().monotonic().ns, begun.ns + 30 * base::kSecond_ns);
}

TEST_P(IoEngineContract, RingingANeighbourThatIsNotThereIsHarmless) {
  engine().ring(base::ShardId{1});
  const int fd = rig_->event();
  rig_->signal(fd, 1);
  rt::Op op;
  setPoll(op, fd, POLLIN);
  EXPECT_EQ(run(op), POLLIN);
  poke();
  EXPECT_EQ(completed_.size(), 1U);
  rig_->close(fd);
}

struct Question : rt::CallHeader {
  uint64_t number = 0;
  uint64_t answer = 0;
};

struct Answerer {
  rt::Peers* peers;
  static void serve(void* self, rt::CallHeader& header) {
    auto& question = static_cast<Question&>(header);
    question.answer = question.number * 3;
    static_cast<Answerer*>(self)->peers->reply(question);
  }
};

rt::Task<void> ask(rt::Peers& peers, uint16_t to, uint64_t rounds, uint64_t& sum) {
  for (uint64_t i = 0; i < rounds; i++) {
    Question question;
    question.verb = 1;
    question.number = i;
    co_await peers.call(base::ShardId{to}, question);
    sum += question.answer;
  }
}

// A shard's loop ends when it has asked everything and its neighbour has said the same.
struct Shard {
  rt::Reactor& reactor;
  rt::Peers& peers;
  bool asked = false;
  bool neighbour_asked = false;

  void stopIfDone() {
    if (asked && neighbour_asked) {
      reactor.stop();
    }
  }
  static void goodbye(void* self, rt::CallHeader& header) {
    auto* shard = static_cast<Shard*>(self);
    shard->neighbour_asked = true;
    shard->peers.reply(header);
    shard->stopIfDone();
  }
};

rt::Task<void> askMany(Shard& shard, uint16_t to, uint64_t rounds, uint64_t& sum) {
  {
    rt::TaskGroup group(shard.reactor, 3);
    for (int i = 0; i < 3; i++) {
      CHECK(group.spawn(ask(shard.peers, to, rounds, sum)));
    }
    co_await group.join();
  }
  Question goodbye;
  goodbye.verb = 2;
  co_await shard.peers.call(base::ShardId{to}, goodbye);
  shard.asked = true;
  shard.stopIfDone();
}

void runShard(Threads& threads, rt::Mesh& mesh, uint16_t self, uint64_t rounds, uint64_t& sum) {
  const std::unique_ptr<rt::IoEngine> engine = threads.make(base::ShardId{self});
  rt::Reactor reactor(*engine);
  rt::Peers peers(reactor, mesh, base::ShardId{self});
  Answerer answerer{&peers};
  Shard shard{reactor, peers};
  peers.serve(1, Answerer::serve, &answerer);
  peers.serve(2, Shard::goodbye, &shard);
  rt::TaskGroup group(reactor, 1);
  CHECK(group.spawn(askMany(shard, static_cast<uint16_t>(1 - self), rounds, sum)));
  reactor.run();
}

// Two threads that sleep and wake each other all the time: one lost doorbell, and this never ends.
TEST_P(IoEngineContract, NoDoorbellIsLostBetweenThreads) {
  if (GetParam().threads == nullptr) {
    GTEST_SKIP() << "engines of this kind share one thread";
  }
  constexpr uint64_t kRounds = 3000;
  const std::unique_ptr<Threads> threads = GetParam().threads(2);
  rt::Mesh mesh(2);
  uint64_t sums[2] = {};
  std::thread one([&] { runShard(*threads, mesh, 1, kRounds, sums[1]); });
  runShard(*threads, mesh, 0, kRounds, sums[0]);
  one.join();
  constexpr uint64_t kSum = 3 * 3 * (kRounds * (kRounds - 1) / 2);
  EXPECT_EQ(sums[0], kSum);
  EXPECT_EQ(sums[1], kSum);
}

// The last thing that a shard says, before its engine goes, is heard too. Another thread may
// destroy the engine.
TEST_P(IoEngineContract, ADoorbellOutlivesWhoRangIt) {
  if (GetParam().threads == nullptr) {
    GTEST_SKIP() << "engines of this kind share one thread";
  }
  constexpr int kRounds = 40;
  for (int round = 0; round < kRounds; round++) {
    const std::unique_ptr<Threads> threads = GetParam().threads(2);
    std::atomic<bool> listening = false;
    std::unique_ptr<rt::IoEngine> rung;
    std::thread ringing([&] {
      std::unique_ptr<rt::IoEngine> engine = threads->make(base::ShardId{1});
      listening.wait(false);
      rt::OpList none;
      engine->ring(base::ShardId{0});
      engine->enter(base::MonoTime{0}, none);
      engine->finishDoorbells();
      if (round % 2 == 0) {
        rung = std::move(engine);
      }
    });
    const std::unique_ptr<rt::IoEngine> engine = threads->make(base::ShardId{0});
    listening = true;
    listening.notify_one();
    const base::MonoTime deadline = engine->monotonic() + 10 * base::kSecond_ns;
    rt::OpList none;
    while (engine->stats().doorbells_heard == 0 && engine->monotonic() < deadline) {
      engine->enter(deadline, none);
    }
    EXPECT_EQ(engine->stats().doorbells_heard, 1U);
    ringing.join();
  }
}

}  // namespace
}  // namespace contract
