// Fuzzes the content codings. The first byte chooses the coding and how the rest is cut. Goal: any
// bytes decode to the same in any pieces, or to nothing; a decoder writes no more than its growth
// allows and always gets on; what is encoded is decoded to the same.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "source/base/check.h"
#include "source/coding/coder.h"

namespace {

using Bytes = std::vector<std::byte>;

std::optional<Bytes> run(coding::Coder& coder, std::span<const std::byte> in, size_t piece_in,
                         size_t piece_out) {
  Bytes out;
  Bytes piece(piece_out);
  std::span<const std::byte> given;
  bool full = false;
  while (true) {
    if (given.empty() && !full) {
      given = in.first(std::min(in.size(), piece_in));
      in = in.subspan(given.size());
    }
    const bool last = in.empty();
    const std::optional<coding::Step> step = coder.step(given, piece, last);
    if (!step.has_value()) {
      return std::nullopt;
    }
    CHECK(step->consumed <= given.size());
    CHECK(step->produced <= piece.size());
    given = given.subspan(step->consumed);
    out.insert(out.end(), piece.begin(), piece.begin() + static_cast<ptrdiff_t>(step->produced));
    full = step->produced == piece.size();
    if (step->finished) {
      CHECK(last && given.empty());
      return out;
    }
    if (step->consumed == 0 && step->produced == 0 && (last || !given.empty())) {
      return std::nullopt;
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) {
    return 0;
  }
  const auto coding = static_cast<policy::Coding>(data[0] % policy::kCodingCount);
  const size_t cut = 1 + data[0] / policy::kCodingCount;
  const std::span<const std::byte> text(reinterpret_cast<const std::byte*>(data) + 1, size - 1);

  const std::optional<Bytes> whole = run(*coding::makeDecoder(coding), text, SIZE_MAX, 1 << 16);
  const std::optional<Bytes> pieces = run(*coding::makeDecoder(coding), text, cut, 1 << 12);
  CHECK(whole == pieces);
  if (whole.has_value() && whole->size() > coding::kFreeGrowth_bytes) {
    CHECK(whole->size() / coding::kMaxGrowth <= text.size());
  }
  const std::optional<Bytes> coded =
      run(*coding::makeEncoder(coding, 1 + cut % 9), text, cut, 1 << 12);
  CHECK(coded.has_value());
  const std::optional<Bytes> back = run(*coding::makeDecoder(coding), *coded, cut, 1 << 12);
  CHECK(back.has_value() && std::ranges::equal(*back, text));
  return 0;
}
