// Runs a scenario for many seeds. A seed that fails ends the program with one line that replays it
// alone:
//
//   bazel run //test/sim:echo_sim -- --seed=123
//
// Flags: --seed=N one seed, saying more; --seeds=COUNT how many; --first=N where to begin;
// --again=K every K-th seed runs twice and must give the same trace; --budget-s=S stop,
// successfully, after so long.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "test/sim/world.h"

namespace sim {

// What a scenario says about a world. The first failed requirement ends the program: a world in an
// unknown state is not torn down.
class Judge {
 public:
  explicit Judge(bool verbose) : verbose_(verbose) {}

  void watch(SimWorld& world) { world_ = &world; }
  void require(bool holds, std::string_view what) {
    if (!holds) {
      fail(what);
    }
  }
  [[noreturn]] void fail(std::string_view what);
  // Printed only when one seed is replayed.
  void say(std::string_view text) const;
  bool verbose() const { return verbose_; }

 private:
  SimWorld* world_ = nullptr;
  bool verbose_;
};

// Builds a world for the seed, runs it, judges it, and returns its trace hash.
using Scenario = uint64_t (*)(uint64_t seed, Judge& judge);

// main() of a simulation; `target` is its label.
int runCampaign(int argc, char** argv, std::string_view target, Scenario scenario);

}  // namespace sim
