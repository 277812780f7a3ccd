// Goal: what is sent to the origin (RFC 9110 7.6) and how its 304 and HEAD answers update what is
// stored (RFC 9111 3.2, 4.3). Method: heads in, heads out, compared with lists written by hand.
#include "source/policy/upstream.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "test/policy/heads.h"

namespace policy {
namespace {

using testing::FieldRows;
using testing::fieldsOf;
using testing::get;
using testing::kNow;
using testing::ok;
using testing::response;
using testing::Text;

using Lines = std::vector<std::string>;

Lines linesOf(const http::Fields& fields) {
  Lines lines;
  for (const http::Field& field : fields.all()) {
    lines.push_back(std::string(field.name) + ": " + std::string(field.value));
  }
  return lines;
}

Lines plan(const http::RequestHead& asked, const UpstreamPlan& how) {
  http::Fields out;
  std::string scratch;
  planUpstream(asked, how, out, scratch);
  return linesOf(out);
}

TEST(PlanUpstream, AddsToCdnLoop) {  // RFC 8586 2
  UpstreamPlan how;
  const auto asked =
      get({{"Host", "a"}, {"CDN-Loop", "x; v=1"}, {"CDN-Loop", "y"}, {"Connection", "cdn-loop"}});
  const auto hasLine = [](const Lines& lines, std::string_view line) {
    return std::find(lines.begin(), lines.end(), line) != lines.end();
  };
  EXPECT_TRUE(hasLine(plan(asked, how), "CDN-Loop: x; v=1"));  // never removed
  EXPECT_TRUE(hasLine(plan(asked, how), "CDN-Loop: y"));
  how.cdn_loop = "me";
  EXPECT_TRUE(hasLine(plan(asked, how), "CDN-Loop: x; v=1, y, me"));
  EXPECT_FALSE(hasLine(plan(asked, how), "CDN-Loop: y"));
  EXPECT_TRUE(hasLine(plan(get(), how), "CDN-Loop: me"));
}

TEST(PlanUpstream, AnnouncesItselfAsASurrogate) {  // Edge Architecture 2.1
  UpstreamPlan how;
  const std::string line = "Surrogate-Capability: ringfence=\"Surrogate/1.0\"";
  Lines lines = plan(get(), how);
  EXPECT_EQ(std::count(lines.begin(), lines.end(), line), 0);
  how.surrogate = true;
  lines = plan(get(), how);
  EXPECT_EQ(std::count(lines.begin(), lines.end(), line), 1);
}

TEST(PlanUpstream, HopByHopAndFramingFieldsGo) {  // RFC 9110 7.6.1
  const auto asked = get({{"Host", "a"},
                          {"Connection", "close, X-Hop"},
                          {"X-Hop", "1"},
                          {"Keep-Alive", "x"},
                          {"Proxy-Authorization", "x"},
                          {"Proxy-Connection", "x"},
                          {"TE", "trailers"},
                          {"Trailer", "x"},
                          {"Transfer-Encoding", "chunked"},
                          {"Upgrade", "h2c"},
                          {"Content-Length", "3"},
                          {"Expect", "100-continue"},
                          {"Authorization", "Bearer"},
                          {"Cookie", "a=b"},
                          {"Accept", "*/*"},
                          {"X-Kept", "1"}});
  const Lines expected = {"Host: a",   "Authorization: Bearer",  "Cookie: a=b", "Accept: */*",
                          "X-Kept: 1", "X-Forwarded-Proto: http"};
  EXPECT_EQ(plan(asked, {}), expected);
}

TEST(PlanUpstream, AFillIsUnconditionalAndWhole) {  // RFC 9111 3.3, 4.3.1
  const auto asked = get({{"Host", "a"},
                          {"Range", "bytes=0-1"},
                          {"If-Range", "\"a\""},
                          {"If-Match", "\"a\""},
                          {"If-None-Match", "\"a\""},
                          {"If-Modified-Since", "x"},
                          {"If-Unmodified-Since", "x"},
                          {"Cache-Control", "max-age=9"}});
  UpstreamPlan how;
  EXPECT_EQ(plan(asked, how).size(), 9U);  // as received, and X-Forwarded-Proto
  how.kind = FetchKind::fill;
  const Lines fill = {"Host: a", "Cache-Control: max-age=9", "X-Forwarded-Proto: http"};
  EXPECT_EQ(plan(asked, how), fill);
  how.kind = FetchKind::revalidate;
  how.etag = "W/\"stored\"";
  how.last_modified = "Sun, 06 Nov 1994 08:49:37 GMT";
  const Lines revalidation = {"Host: a", "Cache-Control: max-age=9", "If-None-Match: W/\"stored\"",
                              "If-Modified-Since: Sun, 06 Nov 1994 08:49:37 GMT",
                              "X-Forwarded-Proto: http"};
  EXPECT_EQ(plan(asked, how), revalidation);
  how.kind = FetchKind::rest;  // RFC 9110 13.1.5
  how.etag = "\"sent\"";
  how.range = "bytes=100-";
  const Lines rest = {"Host: a", "Cache-Control: max-age=9", "Range: bytes=100-",
                      "If-Range: \"sent\"", "X-Forwarded-Proto: http"};
  EXPECT_EQ(plan(asked, how), rest);
  how.kind = FetchKind::fill;  // a block of what nothing is known of
  const Lines block = {"Host: a", "Cache-Control: max-age=9", "Range: bytes=100-",
                       "X-Forwarded-Proto: http"};
  EXPECT_EQ(plan(asked, how), block);
}

TEST(PlanUpstream, ForwardingFieldsAreReplacedOrAppended) {
  const auto asked = get({{"Host", "evil"},
                          {"X-Forwarded-For", "1.1.1.1"},
                          {"X-Forwarded-Host", "evil"},
                          {"X-Forwarded-Proto", "gopher"},
                          {"x-forwarded-for", "2.2.2.2"},
                          {"Via", "1.0 other"}});
  UpstreamPlan how;
  how.host = "origin:8000";
  how.client_host = "a.example";
  how.client_address = "3.3.3.3";
  how.client_scheme = http::Scheme::https;
  how.via = "ringfence";
  const Lines expected = {"Host: origin:8000", "X-Forwarded-For: 1.1.1.1, 2.2.2.2, 3.3.3.3",
                          "X-Forwarded-Proto: https", "X-Forwarded-Host: a.example",
                          "Via: 1.0 other, 1.1 ringfence"};
  EXPECT_EQ(plan(asked, how), expected);
}

TEST(PlanUpstream, WithoutAClientItsFieldsStay) {
  const auto asked = get({{"Host", "a"}, {"X-Forwarded-For", "1.1.1.1"}, {"Via", "1.1 x"}});
  const Lines expected = {"Host: a", "X-Forwarded-For: 1.1.1.1", "Via: 1.1 x",
                          "X-Forwarded-Proto: http"};
  EXPECT_EQ(plan(asked, {}), expected);
}

TEST(PlanUpstream, UnkeyedInputsDoNotReachAFill) {
  const auto asked = get({{"Host", "a"},
                          {"X-Original-URL", "/admin"},
                          {"X-Rewrite-Url", "/admin"},
                          {"X-HTTP-Method-Override", "DELETE"},
                          {"X-Forwarded-Scheme", "nope"},
                          {"Forwarded", "host=evil"},
                          {"X-Fine", "1"}});
  UpstreamPlan how;
  EXPECT_EQ(plan(asked, how).size(), 8U);
  how.kind = FetchKind::fill;
  const Lines expected = {"Host: a", "X-Fine: 1", "X-Forwarded-Proto: http"};
  EXPECT_EQ(plan(asked, how), expected);
}

TEST(Validators, AreThoseThatAreValid) {
  const std::string_view date = "Sun, 06 Nov 1994 08:49:37 GMT";
  const Validators both =
      validatorsOf(fieldsOf(FieldRows{{"ETag", "W/\"a\""}, {"Last-Modified", date}}), kNow);
  EXPECT_EQ(both.etag, "W/\"a\"");
  EXPECT_EQ(both.last_modified, date);
  const Validators none =
      validatorsOf(fieldsOf(FieldRows{{"ETag", "a"}, {"Last-Modified", "x"}}), kNow);
  EXPECT_TRUE(none.etag.empty() && none.last_modified.empty());
}

TEST(SelectsStored, ByStrongThenWeakValidators) {  // RFC 9111 4.3.4
  const std::string_view old_date = "Sun, 06 Nov 1994 08:49:37 GMT";
  const std::string_view new_date = "Sun, 06 Nov 1994 08:49:38 GMT";
  struct Case {
    FieldRows stored;
    FieldRows update;
    bool selects;
  };
  const Case cases[] = {
      {{{"ETag", "\"a\""}}, {{"ETag", "\"a\""}}, true},
      {{{"ETag", "\"a\""}}, {{"ETag", "\"b\""}}, false},
      {{{"ETag", "W/\"a\""}}, {{"ETag", "\"a\""}}, false},
      {{{"ETag", "\"a\""}}, {{"ETag", "W/\"a\""}}, true},
      {{{"ETag", "W/\"a\""}}, {{"ETag", "W/\"a\""}}, true},
      {{{"ETag", "W/\"a\""}}, {{"ETag", "W/\"b\""}}, false},
      {{{"ETag", "\"a\""}}, {}, true},
      {{{"Last-Modified", old_date}}, {{"Last-Modified", old_date}}, true},
      {{{"Last-Modified", old_date}}, {{"Last-Modified", new_date}}, false},
      {{{"Last-Modified", old_date}}, {}, true},
      {{{"Last-Modified", old_date}}, {{"ETag", "\"a\""}}, false},
      {{{"Last-Modified", old_date}}, {{"ETag", "\"a\""}, {"Last-Modified", old_date}}, true},
      {{{"ETag", "\"a\""}, {"Last-Modified", old_date}}, {{"Last-Modified", new_date}}, false},
      {{}, {}, true},
  };
  int row = 0;
  for (const Case& c : cases) {
    EXPECT_EQ(selectsStored(fieldsOf(c.stored), fieldsOf(c.update), kNow), c.selects)
        << "row " << row;
    row++;
  }
}

Lines merged(FieldRows stored, FieldRows update) {
  const http::ResponseHead before = response(203, stored);
  const http::ResponseHead not_modified = response(304, update);
  http::ResponseHead out;
  out.fields.add("Left", "over");
  mergeOn304(before, not_modified, out);
  EXPECT_EQ(out.status, 203);
  return linesOf(out.fields);
}

TEST(MergeOn304, ReplacesAndAddsFields) {  // RFC 9111 3.2
  const Lines expected = {"X-Old: 1",
                          "Date: d2",
                          "Cache-Control: max-age=2",
                          "X-New: 1",
                          "Set-Cookie: a=c",
                          "Content-Type: text/html",
                          "Expires: e2",
                          "Content-Location: /2"};
  EXPECT_EQ(merged({{"Date", "d1"},
                    {"Cache-Control", "max-age=1"},
                    {"Cache-Control", "public"},
                    {"X-Old", "1"},
                    {"Set-Cookie", "a=b"},
                    {"Content-Type", "text/plain"},
                    {"Expires", "e1"},
                    {"Content-Location", "/1"}},
                   {{"Date", "d2"},
                    {"Cache-Control", "max-age=2"},
                    {"X-New", "1"},
                    {"Set-Cookie", "a=c"},
                    {"Content-Type", "text/html"},
                    {"Expires", "e2"},
                    {"Content-Location", "/2"}}),
            expected);
}

TEST(MergeOn304, KeepsWhatDescribesTheStoredBytes) {
  const FieldRows stored = {{"Content-Encoding", "gzip"}, {"Content-Length", "5"},
                            {"Content-Range", "x"},       {"Content-MD5", "m"},
                            {"Repr-Digest", "r"},         {"ETag", "\"a\""},
                            {"Vary", "Accept-Encoding"},  {"Date", "d"}};
  const FieldRows update = {{"Content-Encoding", "br"},
                            {"Content-Length", "10"},
                            {"Content-Range", "y"},
                            {"Content-MD5", "n"},
                            {"Repr-Digest", "s"},
                            {"ETag", "\"b\""},
                            {"Vary", "X"},
                            {"Date", "d"}};
  Lines expected = linesOf(fieldsOf(stored));
  EXPECT_EQ(merged(stored, update), expected);
}

TEST(MergeOn304, AddsAnEntityTagWhereThereWasNone) {
  const Lines expected = {"Date: d", "ETag: \"b\""};
  EXPECT_EQ(merged({}, {{"Date", "d"}, {"ETag", "\"b\""}}), expected);
}

TEST(MergeOn304, IgnoresHopByHopFieldsOfTheUpdate) {  // RFC 9111 3.1
  const Lines expected = {"X-Hop: stored", "Date: d"};
  EXPECT_EQ(merged({{"X-Hop", "stored"}},
                   {{"Date", "d"}, {"Connection", "X-Hop"}, {"X-Hop", "update"}, {"TE", "x"}}),
            expected);
}

TEST(MergeOn304, AnOldDateTellsNoAge) {  // RFC 9111 4.2.3
  Text text;
  const Lines expected = {"Cache-Control: max-age=60"};
  EXPECT_EQ(merged({{"Date", text.date(-999)}, {"Cache-Control", "max-age=60"}}, {}), expected);
}

TEST(MergeOn304, FreshensTheTimes) {  // RFC 9111 4.3.4
  Text text;
  const auto stored = ok({{"Date", text.date(-500)}, {"Cache-Control", "max-age=60"}});
  const auto update = response(304, {{"Date", text.date(0)}, {"Age", "7"}});
  http::ResponseHead out;
  mergeOn304(stored, update, out);
  const StoreDecision decision =
      decideStore(get(), {}, out, Exchange{kNow, kNow}, testing::enabledRoute());
  EXPECT_EQ(ageOf(std::get<Store>(decision).times, kNow), 7U);
  EXPECT_EQ(freshnessLeft(std::get<Store>(decision).times, kNow), 53);
}

TEST(ChangesVary, ComparesNormalisedLists) {
  const auto changes = [](FieldRows stored, FieldRows update) {
    return changesVary(fieldsOf(stored), fieldsOf(update));
  };
  EXPECT_FALSE(changes({{"Vary", "A, b"}}, {}));
  EXPECT_FALSE(changes({{"Vary", "A, b"}}, {{"Vary", "B"}, {"Vary", "a"}}));
  EXPECT_TRUE(changes({{"Vary", "A"}}, {{"Vary", "A, B"}}));
  EXPECT_TRUE(changes({}, {{"Vary", "*"}}));
}

TEST(HeadEffect, FreshensOrInvalidates) {  // RFC 9111 4.3.5
  const std::string_view date = "Sun, 06 Nov 1994 08:49:37 GMT";
  const auto stored = ok({{"ETag", "\"1\""}, {"Last-Modified", date}});
  const auto effect = [&](uint16_t status, FieldRows rows) {
    return headEffect(stored, 5, response(status, rows), kNow);
  };
  EXPECT_EQ(effect(200, {}), HeadEffect::freshen);
  EXPECT_EQ(effect(200, {{"ETag", "\"1\""}, {"Content-Length", "5"}}), HeadEffect::freshen);
  EXPECT_EQ(effect(200, {{"Last-Modified", date}}), HeadEffect::freshen);
  EXPECT_EQ(effect(200, {{"ETag", "\"2\""}}), HeadEffect::invalidate);
  EXPECT_EQ(effect(200, {{"ETag", "\"1\""}, {"Content-Length", "9"}}), HeadEffect::invalidate);
  EXPECT_EQ(effect(200, {{"Last-Modified", "Sun, 06 Nov 1994 08:49:38 GMT"}}),
            HeadEffect::invalidate);
  EXPECT_EQ(effect(410, {{"ETag", "\"2\""}}), HeadEffect::none);
  EXPECT_EQ(effect(304, {}), HeadEffect::none);
  EXPECT_EQ(headEffect(ok(), 5, ok({{"ETag", "\"1\""}}), kNow), HeadEffect::invalidate);
}

}  // namespace
}  // namespace policy
