// The ring's settings and busy polling.
#include <bit>
#include <string>

#include "source/config/load/compile_parts.h"
#include "source/config/load/scalar.h"

namespace config {
namespace {

constexpr uint64_t kUs_ns = 1000;
constexpr uint64_t kMs_ns = 1000000;

CompletionMode modeOf(pb::Ring::CompletionMode mode) {
  switch (mode) {
    case pb::Ring::DEFER_TASKRUN:
      return CompletionMode::defer_taskrun;
    case pb::Ring::COOP_TASKRUN:
      return CompletionMode::coop_taskrun;
    case pb::Ring::INTERRUPT:
      return CompletionMode::interrupt;
    default:
      return CompletionMode::automatic;
  }
}

// In nanoseconds; `otherwise` when outside (which is reported).
uint64_t durationNs(const Place& place, const google::protobuf::Duration& duration,
                    uint64_t otherwise, Range<uint64_t> range) {
  constexpr uint64_t kMost_s = 1000000;  // beyond any range, and within 64 bits of nanoseconds
  const uint64_t seconds = std::min(static_cast<uint64_t>(duration.seconds()), kMost_s);
  const uint64_t ns = seconds * 1000 * kMs_ns + static_cast<uint64_t>(duration.nanos());
  if (ns < range.low || ns > range.high) {
    place.error("must be from " + formatDuration(range.low) + " to " + formatDuration(range.high) +
                    ", not " + formatDuration(ns),
                formatDuration(ns < range.low ? range.low : range.high));
    return otherwise;
  }
  return ns;
}

uint32_t powerOfTwo(const Place& place, uint32_t value, uint32_t otherwise, Range<uint64_t> range) {
  const auto within = static_cast<uint32_t>(numberIn(place, value, otherwise, range));
  if (!std::has_single_bit(within)) {
    place.error("must be a power of two", std::to_string(std::bit_floor(within)));
    return otherwise;
  }
  return within;
}

void compileQueues(const Place& place, const pb::Ring& from, RingConfig& ring) {
  constexpr uint64_t kLeastSq = 16;
  constexpr uint64_t kMostSq = 32768;
  constexpr uint64_t kMostCq = 65536;
  if (from.has_sq_entries()) {
    ring.sq_entries =
        powerOfTwo(place["sq_entries"], from.sq_entries(), ring.sq_entries, {kLeastSq, kMostSq});
  }
  const uint64_t least_cq = uint64_t{ring.sq_entries} * 2;
  ring.cq_entries = std::max(ring.cq_entries, static_cast<uint32_t>(least_cq));
  if (from.has_cq_entries()) {
    ring.cq_entries =
        powerOfTwo(place["cq_entries"], from.cq_entries(), ring.cq_entries, {least_cq, kMostCq});
  }
  ring.submit_batch = ring.sq_entries;
  if (from.has_submit_batch()) {
    ring.submit_batch = static_cast<uint32_t>(numberIn(place["submit_batch"], from.submit_batch(),
                                                       ring.submit_batch, {1, ring.sq_entries}));
  }
}

void compileSqpoll(const Place& place, const pb::SubmissionPolling& from, RingConfig& ring) {
  constexpr uint64_t kMostCpus = 8192;
  constexpr uint64_t kLongest_ns = 60000 * kMs_ns;
  ring.sqpoll = true;
  if (from.has_idle()) {
    const uint64_t ns =
        durationNs(place["idle"], from.idle(), ring.sqpoll_idle_ms * kMs_ns, {kMs_ns, kLongest_ns});
    const uint64_t ms = (ns + kMs_ns - 1) / kMs_ns;
    ring.sqpoll_idle_ms = static_cast<uint32_t>(ms);
    if (ms * kMs_ns != ns) {
      place["idle"].warning(formatDuration(ns) + " is rounded up to " + formatDurationMs(ms) +
                            ", since the kernel counts milliseconds; busy_poll is finer");
    }
  }
  if (from.has_cpu()) {
    ring.sqpoll_cpu =
        static_cast<uint32_t>(numberIn(place["cpu"], from.cpu(), 0, {0, kMostCpus - 1}));
  }
  if (ring.completion_mode != CompletionMode::automatic &&
      ring.completion_mode != CompletionMode::interrupt) {
    place.error(std::string("cannot stand beside `completion_mode: ") +
                (ring.completion_mode == CompletionMode::defer_taskrun ? "DEFER" : "COOP") +
                "_TASKRUN`: the kernel thread completes what it submitted, so there is nothing to "
                "put off; leave one of them out");
  }
}

}  // namespace

RingConfig compileRing(const Place& place, const pb::Ring& from) {
  constexpr uint64_t kLongestNapi_ns = 10 * kMs_ns;
  RingConfig ring;
  ring.completion_mode = modeOf(from.completion_mode());
  compileQueues(place, from, ring);
  if (from.has_sqpoll()) {
    compileSqpoll(place["sqpoll"], from.sqpoll(), ring);
  }
  ring.registered_buffers = from.has_registered_buffers() ? from.registered_buffers() : true;
  ring.registered_files = from.has_registered_files() ? from.registered_files() : true;
  if (from.has_napi_busy_poll()) {
    const uint64_t ns =
        durationNs(place["napi_busy_poll"], from.napi_busy_poll(), 0, {kUs_ns, kLongestNapi_ns});
    ring.napi_busy_poll_us = static_cast<uint32_t>((ns + kUs_ns - 1) / kUs_ns);
  }
  return ring;
}

BusyPollConfig compileBusyPoll(const Place& place, const pb::BusyPoll& from) {
  constexpr uint64_t kLongest_ns = 100 * kMs_ns;
  constexpr uint64_t kBudget_percent = 25;
  BusyPollConfig poll;
  if (!from.has_duration()) {
    place["duration"].missing();
    return poll;
  }
  poll.duration_ns = durationNs(place["duration"], from.duration(), 0, {kUs_ns, kLongest_ns});
  if (from.has_adaptive()) {
    const pb::AdaptivePolling& adaptive = from.adaptive();
    poll.cpu_budget_percent = static_cast<uint32_t>(numberIn(
        place["adaptive"]["cpu_budget_percent"],
        adaptive.has_cpu_budget_percent() ? adaptive.cpu_budget_percent() : kBudget_percent,
        kBudget_percent, {1, 100}));
  }
  return poll;
}

}  // namespace config
