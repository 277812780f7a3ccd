#include "source/telemetry/sink/operator_log.h"

#include <spdlog/logger.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/sinks/dist_sink.h>
#include <spdlog/sinks/stdout_sinks.h>

#include <utility>

#include "source/telemetry/escape.h"

namespace telemetry {

namespace {

spdlog::level::level_enum toSpdlog(LogLevel level) {
  switch (level) {
    case LogLevel::trace:
      return spdlog::level::trace;
    case LogLevel::debug:
      return spdlog::level::debug;
    case LogLevel::info:
      return spdlog::level::info;
    case LogLevel::warning:
      return spdlog::level::warn;
    case LogLevel::error:
      return spdlog::level::err;
    case LogLevel::critical:
      return spdlog::level::critical;
    case LogLevel::off:
      return spdlog::level::off;
  }
  return spdlog::level::info;
}

spdlog::log_clock::time_point toTime(int64_t unix_ms) {
  return spdlog::log_clock::time_point(std::chrono::milliseconds(unix_ms));
}

// spdlog reports a file that it cannot open by an exception, which ends here.
spdlog::sink_ptr openSink(const std::string& path, std::string& why_not) {
  if (path.empty()) {
    return std::make_shared<spdlog::sinks::stderr_sink_mt>();
  }
  try {
    return std::make_shared<spdlog::sinks::basic_file_sink_mt>(path);
  } catch (const spdlog::spdlog_ex& error) {
    why_not = error.what();
    return nullptr;
  }
}

}  // namespace

// The sink of the moment is behind a distributing sink, which can be given another.
struct OperatorLog::Impl {
  std::shared_ptr<spdlog::sinks::dist_sink_mt> sinks =
      std::make_shared<spdlog::sinks::dist_sink_mt>();
  spdlog::logger logger{"ringfence", sinks};

  Impl() { logger.flush_on(spdlog::level::warn); }
  void use(spdlog::sink_ptr sink) {
    sink->set_formatter(std::make_unique<spdlog::pattern_formatter>(
        "%Y-%m-%dT%H:%M:%S.%eZ %l %v", spdlog::pattern_time_type::utc));
    sinks->set_sinks({std::move(sink)});
  }
};

std::unique_ptr<OperatorLog> OperatorLog::open(const OperatorLogOptions& options,
                                               std::string& why_not) {
  spdlog::sink_ptr sink = openSink(options.path, why_not);
  if (sink == nullptr) {
    return nullptr;
  }
  auto impl = std::make_unique<Impl>();
  impl->use(std::move(sink));
  return std::unique_ptr<OperatorLog>(new OperatorLog(options, std::move(impl)));
}

OperatorLog::OperatorLog(const OperatorLogOptions& options, std::unique_ptr<Impl> impl)
    : options_(options), level_(options.level), impl_(std::move(impl)) {
  impl_->logger.set_level(toSpdlog(level_));
  impl_->logger.set_error_handler([this](const std::string&) { failures_++; });
}

OperatorLog::~OperatorLog() {
  flush();
}

void OperatorLog::setLevel(LogLevel level) {
  level_ = level;
  impl_->logger.set_level(toSpdlog(level));
}

void OperatorLog::write(LogLevel level, std::string_view text) {
  line_.clear();
  appendControlEscaped(text, line_);
  impl_->logger.log(toSpdlog(level), spdlog::string_view_t(line_.data(), line_.size()));
}

void OperatorLog::writeRecord(const LogRecord& record, uint16_t shard) {
  line_.assign("shard ");
  line_ += std::to_string(shard);
  line_ += ": ";
  appendControlEscaped(record.view(), line_);
  impl_->logger.log(toTime(record.unix_ms), spdlog::source_loc{}, toSpdlog(record.level),
                    spdlog::string_view_t(line_.data(), line_.size()));
}

uint64_t OperatorLog::drain(LogRing& ring, uint16_t shard, uint64_t& dropped_seen) {
  uint64_t lines = 0;
  LogRecord record;
  // A shard that logs as fast as this reads does not keep the control thread here.
  while (lines < LogRing::kSlots && ring.read(record)) {
    writeRecord(record, shard);
    lines++;
  }
  const uint64_t dropped = ring.dropped();
  if (dropped != dropped_seen) {
    write(LogLevel::warning, "shard " + std::to_string(shard) + ": " +
                                 std::to_string(dropped - dropped_seen) +
                                 " log lines dropped, because the ring was full");
    dropped_seen = dropped;
  }
  return lines;
}

void OperatorLog::flush() {
  impl_->logger.flush();
}

base::Status OperatorLog::reopen(std::string& why_not) {
  flush();
  spdlog::sink_ptr sink = openSink(options_.path, why_not);
  if (sink == nullptr) {
    return base::Error{base::Code::io_error, base::Blame::self};
  }
  impl_->use(std::move(sink));
  return base::Unit{};
}

}  // namespace telemetry
