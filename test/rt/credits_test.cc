// Goal: credits are given first come, first served, never more than there are, and none is lost
// when a waiter gives up; wait queues wake in order. Method: examples, and a model (a queue of
// wishes and a number) under random requests, releases, cancellations and deadlines on a simulated
// host.
#include "source/rt/credits.h"

#include <gtest/gtest.h>

#include <deque>
#include <memory>
#include <string>

#include "source/base/random.h"
#include "source/rt/task_group.h"
#include "test/sim/world.h"

namespace rt {
namespace {

class CreditsTest : public testing::Test {
 protected:
  void settle() { world_.runFor(5 * base::kMillisecond_ns); }

  sim::SimWorld world_{1};
  sim::SimHost& host_ = world_.addHost();
  std::string log_;
};

Task<void> acquire(Credits& credits, uint64_t n, CancelScope& scope, base::MonoTime deadline,
                   std::string& log, char name) {
  const base::Status status = co_await credits.acquire(n, scope, deadline);
  if (status.ok()) {
    log += name;
  } else {
    log += std::string("(") + name + ":" + std::string(base::name(status.error().code)) + ")";
  }
}

TEST_F(CreditsTest, GivesWhatIsThereAndNotOneMore) {
  Credits credits(3);
  EXPECT_TRUE(credits.tryAcquire(3));
  EXPECT_FALSE(credits.tryAcquire(1));
  credits.release(1);
  EXPECT_TRUE(credits.tryAcquire(1));
  credits.release(3);
  EXPECT_EQ(credits.available(), credits.limit());
}

TEST_F(CreditsTest, MoreThanTheLimitIsRefusedAtOnce) {
  Credits credits(3);
  host_.spawn(acquire(credits, 4, host_.scope(), base::kNever, log_, 'a'));
  EXPECT_EQ(log_, "(a:no_capacity)");
}

TEST_F(CreditsTest, ALargeRequestIsNotOvertaken) {
  Credits credits(10);
  ASSERT_TRUE(credits.tryAcquire(8));
  host_.spawn(acquire(credits, 5, host_.scope(), base::kNever, log_, 'L'));
  host_.spawn(acquire(credits, 1, host_.scope(), base::kNever, log_, 's'));
  EXPECT_FALSE(credits.tryAcquire(1));  // there are two, but somebody waits
  settle();
  EXPECT_EQ(log_, "");
  credits.release(2);
  settle();
  EXPECT_EQ(log_, "");
  credits.release(2);
  settle();
  EXPECT_EQ(log_, "Ls");
  credits.release(4 + 5 + 1);
}

TEST_F(CreditsTest, AWaiterThatGivesUpLetsTheNextOnePass) {
  Credits credits(10);
  ASSERT_TRUE(credits.tryAcquire(8));
  CancelScope inner(host_.scope());
  host_.spawn(acquire(credits, 5, inner, base::kNever, log_, 'L'));
  host_.spawn(acquire(credits, 2, host_.scope(), base::kNever, log_, 's'));
  settle();
  inner.request();
  settle();
  EXPECT_EQ(log_, "(L:cancelled)s");
  credits.release(10);
}

TEST_F(CreditsTest, AWaitEndsAtItsDeadline) {
  Credits credits(1);
  ASSERT_TRUE(credits.tryAcquire(1));
  host_.spawn(acquire(credits, 1, host_.scope(), world_.now() + base::kMillisecond_ns, log_, 'a'));
  settle();
  EXPECT_EQ(log_, "(a:timeout)");
  credits.release(1);
}

TEST_F(CreditsTest, CreditsGrantedBeforeTheCancellationAreKept) {
  Credits credits(1);
  ASSERT_TRUE(credits.tryAcquire(1));
  CancelScope inner(host_.scope());
  host_.spawn(acquire(credits, 1, inner, base::kNever, log_, 'a'));
  credits.release(1);
  inner.request();  // too late: the waiter has its credit, though it has not run yet
  settle();
  EXPECT_EQ(log_, "a");
  EXPECT_EQ(credits.available(), 0U);
  credits.release(1);
}

// --- The model ---

struct Wish {
  explicit Wish(CancelScope& parent) : scope(parent) {}
  uint64_t n = 0;
  CancelScope scope;
  bool cancelled = false;
  bool granted = false;
  bool ended = false;
};

Task<void> pursue(Credits& credits, Wish& wish) {
  const base::Status status = co_await credits.acquire(wish.n, wish.scope);
  wish.ended = true;
  wish.granted = status.ok();
}

void runModel(uint64_t seed) {
  sim::SimWorld world(seed);
  sim::SimHost& host = world.addHost();
  base::Random random(seed);
  constexpr uint64_t kLimit = 20;
  Credits credits(kLimit);
  uint64_t model_free = kLimit;
  std::deque<Wish> wishes;
  std::deque<Wish*> waiting;
  std::vector<Wish*> holding;
  const auto grant = [&] {
    while (!waiting.empty() && waiting.front()->n <= model_free) {
      model_free -= waiting.front()->n;
      holding.push_back(waiting.front());
      waiting.pop_front();
    }
  };
  for (int step = 0; step < 300; step++) {
    const uint64_t choice = random.below(4);
    if (choice < 2) {
      Wish& wish = wishes.emplace_back(host.scope());
      wish.n = random.between(1, kLimit);
      waiting.push_back(&wish);
      host.spawn(pursue(credits, wish));
    } else if (choice == 2 && !holding.empty()) {
      const size_t chosen = random.below(holding.size());
      model_free += holding[chosen]->n;
      credits.release(holding[chosen]->n);
      holding.erase(holding.begin() + static_cast<std::ptrdiff_t>(chosen));
    } else if (!waiting.empty()) {
      const size_t chosen = random.below(waiting.size());
      waiting[chosen]->cancelled = true;
      waiting[chosen]->scope.request();
      waiting.erase(waiting.begin() + static_cast<std::ptrdiff_t>(chosen));
    }
    grant();
    world.runFor(base::kMillisecond_ns);
    ASSERT_EQ(credits.available(), model_free) << "step " << step;
    for (const Wish* wish : holding) {
      ASSERT_TRUE(wish->ended && wish->granted);
    }
    for (const Wish* wish : waiting) {
      ASSERT_FALSE(wish->ended);
    }
  }
  for (const Wish* wish : holding) {
    credits.release(wish->n);
  }
  host.group().cancelAll();
  world.runFor(base::kMillisecond_ns);
  // What the last releases granted before the cancellation came.
  credits.release(credits.limit() - credits.available());
}

TEST(Credits, AgreesWithAQueueAndANumber) {
  for (uint64_t seed = 1; seed <= 20; seed++) {
    runModel(seed);
    if (testing::Test::HasFailure()) {
      FAIL() << "seed " << seed;
    }
  }
}

// --- Wait queues ---

Task<void> waitAndNote(WaitQueue& queue, CancelScope& scope, base::MonoTime deadline,
                       std::string& log, char name) {
  const WaitQueue::Woken how = co_await queue.wait(scope, deadline);
  log += name;
  log += how == WaitQueue::Woken::by_wake ? '+' : how == WaitQueue::Woken::cancelled ? 'x' : 't';
}

TEST_F(CreditsTest, WaitQueuesWakeInOrder) {
  WaitQueue queue;
  EXPECT_FALSE(queue.wakeOne());
  for (const char name : {'a', 'b', 'c'}) {
    host_.spawn(waitAndNote(queue, host_.scope(), base::kNever, log_, name));
  }
  EXPECT_TRUE(queue.wakeOne());
  settle();
  EXPECT_EQ(log_, "a+");
  queue.wakeAll();
  settle();
  EXPECT_EQ(log_, "a+b+c+");
  EXPECT_TRUE(queue.empty());
}

TEST_F(CreditsTest, WaitsEndByCancellationAndDeadline) {
  WaitQueue queue;
  CancelScope inner(host_.scope());
  host_.spawn(waitAndNote(queue, inner, base::kNever, log_, 'a'));
  host_.spawn(waitAndNote(queue, host_.scope(), world_.now() + base::kMillisecond_ns, log_, 'b'));
  host_.spawn(waitAndNote(queue, host_.scope(), base::kNever, log_, 'c'));
  inner.request();
  host_.spawn(waitAndNote(queue, inner, base::kNever, log_, 'd'));
  settle();
  EXPECT_EQ(log_, "dxaxbt");
  queue.wakeAll();
  settle();
  EXPECT_EQ(log_, "dxaxbtc+");
}

}  // namespace
}  // namespace rt
