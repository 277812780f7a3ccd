// Goal: links hand over every pointer once and in order, also between threads; calls between shards
// are answered, waited for, limited, and never lose a wake-up. Method: two threads on one link
// (also run under the thread sanitizer), and simulated shards.
#include "source/rt/peers.h"

#include <gtest/gtest.h>

#include <memory>
#include <thread>
#include <vector>

#include "source/rt/task_group.h"
#include "source/rt/wait.h"
#include "test/sim/world.h"

namespace rt {
namespace {

constexpr base::MonoTime kLong{1000 * base::kSecond_ns};

TEST(PeerLink, HoldsItsSlotsAndNotOneMore) {
  auto link = std::make_unique<PeerLink>();
  std::vector<CallHeader> calls(PeerLink::kSlots + 1);
  EXPECT_TRUE(link->empty());
  EXPECT_EQ(link->pop(), nullptr);
  for (uint32_t round = 0; round < 3; round++) {
    for (uint32_t i = 0; i < PeerLink::kSlots; i++) {
      EXPECT_TRUE(link->push(&calls[i]));
    }
    EXPECT_FALSE(link->push(&calls[PeerLink::kSlots]));
    EXPECT_FALSE(link->empty());
    for (uint32_t i = 0; i < PeerLink::kSlots; i++) {
      EXPECT_EQ(link->pop(), &calls[i]);
    }
    EXPECT_EQ(link->pop(), nullptr);
  }
}

TEST(PeerLink, CarriesPointersAndWhatTheyPointToBetweenThreads) {
  auto link = std::make_unique<PeerLink>();
  constexpr uint64_t kCalls = 200'000;
  std::vector<CallHeader> calls(4096);
  std::vector<std::atomic<bool>> busy(calls.size());
  std::thread sender([&] {
    for (uint64_t i = 0; i < kCalls; i++) {
      const size_t slot = i % calls.size();
      while (busy[slot].load(std::memory_order_acquire)) {
        std::this_thread::yield();
      }
      busy[slot].store(true, std::memory_order_relaxed);
      calls[slot].sent_ns = i;  // plain: only the link orders it
      while (!link->push(&calls[slot])) {
        std::this_thread::yield();
      }
    }
  });
  uint64_t wrong = 0;
  for (uint64_t i = 0; i < kCalls;) {
    CallHeader* call = link->pop();
    if (call == nullptr) {
      std::this_thread::yield();
      continue;
    }
    wrong += call->sent_ns == i && call == &calls[i % calls.size()] ? 0 : 1;
    busy[i % calls.size()].store(false, std::memory_order_release);
    i++;
  }
  sender.join();
  EXPECT_EQ(wrong, 0U);
}

// --- Calls ---

struct Add : CallHeader {
  uint64_t a = 0;
  uint64_t b = 0;
  uint64_t sum = 0;
};

constexpr Verb kAdd = 1;
constexpr Verb kSlowAdd = 2;

// One shard: answers at once, or from a coroutine after a while.
class Node {
 public:
  Node(sim::SimWorld& world, sim::SimHost& host, Mesh& mesh)
      : host_(host),
        reactor_(host.engine()),
        peers_(reactor_, mesh, host.spec().shard),
        group_(reactor_, 10'000) {
    host.attach(reactor_, &peers_);
    peers_.serve(kAdd, add, this);
    peers_.serve(kSlowAdd, slowAdd, this);
  }
  ~Node() { host_.detach(); }

  Peers& peers() { return peers_; }
  TaskGroup& group() { return group_; }
  uint64_t served_max() const { return serving_max_; }

 private:
  static void add(void* self, CallHeader& header) {
    auto& call = static_cast<Add&>(header);
    call.sum = call.a + call.b;
    static_cast<Node*>(self)->peers_.reply(call);
  }
  static void slowAdd(void* self, CallHeader& header) {
    auto* node = static_cast<Node*>(self);
    CHECK(node->group_.spawn(node->answerLater(static_cast<Add&>(header))));
  }
  Task<void> answerLater(Add& call) {
    serving_++;
    serving_max_ = std::max(serving_max_, serving_);
    co_await Sleep(reactor_.now() + 3 * base::kMillisecond_ns, group_.scope());
    serving_--;
    call.sum = call.a + call.b;
    peers_.reply(call);
  }

  sim::SimHost& host_;
  Reactor reactor_;
  Peers peers_;
  TaskGroup group_;
  uint64_t serving_ = 0;
  uint64_t serving_max_ = 0;
};

Task<void> callMany(Peers& peers, base::ShardId to, Verb verb, uint64_t rounds, uint64_t& good) {
  for (uint64_t i = 0; i < rounds; i++) {
    Add add;
    add.verb = verb;
    add.a = i;
    add.b = base::index(to);
    co_await peers.call(to, add);
    good += add.sum == i + base::index(to) ? 1 : 0;
  }
}

class PeersTest : public testing::TestWithParam<uint64_t> {
 protected:
  static constexpr uint16_t kShards = 3;

  void SetUp() override {
    for (uint16_t i = 0; i < kShards; i++) {
      sim::SimHost& host = world_.addHost({0, base::ShardId{i}});
      nodes_.push_back(std::make_unique<Node>(world_, host, mesh_));
    }
  }
  sim::Ran runAll() {
    return world_.run(
        [this] {
          uint32_t running = 0;
          for (const auto& node : nodes_) {
            running += node->group().size();
          }
          return running == 0;
        },
        kLong);
  }

  sim::SimWorld world_{GetParam(), sim::Options::fromSeed(GetParam())};
  Mesh mesh_{kShards};
  std::vector<std::unique_ptr<Node>> nodes_;
};

TEST_P(PeersTest, EveryShardCallsEveryShard) {
  uint64_t good = 0;
  for (const auto& node : nodes_) {
    for (uint16_t to = 0; to < kShards; to++) {
      for (const Verb verb : {kAdd, kSlowAdd}) {
        ASSERT_TRUE(
            node->group().spawn(callMany(node->peers(), base::ShardId{to}, verb, 20, good)));
      }
    }
  }
  EXPECT_EQ(runAll(), sim::Ran::done);
  EXPECT_EQ(good, uint64_t{kShards} * kShards * 2 * 20);
}

// A receiver takes nothing while its thread is busy; here, because the world does not run.
TEST_P(PeersTest, MessagesBeyondTheRingWaitInOrder) {
  for (const uint32_t calls : {PeerLink::kSlots, PeerLink::kSlots + 1, 3 * PeerLink::kSlots}) {
    const uint64_t waited = nodes_[0]->peers().stats().waited;
    uint64_t good = 0;
    for (uint32_t i = 0; i < calls; i++) {
      ASSERT_TRUE(
          nodes_[0]->group().spawn(callMany(nodes_[0]->peers(), base::ShardId{1}, kAdd, 1, good)));
    }
    EXPECT_EQ(nodes_[0]->peers().stats().waited - waited, calls - PeerLink::kSlots);
    EXPECT_EQ(runAll(), sim::Ran::done);
    EXPECT_EQ(good, calls);
  }
}

TEST_P(PeersTest, CallsThatTakeLongAreInNobodysWay) {
  uint64_t good = 0;
  constexpr uint32_t kCalls = 4 * PeerLink::kSlots;
  for (uint32_t i = 0; i < kCalls; i++) {
    ASSERT_TRUE(nodes_[0]->group().spawn(
        callMany(nodes_[0]->peers(), base::ShardId{1}, kSlowAdd, 2, good)));
  }
  EXPECT_EQ(runAll(), sim::Ran::done);
  EXPECT_EQ(good, uint64_t{kCalls} * 2);
  EXPECT_GT(nodes_[1]->served_max(), PeerLink::kSlots);  // and all the replies come at once
}

INSTANTIATE_TEST_SUITE_P(Seeds, PeersTest, testing::Range<uint64_t>(1, 31));

}  // namespace
}  // namespace rt
