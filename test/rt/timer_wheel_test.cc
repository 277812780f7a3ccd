// Goal: a timer fires once, never early, at most one tick late, in order of ticks, whatever starts
// and stops around it. Method: a model (a multimap from time to timer) beside the wheel, under
// random starts, stops, restarts from callbacks and jumps of the clock, over spans that use every
// level and more than the wheel reaches.
#include "source/rt/timer_wheel.h"

#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <vector>

#include "source/base/random.h"

namespace rt {
namespace {

constexpr uint64_t kTick_ns = 1ULL << TimerWheel::kTickShift;

struct Probe : Timer {
  explicit Probe(std::vector<Probe*>& to) : fired(to) {
    fire = [](Timer& timer) {
      auto& self = static_cast<Probe&>(timer);
      EXPECT_FALSE(self.linked());
      self.fired.push_back(&self);
    };
  }
  std::vector<Probe*>& fired;
  std::multimap<uint64_t, Probe*>::iterator in_model;
  bool running = false;
};

uint64_t tickUp(uint64_t ns) {
  return (ns + kTick_ns - 1) / kTick_ns;
}

TEST(TimerWheel, FiresAtTheFirstTickThatIsNotEarly) {
  TimerWheel wheel(base::MonoTime{0});
  std::vector<Probe*> fired;
  Probe probe(fired);
  probe.at = base::MonoTime{10 * kTick_ns + 1};
  wheel.start(probe);
  EXPECT_EQ(wheel.next().ns, 11 * kTick_ns);
  wheel.advance(base::MonoTime{11 * kTick_ns - 1});
  EXPECT_TRUE(fired.empty());
  wheel.advance(base::MonoTime{11 * kTick_ns});
  EXPECT_EQ(fired.size(), 1U);
  EXPECT_EQ(wheel.next(), base::kNever);
}

TEST(TimerWheel, ATimeThatHasPassedFiresWithTheNextAdvance) {
  TimerWheel wheel(base::MonoTime{5 * kTick_ns});
  std::vector<Probe*> fired;
  Probe probe(fired);
  probe.at = base::MonoTime{1};
  wheel.start(probe);
  EXPECT_LE(wheel.next().ns, 5 * kTick_ns);
  wheel.advance(base::MonoTime{5 * kTick_ns});
  EXPECT_EQ(fired.size(), 1U);
}

TEST(TimerWheel, AStoppedTimerDoesNotFire) {
  TimerWheel wheel(base::MonoTime{0});
  std::vector<Probe*> fired;
  Probe probe(fired);
  probe.at = base::MonoTime{100 * kTick_ns};
  wheel.start(probe);
  probe.unlink();
  EXPECT_EQ(wheel.next(), base::kNever);
  wheel.advance(base::MonoTime{200 * kTick_ns});
  EXPECT_TRUE(fired.empty());
}

TEST(TimerWheel, ATimerOfNeverIsHarmless) {
  TimerWheel wheel(base::MonoTime{0});
  std::vector<Probe*> fired;
  Probe probe(fired);
  probe.at = base::kNever;
  wheel.start(probe);
  for (int i = 0; i < 10; i++) {
    wheel.advance(wheel.next());
  }
  EXPECT_TRUE(fired.empty());
  probe.unlink();
}

// A callback that stops another timer of the same tick, and one that starts itself again.
struct Chain : Timer {
  TimerWheel* wheel = nullptr;
  Timer* victim = nullptr;
  int left = 0;
  int fired = 0;
};

TEST(TimerWheel, CallbacksMayStopAndRestartTimers) {
  TimerWheel wheel(base::MonoTime{0});
  Chain killer;
  Chain victim;
  for (Chain* chain : {&killer, &victim}) {
    chain->wheel = &wheel;
    chain->at = base::MonoTime{3 * kTick_ns};
    chain->fire = [](Timer& timer) {
      auto& self = static_cast<Chain&>(timer);
      self.fired++;
      if (self.victim != nullptr) {
        self.victim->unlink();
      }
      if (self.left-- > 0) {
        self.at = self.at + kTick_ns;
        self.wheel->start(self);
      }
    };
  }
  killer.victim = &victim;
  killer.left = 100;
  wheel.start(killer);
  wheel.start(victim);
  wheel.advance(base::MonoTime{50 * kTick_ns});
  EXPECT_EQ(killer.fired, 48);  // ticks 3 to 50
  EXPECT_EQ(victim.fired, 0);
  wheel.advance(base::MonoTime{1000 * kTick_ns});
  EXPECT_EQ(killer.fired, 101);
}

class Model {
 public:
  explicit Model(uint64_t seed)
      : random_(seed), now_ns_(random_.below(1ULL << 50)), wheel_(base::MonoTime{now_ns_}) {
    for (int i = 0; i < 200; i++) {
      probes_.emplace_back(fired_);
    }
  }
  ~Model() {
    for (Probe& probe : probes_) {
      probe.unlink();
    }
  }

  void step() {
    const uint64_t choice = random_.below(10);
    Probe& probe = probes_[random_.below(probes_.size())];
    if (choice < 5) {
      restart(probe);
    } else if (choice < 6) {
      stop(probe);
    } else {
      advance();
    }
    checkNext();
  }

 private:
  // From less than a tick to four times what the wheel reaches.
  uint64_t span() { return random_.below(kTick_ns << random_.below(27)); }

  void stop(Probe& probe) {
    if (probe.running) {
      model_.erase(probe.in_model);
      probe.running = false;
      probe.unlink();
    }
  }
  void restart(Probe& probe) {
    stop(probe);
    probe.at = base::MonoTime{now_ns_ + span()};
    probe.in_model = model_.emplace(probe.at.ns, &probe);
    probe.running = true;
    wheel_.start(probe);
  }
  void advance() {
    now_ns_ += random_.chance(1, 2) ? span() / 64 : span();
    fired_.clear();
    wheel_.advance(base::MonoTime{now_ns_});
    uint64_t last_tick = 0;
    for (Probe* probe : fired_) {
      ASSERT_TRUE(probe->running);
      EXPECT_LE(probe->at.ns, now_ns_);  // never early
      EXPECT_LE(last_tick, tickUp(probe->at.ns));
      last_tick = tickUp(probe->at.ns);
      model_.erase(probe->in_model);
      probe->running = false;
    }
    if (!model_.empty()) {
      EXPECT_GT(tickUp(model_.begin()->first) * kTick_ns, now_ns_);  // at most one tick late
    }
  }
  void checkNext() {
    const base::MonoTime next = wheel_.next();
    if (model_.empty()) {
      EXPECT_EQ(next, base::kNever);
    } else {
      EXPECT_LE(next.ns, tickUp(model_.begin()->first) * kTick_ns);
    }
  }

  base::Random random_;
  uint64_t now_ns_;
  std::vector<Probe*> fired_;
  std::multimap<uint64_t, Probe*> model_;
  std::deque<Probe> probes_;
  TimerWheel wheel_;
};

TEST(TimerWheel, AgreesWithAMultimap) {
  for (uint64_t seed = 1; seed <= 50; seed++) {
    Model model(seed);
    for (int i = 0; i < 2000; i++) {
      model.step();
      if (testing::Test::HasFailure()) {
        FAIL() << "seed " << seed << ", step " << i;
      }
    }
  }
}

}  // namespace
}  // namespace rt
