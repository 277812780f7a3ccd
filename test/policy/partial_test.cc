// Goal: the rest of a response is taken from an answer that carries exactly it, of the same
// version, or from one that carries all of that version; from nothing else. Method: one row a case
// (RFC 9110 13.1.5, 14.2, 15.3.7; RFC 9111 3.4).
#include "source/policy/partial.h"

#include <gtest/gtest.h>

#include <optional>
#include <string_view>

#include "test/policy/heads.h"

namespace policy {
namespace {

using testing::FieldRows;
using testing::fieldsOf;

constexpr std::string_view kTag = "\"v1\"";

struct Row {
  std::string_view clause;
  uint16_t status;
  FieldRows fields;
  std::optional<uint64_t> body_length;
  std::optional<uint64_t> end;  // of the rest, from byte 100 on
  bool is_rest;
  bool ends_with_rest;
};

const Row kRows[] = {
    {"exactly it",
     206,
     {{"ETag", kTag}, {"Content-Range", "bytes 100-199/200"}},
     100,
     200,
     true,
     false},
    {"of unknown length",
     206,
     {{"ETag", kTag}, {"Content-Range", "bytes 100-199/200"}},
     std::nullopt,
     200,
     true,
     false},
    {"to the body's end",
     206,
     {{"ETag", kTag}, {"Content-Range", "bytes 100-199/200"}},
     100,
     std::nullopt,
     true,
     false},
    {"less than that",
     206,
     {{"ETag", kTag}, {"Content-Range", "bytes 100-198/200"}},
     99,
     200,
     false,
     false},
    {"from elsewhere",
     206,
     {{"ETag", kTag}, {"Content-Range", "bytes 99-199/200"}},
     101,
     200,
     false,
     false},
    {"shorter than it says",
     206,
     {{"ETag", kTag}, {"Content-Range", "bytes 100-199/200"}},
     99,
     200,
     false,
     false},
    {"of another version",
     206,
     {{"ETag", "\"v2\""}, {"Content-Range", "bytes 100-199/200"}},
     100,
     200,
     false,
     false},
    {"of a weak tag",
     206,
     {{"ETag", "W/\"v1\""}, {"Content-Range", "bytes 100-199/200"}},
     100,
     200,
     false,
     false},
    {"without a tag", 206, {{"Content-Range", "bytes 100-199/200"}}, 100, 200, false, false},
    {"in parts",
     206,
     {{"ETag", kTag}, {"Content-Type", "multipart/byteranges"}},
     300,
     200,
     false,
     false},
    {"all of it", 200, {{"ETag", kTag}}, 200, 200, false, true},
    {"all of it, to its end", 200, {{"ETag", kTag}}, 200, std::nullopt, false, true},
    {"all of unknown length", 200, {{"ETag", kTag}}, std::nullopt, std::nullopt, false, true},
    {"of unknown length, where that matters",
     200,
     {{"ETag", kTag}},
     std::nullopt,
     200,
     false,
     false},
    {"longer than the rest", 200, {{"ETag", kTag}}, 201, 200, false, false},
    {"as long as what is there", 200, {{"ETag", kTag}}, 100, std::nullopt, false, true},
    {"shorter than what is there", 200, {{"ETag", kTag}}, 99, std::nullopt, false, false},
    {"all of another version", 200, {{"ETag", "\"v2\""}}, 200, 200, false, false},
    {"all of a weak tag", 200, {{"ETag", "W/\"v1\""}}, 200, 200, false, false},
    {"all without a tag", 200, {}, 200, 200, false, false},
    {"an error", 503, {{"ETag", kTag}}, 200, 200, false, false},
};

TEST(Rest, IsTakenFromTheSameVersionAlone) {
  for (const Row& row : kRows) {
    http::ResponseHead head;
    head.status = row.status;
    head.fields = fieldsOf(row.fields);
    const Rest rest{100, row.end, kTag};
    EXPECT_EQ(isRest(head, row.body_length, rest), row.is_rest) << row.clause;
    EXPECT_EQ(endsWithRest(head, row.body_length, rest), row.ends_with_rest) << row.clause;
  }
}

}  // namespace
}  // namespace policy
