// Goal: ranges of a stored object as RFC 9110 section 14 says, with no byte outside of it.
// Method: one row a clause on an object of 1000 bytes.
#include "source/policy/range_plan.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "test/policy/heads.h"

namespace policy {
namespace {

using testing::get;
using testing::kNow;
using testing::ok;
using testing::request;
using testing::response;
using testing::Text;

using Kind = RangePlan::Kind;
using Ranges = std::vector<http::ByteRange>;

Ranges rangesOf(const RangePlan& plan) {
  return Ranges(plan.parts().begin(), plan.parts().end());
}

struct Row {
  std::string_view range;
  Kind kind;
  Ranges ranges;
};

TEST(PlanRange, SingleRanges) {  // RFC 9110 14.1.2, 14.2, 15.5.17
  const Row rows[] = {
      {"bytes=0-0", Kind::single, {{0, 0}}},
      {"bytes=0-1", Kind::single, {{0, 1}}},
      {"bytes=0-", Kind::single, {{0, 999}}},
      {"bytes=999-", Kind::single, {{999, 999}}},
      {"bytes=500-99999", Kind::single, {{500, 999}}},
      {"bytes=-1", Kind::single, {{999, 999}}},
      {"bytes=-5000", Kind::single, {{0, 999}}},
      {"bytes=-18446744073709551615", Kind::single, {{0, 999}}},
      {"bytes=0-18446744073709551615", Kind::single, {{0, 999}}},
      {"bytes=1000-", Kind::unsatisfiable, {}},
      {"bytes=-0", Kind::unsatisfiable, {}},
      {"bytes=1000-1001, 2000-", Kind::unsatisfiable, {}},
      {"bytes=5-2", Kind::whole, {}},
      {"bytes=abc", Kind::whole, {}},
      {"bytes", Kind::whole, {}},
      {"", Kind::whole, {}},
      {"lines=0-1", Kind::whole, {}},
      {"bytes=5-6, 2000-", Kind::single, {{5, 6}}},
      {"bytes=0-50, 50-100", Kind::single, {{0, 100}}},
      {"bytes=-1600,-99999", Kind::single, {{0, 999}}},
  };
  for (const Row& row : rows) {
    const RangePlan plan =
        planRange(get({{"Range", row.range}}), ok(), 1000, kNow, Access::anywhere);
    EXPECT_EQ(plan.kind, row.kind) << row.range;
    EXPECT_EQ(rangesOf(plan), row.ranges) << row.range;
  }
}

struct SeveralRow {
  std::string_view range;
  Access access;
  Kind kind;
  RangePlan::Note note;
  Ranges ranges;
};

TEST(PlanRange, SeveralParts) {  // RFC 9110 14.2, 15.3.7.2
  using Note = RangePlan::Note;
  const SeveralRow rows[] = {
      {"bytes=0-0,-1", Access::anywhere, Kind::multi, Note::none, {{0, 0}, {999, 999}}},
      {"bytes=0-0,-1", Access::forward, Kind::multi, Note::none, {{0, 0}, {999, 999}}},
      {"bytes=900-909,0-9", Access::anywhere, Kind::multi, Note::none, {{900, 909}, {0, 9}}},
      {"bytes=900-909,0-9", Access::forward, Kind::whole, Note::unordered, {}},
      {"bytes=900-909,0-9,5-19",
       Access::anywhere,
       Kind::multi,
       Note::joined,
       {{0, 19}, {900, 909}}},
      {"bytes=900-909,0-9,5-19", Access::forward, Kind::multi, Note::joined, {{0, 19}, {900, 909}}},
      {"bytes=0-9,12-19", Access::anywhere, Kind::single, Note::joined, {{0, 19}}},
      // The gap is as long as what a part costs at least, and one byte longer.
      {"bytes=0-9,90-99", Access::anywhere, Kind::single, Note::joined, {{0, 99}}},
      {"bytes=0-9,91-99", Access::anywhere, Kind::multi, Note::none, {{0, 9}, {91, 99}}},
      {"bytes=2000-,0-9,500-509", Access::forward, Kind::multi, Note::none, {{0, 9}, {500, 509}}},
  };
  for (const SeveralRow& row : rows) {
    const RangePlan plan = planRange(get({{"Range", row.range}}), ok(), 1000, kNow, row.access);
    EXPECT_EQ(plan.kind, row.kind) << row.range;
    EXPECT_EQ(plan.note, row.note) << row.range;
    EXPECT_EQ(rangesOf(plan), row.ranges) << row.range;
  }
}

TEST(PlanRange, ManyRangesGetTheWholeObject) {  // RFC 9110 17.15
  const auto ranges = [](size_t count) {
    std::string value = "bytes=";
    for (size_t i = 0; i < count; i++) {
      value += (i == 0 ? "" : ",") + std::to_string(i * 1000) + "-" + std::to_string(i * 1000);
    }
    return value;
  };
  const auto planOf = [&](size_t count) {
    return planRange(get({{"Range", ranges(count)}}), ok(), 1'000'000, kNow, Access::anywhere);
  };
  EXPECT_EQ(planOf(http::kMaxRanges).kind, Kind::multi);
  EXPECT_EQ(planOf(http::kMaxRanges).count, http::kMaxRanges);
  EXPECT_EQ(planOf(http::kMaxRanges + 1).kind, Kind::whole);
  EXPECT_EQ(planOf(http::kMaxRanges + 1).note, RangePlan::Note::too_many);
}

TEST(PlanRange, CountsForGetOnAStored200Only) {  // RFC 9110 14.2
  const auto kindOf = [](const http::RequestHead& asked, const http::ResponseHead& stored,
                         uint64_t length) {
    return planRange(asked, stored, length, kNow, Access::anywhere).kind;
  };
  EXPECT_EQ(kindOf(get(), ok(), 10), Kind::whole);
  EXPECT_EQ(kindOf(request("HEAD", {{"Range", "bytes=0-1"}}), ok(), 10), Kind::whole);
  EXPECT_EQ(kindOf(get({{"Range", "bytes=0-1"}}), response(404), 10), Kind::whole);
  EXPECT_EQ(kindOf(get({{"Range", "bytes=0-1"}}), response(203), 10), Kind::whole);
  EXPECT_EQ(kindOf(get({{"Range", "bytes=0-1"}}), ok(), 0), Kind::whole);
  EXPECT_EQ(kindOf(get({{"Range", "bytes=0-1"}, {"Range", "bytes=3-4"}}), ok(), 10), Kind::whole);
}

TEST(IfRange, MatchesStrongly) {  // RFC 9110 13.1.5
  Text text;
  const std::string_view modified = text.date(-3600);
  struct Case {
    std::string_view condition;
    http::ResponseHead stored;
    bool holds;
  };
  const Case cases[] = {
      {"\"a\"", ok({{"ETag", "\"a\""}}), true},
      {"\"b\"", ok({{"ETag", "\"a\""}}), false},
      {"W/\"a\"", ok({{"ETag", "W/\"a\""}}), false},
      {"\"a\"", ok({{"ETag", "W/\"a\""}}), false},
      {"\"a\"", ok(), false},
      {modified, ok({{"Last-Modified", modified}, {"Date", text.date(0)}}), true},
      {modified, ok({{"Last-Modified", modified}, {"Date", text.date(-3540)}}), true},
      {modified, ok({{"Last-Modified", modified}, {"Date", text.date(-3541)}}), false},
      {modified, ok({{"Last-Modified", modified}}), false},
      {text.date(0), ok({{"Last-Modified", modified}, {"Date", text.date(0)}}), false},
      {"garbage", ok({{"ETag", "\"a\""}}), false},
  };
  for (const Case& c : cases) {
    const auto asked = get({{"Range", "bytes=0-1"}, {"If-Range", c.condition}});
    EXPECT_EQ(ifRangeHolds(asked, c.stored, kNow), c.holds) << c.condition;
    const Kind expected = c.holds ? Kind::single : Kind::whole;
    EXPECT_EQ(planRange(asked, c.stored, 10, kNow, Access::anywhere).kind, expected) << c.condition;
  }
  const auto twice = get({{"If-Range", "\"a\""}, {"If-Range", "\"a\""}});
  EXPECT_FALSE(ifRangeHolds(twice, ok({{"ETag", "\"a\""}}), kNow));
}

}  // namespace
}  // namespace policy
