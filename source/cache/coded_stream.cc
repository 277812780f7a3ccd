#include "source/cache/coded_stream.h"

#include <algorithm>

#include "source/rt/wait.h"

namespace cache {

rt::Task<base::Result<uint32_t>> CodedStream::read(std::span<std::byte> to,
                                                   rt::CancelScope& scope) {
  const std::span<std::byte> out = to.first(std::min(to.size(), kOutput));
  while (!finished_) {
    if (left_.empty() && !last_ && !full_) {
      const base::Result<uint32_t> read = co_await from_->read(input_, scope);
      if (!read.ok()) {
        co_return read.error();
      }
      last_ = read.value() == 0;
      left_ = std::span<const std::byte>(input_).first(read.value());
    }
    const std::optional<coding::Step> step = coder_->step(left_, out, last_);
    const bool stands = step.has_value() && step->consumed == 0 && step->produced == 0 &&
                        !step->finished && (last_ || !left_.empty());
    if (!step.has_value() || stands) {
      failures_++;
      co_return base::Error{base::Code::bad_framing, base::Blame::upstream};
    }
    left_ = left_.subspan(step->consumed);
    full_ = step->produced == out.size();
    finished_ = step->finished;
    co_await rt::NextTurn();
    if (scope.requested()) {
      co_return base::Error{base::Code::cancelled, base::Blame::self};
    }
    if (step->produced > 0) {
      co_return static_cast<uint32_t>(step->produced);
    }
  }
  co_return uint32_t{0};
}

rt::Task<void> CodedStream::close() {
  co_await from_->close();
}

}  // namespace cache
