// Runtime and logging.
#include <algorithm>
#include <utility>

#include "source/config/load/compile_parts.h"
#include "source/http/grammar.h"

namespace config {
namespace {

Engine engineOf(pb::Runtime::Engine engine) {
  switch (engine) {
    case pb::Runtime::IO_URING:
      return Engine::io_uring;
    case pb::Runtime::EPOLL:
      return Engine::epoll;
    default:
      return Engine::automatic;
  }
}

LogLevel levelOf(pb::Logging::Level level) {
  switch (level) {
    case pb::Logging::TRACE:
      return LogLevel::trace;
    case pb::Logging::DEBUG:
      return LogLevel::debug;
    case pb::Logging::WARNING:
      return LogLevel::warning;
    case pb::Logging::ERROR:
      return LogLevel::error;
    case pb::Logging::CRITICAL:
      return LogLevel::critical;
    case pb::Logging::OFF:
      return LogLevel::off;
    default:
      return LogLevel::info;
  }
}

AccessLogConfig compileAccessLog(const Place& place, const pb::AccessLog& from) {
  AccessLogConfig log;
  log.path = from.path();
  if (log.path.empty()) {
    place["path"].missing();
  }
  if (!from.format().empty() && from.json_format_size() != 0) {
    place["json_format"].error("cannot stand beside `format`");
    return log;
  }
  std::optional<LogFormatProblem> problem;
  if (from.json_format_size() == 0) {
    problem = compileText(from.format().empty() ? kDefaultLogFormat : from.format(), log.format);
  } else if (countWithin(place["json_format"], from.json_format_size(),
                         static_cast<int>(kMaxLogMembers)) == from.json_format_size()) {
    std::vector<std::pair<std::string, std::string>> members(from.json_format().begin(),
                                                             from.json_format().end());
    std::sort(members.begin(), members.end());
    problem = compileJson(members, log.format);
  }
  if (problem.has_value()) {
    place[from.json_format_size() == 0 ? "format" : "json_format"].error(problem->message,
                                                                         problem->nearest);
  }
  return log;
}

}  // namespace

RuntimeConfig compileRuntime(const Place& place, const pb::Runtime& from) {
  constexpr uint64_t kMaxShards = 256;
  constexpr uint64_t kMaxConnections = 1048576;
  constexpr uint64_t kMinPool = uint64_t{4} << 20;
  constexpr uint64_t kMaxPool = uint64_t{64} << 30;
  constexpr uint64_t kMaxDiskReads = 4096;
  RuntimeConfig runtime;
  runtime.shards = static_cast<uint32_t>(
      numberIn(place["shards"], from.shards(), runtime.shards, {0, kMaxShards}));
  runtime.engine = engineOf(from.engine());
  runtime.drain_time_ms =
      durationMs(place["drain_time"], from.has_drain_time() ? &from.drain_time() : nullptr,
                 {.otherwise_ms = runtime.drain_time_ms, .high_ms = kDay_ms});
  if (from.has_max_connections_per_shard()) {
    runtime.max_connections_per_shard = static_cast<uint32_t>(
        numberIn(place["max_connections_per_shard"], from.max_connections_per_shard(),
                 runtime.max_connections_per_shard, {1, kMaxConnections}));
  }
  if (from.has_buffer_pool_bytes_per_shard()) {
    runtime.buffer_pool_bytes_per_shard =
        numberIn(place["buffer_pool_bytes_per_shard"], from.buffer_pool_bytes_per_shard(),
                 runtime.buffer_pool_bytes_per_shard, {kMinPool, kMaxPool});
  }
  if (from.has_ring()) {
    runtime.ring = compileRing(place["ring"], from.ring());
    if (runtime.engine == Engine::epoll) {
      place["ring"].error("has no meaning on the epoll engine, and runtime.engine is EPOLL");
    }
  }
  if (from.has_busy_poll()) {
    runtime.busy_poll = compileBusyPoll(place["busy_poll"], from.busy_poll());
  }
  if (from.has_max_disk_reads_per_shard()) {
    runtime.max_disk_reads_per_shard = static_cast<uint32_t>(numberIn(
        place["max_disk_reads_per_shard"], from.max_disk_reads_per_shard(), 0, {1, kMaxDiskReads}));
  }
  return runtime;
}

LoggingConfig compileLogging(const Place& place, const pb::Logging& from) {
  LoggingConfig logging;
  logging.level = levelOf(from.level());
  logging.path = from.path();
  if (from.has_access_log()) {
    logging.access_log = compileAccessLog(place["access_log"], from.access_log());
  }
  return logging;
}

}  // namespace config
