// Goal: what a coder writes, the programs of the formats read, and the other way round; in any
// pieces; what is broken, ends early or grows too much is refused. Method: bytes that gzip(1),
// brotli(1) and zstd(1) wrote; round trips in pieces of many sizes; bombs that the encoders make.
#include "source/coding/coder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "source/base/random.h"

namespace coding {
namespace {

constexpr policy::Coding kAll[] = {policy::Coding::gzip, policy::Coding::br, policy::Coding::zstd};

std::span<const std::byte> bytesOf(std::string_view text) {
  return std::as_bytes(std::span(text));
}

struct Pieces {
  size_t in = SIZE_MAX;
  size_t out = 4096;
};

// nullopt: it was refused, or made no progress.
std::optional<std::string> run(Coder& coder, std::string_view text, Pieces pieces = {}) {
  std::string out;
  std::string piece(pieces.out, '\0');
  std::string_view given;
  bool full = false;
  while (true) {
    if (given.empty() && !full) {
      given = text.substr(0, pieces.in);
      text.remove_prefix(given.size());
    }
    const bool last = text.empty();
    const std::optional<Step> step =
        coder.step(bytesOf(given), std::as_writable_bytes(std::span(piece)), last);
    if (!step.has_value()) {
      return std::nullopt;
    }
    given.remove_prefix(step->consumed);
    out.append(piece, 0, step->produced);
    full = step->produced == piece.size();
    if (step->finished) {
      return given.empty() && last ? std::optional(out) : std::nullopt;
    }
    if (last && step->consumed == 0 && step->produced == 0) {
      return std::nullopt;
    }
  }
}

std::string bytes(std::initializer_list<int> values) {
  return {values.begin(), values.end()};
}

std::string textOf(size_t bytes) {
  base::Random random(bytes + 1);
  std::string text;
  while (text.size() < bytes) {
    text += "word" + std::to_string(random.below(500)) + " ";
  }
  text.resize(bytes);
  return text;
}

std::string encoded(policy::Coding coding, std::string_view text,
                    std::optional<uint32_t> level = std::nullopt) {
  const std::unique_ptr<Coder> encoder = makeEncoder(coding, level);
  return run(*encoder, text).value();
}

TEST(Coder, ReadsWhatOtherProgramsWrote) {
  const std::string gzip =
      bytes({0x1f, 0x8b, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x03, 0xcb, 0x48, 0xcd,
             0xc9, 0xc9, 0x07, 0x00, 0x86, 0xa6, 0x10, 0x36, 0x05, 0x00, 0x00, 0x00});  // gzip -n
  const std::string br = bytes({0x0b, 0x02, 0x80}) + "hello" + bytes({0x03});  // Node's zlib
  const std::string zstd = bytes({0x28, 0xb5, 0x2f, 0xfd, 0x04, 0x58, 0x29, 0x00, 0x00}) + "hello" +
                           bytes({0xa3, 0x6d, 0x9f, 0x88});
  EXPECT_EQ(run(*makeDecoder(policy::Coding::gzip), gzip), "hello");
  EXPECT_EQ(run(*makeDecoder(policy::Coding::br), br), "hello");
  EXPECT_EQ(run(*makeDecoder(policy::Coding::zstd), zstd), "hello");
  std::string wrong = zstd;
  wrong.back() ^= 1;  // its checksum
  EXPECT_EQ(run(*makeDecoder(policy::Coding::zstd), wrong), std::nullopt);
  // Several members, and several frames, are one body (RFC 1952 2.2, RFC 8878 3.1).
  EXPECT_EQ(run(*makeDecoder(policy::Coding::gzip), gzip + gzip), "hellohello");
  const std::string frame = encoded(policy::Coding::zstd, "hello");
  EXPECT_EQ(run(*makeDecoder(policy::Coding::zstd), frame + frame), "hellohello");
}

TEST(Coder, WhatIsWrittenIsReadInAnyPieces) {
  for (const policy::Coding coding : kAll) {
    for (const size_t bytes : {size_t{0}, size_t{1}, size_t{1000}, size_t{70'000}}) {
      const std::string text = textOf(bytes);
      for (const Pieces in : {Pieces{}, Pieces{1, 4096}, Pieces{4096, 1}, Pieces{777, 333}}) {
        if (bytes > 1000 && (in.in == 1 || in.out == 1)) {
          continue;
        }
        const std::unique_ptr<Coder> encoder = makeEncoder(coding, std::nullopt);
        const std::optional<std::string> coded = run(*encoder, text, in);
        ASSERT_TRUE(coded.has_value()) << policy::name(coding) << " " << bytes;
        const std::unique_ptr<Coder> decoder = makeDecoder(coding);
        EXPECT_EQ(run(*decoder, *coded, in), text) << policy::name(coding) << " " << bytes;
        if (bytes == 70'000) {
          EXPECT_LT(coded->size(), bytes / 2) << policy::name(coding);
        }
      }
    }
  }
}

TEST(Coder, ALevelOfNineIsNoLarger) {
  const std::string text = textOf(200'000);
  for (const policy::Coding coding : kAll) {
    EXPECT_LE(encoded(coding, text, 9).size(), encoded(coding, text, 1).size())
        << policy::name(coding);
  }
}

TEST(Coder, WhatEndsEarlyIsRefused) {
  for (const policy::Coding coding : kAll) {
    const std::string whole = encoded(coding, textOf(500));
    for (size_t bytes = 0; bytes < whole.size(); bytes++) {
      const std::unique_ptr<Coder> decoder = makeDecoder(coding);
      EXPECT_EQ(run(*decoder, std::string_view(whole).substr(0, bytes)), std::nullopt)
          << policy::name(coding) << " " << bytes;
    }
  }
}

TEST(Coder, WhatFollowsTheEndIsRefused) {
  for (const policy::Coding coding : kAll) {
    const std::string whole = encoded(coding, textOf(500)) + "xxxxxxxxxxxxxxxxxxxxxxx";
    EXPECT_EQ(run(*makeDecoder(coding), whole), std::nullopt) << policy::name(coding);
    EXPECT_EQ(run(*makeDecoder(coding), whole, {.in = 1}), std::nullopt) << policy::name(coding);
  }
}

// A body of zeros: gzip can do no better than 1032 for one, and must pass; the others can.
TEST(Coder, WhatGrowsTooMuchIsRefused) {
  const std::string zeros(8 << 20, '\0');
  EXPECT_EQ(run(*makeDecoder(policy::Coding::gzip), encoded(policy::Coding::gzip, zeros, 9)),
            zeros);
  for (const policy::Coding coding : {policy::Coding::br, policy::Coding::zstd}) {
    const std::string bomb = encoded(coding, zeros);
    ASSERT_LT(bomb.size() * kMaxGrowth, zeros.size()) << policy::name(coding);
    EXPECT_EQ(run(*makeDecoder(coding), bomb), std::nullopt) << policy::name(coding);
    // The limit to the byte: what is free, and one more.
    const std::string free = zeros.substr(0, kFreeGrowth_bytes);
    const std::string small = encoded(coding, free);
    ASSERT_LT(small.size() * kMaxGrowth, free.size()) << policy::name(coding);
    EXPECT_EQ(run(*makeDecoder(coding), small), free) << policy::name(coding);
    EXPECT_EQ(run(*makeDecoder(coding), encoded(coding, free + '\0')), std::nullopt)
        << policy::name(coding);
  }
}

// RFC 9659: no window beyond 8 MiB.
TEST(Coder, AWindowThatIsTooLargeIsRefused) {
  // Magic; a descriptor without size, a window of 2^24 and of 2^23; a raw last block of one byte.
  const std::string too_large = bytes({0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x70, 0x09, 0x00, 0x00}) + "x";
  const std::string largest = bytes({0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x68, 0x09, 0x00, 0x00}) + "x";
  EXPECT_EQ(run(*makeDecoder(policy::Coding::zstd), too_large), std::nullopt);
  EXPECT_EQ(run(*makeDecoder(policy::Coding::zstd), largest), "x");
}

}  // namespace
}  // namespace coding
