// The process's end: drain, then everything in the reverse order of its making.
//
// A disk that hangs keeps memory of ours in the kernel, which cannot be freed. So a process that
// has waited long enough leaves without freeing anything: what is on the disk is what a kill would
// leave, and loses nothing but warmth.
#include <unistd.h>

#include <algorithm>
#include <string>
#include <vector>

#include "source/server/server.h"

namespace server {
namespace {

// For all that comes after the drain, of which the shards have shard::Shard::kStopPatience_ns.
constexpr uint64_t kEndPatience_ns = 60 * base::kSecond_ns;

}  // namespace

rt::Task<void> Server::shutDown() {
  state_ = admin::State::draining;
  const uint64_t drain_ms = options_.drain_time_s.has_value()
                                ? uint64_t{*options_.drain_time_s} * 1000
                                : config_.snapshot->runtime.drain_time_ms;
  if (!shards_.empty()) {
    say(telemetry::LogLevel::info, "draining");
    std::vector<shard::Drain> drains(shards_.size());
    const uint64_t deadline_ns = reactor_->now().ns + drain_ms * base::kMillisecond_ns;
    for (shard::Drain& call : drains) {
      call.deadline_ns = deadline_ns;
    }
    co_await callAll(drains);
  }
  rt::TaskGroup ending(*reactor_, 1);
  const bool spawned = ending.spawn(endAll());
  CHECK(spawned);
  const base::MonoTime deadline = reactor_->now() + kEndPatience_ns;
  rt::CancelScope never;
  while (ending.size() > 0) {
    if (reactor_->now() >= deadline) {
      leave("something has not ended within a minute");
    }
    co_await rt::Sleep(reactor_->now() + 5 * base::kMillisecond_ns, never);
  }
}

rt::Task<void> Server::endAll() {
  // What still asks the shards ends before they do.
  co_await refresher_->shutdown();
  tasks_->cancelAll();
  if (admin_ != nullptr) {
    co_await admin_->stop();
  }
  co_await tasks_->join();
  uint64_t lost = 0;
  uint32_t hung = 0;
  for (uint8_t phase = 1; phase <= 2 && !shards_.empty(); phase++) {
    std::vector<shard::Stop> stops(shards_.size());
    for (shard::Stop& call : stops) {
      call.phase = phase;
    }
    co_await callAll(stops);
    for (const shard::Stop& call : stops) {
      lost += call.invalidations_lost;
      hung += call.stripes_hung;
    }
  }
  const std::string losses =
      lost == 0 ? std::string()
                : "; " + std::to_string(lost) + " invalidations could not be made durable";
  if (hung > 0) {
    leave(std::to_string(hung) + " stripes wait for their disk" + losses);
  }
  co_await resolver_->stop();
  signals_->cancelAll();
  co_await signals_->join();
  say(lost == 0 ? telemetry::LogLevel::info : telemetry::LogLevel::error, "stopped" + losses);
}

void Server::leave(const std::string& why) {
  drainLogs();
  say(telemetry::LogLevel::error, "stopped without waiting for all: " + why);
  log_->flush();
  _exit(kExitOk);
}

}  // namespace server
