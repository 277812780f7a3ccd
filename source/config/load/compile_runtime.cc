// Runtime, logging and caches.
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

DiskIo diskIoOf(pb::Cache::DiskIo disk_io) {
  switch (disk_io) {
    case pb::Cache::IO_URING:
      return DiskIo::io_uring;
    case pb::Cache::LIBAIO:
      return DiskIo::libaio;
    case pb::Cache::SENDFILE:
      return DiskIo::sendfile;
    default:
      return DiskIo::automatic;
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

void checkSegments(const Place& place, const CacheConfig& cache) {
  constexpr uint64_t kMinSegmentsPerStripe = 5;
  if (cache.segment_bytes == 0) {
    return;
  }
  const uint64_t stripes = std::max<uint32_t>(cache.stripes, 1);
  if (cache.max_size_bytes / stripes / cache.segment_bytes < kMinSegmentsPerStripe) {
    place["segment_bytes"].error(
        "a stripe needs at least " + std::to_string(kMinSegmentsPerStripe) +
        " segments: max_size_bytes would have to be " +
        std::to_string(kMinSegmentsPerStripe * stripes * cache.segment_bytes));
  }
}

void checkDiskIo(const Place& place, const pb::Cache& from, const CacheConfig& cache,
                 Engine engine) {
  if (cache.disk_io == DiskIo::sendfile && cache.direct_io) {
    from.has_direct_io()
        ? place["direct_io"].error("SENDFILE reads through the page cache", "false")
        : place["disk_io"].error("SENDFILE needs `direct_io: false` beside it");
  }
  if (cache.disk_io == DiskIo::io_uring && engine == Engine::epoll) {
    place["disk_io"].error("IO_URING needs the io_uring engine, and runtime.engine is EPOLL",
                           "LIBAIO");
  }
  if (cache.disk_io == DiskIo::libaio && !cache.direct_io) {
    place["direct_io"].error("LIBAIO would block the shard on reads through the page cache",
                             "true");
  }
}

}  // namespace

RuntimeConfig compileRuntime(const Place& place, const pb::Runtime& from) {
  constexpr uint64_t kMaxShards = 256;
  constexpr uint64_t kMaxConnections = 1048576;
  constexpr uint64_t kMinPool = uint64_t{4} << 20;
  constexpr uint64_t kMaxPool = uint64_t{64} << 30;
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

namespace {

constexpr std::string_view kSurrogateKey = "Surrogate-Key";
constexpr std::string_view kCacheTag = "Cache-Tag";

// What separates the tags of a field; an error when it cannot be told.
policy::TagSeparator separatorOf(const Place& place, const pb::TagField& from) {
  switch (from.separator()) {
    case pb::TagField::SPACE:
      return policy::TagSeparator::space;
    case pb::TagField::COMMA:
      return policy::TagSeparator::comma;
    default:
      break;
  }
  if (http::equalsIgnoreCase(from.name(), kCacheTag)) {
    return policy::TagSeparator::comma;
  }
  if (!http::equalsIgnoreCase(from.name(), kSurrogateKey)) {
    place["separator"].error("must be SPACE or COMMA for a field other than " +
                             std::string(kSurrogateKey) + " and " + std::string(kCacheTag));
  }
  return policy::TagSeparator::space;
}

policy::TagRules compileTags(const Place& place, const pb::Tags& from) {
  constexpr int kMaxTagFields = 16;
  policy::TagRules rules;
  rules.strip = from.strip();
  const Place fields = place["fields"];
  if (from.fields_size() > kMaxTagFields) {
    fields.error("has more than " + std::to_string(kMaxTagFields) + " entries");
    return rules;
  }
  for (int i = 0; i < from.fields_size(); i++) {
    const pb::TagField& field = from.fields(i);
    const Place at = fields[static_cast<size_t>(i)];
    if (field.name().empty()) {
      at["name"].missing();
      continue;
    }
    if (!http::isToken(field.name())) {
      at["name"].error("is not a field name");
      continue;
    }
    const auto same = [&field](const policy::TagField& other) {
      return http::equalsIgnoreCase(other.name, field.name());
    };
    if (std::any_of(rules.fields.begin(), rules.fields.end(), same)) {
      at["name"].error("is there twice");
      continue;
    }
    rules.fields.push_back(policy::TagField{field.name(), separatorOf(at, field)});
  }
  if (from.fields_size() == 0) {
    rules.fields = {{std::string(kSurrogateKey), policy::TagSeparator::space},
                    {std::string(kCacheTag), policy::TagSeparator::comma}};
  }
  return rules;
}

AdmissionConfig compileAdmission(const Place& place, const pb::Admission& from) {
  constexpr uint64_t kMostBytesPerSecond = uint64_t{1} << 40;
  AdmissionConfig admission;
  admission.policy = from.policy() == pb::Admission::SECOND_HIT ? AdmissionPolicy::second_hit
                                                                : AdmissionPolicy::all;
  admission.write_bytes_per_second = numberIn(
      place["write_bytes_per_second"], from.write_bytes_per_second(), 0, {0, kMostBytesPerSecond});
  return admission;
}

}  // namespace

CacheConfig compileCache(const Place& place, const pb::Cache& from, Engine engine) {
  constexpr uint64_t kMaxMemory = uint64_t{1} << 40;
  constexpr uint64_t kMaxScrub = uint64_t{1} << 40;
  constexpr uint64_t kMaxStripes = 1024;
  constexpr uint64_t kLargestShare = 2;  // of the cache, that one object may take
  constexpr uint64_t kMinSegment = uint64_t{1} << 20;
  constexpr uint64_t kMaxSegment = uint64_t{16} << 20;
  CacheConfig cache;
  cache.name = from.name();
  cache.path = from.path();
  if (cache.path.empty()) {
    place["path"].missing();
  }
  cache.max_size_bytes = kMinCacheBytes;
  if (from.max_size_bytes() == 0) {
    place["max_size_bytes"].missing();
  } else {
    cache.max_size_bytes = numberIn(place["max_size_bytes"], from.max_size_bytes(), kMinCacheBytes,
                                    {kMinCacheBytes, kMaxCacheBytes});
  }
  if (from.has_memory_bytes()) {
    cache.memory_bytes =
        numberIn(place["memory_bytes"], from.memory_bytes(), cache.memory_bytes, {0, kMaxMemory});
  }
  cache.disk_io = diskIoOf(from.disk_io());
  cache.direct_io = from.has_direct_io() ? from.direct_io() : true;
  cache.max_object_bytes = cache.max_size_bytes / kLargestShare;
  if (from.has_max_object_bytes()) {
    cache.max_object_bytes = numberIn(place["max_object_bytes"], from.max_object_bytes(),
                                      cache.max_object_bytes, {1, cache.max_object_bytes});
  }
  cache.stripes = static_cast<uint32_t>(
      numberIn(place["stripes"], from.stripes(), cache.stripes, {0, kMaxStripes}));
  if (from.has_segment_bytes()) {
    const uint64_t segment = numberIn(place["segment_bytes"], from.segment_bytes(),
                                      cache.segment_bytes, {kMinSegment, kMaxSegment});
    if ((segment & (segment - 1)) != 0) {
      uint64_t lower = kMinSegment;
      while (lower * 2 < segment) {
        lower *= 2;
      }
      place["segment_bytes"].error("must be a power of two", std::to_string(lower));
    } else {
      cache.segment_bytes = segment;
    }
  }
  cache.tags = compileTags(place["tags"], from.tags());
  cache.scrub_bytes_per_second =
      numberIn(place["scrub_bytes_per_second"], from.scrub_bytes_per_second(), 0, {0, kMaxScrub});
  cache.admission = compileAdmission(place["admission"], from.admission());
  checkSegments(place, cache);
  checkDiskIo(place, from, cache, engine);
  return cache;
}

}  // namespace config
