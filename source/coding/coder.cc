#include "source/coding/coder.h"

#include <utility>

namespace coding {
namespace {

// A decoder whose output is in proportion to its input.
class Bounded final : public Coder {
 public:
  explicit Bounded(std::unique_ptr<Coder> inner) : inner_(std::move(inner)) {}

  std::optional<Step> step(std::span<const std::byte> in, std::span<std::byte> out,
                           bool last) override {
    const std::optional<Step> done = inner_->step(in, out, last);
    if (!done.has_value()) {
      return std::nullopt;
    }
    consumed_ += done->consumed;
    produced_ += done->produced;
    if (produced_ > kFreeGrowth_bytes && produced_ / kMaxGrowth > consumed_) {
      return std::nullopt;
    }
    return done;
  }

 private:
  std::unique_ptr<Coder> inner_;
  uint64_t consumed_ = 0;
  uint64_t produced_ = 0;
};

}  // namespace

std::unique_ptr<Coder> makeEncoder(policy::Coding coding, std::optional<uint32_t> level) {
  constexpr uint32_t kGzipLevel = 6;
  constexpr uint32_t kBrLevel = 5;
  constexpr uint32_t kZstdLevel = 3;
  switch (coding) {
    case policy::Coding::gzip:
      return makeZlibEncoder(static_cast<int>(level.value_or(kGzipLevel)));
    case policy::Coding::br:
      return makeBrotliEncoder(static_cast<int>(level.value_or(kBrLevel)));
    case policy::Coding::zstd:
      return makeZstdEncoder(static_cast<int>(level.value_or(kZstdLevel)));
  }
  return nullptr;
}

std::unique_ptr<Coder> makeDecoder(policy::Coding coding) {
  std::unique_ptr<Coder> inner;
  switch (coding) {
    case policy::Coding::gzip:
      inner = makeZlibDecoder();
      break;
    case policy::Coding::br:
      inner = makeBrotliDecoder();
      break;
    case policy::Coding::zstd:
      inner = makeZstdDecoder();
      break;
  }
  return inner == nullptr ? nullptr : std::make_unique<Bounded>(std::move(inner));
}

}  // namespace coding
