// Goal: how long a shard looks for work before it sleeps follows its settings, the waits of late
// and the budget; the loop looks for no longer than that, and finds what comes meanwhile. Method:
// the decision alone with given times; then a reactor on an engine whose clock moves by itself.
#include "source/rt/busy_poll.h"

#include <gtest/gtest.h>

#include "source/rt/peers.h"
#include "source/rt/reactor.h"

namespace rt {
namespace {

constexpr uint64_t kUs = base::kMicrosecond_ns;
constexpr base::MonoTime kStart{1000 * base::kSecond_ns};

BusyPoll adaptive(uint64_t longest_ns, uint32_t percent) {
  return BusyPoll(BusyPollOptions{longest_ns, percent});
}

TEST(BusyPoll, WithoutADurationItIsOff) {
  EXPECT_FALSE(BusyPoll(BusyPollOptions{}).enabled());
  EXPECT_TRUE(BusyPoll(BusyPollOptions{1, 0}).enabled());
}

TEST(BusyPoll, FixedIsAlwaysTheWholeTime) {
  BusyPoll poll(BusyPollOptions{50 * kUs, 0});
  for (int i = 0; i < 100; i++) {
    EXPECT_EQ(poll.decide(kStart + i), 50 * kUs);
    poll.note(base::kSecond_ns, 50 * kUs);
  }
}

TEST(BusyPoll, AdaptiveLooksForTwiceTheAverageWait) {
  BusyPoll poll = adaptive(100 * kUs, 100);
  for (int i = 0; i < 200; i++) {
    poll.note(20 * kUs, 0);
  }
  const uint64_t ns = poll.decide(kStart);
  EXPECT_GE(ns, 39 * kUs);
  EXPECT_LE(ns, 40 * kUs);
}

TEST(BusyPoll, AdaptiveNeverLooksForLongerThanTheDuration) {
  BusyPoll poll = adaptive(100 * kUs, 100);
  for (int i = 0; i < 200; i++) {
    poll.note(80 * kUs, 0);
  }
  EXPECT_EQ(poll.decide(kStart), 100 * kUs);
}

TEST(BusyPoll, AdaptiveDoesNotLookWhereWaitsAreLong) {
  BusyPoll poll = adaptive(100 * kUs, 100);
  for (int i = 0; i < 200; i++) {
    poll.note(150 * kUs, 0);
  }
  EXPECT_EQ(poll.decide(kStart), 0U);
}

// A night without requests must not take as long to forget.
TEST(BusyPoll, OneLongPauseIsSoonForgotten) {
  BusyPoll poll = adaptive(100 * kUs, 100);
  poll.note(3600 * base::kSecond_ns, 0);
  int waits = 0;
  while (poll.decide(kStart + waits) == 0) {
    poll.note(20 * kUs, 0);
    waits++;
    ASSERT_LT(waits, 20);
  }
}

TEST(BusyPoll, TheBudgetIsAShareOfThePassingTime) {
  constexpr uint32_t kPercent = 10;
  constexpr uint64_t kWait = 50 * kUs;
  BusyPoll poll = adaptive(100 * kUs, kPercent);
  base::MonoTime now = kStart;
  uint64_t polled = 0;
  for (int i = 0; i < 100000; i++) {
    const uint64_t ns = std::min(poll.decide(now), kWait);
    poll.note(kWait, ns);
    polled += ns;
    now = now + kWait;
  }
  const uint64_t allowed = (now.ns - kStart.ns) * kPercent / 100;
  EXPECT_LE(polled, allowed + BusyPoll::kSaved_ns);
  EXPECT_GE(polled, allowed * 9 / 10);
}

TEST(BusyPoll, NoMoreThanTheSavingsIsLookedInOneGo) {
  BusyPoll poll = adaptive(base::kSecond_ns, 1);
  for (int i = 0; i < 200; i++) {
    poll.note(base::kSecond_ns / 2, 0);
  }
  EXPECT_EQ(poll.decide(kStart + 3600 * base::kSecond_ns), BusyPoll::kSaved_ns);
}

// Every look at the clock takes a microsecond; one operation completes at a given time.
class TickingEngine final : public IoEngine {
 public:
  void prepare(Op& op) override {
    op.state = Op::State::in_kernel;
    op_ = &op;
  }
  void cancel(Op&) override {}
  void ring(base::ShardId) override {}
  size_t enter(base::MonoTime sleep_until, OpList& completed) override {
    looks_ += sleep_until.ns == 0 ? 1 : 0;
    if (sleep_until.ns != 0) {
      slept_until_ = sleep_until;
      now_ = std::max(now_, op_ == nullptr ? sleep_until : std::min(sleep_until, completes_));
    }
    if (op_ == nullptr || now_ < completes_) {
      return 0;
    }
    op_->state = Op::State::done;
    completed.push(op_);
    op_ = nullptr;
    return 1;
  }
  base::MonoTime monotonic() override {
    now_ = now_ + kUs;
    return now_;
  }
  base::UnixSeconds wall() override { return base::UnixSeconds{1}; }
  void provideReceiveBuffers(std::byte*, uint32_t, uint32_t) override {}
  void recycle(uint16_t) override {}
  bool registerRegion(std::span<std::byte>) override { return false; }
  const IoStats& stats() const override { return stats_; }

  base::MonoTime now_ = kStart;
  base::MonoTime completes_ = base::kNever;
  base::MonoTime slept_until_{0};
  int looks_ = 0;

 private:
  Op* op_ = nullptr;
  IoStats stats_;
};

TEST(ReactorPolling, WhatCompletesMeanwhileIsFoundWithoutASleep) {
  TickingEngine engine;
  Reactor reactor(engine, BusyPollOptions{50 * kUs, 0});
  Op op;
  engine.completes_ = engine.now_ + 30 * kUs;
  reactor.submit(op);
  EXPECT_TRUE(reactor.runTurn(true));
  EXPECT_EQ(op.state, Op::State::done);
  EXPECT_EQ(engine.slept_until_.ns, 0U);
  EXPECT_EQ(reactor.stats().polls, 1U);
  EXPECT_EQ(reactor.stats().polls_found, 1U);
  EXPECT_LE(reactor.stats().poll_ns, 30 * kUs);
}

TEST(ReactorPolling, AfterTheTimeItSleeps) {
  TickingEngine engine;
  Reactor reactor(engine, BusyPollOptions{50 * kUs, 0});
  Op op;
  engine.completes_ = engine.now_ + base::kSecond_ns;
  reactor.submit(op);
  EXPECT_TRUE(reactor.runTurn(true));
  EXPECT_EQ(engine.slept_until_, base::kNever);
  EXPECT_EQ(reactor.stats().polls_found, 0U);
  EXPECT_GE(reactor.stats().poll_ns, 50 * kUs);
  EXPECT_LE(reactor.stats().poll_ns, 52 * kUs);
  EXPECT_GE(engine.looks_, 40);
}

TEST(ReactorPolling, ATimerEndsIt) {
  TickingEngine engine;
  Reactor reactor(engine, BusyPollOptions{base::kSecond_ns, 0});
  Timer timer;
  timer.at = engine.now_ + 2 * base::kMillisecond_ns;
  reactor.startTimer(timer);
  reactor.runTurn(true);
  EXPECT_LE(reactor.stats().poll_ns, 4 * base::kMillisecond_ns);
  timer.unlink();
}

TEST(ReactorPolling, ATurnThatMayNotSleepDoesNotPoll) {
  TickingEngine engine;
  Reactor reactor(engine, BusyPollOptions{50 * kUs, 0});
  reactor.runTurn(false);
  EXPECT_EQ(reactor.stats().polls, 0U);
}

TEST(ReactorPolling, AMessageOfAPeerIsFound) {
  TickingEngine engine;
  Mesh mesh(2);
  Reactor reactor(engine, BusyPollOptions{50 * kUs, 0});
  Peers peers(reactor, mesh, base::ShardId{0});
  EXPECT_FALSE(peers.hasMessages());
  CallHeader reply;
  Runnable nobody;
  reply.is_reply = true;
  reply.caller = &nobody;
  ASSERT_TRUE(mesh.link(base::ShardId{1}, base::ShardId{0}).push(&reply));
  EXPECT_TRUE(peers.hasMessages());
  EXPECT_EQ(mesh.link(base::ShardId{1}, base::ShardId{0}).pop(), &reply);
  EXPECT_FALSE(peers.hasMessages());
}

}  // namespace
}  // namespace rt
