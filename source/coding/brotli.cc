// br (RFC 7932) by Google's library.
#include <brotli/decode.h>
#include <brotli/encode.h>

#include "source/coding/coder.h"

namespace coding {
namespace {

const uint8_t* bytesOf(std::span<const std::byte> in) {
  return reinterpret_cast<const uint8_t*>(in.data());
}

class Encoder final : public Coder {
 public:
  ~Encoder() override {
    if (state_ != nullptr) {
      BrotliEncoderDestroyInstance(state_);
    }
  }
  bool begin(int level) {
    state_ = BrotliEncoderCreateInstance(nullptr, nullptr, nullptr);
    return state_ != nullptr &&
           BrotliEncoderSetParameter(state_, BROTLI_PARAM_QUALITY, static_cast<uint32_t>(level)) &&
           BrotliEncoderSetParameter(state_, BROTLI_PARAM_LGWIN, kEncoderWindowLog);
  }

  std::optional<Step> step(std::span<const std::byte> in, std::span<std::byte> out,
                           bool last) override {
    size_t in_left = in.size();
    const uint8_t* next_in = bytesOf(in);
    size_t out_left = out.size();
    auto* next_out = reinterpret_cast<uint8_t*>(out.data());
    const BrotliEncoderOperation what = last ? BROTLI_OPERATION_FINISH : BROTLI_OPERATION_PROCESS;
    if (!BrotliEncoderCompressStream(state_, what, &in_left, &next_in, &out_left, &next_out,
                                     nullptr)) {
      return std::nullopt;
    }
    return Step{in.size() - in_left, out.size() - out_left,
                BrotliEncoderIsFinished(state_) == BROTLI_TRUE};
  }

 private:
  BrotliEncoderState* state_ = nullptr;
};

class Decoder final : public Coder {
 public:
  ~Decoder() override {
    if (state_ != nullptr) {
      BrotliDecoderDestroyInstance(state_);
    }
  }
  bool begin() {
    state_ = BrotliDecoderCreateInstance(nullptr, nullptr, nullptr);
    return state_ != nullptr;
  }

  std::optional<Step> step(std::span<const std::byte> in, std::span<std::byte> out,
                           bool last) override {
    size_t in_left = in.size();
    const uint8_t* next_in = bytesOf(in);
    size_t out_left = out.size();
    auto* next_out = reinterpret_cast<uint8_t*>(out.data());
    if (!ended_) {
      const BrotliDecoderResult result =
          BrotliDecoderDecompressStream(state_, &in_left, &next_in, &out_left, &next_out, nullptr);
      if (result == BROTLI_DECODER_RESULT_ERROR ||
          (last && result == BROTLI_DECODER_RESULT_NEEDS_MORE_INPUT)) {
        return std::nullopt;
      }
      ended_ = result == BROTLI_DECODER_RESULT_SUCCESS;
    }
    if (ended_ && in_left > 0) {
      return std::nullopt;  // what follows the end is not of it
    }
    return Step{in.size() - in_left, out.size() - out_left, ended_ && last};
  }

 private:
  BrotliDecoderState* state_ = nullptr;
  bool ended_ = false;
};

}  // namespace

std::unique_ptr<Coder> makeBrotliEncoder(int level) {
  auto encoder = std::make_unique<Encoder>();
  return encoder->begin(level) ? std::move(encoder) : nullptr;
}

std::unique_ptr<Coder> makeBrotliDecoder() {
  auto decoder = std::make_unique<Decoder>();
  return decoder->begin() ? std::move(decoder) : nullptr;
}

}  // namespace coding
