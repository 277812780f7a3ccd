// Loading a configuration and putting it in force: checked whole before anything that runs is
// touched; sockets and files that it needs are opened first; then every shard takes it over; only
// then is what is gone closed.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "source/config/load/diff.h"
#include "source/server/server.h"
#include "source/upstream/from_config.h"

namespace server {
namespace {

constexpr size_t kReportsKept = 32;

net::Steering steeringOf(config::Steering steering) {
  switch (steering) {
    case config::Steering::automatic:
      return net::Steering::automatic;
    case config::Steering::queue_mapping:
      return net::Steering::queue_mapping;
    case config::Steering::cpu:
      return net::Steering::cpu;
    case config::Steering::hash:
      return net::Steering::hash;
  }
  return net::Steering::hash;
}

}  // namespace

void Server::remember(admin::ReloadReport report) {
  reloads_.push_back(std::move(report));
  if (reloads_.size() > kReportsKept) {
    reloads_.erase(reloads_.begin() + 1);  // the start stays
  }
}

rt::Task<admin::ReloadReport> Server::reload(std::string trigger) {
  rt::CancelScope never;
  base::Status turn = co_await reloading_->acquire(1, never);
  CHECK(turn.ok());
  admin::ReloadReport report = co_await loadAndApply(std::move(trigger));
  reloading_->release(1);
  if (report.ok) {
    say(telemetry::LogLevel::info, "configuration reloaded (" + report.trigger + "), " +
                                       std::to_string(report.changed.size()) + " changes");
  } else {
    say(telemetry::LogLevel::error,
        "configuration refused (" + report.trigger + "); the old one stays in force");
    for (const std::string& error : report.errors) {
      say(telemetry::LogLevel::error, error);
    }
    for (const std::string& path : report.needs_restart) {
      say(telemetry::LogLevel::error, "needs a restart: " + path);
    }
  }
  co_return report;
}

rt::Task<admin::ReloadReport> Server::loadAndApply(std::string trigger) {
  admin::ReloadReport report;
  report.number = ++reload_number_;
  report.at_unix_s = time(nullptr);
  report.trigger = std::move(trigger);
  const uint64_t begun_ns = engine_->monotonic().ns;
  const bool first = report.number == 1;
  config::LoadedConfig loaded = config_;
  if (!first) {
    config::LoadReport findings;
    std::optional<config::LoadedConfig> read = config::load(sources_, findings);
    for (const config::Finding& error : findings.errors) {
      report.errors.push_back(error.text());
    }
    for (const config::Finding& warning : findings.warnings) {
      report.warnings.push_back(warning.text());
    }
    if (read.has_value()) {
      loaded = std::move(*read);
      const config::Difference difference = config::diff(*config_.snapshot, *loaded.snapshot);
      for (const config::Change& change : difference.changed) {
        report.changed.push_back(change.path + ": " + change.what);
      }
      for (const config::Change& change : difference.needs_restart) {
        report.needs_restart.push_back(change.path + ": " + change.what);
      }
    }
  }
  report.ok = report.errors.empty() && report.needs_restart.empty();
  if (report.ok) {
    std::vector<OpenListener> listeners;
    std::vector<std::string> reused;
    int access_log_fd = access_log_fd_;
    std::string error = openListeners(*loaded.snapshot, listeners, reused);
    if (error.empty()) {
      error = openAccessLog(*loaded.snapshot, access_log_fd);
    }
    std::vector<CacheChange> caches;
    if (error.empty() && !first) {
      error = co_await prepareCaches(*loaded.snapshot, caches, report);
    }
    if (error.empty()) {
      error = openLog(*loaded.snapshot);
    }
    if (error.empty()) {
      co_await apply(std::move(loaded), std::move(listeners), access_log_fd);
      finishCaches(caches);
    } else {
      co_await undoCaches(caches);
      // Groups that were already open go back to where they were.
      for (OpenListener& listener : listeners) {
        const std::string key =
            listener.name + " " + listener.asked.host + ":" + std::to_string(listener.asked.port);
        if (std::find(reused.begin(), reused.end(), key) != reused.end()) {
          listeners_.push_back(std::move(listener));
        }
      }
      report.errors.push_back(error);
      report.ok = false;
    }
  }
  report.version = config_.snapshot->version;
  report.took_ms = (engine_->monotonic().ns - begun_ns) / base::kMillisecond_ns;
  remember(report);
  co_return report;
}

// Takes over the groups that stay (moved from listeners_ to `all`) and opens those that are new.
std::string Server::openListeners(const config::Snapshot& snapshot, std::vector<OpenListener>& all,
                                  std::vector<std::string>& reused) {
  for (const config::ListenerConfig& listener : snapshot.listeners) {
    for (const config::SocketAddress& asked : listener.addresses) {
      const auto same = std::find_if(listeners_.begin(), listeners_.end(), [&](OpenListener& l) {
        return l.name == listener.name && l.asked == asked;
      });
      std::string why_not;
      if (same != listeners_.end()) {
        all.push_back(std::move(*same));
        listeners_.erase(same);
        reused.push_back(listener.name + " " + asked.host + ":" + std::to_string(asked.port));
        net::ListenerGroup& group = all.back().group;
        base::Status steered = group.steer(steeringOf(listener.steering), shard_of_cpu_, why_not);
        if (steered.ok()) {
          steered = group.setBacklog(listener.backlog, why_not);
        }
        if (!steered.ok()) {
          return "static_resources.listeners[" + listener.name + "]: " + why_not;
        }
        continue;
      }
      const std::optional<net::Address> address = net::Address::parse(asked.host, asked.port);
      net::ListenerSpec spec;
      spec.address = address.value_or(net::Address());
      spec.backlog = listener.backlog;
      spec.steering = steeringOf(listener.steering);
      base::Result<net::ListenerGroup> group =
          net::openListeners(spec, shardCount(), shard_of_cpu_, why_not);
      if (!group.ok()) {
        return "static_resources.listeners[" + listener.name + "].address: " + why_not;
      }
      all.push_back(OpenListener{listener.name, asked, std::move(group.value())});
    }
  }
  return {};
}

// The last thing that can fail, so that it need not be undone.
std::string Server::openLog(const config::Snapshot& snapshot) {
  if (snapshot.logging.path == log_path_) {
    return {};
  }
  telemetry::OperatorLogOptions options;
  options.path = snapshot.logging.path;
  options.level = log_->level();
  std::string why_not;
  std::unique_ptr<telemetry::OperatorLog> log = telemetry::OperatorLog::open(options, why_not);
  if (log == nullptr) {
    return "logging.path: " + why_not;
  }
  log_ = std::move(log);
  log_path_ = snapshot.logging.path;
  return {};
}

std::string Server::openAccessLog(const config::Snapshot& snapshot, int& fd) {
  const std::string path =
      snapshot.logging.access_log.has_value() ? snapshot.logging.access_log->path : std::string();
  if (path == access_log_path_) {
    return {};
  }
  fd = -1;
  if (!path.empty()) {
    fd = open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    if (fd < 0) {
      return "logging.access_log.path: " + path + " cannot be opened: " + std::strerror(errno);
    }
  }
  return {};
}

rt::Task<void> Server::apply(config::LoadedConfig loaded, std::vector<OpenListener> listeners,
                             int access_log_fd) {
  std::vector<shard::ApplyConfig> calls(shards_.size());
  for (size_t i = 0; i < calls.size(); i++) {
    calls[i].snapshot = loaded.snapshot;
    calls[i].access_log_fd = access_log_fd;
    calls[i].caches = cacheUses(*loaded.snapshot);
    for (const OpenListener& listener : listeners) {
      calls[i].sockets.push_back(shard::ListenerSocket{listener.name, listener.group.fds()[i]});
    }
  }
  co_await callAll(calls);
  for (OpenListener& gone : listeners_) {
    gone.group.closeAll();
  }
  listeners_ = std::move(listeners);
  if (access_log_fd != access_log_fd_ && access_log_fd_ >= 0) {
    close(access_log_fd_);
  }
  access_log_fd_ = access_log_fd;
  access_log_path_ = loaded.snapshot->logging.access_log.has_value()
                         ? loaded.snapshot->logging.access_log->path
                         : std::string();
  if (loaded.snapshot != config_.snapshot) {
    retired_.push_back(config_.snapshot);
    if (!options_.log_level.has_value()) {
      log_->setLevel(static_cast<telemetry::LogLevel>(loaded.snapshot->logging.level));
    }
    config_ = std::move(loaded);
    config_loaded_unix_s_ = time(nullptr);
  }
  const std::vector<upstream::ClusterSpec> specs = upstream::fromConfig(config_.snapshot->clusters);
  refresher_->update(specs);
}

rt::Task<void> Server::reopenLogs() {
  std::string why_not;
  if (!log_->reopen(why_not).ok()) {
    say(telemetry::LogLevel::error, "the log cannot be opened again: " + why_not);
  }
  if (access_log_path_.empty()) {
    co_return;
  }
  rt::CancelScope never;
  base::Status turn = co_await reloading_->acquire(1, never);
  CHECK(turn.ok());
  const int fd = open(access_log_path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (fd < 0) {
    say(telemetry::LogLevel::error,
        "the access log cannot be opened again: " + access_log_path_ + ": " + std::strerror(errno));
  } else {
    std::vector<OpenListener> same = std::move(listeners_);
    listeners_.clear();
    config::LoadedConfig config = config_;
    co_await apply(std::move(config), std::move(same), fd);
  }
  reloading_->release(1);
}

void Server::onEndpoints(const std::string& cluster,
                         const std::vector<upstream::ResolvedEndpoint>& endpoints) {
  if (!tasks_->spawn(tellEndpoints(cluster, endpoints))) {
    say(telemetry::LogLevel::warning, "cluster " + cluster + ": an address change was lost");
  }
}

rt::Task<void> Server::tellEndpoints(std::string cluster,
                                     std::vector<upstream::ResolvedEndpoint> endpoints) {
  std::vector<shard::SetEndpoints> calls(shards_.size());
  for (shard::SetEndpoints& call : calls) {
    call.cluster = cluster;
    call.endpoints = endpoints;
  }
  co_await callAll(calls);
}

}  // namespace server
