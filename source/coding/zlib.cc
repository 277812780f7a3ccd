// gzip (RFC 1952) by zlib.
#include <zlib.h>

#include <algorithm>
#include <climits>

#include "source/coding/coder.h"

namespace coding {
namespace {

constexpr int kGzipWindow = 15 + 16;  // zlib's way to say: with gzip's head and trailer
constexpr int kMemoryLevel = 8;

void give(z_stream& stream, std::span<const std::byte> in, std::span<std::byte> out) {
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(in.data()));
  stream.avail_in = static_cast<uInt>(std::min<size_t>(in.size(), UINT_MAX));
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(std::min<size_t>(out.size(), UINT_MAX));
}

Step taken(const z_stream& stream, std::span<const std::byte> in, std::span<std::byte> out) {
  Step step;
  step.consumed = in.size() - stream.avail_in;
  step.produced = out.size() - stream.avail_out;
  return step;
}

class Encoder final : public Coder {
 public:
  ~Encoder() override { deflateEnd(&stream_); }
  bool begin(int level) {
    return deflateInit2(&stream_, level, Z_DEFLATED, kGzipWindow, kMemoryLevel,
                        Z_DEFAULT_STRATEGY) == Z_OK;
  }

  std::optional<Step> step(std::span<const std::byte> in, std::span<std::byte> out,
                           bool last) override {
    give(stream_, in, out);
    const int code = deflate(&stream_, last ? Z_FINISH : Z_NO_FLUSH);
    if (code != Z_OK && code != Z_STREAM_END && code != Z_BUF_ERROR) {
      return std::nullopt;
    }
    Step step = taken(stream_, in, out);
    step.finished = code == Z_STREAM_END;
    return step;
  }

 private:
  z_stream stream_{};
};

class Decoder final : public Coder {
 public:
  ~Decoder() override { inflateEnd(&stream_); }
  bool begin() { return inflateInit2(&stream_, kGzipWindow) == Z_OK; }

  std::optional<Step> step(std::span<const std::byte> in, std::span<std::byte> out,
                           bool last) override {
    if (between_) {
      if (in.empty()) {
        return Step{0, 0, last};
      }
      if (inflateReset(&stream_) != Z_OK) {  // another member follows (RFC 1952 2.2)
        return std::nullopt;
      }
      between_ = false;
    }
    give(stream_, in, out);
    const int code = inflate(&stream_, Z_NO_FLUSH);
    if (code != Z_OK && code != Z_STREAM_END && code != Z_BUF_ERROR) {
      return std::nullopt;
    }
    Step step = taken(stream_, in, out);
    between_ = code == Z_STREAM_END;
    step.finished = between_ && last && step.consumed == in.size();
    const bool starved = step.produced < out.size() && step.consumed == in.size();
    if (last && !between_ && starved) {
      return std::nullopt;  // it ends too early
    }
    return step;
  }

 private:
  z_stream stream_{};
  bool between_ = false;  // members
};

}  // namespace

std::unique_ptr<Coder> makeZlibEncoder(int level) {
  auto encoder = std::make_unique<Encoder>();
  return encoder->begin(level) ? std::move(encoder) : nullptr;
}

std::unique_ptr<Coder> makeZlibDecoder() {
  auto decoder = std::make_unique<Decoder>();
  return decoder->begin() ? std::move(decoder) : nullptr;
}

}  // namespace coding
