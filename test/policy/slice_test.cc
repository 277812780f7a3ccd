// Goal: the block that a request needs first is asked for, and an answer is taken for a block only
// if it is exactly that, of a version that has a name. Method: one row a case (RFC 9110 14.1.2,
// 14.2, 14.4, 15.3.7; RFC 9111 3.4).
#include "source/policy/slice.h"

#include <gtest/gtest.h>

#include <optional>
#include <string_view>

#include "test/policy/heads.h"

namespace policy {
namespace {

using testing::FieldRows;
using Kind = BlockAnswer::Kind;

constexpr uint64_t kBlock = 100;

TEST(Slice, TheFirstRangeSaysWhichBlockIsFirst) {
  const struct {
    FieldRows fields;
    uint64_t block;
  } rows[] = {
      {{}, 0},
      {{{"Range", "bytes=0-"}}, 0},
      {{{"Range", "bytes=99-100"}}, 0},
      {{{"Range", "bytes=100-100"}}, 1},
      {{{"Range", "bytes=250-"}}, 2},
      {{{"Range", "bytes=250-260,0-9"}}, 2},
      {{{"Range", "bytes=-5"}}, 0},       // of an unknown length
      {{{"Range", "lines=250-"}}, 0},     // RFC 9110 14.2: ignored
      {{{"Range", "bytes=260-250"}}, 0},  // malformed
      {{{"Range", "bytes=250-"}, {"Range", "bytes=0-"}}, 0},
      {{{"Range", "bytes=18446744073709551614-"}}, 0},  // its last byte would have no number
      {{{"Range", "bytes=18446744073709551400-"}}, 184467440737095514},
  };
  for (const auto& row : rows) {
    EXPECT_EQ(firstBlockOf(testing::get(row.fields), kBlock), row.block)
        << (row.fields.size() > 0 ? row.fields.begin()->second : "");
  }
}

TEST(Slice, BlocksCoverTheLengthOnce) {
  for (const uint64_t length : {1, 99, 100, 101, 200, 1000, 1001}) {
    const SliceLayout layout{length, kBlock};
    uint64_t at = 0;
    while (at < length) {
      const http::ByteRange range = layout.rangeOf(layout.indexOf(at));
      EXPECT_EQ(range.first, at);
      EXPECT_LE(range.length(), kBlock);
      at = range.last + 1;
    }
    EXPECT_EQ(at, length);
  }
}

constexpr std::string_view kTag = "\"v\"";

const struct AnswerRow {
  std::string_view clause;
  uint16_t status;
  FieldRows fields;
  std::optional<uint64_t> body_length;
  uint64_t block;
  Kind kind;
  uint64_t length;
} kAnswers[] = {
    {"a block",
     206,
     {{"ETag", kTag}, {"Content-Range", "bytes 100-199/250"}},
     100,
     1,
     Kind::block,
     250},
    {"of unknown body length",
     206,
     {{"ETag", kTag}, {"Content-Range", "bytes 100-199/250"}},
     std::nullopt,
     1,
     Kind::block,
     250},
    {"the last block",
     206,
     {{"ETag", kTag}, {"Content-Range", "bytes 200-249/250"}},
     50,
     2,
     Kind::block,
     250},
    {"all there is",
     206,
     {{"ETag", kTag}, {"Content-Range", "bytes 0-99/100"}},
     100,
     0,
     Kind::whole,
     100},
    {"all there is, without a tag",
     206,
     {{"Content-Range", "bytes 0-9/10"}},
     10,
     0,
     Kind::whole,
     10},
    {"without a tag", 206, {{"Content-Range", "bytes 0-99/250"}}, 100, 0, Kind::unusable, 250},
    {"a weak tag",
     206,
     {{"ETag", "W/\"v\""}, {"Content-Range", "bytes 0-99/250"}},
     100,
     0,
     Kind::unusable,
     250},
    {"two tags",
     206,
     {{"ETag", kTag}, {"ETag", kTag}, {"Content-Range", "bytes 0-99/250"}},
     100,
     0,
     Kind::unusable,
     250},
    {"unknown length",
     206,
     {{"ETag", kTag}, {"Content-Range", "bytes 0-99/*"}},
     100,
     0,
     Kind::unusable,
     0},
    {"another block",
     206,
     {{"ETag", kTag}, {"Content-Range", "bytes 0-99/250"}},
     100,
     1,
     Kind::unusable,
     0},
    {"less than it",
     206,
     {{"ETag", kTag}, {"Content-Range", "bytes 100-198/250"}},
     99,
     1,
     Kind::unusable,
     0},
    {"more than it",
     206,
     {{"ETag", kTag}, {"Content-Range", "bytes 100-249/250"}},
     150,
     1,
     Kind::unusable,
     0},
    {"a body of another length",
     206,
     {{"ETag", kTag}, {"Content-Range", "bytes 0-99/250"}},
     99,
     0,
     Kind::unusable,
     0},
    {"without Content-Range", 206, {{"ETag", kTag}}, 100, 0, Kind::unusable, 0},
    {"several ranges",
     206,
     {{"ETag", kTag}, {"Content-Type", "multipart/byteranges; boundary=x"}},
     100,
     0,
     Kind::unusable,
     0},
    {"two of Content-Range",
     206,
     {{"ETag", kTag}, {"Content-Range", "bytes 0-99/250"}, {"Content-Range", "bytes 0-99/250"}},
     100,
     0,
     Kind::unusable,
     0},
    {"an unsatisfied range in a 206",
     206,
     {{"ETag", kTag}, {"Content-Range", "bytes */250"}},
     0,
     0,
     Kind::unusable,
     0},
    {"416", 416, {{"Content-Range", "bytes */250"}}, 0, 5, Kind::beyond, 0},
    {"the whole", 200, {{"ETag", kTag}}, 250, 0, Kind::other, 0},
    {"an error", 503, {}, 0, 0, Kind::other, 0},
};

TEST(Slice, AnAnswerIsWhatItSaysExactly) {
  for (const AnswerRow& row : kAnswers) {
    const http::ResponseHead head = testing::response(row.status, row.fields);
    const BlockAnswer answer = judgeBlock(head, row.body_length, row.block, kBlock);
    EXPECT_EQ(answer.kind, row.kind) << row.clause;
    if (row.kind == Kind::block || row.kind == Kind::whole) {
      EXPECT_EQ(answer.length, row.length) << row.clause;
    }
    const SliceLayout layout{250, kBlock};
    EXPECT_EQ(isBlock(head, row.body_length, layout, row.block, kTag), row.kind == Kind::block)
        << row.clause;
  }
}

TEST(Slice, ABlockIsOfOneVersionAndLength) {
  const http::ResponseHead head =
      testing::response(206, {{"ETag", "\"v\""}, {"Content-Range", "bytes 100-199/250"}});
  EXPECT_TRUE(isBlock(head, 100, SliceLayout{250, kBlock}, 1, "\"v\""));
  EXPECT_FALSE(isBlock(head, 100, SliceLayout{250, kBlock}, 1, "\"w\""));
  EXPECT_FALSE(isBlock(head, 100, SliceLayout{251, kBlock}, 1, "\"v\""));
  EXPECT_FALSE(isBlock(head, 100, SliceLayout{250, kBlock}, 0, "\"v\""));
}

TEST(Slice, TheWholesHeadSpeaksOfNoPart) {
  const http::ResponseHead part = testing::response(206, {{"ETag", "\"v\""},
                                                          {"Content-Range", "bytes 0-99/250"},
                                                          {"Content-Length", "100"},
                                                          {"Content-Type", "video/mp4"}});
  http::ResponseHead whole;
  wholeOf(part, whole);
  EXPECT_EQ(whole.status, 200);
  EXPECT_EQ(whole.reason, "OK");
  ASSERT_EQ(whole.fields.all().size(), 2U);
  EXPECT_EQ(whole.fields.value(http::Name::etag), "\"v\"");
  EXPECT_EQ(whole.fields.value(http::Name::content_type), "video/mp4");
}

}  // namespace
}  // namespace policy
