// The access log of one shard: lines are formatted into a buffer, which the shard's own engine
// writes when it is large enough or old enough. Shards append to one file; each write is whole
// lines.
//
// Limits: kMaxPending_bytes waiting for a slow disk; lines beyond are dropped and counted.
#pragma once

#include <cstdint>
#include <string>

#include "source/config/model/access_log.h"
#include "source/rt/io.h"
#include "source/rt/task_group.h"
#include "source/rt/wait.h"

namespace proxy {

struct AccessLogStats {
  uint64_t lines = 0;
  uint64_t dropped = 0;
  uint64_t write_errors = 0;
};

class AccessLog {
 public:
  static constexpr size_t kWrite_bytes = 64 << 10;
  static constexpr size_t kMaxPending_bytes = 4 << 20;
  static constexpr uint64_t kFlush_ns = 500 * base::kMillisecond_ns;

  explicit AccessLog(rt::Reactor& reactor) : reactor_(reactor), writer_(reactor, 1) {}

  // fd is opened for appending, and borrowed until another is set; -1: no access log.
  void setFile(int fd) { fd_ = fd; }
  bool enabled() const { return fd_ >= 0; }
  void start();
  // Writes what is left.
  rt::Task<void> stop();

  void append(const config::AccessLogFormat& format, const config::AccessLogEntry& entry);
  const AccessLogStats& stats() const { return stats_; }

 private:
  rt::Task<void> run();
  rt::Task<void> write();

  rt::Reactor& reactor_;
  rt::TaskGroup writer_;
  rt::WaitQueue wake_;
  int fd_ = -1;
  bool stopping_ = false;
  std::string filling_;
  std::string writing_;
  AccessLogStats stats_;
};

}  // namespace proxy
