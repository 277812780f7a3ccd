// The body of a response while it is compressed or decompressed on its way into a fill, a bounded
// piece at a time, with a turn for others between two. Its head is still the one that was received.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "source/cache/origin.h"
#include "source/coding/coder.h"
#include "source/rt/reactor.h"

namespace cache {

// A response as it is to be stored, when that is not as it came.
struct Coded {
  bool changed = false;
  http::ResponseHead head;
  std::string tag;  // head views it
};

class CodedStream final : public OriginStream {
 public:
  static constexpr size_t kInput = 16 << 10;   // received at once
  static constexpr size_t kOutput = 64 << 10;  // written at once

  CodedStream(std::unique_ptr<OriginStream> from, std::unique_ptr<coding::Coder> coder,
              uint64_t& failures)
      : from_(std::move(from)), coder_(std::move(coder)), failures_(failures) {}

  const http::ResponseHead& head() const override { return from_->head(); }
  std::optional<uint64_t> length() const override { return std::nullopt; }
  // What the coder refuses is an error of the origin's, and counted.
  rt::Task<base::Result<uint32_t>> read(std::span<std::byte> to, rt::CancelScope& scope) override;
  rt::Task<void> close() override;

 private:
  std::unique_ptr<OriginStream> from_;
  std::unique_ptr<coding::Coder> coder_;
  uint64_t& failures_;
  std::array<std::byte, kInput> input_;
  std::span<const std::byte> left_;  // of input_
  bool full_ = false;                // the last output was: the coder may have more
  bool last_ = false;                // the origin has ended
  bool finished_ = false;            // and so has the coder
};

}  // namespace cache
