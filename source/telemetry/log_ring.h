// Operator log lines from a shard to the control thread: a single-producer single-consumer ring of
// records of fixed size. A shard never waits for the log: when the ring is full the line is dropped
// and counted.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <string_view>

#include "source/base/types.h"

namespace telemetry {

enum class LogLevel : uint8_t { trace, debug, info, warning, error, critical, off };

std::string_view name(LogLevel level);
// By Envoy's and spdlog's names: trace, debug, info, warning (warn), error (err), critical, off.
std::optional<LogLevel> parseLogLevel(std::string_view text);

struct LogRecord {
  static constexpr uint32_t kText_bytes = 240;

  int64_t unix_ms = 0;
  uint16_t site = 0;  // which call site wrote it
  LogLevel level = LogLevel::info;
  uint8_t length = 0;
  std::array<char, kText_bytes> text;

  std::string_view view() const { return {text.data(), length}; }
};

// Composes a line without allocating. What does not fit is cut, and the cut is marked with "...".
// Control bytes, which could forge a line, are written as \xHH.
class LogLine {
 public:
  LogLine& operator<<(std::string_view text);
  LogLine& operator<<(const char* text) { return *this << std::string_view(text); }
  LogLine& operator<<(uint64_t number);
  LogLine& operator<<(int64_t number);
  LogLine& operator<<(uint32_t number) { return *this << uint64_t{number}; }
  LogLine& operator<<(int32_t number) { return *this << int64_t{number}; }

  std::string_view view() const { return {text_.data(), size_}; }

 private:
  void put(std::string_view bytes);

  std::array<char, LogRecord::kText_bytes> text_;
  uint32_t size_ = 0;
  bool cut_ = false;
};

class LogRing {
 public:
  static constexpr uint32_t kSlots = 256;

  LogRing() : slots_(std::make_unique<std::array<LogRecord, kSlots>>()) {}

  // By the shard. Text beyond a record's size is cut. False when the ring is full: the line is
  // dropped.
  bool write(LogLevel level, uint16_t site, int64_t unix_ms, std::string_view text);
  // By the control thread. False when there is nothing.
  bool read(LogRecord& record);
  // Lines dropped so far; by either.
  uint64_t dropped() const { return dropped_.load(std::memory_order_relaxed); }

 private:
  std::unique_ptr<std::array<LogRecord, kSlots>> slots_;
  alignas(64) std::atomic<uint32_t> tail_{0};
  std::atomic<uint64_t> dropped_{0};
  alignas(64) std::atomic<uint32_t> head_{0};
};

// Lets a call site log at most `burst` lines in each interval, and counts the rest. Not
// thread-safe: each shard has its own.
class LogLimit {
 public:
  LogLimit(uint32_t burst, uint64_t interval_ns) : burst_(burst), interval_ns_(interval_ns) {}

  // Whether to log now; then `suppressed` is how many lines were left out since the last one
  // logged.
  bool allow(base::MonoTime now, uint64_t& suppressed);
  uint64_t suppressedTotal() const { return suppressed_total_; }

 private:
  uint32_t burst_;
  uint64_t interval_ns_;
  base::MonoTime ends_{0};  // of the current interval
  uint32_t used_ = 0;
  uint64_t suppressed_ = 0;
  uint64_t suppressed_total_ = 0;
};

}  // namespace telemetry
