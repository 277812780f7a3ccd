// zstd (RFC 8878) by Facebook's library, with the window of RFC 9659.
#include <zstd.h>

#include "source/coding/coder.h"

namespace coding {
namespace {

bool failed(size_t code) {
  return ZSTD_isError(code) != 0;
}

class Encoder final : public Coder {
 public:
  ~Encoder() override { ZSTD_freeCCtx(context_); }
  bool begin(int level) {
    context_ = ZSTD_createCCtx();
    return context_ != nullptr &&
           !failed(ZSTD_CCtx_setParameter(context_, ZSTD_c_compressionLevel, level)) &&
           !failed(ZSTD_CCtx_setParameter(context_, ZSTD_c_windowLog, kEncoderWindowLog)) &&
           !failed(ZSTD_CCtx_setParameter(context_, ZSTD_c_checksumFlag, 1));
  }

  std::optional<Step> step(std::span<const std::byte> in, std::span<std::byte> out,
                           bool last) override {
    ZSTD_inBuffer from{in.data(), in.size(), 0};
    ZSTD_outBuffer to{out.data(), out.size(), 0};
    const size_t left =
        ZSTD_compressStream2(context_, &to, &from, last ? ZSTD_e_end : ZSTD_e_continue);
    if (failed(left)) {
      return std::nullopt;
    }
    return Step{from.pos, to.pos, last && left == 0};
  }

 private:
  ZSTD_CCtx* context_ = nullptr;
};

class Decoder final : public Coder {
 public:
  ~Decoder() override { ZSTD_freeDCtx(context_); }
  bool begin() {
    context_ = ZSTD_createDCtx();
    return context_ != nullptr &&
           !failed(ZSTD_DCtx_setParameter(context_, ZSTD_d_windowLogMax, kWindowLog));
  }

  std::optional<Step> step(std::span<const std::byte> in, std::span<std::byte> out,
                           bool last) override {
    ZSTD_inBuffer from{in.data(), in.size(), 0};
    ZSTD_outBuffer to{out.data(), out.size(), 0};
    if (!in.empty() || !between_) {
      const size_t hint = ZSTD_decompressStream(context_, &to, &from);
      if (failed(hint)) {
        return std::nullopt;
      }
      between_ = hint == 0;
      begun_ = true;
    }
    const bool whole = begun_ && between_;
    const bool starved = from.pos == in.size() && to.pos < out.size();
    if (last && !whole && starved) {
      return std::nullopt;  // it ends too early
    }
    return Step{from.pos, to.pos, last && whole && from.pos == in.size()};
  }

 private:
  ZSTD_DCtx* context_ = nullptr;
  bool between_ = true;  // frames
  bool begun_ = false;
};

}  // namespace

std::unique_ptr<Coder> makeZstdEncoder(int level) {
  auto encoder = std::make_unique<Encoder>();
  return encoder->begin(level) ? std::move(encoder) : nullptr;
}

std::unique_ptr<Coder> makeZstdDecoder() {
  auto decoder = std::make_unique<Decoder>();
  return decoder->begin() ? std::move(decoder) : nullptr;
}

}  // namespace coding
