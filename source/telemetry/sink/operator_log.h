// The operators' log: lines of the control thread and of every shard's ring, written by spdlog to
// standard error or to a file that can be opened again after it was rotated. All calls come from
// the control thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "source/base/result.h"
#include "source/telemetry/log_ring.h"

namespace telemetry {

struct OperatorLogOptions {
  std::string path;  // empty: standard error
  LogLevel level = LogLevel::info;
};

// A line is `2026-01-31T08:15:30.123Z info shard 1: text`, in UTC, with control bytes written as
// \xHH.
class OperatorLog {
 public:
  // Or says in one line why the file cannot be opened.
  static std::unique_ptr<OperatorLog> open(const OperatorLogOptions& options, std::string& why_not);
  ~OperatorLog();

  void setLevel(LogLevel level);
  LogLevel level() const { return level_; }

  // Writes a line of the control thread, now.
  void write(LogLevel level, std::string_view text);
  // Writes a shard's lines, and how many the ring had to drop since the last call. `dropped_seen`
  // is the caller's memory of that, one a ring. Returns how many lines there were.
  uint64_t drain(LogRing& ring, uint16_t shard, uint64_t& dropped_seen);
  void flush();
  // Opens the file again by its name; lines go on to the old one if that fails.
  base::Status reopen(std::string& why_not);
  // Lines that could not be written, such as on a full disk.
  uint64_t failures() const;

 private:
  struct Impl;
  OperatorLog(const OperatorLogOptions& options, std::unique_ptr<Impl> impl);
  void writeRecord(const LogRecord& record, uint16_t shard);

  OperatorLogOptions options_;
  LogLevel level_;
  std::unique_ptr<Impl> impl_;
  std::string line_;
};

}  // namespace telemetry
