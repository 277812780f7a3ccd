// Goal: the ring's settings and busy polling are read as written, their limits hold at N and N + 1,
// and settings that contradict each other are refused with the reason. Method: one `runtime` a
// case; the exact finding, or the compiled settings.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "source/config/load/load.h"

namespace config {
namespace {

struct Loaded {
  std::string findings;  // errors, then warnings
  RuntimeConfig runtime;
};

constexpr std::string_view kRest =
    "static_resources: { listeners: [ { name: web, address: { socket_address: { address: '::' } }, "
    "route_config: { virtual_hosts: [ { name: all, domains: ['*'], routes: [ { match: { prefix: / "
    "}, direct_response: { status: 200 } } ] } ] } } ] }\n";

Loaded loadRuntime(std::string_view runtime) {
  LoadReport report;
  const std::string text = "runtime: { " + std::string(runtime) + " }\n" + std::string(kRest);
  const auto loaded = load(Sources{"c.yaml", text, ""}, report);
  Loaded out;
  out.findings = report.text();
  for (const Finding& warning : report.warnings) {
    out.findings += "warning: " + warning.text() + "\n";
  }
  if (loaded.has_value()) {
    out.runtime = loaded->snapshot->runtime;
  }
  return out;
}

TEST(Ring, WithoutSettingsItIsTheDefault) {
  const Loaded loaded = loadRuntime("ring: {}");
  EXPECT_EQ(loaded.findings, "");
  EXPECT_EQ(loaded.runtime, RuntimeConfig());
}

TEST(Ring, EverySettingIsRead) {
  const Loaded loaded = loadRuntime(
      "ring: { completion_mode: INTERRUPT, sq_entries: 64, cq_entries: 256, submit_batch: 16, "
      "sqpoll: { idle: 0.02s, cpu: 3 }, registered_buffers: false, registered_files: false, "
      "napi_busy_poll: 0.0000505s }, "
      "busy_poll: { duration: 0.000030001s, adaptive: { cpu_budget_percent: 40 } }, "
      "max_disk_reads_per_shard: 12");
  EXPECT_EQ(loaded.findings, "");
  RingConfig ring;
  ring.completion_mode = CompletionMode::interrupt;
  ring.sq_entries = 64;
  ring.cq_entries = 256;
  ring.submit_batch = 16;
  ring.sqpoll = true;
  ring.sqpoll_idle_ms = 20;
  ring.sqpoll_cpu = 3;
  ring.registered_buffers = false;
  ring.registered_files = false;
  ring.napi_busy_poll_us = 51;
  EXPECT_EQ(loaded.runtime.ring, ring);
  EXPECT_EQ(loaded.runtime.busy_poll, (BusyPollConfig{30001, 40}));
  EXPECT_EQ(loaded.runtime.max_disk_reads_per_shard, 12U);
}

TEST(Ring, WhatIsLeftOutFollowsWhatIsThere) {
  EXPECT_EQ(loadRuntime("ring: { sq_entries: 16 }").runtime.ring.submit_batch, 16U);
  EXPECT_EQ(loadRuntime("ring: { sq_entries: 32768 }").runtime.ring.cq_entries, 65536U);
  EXPECT_EQ(loadRuntime("ring: { sqpoll: {} }").runtime.ring.sqpoll_idle_ms, 1000U);
  EXPECT_EQ(loadRuntime("ring: { sqpoll: {} }").runtime.ring.sqpoll_cpu, std::nullopt);
  EXPECT_EQ(loadRuntime("busy_poll: { duration: 0.1s, adaptive: {} }").runtime.busy_poll,
            (BusyPollConfig{100000000, 25}));
  EXPECT_EQ(loadRuntime("busy_poll: { duration: 0.1s }").runtime.busy_poll,
            (BusyPollConfig{100000000, 0}));
}

struct Case {
  std::string_view name;
  std::string_view runtime;
  std::string_view finding;  // behind file, line and column; empty: none
};

constexpr Case kCases[] = {
    {"EpollWithARing", "engine: EPOLL, ring: { sq_entries: 64 }",
     "runtime.ring: has no meaning on the epoll engine, and runtime.engine is EPOLL"},
    {"EpollMayBusyPoll", "engine: EPOLL, busy_poll: { duration: 0.00001s }", ""},
    {"SqpollWithDefer", "ring: { completion_mode: DEFER_TASKRUN, sqpoll: {} }",
     "runtime.ring.sqpoll: cannot stand beside `completion_mode: DEFER_TASKRUN`"},
    {"SqpollWithCoop", "ring: { completion_mode: COOP_TASKRUN, sqpoll: {} }",
     "runtime.ring.sqpoll: cannot stand beside `completion_mode: COOP_TASKRUN`"},
    {"SqpollWithInterrupt", "ring: { completion_mode: INTERRUPT, sqpoll: {} }", ""},
    {"FewestEntries", "ring: { sq_entries: 16 }", ""},
    {"FewerEntries", "ring: { sq_entries: 8 }",
     "runtime.ring.sq_entries: must be from 16 to 32768, not 8; did you mean `16`?"},
    {"MostEntries", "ring: { sq_entries: 32768 }", ""},
    {"MoreEntries", "ring: { sq_entries: 65536 }",
     "runtime.ring.sq_entries: must be from 16 to 32768, not 65536; did you mean `32768`?"},
    {"OddEntries", "ring: { sq_entries: 1000 }",
     "runtime.ring.sq_entries: must be a power of two; did you mean `512`?"},
    {"CompletionsForTwice", "ring: { sq_entries: 1024, cq_entries: 2048 }", ""},
    {"CompletionsForOnce", "ring: { sq_entries: 1024, cq_entries: 1024 }",
     "runtime.ring.cq_entries: must be from 2048 to 65536, not 1024; did you mean `2048`?"},
    {"CompletionsBeyond", "ring: { cq_entries: 131072 }",
     "runtime.ring.cq_entries: must be from 2048 to 65536, not 131072; did you mean `65536`?"},
    {"BatchOfAll", "ring: { sq_entries: 64, submit_batch: 64 }", ""},
    {"BatchBeyond", "ring: { sq_entries: 64, submit_batch: 65 }",
     "runtime.ring.submit_batch: must be from 1 to 64, not 65; did you mean `64`?"},
    {"BatchOfNone", "ring: { submit_batch: 0 }",
     "runtime.ring.submit_batch: must be from 1 to 1024, not 0; did you mean `1`?"},
    {"IdleOfAMillisecond", "ring: { sqpoll: { idle: 0.001s } }", ""},
    {"IdleBelow", "ring: { sqpoll: { idle: 0.0009s } }",
     "runtime.ring.sqpoll.idle: must be from 0.001s to 60s, not 0.0009s; did you mean `0.001s`?"},
    {"IdleBeyond", "ring: { sqpoll: { idle: 60.001s } }",
     "runtime.ring.sqpoll.idle: must be from 0.001s to 60s, not 60.001s; did you mean `60s`?"},
    {"IdleRounded", "ring: { sqpoll: { idle: 0.0015s } }",
     "runtime.ring.sqpoll.idle: 0.0015s is rounded up to 0.002s, since the kernel counts "
     "milliseconds"},
    {"CpuBeyond", "ring: { sqpoll: { cpu: 8192 } }",
     "runtime.ring.sqpoll.cpu: must be from 0 to 8191, not 8192; did you mean `8191`?"},
    {"NapiBeyond", "ring: { napi_busy_poll: 0.011s }",
     "runtime.ring.napi_busy_poll: must be from 0.000001s to 0.01s, not 0.011s"},
    {"PollWithoutDuration", "busy_poll: {}", "runtime.busy_poll.duration: is required"},
    {"PollOfAMicrosecond", "busy_poll: { duration: 0.000001s }", ""},
    {"PollBelow", "busy_poll: { duration: 0.000000999s }",
     "runtime.busy_poll.duration: must be from 0.000001s to 0.1s, not 0.000000999s"},
    {"PollBeyond", "busy_poll: { duration: 3000000s }",
     "runtime.busy_poll.duration: must be from 0.000001s to 0.1s, not 1000000s"},
    {"BudgetOfNothing", "busy_poll: { duration: 0.1s, adaptive: { cpu_budget_percent: 0 } }",
     "runtime.busy_poll.adaptive.cpu_budget_percent: must be from 1 to 100, not 0"},
    {"BudgetBeyond", "busy_poll: { duration: 0.1s, adaptive: { cpu_budget_percent: 101 } }",
     "runtime.busy_poll.adaptive.cpu_budget_percent: must be from 1 to 100, not 101"},
    {"ReadsMost", "max_disk_reads_per_shard: 4096", ""},
    {"ReadsBeyond", "max_disk_reads_per_shard: 4097",
     "runtime.max_disk_reads_per_shard: must be from 1 to 4096, not 4097"},
    {"ReadsNone", "max_disk_reads_per_shard: 0",
     "runtime.max_disk_reads_per_shard: must be from 1 to 4096, not 0"},
};

class RingCases : public testing::TestWithParam<Case> {};

TEST_P(RingCases, SayWhatIsWrong) {
  const std::string findings = loadRuntime(GetParam().runtime).findings;
  if (GetParam().finding.empty()) {
    EXPECT_EQ(findings, "");
  } else {
    EXPECT_NE(findings.find(GetParam().finding), std::string::npos) << findings;
    EXPECT_EQ(std::count(findings.begin(), findings.end(), '\n'), 1) << findings;
  }
}

INSTANTIATE_TEST_SUITE_P(All, RingCases, testing::ValuesIn(kCases),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace config
