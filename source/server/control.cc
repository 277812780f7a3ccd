// What the admin is told of the process, and what it may do to its listeners.
#include <algorithm>
#include <utility>

#include "source/server/server.h"

namespace server {

rt::Task<std::vector<shard::ShardStats>> Server::collectStats() {
  std::vector<shard::ShardStats> stats(shards_.size());
  std::vector<shard::CollectStats> calls(shards_.size());
  for (size_t i = 0; i < calls.size(); i++) {
    calls[i].stats = &stats[i];
  }
  co_await callAll(calls);
  co_return std::move(stats);
}

rt::Task<void> Server::drainListeners(bool graceful) {
  state_ = admin::State::draining;
  rt::CancelScope& scope = tasks_->scope();
  if (graceful) {
    const uint64_t drain_ms = options_.drain_time_s.has_value()
                                  ? uint64_t{*options_.drain_time_s} * 1000
                                  : config_.snapshot->runtime.drain_time_ms;
    co_await rt::Sleep(reactor_->now() + drain_ms * base::kMillisecond_ns, scope);
  }
  std::vector<shard::Drain> drains(shards_.size());
  for (shard::Drain& call : drains) {
    call.keep_connections = true;
  }
  co_await callAll(drains);
  listeners_.clear();
}

admin::ServerInfo Server::info() {
  admin::ServerInfo info;
  info.state = state_ == admin::State::live && health_failed_ ? admin::State::draining : state_;
  info.version = kVersion;
  info.uptime_s = (reactor_->now().ns - started_ns_) / base::kSecond_ns;
  info.shards = shardCount();
  info.engine = engines_.name();
  info.engine_reason = engines_.reason();
  info.engine_settings = engines_.settings();
  info.command_line = options_.given;
  return info;
}

std::vector<admin::ListenerInfo> Server::listeners() {
  std::vector<admin::ListenerInfo> infos;
  for (const OpenListener& listener : listeners_) {
    const auto& configured = config_.snapshot->listeners;
    const auto found = std::find_if(
        configured.begin(), configured.end(),
        [&listener](const config::ListenerConfig& l) { return l.name == listener.name; });
    infos.push_back(admin::ListenerInfo{listener.name, listener.group.address().text(),
                                        listener.group.steeringText(),
                                        found != configured.end() && found->balance_connections});
  }
  return infos;
}

}  // namespace server
