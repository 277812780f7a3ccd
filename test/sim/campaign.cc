#include "test/sim/campaign.h"

#include <time.h>
#include <unistd.h>

#include <charconv>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>

extern "C" void __sanitizer_set_death_callback(void (*callback)()) __attribute__((weak));

namespace sim {
namespace {

// The seed that runs, for a failure anywhere: a CHECK, a sanitizer, a crash.
char replay_line[256];
size_t replay_length = 0;

void setReplay(std::string_view target, uint64_t seed) {
  const int length = std::snprintf(
      replay_line, sizeof replay_line, "replay: bazel run %.*s -- --seed=%llu\n",
      static_cast<int>(target.size()), target.data(), static_cast<unsigned long long>(seed));
  replay_length = static_cast<size_t>(length);
}

// Once, whatever comes after.
void printReplay() {
  const size_t length = replay_length;
  replay_length = 0;
  if (length > 0) {
    const ssize_t ignored = write(STDERR_FILENO, replay_line, length);
    static_cast<void>(ignored);
  }
}

void onSignal(int signal) {
  printReplay();
  std::signal(signal, SIG_DFL);
  raise(signal);
}

struct Flags {
  std::optional<uint64_t> seed;
  uint64_t seeds = 100;
  uint64_t first = 1;
  uint64_t again = 10;
  uint64_t budget_s = 0;
};

bool parseNumber(std::string_view text, uint64_t& to) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), to);
  return error == std::errc() && end == text.data() + text.size() && !text.empty();
}

bool parseFlag(std::string_view argument, Flags& flags) {
  const size_t equals = argument.find('=');
  uint64_t value = 0;
  if (equals == std::string_view::npos || !parseNumber(argument.substr(equals + 1), value)) {
    return false;
  }
  const std::string_view name = argument.substr(0, equals);
  if (name == "--seed") {
    flags.seed = value;
    return true;
  }
  uint64_t* number = name == "--seeds"      ? &flags.seeds
                     : name == "--first"    ? &flags.first
                     : name == "--again"    ? &flags.again
                     : name == "--budget-s" ? &flags.budget_s
                                            : nullptr;
  if (number == nullptr) {
    return false;
  }
  *number = value;
  return true;
}

uint64_t wallSeconds() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<uint64_t>(t.tv_sec);
}

void runSeed(uint64_t seed, Scenario scenario, bool verbose, bool again) {
  Judge judge(verbose);
  const uint64_t hash = scenario(seed, judge);
  if (again) {
    Judge second(false);
    const uint64_t repeated = scenario(seed, second);
    second.require(repeated == hash, "two runs of one seed gave different traces");
  }
}

const char* nameOf(Trace what) {
  static constexpr const char* kNames[] = {"turn",    "submit", "finish", "cancel", "ring", "wake",
                                           "connect", "piece",  "reset",  "crash",  "kill", "note"};
  return kNames[static_cast<size_t>(what)];
}

}  // namespace

void Judge::fail(std::string_view what) {
  if (world_ != nullptr && verbose_) {
    for (const TraceEntry& entry : world_->core().recent()) {
      std::fprintf(
          stderr, "%14.6f ms  %-8s %llu %llu %llu\n", static_cast<double>(entry.at_ns) / 1e6,
          nameOf(entry.what), static_cast<unsigned long long>(entry.a),
          static_cast<unsigned long long>(entry.b), static_cast<unsigned long long>(entry.c));
    }
  }
  std::fprintf(stderr, "failed: %.*s\n", static_cast<int>(what.size()), what.data());
  std::fflush(nullptr);
  printReplay();
  std::_Exit(1);
}

void Judge::say(std::string_view text) const {
  if (verbose_) {
    std::fprintf(stderr, "%.*s\n", static_cast<int>(text.size()), text.data());
  }
}

int runCampaign(int argc, char** argv, std::string_view target, Scenario scenario) {
  Flags flags;
  for (int i = 1; i < argc; i++) {
    if (!parseFlag(argv[i], flags)) {
      std::fprintf(stderr,
                   "usage: [--seed=N] [--seeds=COUNT] [--first=N] [--again=K] [--budget-s=S]\n");
      return 2;
    }
  }
  for (const int signal : {SIGABRT, SIGSEGV, SIGBUS, SIGILL, SIGTERM}) {
    std::signal(signal, onSignal);
  }
  if (__sanitizer_set_death_callback != nullptr) {
    __sanitizer_set_death_callback(printReplay);
  }
  if (flags.seed) {
    setReplay(target, *flags.seed);
    runSeed(*flags.seed, scenario, true, true);
    std::printf("seed %llu passed\n", static_cast<unsigned long long>(*flags.seed));
    return 0;
  }
  const uint64_t begun_s = wallSeconds();
  uint64_t ran = 0;
  for (; ran < flags.seeds; ran++) {
    if (flags.budget_s != 0 && wallSeconds() - begun_s >= flags.budget_s) {
      break;
    }
    setReplay(target, flags.first + ran);
    runSeed(flags.first + ran, scenario, false, flags.again != 0 && ran % flags.again == 0);
  }
  replay_length = 0;
  std::printf("%llu seeds passed\n", static_cast<unsigned long long>(ran));
  return 0;
}

}  // namespace sim
