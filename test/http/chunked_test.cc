// Goal: the chunked coding (RFC 9112 section 7) is decoded strictly and written correctly. Method:
// a table with one row a clause, each limit at N and N+1, and encoding followed by decoding. That
// cuts do not matter is the business of split_invariance_test.cc.
#include "source/http/chunked.h"

#include <gtest/gtest.h>

#include <string>

namespace http {
namespace {

using base::Code;

std::span<const std::byte> bytesOf(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

// The data, "..." when the body has not ended, and the code of an error.
std::string decode(ChunkDecoder& decoder, std::string_view text, size_t* consumed = nullptr) {
  std::span<const std::byte> rest = bytesOf(text);
  std::string out;
  while (true) {
    const auto step = decoder.feed(rest);
    if (!step.ok()) {
      return out + "!" + std::string(base::name(step.error().code));
    }
    const auto data = step.value().data;
    out.append(reinterpret_cast<const char*>(data.data()), data.size());
    rest = rest.subspan(step.value().consumed);
    if (step.value().end) {
      if (consumed != nullptr) {
        *consumed = text.size() - rest.size();
      }
      return out;
    }
    if (rest.empty()) {
      return out + "...";
    }
  }
}

std::string decode(std::string_view text, const ChunkLimits& limits = {}) {
  ChunkDecoder decoder(base::Blame::upstream, limits);
  return decode(decoder, text);
}

TEST(ChunkDecoder, EveryClause) {
  struct Row {
    std::string_view clause;
    std::string_view text;
    std::string_view expected;
  };
  const std::vector<Row> rows = {
      {"7.1: no data", "0\r\n\r\n", ""},
      {"7.1: one chunk", "5\r\nhello\r\n0\r\n\r\n", "hello"},
      {"7.1: two chunks", "5\r\nhello\r\n6\r\n world\r\n0\r\n\r\n", "hello world"},
      {"7.1: hexadecimal in any case", "a\r\n0123456789\r\nB\r\n0123456789a\r\n0\r\n\r\n",
       "01234567890123456789a"},
      {"7.1: leading zeros", "0005\r\nhello\r\n000\r\n\r\n", "hello"},
      {"7.1: data may hold CRLF", "4\r\n\r\n\r\n\r\n0\r\n\r\n", "\r\n\r\n"},
      {"7.1.1: extensions", "5;a;b=c;d=\"e\\\"f\"\r\nhello\r\n0;x\r\n\r\n", "hello"},
      {"7.1.1: bad white space before the semicolon", "5 \t;a\r\nhello\r\n0\r\n\r\n", "hello"},
      {"7.1.2: trailers", "0\r\nA: b\r\n\r\n", ""},
      {"unfinished size", "5", "..."},
      {"unfinished data", "5\r\nhel", "hel..."},
      {"unfinished end", "5\r\nhello\r\n0\r\n", "hello..."},
      {"no size", "\r\nhello", "!bad_framing"},
      {"no size before an extension", ";a\r\n", "!bad_framing"},
      {"prefix", "0x5\r\nhello\r\n", "!bad_framing"},
      {"sign", "+5\r\nhello\r\n", "!bad_framing"},
      {"negative", "-5\r\nhello\r\n", "!bad_framing"},
      {"space before the size", " 5\r\nhello\r\n", "!bad_framing"},
      {"space behind the size", "5 \r\nhello\r\n", "!bad_framing"},
      {"space within the size", "5 5\r\nhello\r\n", "!bad_framing"},
      {"not hexadecimal", "g\r\n", "!bad_framing"},
      {"LF for CRLF behind the size", "5\nhello\r\n", "!bad_framing"},
      {"CR without LF behind the size", "5\rxhello\r\n", "!bad_framing"},
      {"LF in an extension", "5;a\nhello\r\n", "!bad_framing"},
      {"control in an extension", "5;a\x01\r\nhello\r\n", "!bad_framing"},
      {"NUL in an extension", std::string_view("5;\0\r\n", 5), "!bad_framing"},
      {"data longer than said", "5\r\nhello!\r\n", "hello!bad_framing"},
      {"LF for CRLF behind the data", "5\r\nhello\n0\r\n\r\n", "hello!bad_framing"},
      {"data shorter than said", "6\r\nhello\r\n0\r\n\r\n", "hello\r!bad_framing"},
      {"largest size", "7fffffffffffffff\r\nx", "x..."},
      {"size over the largest", "8000000000000000\r\nx", "!bad_framing"},
      {"size that overflows", "10000000000000000\r\nx", "!bad_framing"},
      {"17 digits, though zeros", "00000000000000005\r\nhello\r\n", "!bad_framing"},
      {"trailer without a colon", "0\r\nA\r\n\r\n", "!bad_framing"},
      {"space before the colon", "0\r\nA : b\r\n\r\n", "!bad_framing"},
      {"obs-fold in a trailer", "0\r\nA: b\r\n c\r\n\r\n", "!bad_framing"},
      {"LF for CRLF in a trailer", "0\r\nA: b\n\r\n", "!bad_framing"},
      {"LF for the blank line", "0\r\n\n", "!bad_framing"},
      {"CR in a trailer", "0\r\nA: b\rc\r\n\r\n", "!bad_framing"},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(decode(row.text), row.expected) << row.clause;
  }
}

TEST(ChunkDecoder, LeavesTheNextMessageAlone) {
  ChunkDecoder decoder;
  size_t consumed = 0;
  EXPECT_EQ(decode(decoder, "1\r\na\r\n0\r\n\r\nGET / HTTP/1.1\r\n", &consumed), "a");
  EXPECT_EQ(consumed, 11U);
  EXPECT_TRUE(decoder.ended());
  const auto again = decoder.feed(bytesOf("GET"));
  ASSERT_TRUE(again.ok());
  EXPECT_TRUE(again.value().end);
  EXPECT_EQ(again.value().consumed, 0U);
}

TEST(ChunkDecoder, AnErrorIsFinalAndNamesWhoIsToBlame) {
  ChunkDecoder decoder(base::Blame::downstream);
  EXPECT_EQ(decode(decoder, "x"), "!bad_framing");
  const auto again = decoder.feed(bytesOf("0\r\n\r\n"));
  ASSERT_FALSE(again.ok());
  EXPECT_EQ(again.error().code, Code::bad_framing);
  EXPECT_EQ(again.error().blame, base::Blame::downstream);
  EXPECT_FALSE(decoder.ended());
}

TEST(ChunkDecoder, DataIsAViewOfTheInput) {
  ChunkDecoder decoder;
  const std::string text = "5\r\nhello\r\n";
  const auto step = decoder.feed(bytesOf(text));
  ASSERT_TRUE(step.ok());
  EXPECT_EQ(reinterpret_cast<const char*>(step.value().data.data()), text.data() + 3);
  EXPECT_EQ(step.value().consumed, 8U);
  const auto empty = decoder.feed({});
  ASSERT_TRUE(empty.ok());
  EXPECT_EQ(empty.value().consumed, 0U);
  EXPECT_FALSE(empty.value().end);
}

TEST(ChunkDecoder, TellsWhatRemainsOfTheChunk) {
  ChunkDecoder decoder;
  EXPECT_EQ(decoder.remainingInChunk(), 0U);
  EXPECT_EQ(decode(decoder, "a\r\nabc"), "abc...");
  EXPECT_EQ(decoder.remainingInChunk(), 7U);
}

TEST(ChunkDecoder, KeepsTrailersButForbiddenOnes) {
  ChunkDecoder decoder;
  EXPECT_EQ(decode(decoder,
                   "0\r\nX-Sum: 1\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n"
                   "Host: a\r\nSet-Cookie: a=b\r\nETag: \"x\"\r\nAuthorization: b\r\n"
                   "Cache-Control: no-store\r\nContent-Type: a/b\r\nServer-Timing:  t \r\n\r\n"),
            "");
  // Views must survive a move of the decoder.
  const ChunkDecoder moved = std::move(decoder);
  std::string names;
  for (const Field& field : moved.trailers().all()) {
    names += std::string(field.name) + "=" + std::string(field.value) + ";";
  }
  EXPECT_EQ(names, "X-Sum=1;ETag=\"x\";Server-Timing=t;");
}

TEST(ChunkDecoder, ResetForgetsEverything) {
  ChunkDecoder decoder;
  EXPECT_EQ(decode(decoder, "0\r\nA: b\r\n\r\n"), "");
  decoder.reset();
  EXPECT_FALSE(decoder.ended());
  EXPECT_EQ(decoder.trailers().size(), 0U);
  EXPECT_EQ(decode(decoder, "x"), "!bad_framing");
  decoder.reset();
  EXPECT_EQ(decode(decoder, "1\r\na\r\n0\r\nC: d\r\n\r\n"), "a");
  EXPECT_EQ(decoder.trailers().size(), 1U);
}

TEST(ChunkLimitsTest, ExtensionOfOneChunk) {
  const ChunkLimits limits{.extension_bytes = 5};
  EXPECT_EQ(decode("1;abcd\r\nx\r\n0\r\n\r\n", limits), "x");
  EXPECT_EQ(decode("1;abcde\r\nx\r\n0\r\n\r\n", limits), "!bad_framing");
  EXPECT_EQ(decode("1  ;ab\r\nx\r\n0\r\n\r\n", limits), "x");
  EXPECT_EQ(decode("1  ;abc\r\nx\r\n0\r\n\r\n", limits), "!bad_framing");
}

TEST(ChunkLimitsTest, ExtensionsOfAWholeBody) {
  const ChunkLimits limits{.extension_bytes = 5, .extension_total_bytes = 6};
  EXPECT_EQ(decode("1;ab\r\nx\r\n1;ab\r\ny\r\n0\r\n\r\n", limits), "xy");
  EXPECT_EQ(decode("1;ab\r\nx\r\n1;ab\r\ny\r\n0;\r\n\r\n", limits), "xy!bad_framing");
}

TEST(ChunkLimitsTest, TrailerBytes) {
  const ChunkLimits limits{.trailer_bytes = 10};
  EXPECT_EQ(decode("0\r\nA: bcd\r\n\r\n", limits), "");
  EXPECT_EQ(decode("0\r\nA: bcde\r\n\r\n", limits), "!head_too_large");
  EXPECT_EQ(decode("0\r\nAAAAAAAAAA", limits), "...");
  EXPECT_EQ(decode("0\r\nAAAAAAAAAAA", limits), "!head_too_large");
}

TEST(ChunkLimitsTest, TrailerFields) {
  const ChunkLimits limits{.trailer_fields = 2};
  EXPECT_EQ(decode("0\r\nA: b\r\nC: d\r\n\r\n", limits), "");
  EXPECT_EQ(decode("0\r\nA: b\r\nC: d\r\nE: f\r\n\r\n", limits), "!head_too_large");
}

TEST(ChunkEncoder, Heads) {
  std::array<char, kChunkHeadSize> out;
  EXPECT_EQ(writeChunkHead(1, out), "1\r\n");
  EXPECT_EQ(writeChunkHead(15, out), "f\r\n");
  EXPECT_EQ(writeChunkHead(16, out), "10\r\n");
  EXPECT_EQ(writeChunkHead(0x1a2b, out), "1a2b\r\n");
  EXPECT_EQ(writeChunkHead(UINT64_MAX, out), "ffffffffffffffff\r\n");
}

TEST(ChunkEncoder, LastChunkLeavesForbiddenTrailersOut) {
  std::string out;
  appendLastChunk(out, Fields{});
  EXPECT_EQ(out, kLastChunk);
  Fields trailers;
  trailers.add("X-Sum", "1");
  trailers.add("Content-Length", "5");
  out.clear();
  appendLastChunk(out, trailers);
  EXPECT_EQ(out, "0\r\nX-Sum: 1\r\n\r\n");
}

TEST(ChunkEncoder, DecodesToWhatWasEncoded) {
  std::string data;
  std::string encoded;
  for (size_t size = 1; size < 300; size += 7) {
    std::array<char, kChunkHeadSize> head;
    const std::string piece(size, static_cast<char>('a' + size % 26));
    data += piece;
    encoded.append(writeChunkHead(size, head));
    encoded.append(piece);
    encoded.append(kChunkEnd);
  }
  encoded.append(kLastChunk);
  EXPECT_EQ(decode(encoded), data);
}

}  // namespace
}  // namespace http
