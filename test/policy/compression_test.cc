// Goal: what is compressed and decompressed, and how that shows in the head, is as RFC
// 9110 8.4, 8.8 and 12.5.3 say. Method: one row a rule; heads from literals.
#include "source/policy/compression.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "source/policy/conditional.h"
#include "source/policy/range_plan.h"
#include "source/policy/upstream.h"
#include "test/policy/heads.h"

namespace policy {
namespace {

using testing::enabledRoute;
using testing::FieldRows;
using testing::fieldsOf;
using testing::kNow;
using testing::response;

RoutePolicy route() {
  RoutePolicy policy = enabledRoute();
  policy.compression = Compression{.algorithms = {Coding::br, Coding::gzip},
                                   .min_length = 100,
                                   .content_types = {"text/", "application/json"},
                                   .level = std::nullopt};
  policy.accept_encodings = {"br", "gzip"};
  return policy;
}

struct Row {
  std::string_view why;
  std::string_view accepts;
  uint16_t status;
  std::vector<testing::FieldRow> fields;
  std::optional<uint64_t> length;
  bool negotiated;
  Recode what;
  Coding coding = Coding::gzip;
};

const Row kRows[] = {
    {"text, as preferred",
     "br",
     200,
     {{"Content-Type", "text/html"}},
     1000,
     true,
     Recode::compress,
     Coding::br},
    {"text, as accepted",
     "gzip",
     200,
     {{"Content-Type", "text/css"}},
     1000,
     true,
     Recode::compress,
     Coding::gzip},
    {"parameters do not count",
     "gzip",
     200,
     {{"Content-Type", "Text/HTML; charset=utf-8"}},
     1000,
     true,
     Recode::compress},
    {"a whole type",
     "gzip",
     200,
     {{"Content-Type", "application/json"}},
     1000,
     true,
     Recode::compress},
    {"not a longer one",
     "gzip",
     200,
     {{"Content-Type", "application/jsonx"}},
     1000,
     false,
     Recode::none},
    {"not the beginning of one",
     "gzip",
     200,
     {{"Content-Type", "text"}},
     1000,
     false,
     Recode::none},
    {"another type", "gzip", 200, {{"Content-Type", "image/png"}}, 1000, false, Recode::none},
    {"no type", "gzip", 200, {}, 1000, false, Recode::none},
    {"nothing accepted: it varies all the same",
     "",
     200,
     {{"Content-Type", "text/html"}},
     1000,
     true,
     Recode::none},
    {"refused", "gzip;q=0", 200, {{"Content-Type", "text/html"}}, 1000, true, Recode::none},
    {"just long enough", "gzip", 200, {{"Content-Type", "text/html"}}, 100, true, Recode::compress},
    {"too short", "gzip", 200, {{"Content-Type", "text/html"}}, 99, false, Recode::none},
    {"of unknown length",
     "gzip",
     200,
     {{"Content-Type", "text/html"}},
     std::nullopt,
     true,
     Recode::compress},
    {"no-transform (RFC 9110 7.7)",
     "gzip",
     200,
     {{"Content-Type", "text/html"}, {"Cache-Control", "max-age=1, no-transform"}},
     1000,
     false,
     Recode::none},
    {"a part (RFC 9110 15.3.7)",
     "gzip",
     206,
     {{"Content-Type", "text/html"}},
     1000,
     false,
     Recode::none},
    {"not modified", "gzip", 304, {{"Content-Type", "text/html"}}, 1000, false, Recode::none},
    {"an error of the server's",
     "gzip",
     500,
     {{"Content-Type", "text/html"}},
     1000,
     false,
     Recode::none},
    {"not found", "gzip", 404, {{"Content-Type", "text/html"}}, 1000, true, Recode::compress},
    {"the origin's own",
     "gzip",
     200,
     {{"Content-Type", "text/html"}, {"Content-Encoding", "gzip"}},
     1000,
     true,
     Recode::none},
    {"the origin's own, by its old name (RFC 9110 8.4.1.3)",
     "gzip",
     200,
     {{"Content-Encoding", "x-gzip"}},
     1000,
     true,
     Recode::none},
    {"the origin's, for somebody else",
     "",
     200,
     {{"Content-Encoding", "br"}},
     1000,
     true,
     Recode::decompress,
     Coding::br},
    {"the origin's, another than was asked for",
     "gzip",
     200,
     {{"Content-Encoding", "ZSTD"}},
     1000,
     true,
     Recode::decompress,
     Coding::zstd},
    {"the origin's, of a type that we leave alone",
     "",
     200,
     {{"Content-Type", "image/png"}, {"Content-Encoding", "gzip"}},
     1000,
     true,
     Recode::decompress,
     Coding::gzip},
    {"nothing to decompress", "", 200, {{"Content-Encoding", "gzip"}}, 0, false, Recode::none},
    {"twice coded", "", 200, {{"Content-Encoding", "gzip, br"}}, 1000, false, Recode::none},
    {"an unknown coding",
     "gzip",
     200,
     {{"Content-Type", "text/html"}, {"Content-Encoding", "aes128gcm"}},
     1000,
     false,
     Recode::none},
    {"coded, no-transform",
     "",
     200,
     {{"Content-Encoding", "gzip"}, {"Cache-Control", "no-transform"}},
     1000,
     false,
     Recode::none},
};

TEST(PlanCoding, OneRowARule) {
  for (const Row& row : kRows) {
    const http::Fields request = row.accepts.empty()
                                     ? fieldsOf(FieldRows{})
                                     : fieldsOf(FieldRows{{"Accept-Encoding", row.accepts}});
    http::ResponseHead head = response(row.status);
    head.fields = fieldsOf(row.fields);
    const CodingPlan plan = planCoding(request, head, row.length, route());
    EXPECT_EQ(plan.negotiated, row.negotiated) << row.why;
    EXPECT_EQ(plan.what, row.what) << row.why;
    if (row.what != Recode::none) {
      EXPECT_EQ(plan.coding, row.coding) << row.why;
    }
    const CodingPlan off = planCoding(request, head, row.length, enabledRoute());
    EXPECT_FALSE(off.negotiated || off.what != Recode::none) << row.why;
  }
}

TEST(RecodeHead, SaysWhatTheBytesAre) {
  const http::ResponseHead plain = response(200, {{"Content-Type", "text/html"},
                                                  {"Content-Length", "1000"},
                                                  {"ETag", "\"a\""},
                                                  {"Content-MD5", "x"},
                                                  {"Repr-Digest", "y"},
                                                  {"Content-Digest", "z"},
                                                  {"Digest", "z"},
                                                  {"Vary", "Origin"}});
  http::ResponseHead out;
  std::string text;
  recodeHead(plain, {true, Recode::compress, Coding::zstd}, out, text);
  EXPECT_EQ(out.status, 200);
  EXPECT_EQ(out.fields.value(http::Name::content_encoding), "zstd");
  EXPECT_EQ(out.fields.value(http::Name::etag), "W/\"a\"");  // RFC 9110 8.8.3.3
  EXPECT_EQ(out.fields.count(http::Name::vary), 2U);
  EXPECT_FALSE(out.fields.has(http::Name::content_length));
  for (const std::string_view digest : {"content-md5", "repr-digest", "content-digest", "digest"}) {
    EXPECT_EQ(out.fields.find(digest), nullptr) << digest;
  }
  EXPECT_EQ(unweakened(out.fields.value(http::Name::etag)), "\"a\"");

  recodeHead(plain, {true, Recode::none, Coding::gzip}, out, text);  // for who accepts none
  EXPECT_EQ(out.fields.value(http::Name::etag), "\"a\"");
  EXPECT_EQ(out.fields.value(http::Name::content_length), "1000");
  EXPECT_NE(out.fields.find("repr-digest"), nullptr);
  EXPECT_FALSE(out.fields.has(http::Name::content_encoding));
  EXPECT_EQ(out.fields.count(http::Name::vary), 2U);

  const http::ResponseHead coded = response(
      200, {{"Content-Encoding", "gzip"}, {"ETag", "W/\"a\""}, {"Vary", "accept-encoding"}});
  recodeHead(coded, {true, Recode::decompress, Coding::gzip}, out, text);
  EXPECT_FALSE(out.fields.has(http::Name::content_encoding));
  EXPECT_EQ(out.fields.value(http::Name::etag), "W/\"a\"");
  EXPECT_EQ(out.fields.count(http::Name::vary), 1U);
  EXPECT_FALSE(hasStrongTag(coded.fields));
  EXPECT_TRUE(hasStrongTag(plain.fields));
}

TEST(RecodeHead, ItsTagAnswersConditionsButNoRange) {
  const http::ResponseHead plain = response(200, {{"ETag", "\"a\""}});
  http::ResponseHead out;
  std::string text;
  recodeHead(plain, {true, Recode::compress, Coding::gzip}, out, text);
  for (const std::string_view tag : {"\"a\"", "W/\"a\""}) {
    const http::RequestHead asked = testing::get({{"If-None-Match", tag}});
    EXPECT_EQ(evaluateConditional(asked, out, kNow, kNow), Condition::not_modified) << tag;
    // RFC 9110 13.1.5: strong comparison. The whole is sent.
    const http::RequestHead part = testing::get({{"Range", "bytes=0-1"}, {"If-Range", tag}});
    EXPECT_EQ(planRange(part, out, 1000, kNow, Access::anywhere).kind, RangePlan::Kind::whole)
        << tag;
  }
  const http::RequestHead part = testing::get({{"Range", "bytes=0-1"}});
  EXPECT_EQ(planRange(part, out, 1000, kNow, Access::anywhere).kind, RangePlan::Kind::single);
}

TEST(AddStoredVary, AnUpdateThatDoesNotKnowOfItChangesNothing) {
  const http::Fields stored = fieldsOf(FieldRows{{"Vary", "Origin"}, {"Vary", "Accept-Encoding"}});
  struct Update {
    FieldRows fields;
    bool changes;
  };
  const Update updates[] = {
      {{}, false},
      {{{"Vary", "Origin"}}, false},
      {{{"Vary", "Origin, Accept-Encoding"}}, false},
      {{{"Vary", "Accept-Encoding"}}, true},
      {{{"Vary", "Origin, Cookie"}}, true},
      {{{"Vary", "*"}}, true},
  };
  for (const Update& update : updates) {
    http::ResponseHead out;
    addStoredVary(stored, response(304, update.fields), out);
    EXPECT_EQ(out.status, 304);
    EXPECT_EQ(changesVary(stored, out.fields), update.changes);
  }
  http::ResponseHead out;
  addStoredVary(fieldsOf(FieldRows{{"Vary", "Origin"}}), response(304, {{"Vary", "Origin"}}), out);
  EXPECT_EQ(out.fields.size(), 1U);
}

}  // namespace
}  // namespace policy
