// Goal: the body of several ranges is what RFC 9110 section 15.3.7.2 shows, and as long as it said.
// Method: bodies put together from the pieces, against texts written by hand.
#include "source/http/multipart.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace http {
namespace {

constexpr base::Hash128 kRandom{0x0123456789abcdef, 0xfedcba9876543210};

std::string bodyOf(const MultipartRanges& ranges, std::string_view content) {
  std::string body;
  for (size_t i = 0; i < ranges.parts().size(); i++) {
    ranges.appendPartHead(i, body);
    const ByteRange& part = ranges.parts()[i];
    body.append(content.substr(part.first, part.length()));
  }
  ranges.appendEnd(body);
  return body;
}

TEST(MultipartRanges, AreWrittenAsTheRfcShows) {
  const std::vector<ByteRange> parts{{0, 1}, {7, 9}};
  const MultipartRanges ranges({parts, 10, "text/plain"}, kRandom);
  EXPECT_EQ(ranges.contentType(),
            "multipart/byteranges; boundary=0123456789abcdeffedcba9876543210");
  const std::string body = bodyOf(ranges, "0123456789");
  EXPECT_EQ(body,
            "--0123456789abcdeffedcba9876543210\r\n"
            "Content-Type: text/plain\r\n"
            "Content-Range: bytes 0-1/10\r\n"
            "\r\n"
            "01\r\n"
            "--0123456789abcdeffedcba9876543210\r\n"
            "Content-Type: text/plain\r\n"
            "Content-Range: bytes 7-9/10\r\n"
            "\r\n"
            "789\r\n"
            "--0123456789abcdeffedcba9876543210--\r\n");
  EXPECT_EQ(ranges.bodyBytes(), body.size());
}

TEST(MultipartRanges, OfContentWithoutTypeHaveNone) {
  const std::vector<ByteRange> parts{{3, 3}, {0, 0}};
  const MultipartRanges ranges({parts, 10, {}}, kRandom);
  const std::string body = bodyOf(ranges, "0123456789");
  EXPECT_EQ(body.find("Content-Type"), std::string::npos);
  EXPECT_LT(body.find("bytes 3-3/10"), body.find("bytes 0-0/10"));
  EXPECT_EQ(ranges.bodyBytes(), body.size());
}

TEST(MultipartRanges, CountLengthsBeyondWhatMemoryHolds) {
  const std::vector<ByteRange> parts{{0, (uint64_t{1} << 40) - 1}, {uint64_t{1} << 41, 1ULL << 41}};
  const MultipartRanges ranges({parts, uint64_t{1} << 42, {}}, kRandom);
  std::string around;
  ranges.appendPartHead(0, around);
  ranges.appendPartHead(1, around);
  ranges.appendEnd(around);
  EXPECT_EQ(ranges.bodyBytes(), around.size() + (uint64_t{1} << 40) + 1);
}

TEST(MultipartRanges, TakeNoMoreThanTheLimit) {
  const std::vector<ByteRange> full(kMaxRanges, ByteRange{0, 0});
  EXPECT_EQ(MultipartRanges({full, 10, {}}, kRandom).parts().size(), kMaxRanges);
  const std::vector<ByteRange> more(kMaxRanges + 1, ByteRange{0, 0});
  EXPECT_EQ(MultipartRanges({more, 10, {}}, kRandom).parts().size(), kMaxRanges);
}

TEST(MultipartRanges, HaveABoundaryOfTheirOwn) {
  const std::vector<ByteRange> parts{{0, 0}, {5, 5}};
  const MultipartRanges one({parts, 10, {}}, base::Hash128{1, 2});
  const MultipartRanges other({parts, 10, {}}, base::Hash128{1, 3});
  EXPECT_NE(one.contentType(), other.contentType());
}

}  // namespace
}  // namespace http
