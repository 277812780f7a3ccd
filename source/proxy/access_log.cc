#include "source/proxy/access_log.h"

#include <utility>

namespace proxy {

void AccessLog::start() {
  const bool spawned = writer_.spawn(run());
  CHECK(spawned);
}

rt::Task<void> AccessLog::stop() {
  stopping_ = true;
  writer_.cancelAll();
  co_await writer_.join();
  co_await write();
}

void AccessLog::append(const config::AccessLogFormat& format, const config::AccessLogEntry& entry) {
  if (filling_.size() >= kMaxPending_bytes) {
    stats_.dropped++;
    return;
  }
  const bool first = filling_.empty();
  config::appendLine(format, entry, filling_);
  stats_.lines++;
  if (first || filling_.size() >= kWrite_bytes) {
    wake_.wakeOne();
  }
}

rt::Task<void> AccessLog::run() {
  rt::CancelScope& scope = writer_.scope();
  while (!scope.requested()) {
    if (filling_.empty()) {
      co_await wake_.wait(scope);
      continue;
    }
    if (filling_.size() < kWrite_bytes) {
      co_await wake_.wait(scope, reactor_.now() + kFlush_ns);
    }
    co_await write();
  }
}

rt::Task<void> AccessLog::write() {
  std::swap(filling_, writing_);
  rt::CancelScope never;
  size_t done = 0;
  while (fd_ >= 0 && done < writing_.size()) {
    const auto bytes = std::as_writable_bytes(std::span(writing_)).subspan(done);
    const rt::IoResult result = co_await rt::FileOp(rt::OpKind::write, fd_, bytes,
                                                    rt::kStreamOffset, false, never, base::kNever);
    if (result.result <= 0) {
      stats_.write_errors++;
      break;
    }
    done += static_cast<size_t>(result.result);
  }
  writing_.clear();
}

}  // namespace proxy
