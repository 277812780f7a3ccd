#include "source/telemetry/sink/operator_log.h"

#include <fcntl.h>
#include <spdlog/logger.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/base_sink.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
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

// Collects lines and writes them to a descriptor. Of our own, because spdlog's file sink can
// neither change its file nor report a failure but by an exception.
class DescriptorSink final : public spdlog::sinks::base_sink<spdlog::details::null_mutex> {
 public:
  static constexpr size_t kBuffer_bytes = 65536;

  explicit DescriptorSink(uint64_t& failures) : failures_(failures) {
    set_formatter_(std::make_unique<spdlog::pattern_formatter>("%Y-%m-%dT%H:%M:%S.%eZ %l %v",
                                                               spdlog::pattern_time_type::utc));
  }
  ~DescriptorSink() override {
    flush_();
    release();
  }
  // Owned unless it is standard error.
  void use(int fd) {
    flush_();
    release();
    fd_ = fd;
  }

 private:
  void release() {
    if (fd_ != STDERR_FILENO) {
      close(fd_);
    }
  }
  void sink_it_(const spdlog::details::log_msg& message) override {
    spdlog::memory_buf_t line;
    formatter_->format(message, line);
    pending_.append(line.data(), line.size());
    pending_lines_++;
    if (fd_ == STDERR_FILENO || pending_.size() >= kBuffer_bytes) {
      flush_();
    }
  }
  void flush_() override {
    size_t done = 0;
    while (done < pending_.size()) {
      const ssize_t n = write(fd_, pending_.data() + done, pending_.size() - done);
      if (n < 0 && errno == EINTR) {
        continue;
      }
      if (n <= 0) {
        failures_ += pending_lines_;
        break;
      }
      done += static_cast<size_t>(n);
    }
    pending_.clear();
    pending_lines_ = 0;
  }

  int fd_ = STDERR_FILENO;
  std::string pending_;
  uint64_t pending_lines_ = 0;
  uint64_t& failures_;
};

// A descriptor to append to, or -1.
int openLog(const std::string& path, std::string& why_not) {
  if (path.empty()) {
    return STDERR_FILENO;
  }
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (fd < 0) {
    why_not = "cannot open the log " + path + ": " + strerror(errno);
  }
  return fd;
}

}  // namespace

struct OperatorLog::Impl {
  uint64_t failures = 0;
  DescriptorSink* sink;  // owned by the logger
  spdlog::logger logger;

  Impl() : sink(new DescriptorSink(failures)), logger("ringfence", spdlog::sink_ptr(sink)) {
    logger.flush_on(spdlog::level::warn);
  }
};

std::unique_ptr<OperatorLog> OperatorLog::open(const OperatorLogOptions& options,
                                               std::string& why_not) {
  const int fd = openLog(options.path, why_not);
  if (fd < 0) {
    return nullptr;
  }
  auto impl = std::make_unique<Impl>();
  impl->sink->use(fd);
  return std::unique_ptr<OperatorLog>(new OperatorLog(options, std::move(impl)));
}

OperatorLog::OperatorLog(const OperatorLogOptions& options, std::unique_ptr<Impl> impl)
    : options_(options), level_(options.level), impl_(std::move(impl)) {
  impl_->logger.set_level(toSpdlog(level_));
  impl_->logger.set_error_handler([this](const std::string&) { impl_->failures++; });
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

uint64_t OperatorLog::failures() const {
  return impl_->failures;
}

void OperatorLog::flush() {
  impl_->logger.flush();
}

base::Status OperatorLog::reopen(std::string& why_not) {
  const int fd = openLog(options_.path, why_not);
  if (fd < 0) {
    return base::Error{base::Code::io_error, base::Blame::self};
  }
  impl_->sink->use(fd);
  return base::Unit{};
}

}  // namespace telemetry
