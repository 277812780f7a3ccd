// Goal: responses are stored, with the lifetime and age, exactly as RFC 9111 sections 3, 4.2 and
// 5.2.2 say. Method: one row a clause; expectations are worked out by hand from the clause named.
#include "source/policy/response.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "test/policy/heads.h"

namespace policy {
namespace {

using testing::enabledRoute;
using testing::FieldRows;
using testing::get;
using testing::kNow;
using testing::ok;
using testing::request;
using testing::response;
using testing::Text;

constexpr Exchange kInstant{kNow, kNow};

StoreDecision decide(const http::RequestHead& asked, const http::ResponseHead& answer,
                     const RoutePolicy& route = enabledRoute(),
                     SetCookie cookies = SetCookie::store_if_explicit) {
  return decideStore(asked, parseRequestDirectives(asked.fields), answer, kInstant, route, cookies);
}

// The reason's name, or "stored".
std::string_view verdict(const StoreDecision& decision) {
  const NoStoreReason* reason = std::get_if<NoStoreReason>(&decision);
  return reason == nullptr ? "stored" : name(*reason);
}

// Seconds of freshness at reception; nothing when not stored.
std::optional<int64_t> freshFor(const StoreDecision& decision) {
  const Store* store = std::get_if<Store>(&decision);
  if (store == nullptr) {
    return std::nullopt;
  }
  return freshnessLeft(store->times, kNow);
}

TEST(DecideStore, Refusals) {
  struct Row {
    std::string_view clause;
    http::RequestHead asked;
    http::ResponseHead answer;
    std::string_view verdict;
  };
  const FieldRows auth = {{"Authorization", "Bearer 1"}};
  const Row rows[] = {
      {"3", get(), ok({{"Cache-Control", "max-age=60"}}), "stored"},
      {"3, HEAD", request("HEAD"), ok({{"Cache-Control", "max-age=60"}}), "method"},
      {"3, POST", request("POST"), ok({{"Cache-Control", "max-age=60"}}), "method"},
      {"5.2.1.5", get({{"Cache-Control", "no-store"}}), ok({{"Cache-Control", "max-age=60"}}),
       "request_no_store"},
      {"5.2.2.5", get(), ok({{"Cache-Control", "no-store, max-age=60"}}), "no_store"},
      {"5.2.2.5", get(), ok({{"Cache-Control", "max-age=60"}, {"Cache-Control", "NO-STORE"}}),
       "no_store"},
      {"5.2.2.7", get(), ok({{"Cache-Control", "private, max-age=60"}}), "private"},
      {"5.2.2.7, with public", get(), ok({{"Cache-Control", "private, public, max-age=60"}}),
       "private"},
      {"5.2.2.7, qualified", get(), ok({{"Cache-Control", "private=\"X-Id\", max-age=60"}}),
       "stored"},
      {"3.5", get(auth), ok({{"Cache-Control", "max-age=60"}}), "authorization"},
      {"3.5, Expires", get(auth), ok({{"Expires", "Thu, 18 Aug 2050 02:01:18 GMT"}}),
       "authorization"},
      {"3.5, public", get(auth), ok({{"Cache-Control", "public, max-age=60"}}), "stored"},
      {"3.5, s-maxage", get(auth), ok({{"Cache-Control", "s-maxage=60"}}), "stored"},
      {"3.5, must-revalidate", get(auth), ok({{"Cache-Control", "max-age=60, must-revalidate"}}),
       "stored"},
      {"3.5, proxy-revalidate does not", get(auth),
       ok({{"Cache-Control", "max-age=60, proxy-revalidate"}}), "authorization"},
      {"4.1", get(), ok({{"Cache-Control", "max-age=60"}, {"Vary", "*"}}), "vary_any"},
      {"4.1, member", get(), ok({{"Cache-Control", "max-age=60"}, {"Vary", "Foo, *"}}), "vary_any"},
      {"4.1, line", get(), ok({{"Cache-Control", "max-age=60"}, {"Vary", ""}, {"Vary", "*"}}),
       "vary_any"},
      {"5.2.2.3, unknown", get(), response(599, {{"Cache-Control", "max-age=60, must-understand"}}),
       "not_understood"},
      {"5.2.2.3, known", get(), ok({{"Cache-Control", "max-age=60, must-understand"}}), "stored"},
      {"5.2.2.3, over no-store", get(),
       ok({{"Cache-Control", "max-age=60, must-understand, no-store"}}), "stored"},
      {"5.2.2.3, unknown with no-store", get(),
       response(599, {{"Cache-Control", "max-age=60, must-understand, no-store"}}),
       "not_understood"},
      {"3, nothing said", get(), ok(), "no_freshness"},
      {"5.2.2.4, without validator", get(), ok({{"Cache-Control", "max-age=60, no-cache"}}),
       "no_freshness"},
      {"5.2.2.4, with validator", get(), ok({{"Cache-Control", "no-cache"}, {"ETag", "\"a\""}}),
       "stored"},
      {"8.8.3, no entity tag", get(), ok({{"Cache-Control", "no-cache"}, {"ETag", "a"}}),
       "no_freshness"},
      {"5861 3", get(), ok({{"Cache-Control", "max-age=0, stale-while-revalidate=9"}}), "stored"},
      {"5861 3, s-maxage forbids it", get(),
       ok({{"Cache-Control", "s-maxage=0, stale-while-revalidate=9"}}), "no_freshness"},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(verdict(decide(row.asked, row.answer)), row.verdict) << row.clause;
  }
  EXPECT_EQ(verdict(decide(get(), ok({{"Cache-Control", "max-age=60"}}), RoutePolicy{})),
            "disabled");
}

TEST(DecideStore, FinalStatusesWithExplicitFreshnessAreStored) {  // RFC 9111 3
  for (const uint16_t status :
       {200, 203, 204, 299, 301, 302, 303, 307, 308, 400, 404, 410, 499, 500, 502, 503, 504, 599}) {
    EXPECT_EQ(verdict(decide(get(), response(status, {{"Cache-Control", "max-age=60"}}))), "stored")
        << status;
  }
  // Not final, partial, conditional, for the next hop, and those of RFC 6585 5 to 6.
  for (const uint16_t status :
       {100, 103, 199, 206, 304, 407, 412, 416, 428, 429, 431, 511, 0, 600, 999}) {
    EXPECT_EQ(verdict(decide(get(), response(status, {{"Cache-Control", "max-age=60"}}))), "status")
        << status;
  }
}

TEST(DecideStore, HeuristicsNeedAStatusThatAllowsThemOrPublic) {  // RFC 9111 4.2.2, RFC 9110 15.1
  Text text;
  const auto modified = [&](uint16_t status, std::string_view cache_control) {
    return response(status, {{"Last-Modified", text.date(-86400)},
                             {"Date", text.date(0)},
                             {"Cache-Control", cache_control}});
  };
  for (const uint16_t status : {200, 203, 204, 300, 301, 308, 404, 405, 410, 414, 501}) {
    EXPECT_EQ(freshFor(decide(get(), modified(status, ""))), 8640) << status;
  }
  for (const uint16_t status : {201, 202, 302, 307, 403, 500, 502, 503, 504, 599}) {
    EXPECT_EQ(verdict(decide(get(), modified(status, ""))), "no_freshness") << status;
    EXPECT_EQ(freshFor(decide(get(), modified(status, "public"))), 8640) << status;
  }
}

TEST(DecideStore, HeuristicIsAFractionWithALimit) {  // RFC 9111 4.2.2
  Text text;
  const auto freshWith = [&](int64_t modified_s, Heuristic heuristic) {
    RoutePolicy route = enabledRoute();
    route.heuristic = heuristic;
    return freshFor(decide(
        get(), ok({{"Last-Modified", text.date(modified_s)}, {"Date", text.date(0)}}), route));
  };
  EXPECT_EQ(freshWith(-1000, {10, 86400}), 100);
  EXPECT_EQ(freshWith(-1000, {50, 86400}), 500);
  EXPECT_EQ(freshWith(-1000, {10, 99}), 99);
  EXPECT_EQ(freshWith(-10, {10, 86400}), 1);
  EXPECT_EQ(freshWith(-9, {10, 86400}), 0);          // still stored: it has a validator
  EXPECT_EQ(freshWith(1000, {10, 86400}), 0);        // modified in the future
  EXPECT_EQ(freshWith(-1000, {0, 86400}), 0);        // turned off
  EXPECT_EQ(freshWith(-1000, {1000, 86400}), 1000);  // never more than all of it
}

TEST(DecideStore, LifetimePrecedence) {  // RFC 9111 4.2.1, 5.3
  Text text;
  const std::string_view past = text.date(-7200);
  const std::string_view future = text.date(3600);
  const std::string_view now = text.date(0);
  const std::string_view etag = "\"stored\"";
  struct Row {
    std::string_view clause;
    FieldRows fields;
    int64_t fresh_s;
  };
  const Row rows[] = {
      {"max-age", {{"Cache-Control", "max-age=3600"}}, 3600},
      {"s-maxage wins, longer",
       {{"Cache-Control", "max-age=0, s-maxage=15"}, {"Expires", past}},
       15},
      {"s-maxage wins, shorter", {{"Cache-Control", "max-age=60, s-maxage=0"}}, 0},
      {"s-maxage wins, other line",
       {{"Cache-Control", "max-age=60"}, {"Cache-Control", "s-maxage=1"}},
       1},
      {"max-age over Expires", {{"Cache-Control", "max-age=60"}, {"Expires", past}}, 60},
      {"max-age over invalid Expires", {{"Cache-Control", "max-age=60"}, {"Expires", "0"}}, 60},
      {"max-age=0 over Expires", {{"Cache-Control", "max-age=0"}, {"Expires", future}}, 0},
      {"negative max-age", {{"Cache-Control", "max-age=-3600"}, {"Expires", future}}, 0},
      {"Expires", {{"Expires", future}, {"Date", now}}, 3600},
      {"Expires without Date", {{"Expires", future}}, 3600},
      {"Expires with an invalid Date", {{"Expires", future}, {"Date", "foo"}}, 3600},
      {"Expires in the past", {{"Expires", past}, {"Date", now}}, 0},
      {"Expires = Date", {{"Expires", now}, {"Date", now}}, 0},
      {"Expires 0", {{"Expires", "0"}, {"Date", now}}, 0},
      {"Expires -1", {{"Expires", "-1"}, {"Date", now}}, 0},
      {"Expires empty", {{"Expires", ""}, {"Date", now}}, 0},
      {"Expires is no date", {{"Expires", "not-a-date"}, {"Date", now}}, 0},
      {"Expires twice the same", {{"Expires", future}, {"Expires", future}}, 3600},
      {"Expires twice, differing", {{"Expires", future}, {"Expires", past}}, 0},
      {"Expires before Date", {{"Expires", text.date(300)}, {"Date", text.date(400)}}, 0},
  };
  for (const Row& row : rows) {
    http::ResponseHead answer = ok(row.fields);
    answer.fields.add("ETag", etag);
    EXPECT_EQ(freshFor(decide(get(), answer)), row.fresh_s) << row.clause;
  }
}

TEST(DecideStore, InvalidExpiresIsNeverReplacedByAGuess) {  // RFC 9111 5.3
  Text text;
  for (const std::string_view expires : {"0", "-1", "", "not-a-date"}) {
    const auto decision =
        decide(get(), ok({{"Last-Modified", text.date(-864000)}, {"Expires", expires}}));
    EXPECT_EQ(freshFor(decision), 0) << expires;
  }
}

TEST(DecideStore, AgeCountsAgainstTheLifetime) {  // RFC 9111 4.2.3
  Text text;
  struct Row {
    std::string_view clause;
    FieldRows fields;
    int64_t fresh_s;
    uint32_t age_s;
  };
  const Row rows[] = {
      {"none", {{"Cache-Control", "max-age=600"}, {"Date", text.date(0)}}, 600, 0},
      {"Age", {{"Cache-Control", "max-age=600"}, {"Age", "30"}}, 570, 30},
      {"Age beyond", {{"Cache-Control", "max-age=3600"}, {"Age", "7200"}}, -3600, 7200},
      {"apparent", {{"Cache-Control", "max-age=600"}, {"Date", text.date(-100)}}, 500, 100},
      {"the greater counts",
       {{"Cache-Control", "max-age=600"}, {"Date", text.date(-100)}, {"Age", "30"}},
       500,
       100},
      {"Date in the future", {{"Cache-Control", "max-age=600"}, {"Date", text.date(100)}}, 600, 0},
      {"slow Date", {{"Date", text.date(-10)}, {"Expires", text.date(10)}, {"Age", "25"}}, -5, 25},
      {"fast Date", {{"Date", text.date(10)}, {"Expires", text.date(20)}, {"Age", "15"}}, -5, 15},
  };
  for (const Row& row : rows) {
    http::ResponseHead answer = ok(row.fields);
    answer.fields.add("ETag", "\"a\"");
    const StoreDecision decision = decide(get(), answer);
    EXPECT_EQ(freshFor(decision), row.fresh_s) << row.clause;
    EXPECT_EQ(ageOf(std::get<Store>(decision).times, kNow), row.age_s) << row.clause;
  }
}

TEST(DecideStore, TheDelayOfTheResponseCountsAsAge) {  // RFC 9111 4.2.3: response_delay
  Text text;
  const auto answer = ok({{"Cache-Control", "max-age=600"}, {"Age", "30"}, {"Date", text.date(0)}});
  const Exchange slow{base::UnixSeconds{kNow.s - 7}, kNow};
  EXPECT_EQ(correctedInitialAge(answer, slow), 37U);
  const Exchange set_back{base::UnixSeconds{kNow.s + 7}, kNow};
  EXPECT_EQ(correctedInitialAge(answer, set_back), 30U);
}

TEST(DecideStore, ADoubtfulAgeIsStaleOnArrival) {  // RFC 9111 5.1, and see AgeValue
  struct Row {
    std::vector<std::string_view> lines;
    bool fresh;
  };
  const Row rows[] = {
      {{"0"}, true},          {{"0,7200"}, true},     {{"0, 7200"}, true},
      {{"7200, 0"}, false},   {{"7200,0"}, false},    {{"abc"}, false},
      {{"-7200"}, false},     {{"7200.0"}, false},    {{"7200;foo=bar"}, false},
      {{""}, false},          {{"0, 0"}, false},      {{"0", "0"}, false},
      {{"0", "7200"}, false}, {{"7200", "0"}, false}, {{"99999999999999999999"}, false},
  };
  for (const Row& row : rows) {
    http::ResponseHead answer = ok({{"Cache-Control", "max-age=3600"}, {"ETag", "\"a\""}});
    for (const std::string_view line : row.lines) {
      answer.fields.add("Age", line);
    }
    const StoreDecision decision = decide(get(), answer);
    ASSERT_TRUE(freshFor(decision).has_value());
    EXPECT_EQ(*freshFor(decision) > 0, row.fresh) << row.lines[0] << " x" << row.lines.size();
  }
}

TEST(DecideStore, HugeAgesAndLifetimesStayInRange) {  // RFC 9111 1.2.2
  const auto both = decide(
      get(),
      ok({{"Cache-Control", "max-age=99999999999"}, {"Age", "99999999999"}, {"ETag", "\"a\""}}));
  EXPECT_EQ(freshFor(both), 0);
  const auto longest = decide(get(), ok({{"Cache-Control", "max-age=99999999999"}}));
  EXPECT_EQ(freshFor(longest), int64_t{kMaxDelta_s});
  const Exchange far{base::UnixSeconds{4'000'000'000}, base::UnixSeconds{4'000'000'000}};
  const auto late =
      decideStore(get(), {}, ok({{"Cache-Control", "max-age=99999999999"}}), far, enabledRoute());
  EXPECT_EQ(std::get<Store>(late).times.fresh_until_s, UINT32_MAX);
}

TEST(DecideStore, OperatorsLifetimes) {
  RoutePolicy route = enabledRoute();
  route.status_ttls = {{4, 10}, {5, 0}, {404, 20}, {503, 3}};
  route.default_ttl_s = 50;
  const auto none = [&](uint16_t status) { return decide(get(), response(status), route); };
  EXPECT_EQ(freshFor(none(200)), 50);
  EXPECT_EQ(freshFor(none(404)), 20);  // the exact one wins over the class
  EXPECT_EQ(freshFor(none(403)), 10);
  EXPECT_EQ(freshFor(none(503)), 3);
  EXPECT_EQ(verdict(none(500)), "route_ttl");
  EXPECT_EQ(verdict(none(302)), "no_freshness");  // the default is no licence to store any status
  EXPECT_EQ(verdict(none(206)), "status");
  const auto said = decide(get(), response(404, {{"Cache-Control", "max-age=99"}}), route);
  EXPECT_EQ(freshFor(said), 99);
  EXPECT_FALSE(std::get<Store>(said).traits.has(Trait::operators));
  EXPECT_TRUE(std::get<Store>(none(404)).traits.has(Trait::operators));
  EXPECT_EQ(verdict(decide(get(), response(404, {{"Cache-Control", "no-store"}}), route)),
            "no_store");
}

TEST(DecideStore, MinimumAndMaximumLifetime) {
  RoutePolicy route = enabledRoute();
  route.min_ttl_s = 10;
  route.max_ttl_s = 100;
  const auto freshWith = [&](std::string_view cache_control) {
    return freshFor(decide(get(), ok({{"Cache-Control", cache_control}}), route));
  };
  EXPECT_EQ(freshWith("max-age=9"), 10);
  EXPECT_EQ(freshWith("max-age=0"), 10);
  EXPECT_EQ(freshWith("max-age=10"), 10);
  EXPECT_EQ(freshWith("max-age=100"), 100);
  EXPECT_EQ(freshWith("max-age=101"), 100);
  EXPECT_EQ(freshWith("no-store, max-age=60"), std::nullopt);
  EXPECT_EQ(freshWith(""), std::nullopt);  // the minimum raises explicit lifetimes only
}

TEST(DecideStore, JitterOnlyShortens) {
  RoutePolicy route = enabledRoute();
  route.ttl_jitter_percent = 10;
  struct Row {
    uint32_t draw;
    int64_t fresh_s;
  };
  for (const Row& row : {Row{0, 1000}, Row{UINT32_MAX / 2, 950}, Row{UINT32_MAX, 900}}) {
    const StoreDecision decision =
        decideStore(get(), {}, ok({{"Cache-Control", "max-age=1000"}}),
                    Exchange{kNow, kNow, row.draw}, route, SetCookie::store_if_explicit);
    EXPECT_EQ(freshFor(decision), row.fresh_s) << row.draw;
    EXPECT_EQ(std::get<Store>(decision).traits.has(Trait::operators), row.fresh_s < 1000);
  }
  route.ttl_jitter_percent = 0;
  const StoreDecision exact =
      decideStore(get(), {}, ok({{"Cache-Control", "max-age=1000"}}),
                  Exchange{kNow, kNow, UINT32_MAX}, route, SetCookie::store_if_explicit);
  EXPECT_EQ(freshFor(exact), 1000);
}

TEST(DecideStore, OperatorsKeyPartsAreLikeVary) {
  RoutePolicy route = enabledRoute();
  route.key.headers = {"accept", "x-tenant"};
  route.key.cookies = {"Plan"};
  const StoreDecision decision =
      decide(get(), ok({{"Cache-Control", "max-age=60"}, {"Vary", "X-Tenant, Foo"}}), route);
  EXPECT_EQ(std::get<Store>(decision).vary,
            (std::vector<std::string>{"accept", "cookie;Plan", "foo", "x-tenant"}));
}

TEST(DecideStore, LengthLimit) {
  RoutePolicy route = enabledRoute();
  route.max_object_bytes = 100;
  const auto sized = [&](std::string_view length) {
    return verdict(
        decide(get(), ok({{"Cache-Control", "max-age=60"}, {"Content-Length", length}}), route));
  };
  EXPECT_EQ(sized("100"), "stored");
  EXPECT_EQ(sized("101"), "too_large");
  EXPECT_EQ(verdict(decide(get(), ok({{"Cache-Control", "max-age=60"}}), route)), "stored");
}

TEST(DecideStore, Cookies) {  // RFC 9111 7.3 leaves it open
  const auto explicit_one = ok({{"Cache-Control", "max-age=60"}, {"Set-Cookie", "a=b"}});
  RoutePolicy route = enabledRoute();
  EXPECT_EQ(verdict(decide(get(), explicit_one)), "stored");
  EXPECT_EQ(verdict(decide(get(), explicit_one, route, SetCookie::refuse)), "set_cookie");
  const auto stripped = decide(get(), explicit_one, route, SetCookie::strip);
  const std::vector<std::string> both = {"set-cookie", "set-cookie2"};
  EXPECT_EQ(std::get<Store>(stripped).strip, both);
  const auto none = ok({{"Cache-Control", "max-age=60"}});
  EXPECT_TRUE(std::get<Store>(decide(get(), none, route, SetCookie::strip)).strip.empty());
  EXPECT_EQ(verdict(decide(get(), none, route, SetCookie::refuse)), "stored");
  route.default_ttl_s = 60;
  EXPECT_EQ(verdict(decide(get(), ok({{"Set-Cookie", "a=b"}}), route)), "set_cookie");
  EXPECT_EQ(verdict(decide(get(), ok({{"Set-Cookie2", "a=b"}}), route)), "set_cookie");
  EXPECT_EQ(verdict(decide(get(), ok({{"Set-Cookie", "a=b"}}), route, SetCookie::strip)), "stored");
  // A cookie that the origin itself takes out does not count.
  const auto named = ok({{"Set-Cookie", "a=b"}, {"Cache-Control", "no-cache=\"Set-Cookie\""}});
  EXPECT_EQ(verdict(decide(get(), named, route)), "stored");
}

TEST(DecideStore, TraitsSayWhatTheResponseSaid) {
  const auto traits = [](FieldRows rows, uint16_t status = 200) {
    return std::get<Store>(decide(get(), response(status, rows))).traits;
  };
  EXPECT_TRUE(traits({{"Cache-Control", "no-cache"}, {"ETag", "\"a\""}}).has(Trait::no_cache));
  for (const std::string_view value :
       {"max-age=1, must-revalidate", "max-age=1, proxy-revalidate", "s-maxage=1"}) {
    EXPECT_TRUE(traits({{"Cache-Control", value}}).has(Trait::must_revalidate)) << value;
  }
  EXPECT_TRUE(traits({{"Cache-Control", "max-age=1, immutable"}}).has(Trait::immutable));
  const Traits strong = traits({{"Cache-Control", "max-age=1"}, {"ETag", "\"a\""}});
  EXPECT_TRUE(strong.has(Trait::has_etag) && strong.has(Trait::has_strong_etag));
  const Traits weak = traits({{"Cache-Control", "max-age=1"}, {"ETag", "W/\"a\""}});
  EXPECT_TRUE(weak.has(Trait::has_etag) && !weak.has(Trait::has_strong_etag));
  EXPECT_TRUE(
      traits({{"Last-Modified", "Sun, 06 Nov 1994 08:49:37 GMT"}}).has(Trait::has_last_modified));
  EXPECT_FALSE(traits({{"Cache-Control", "max-age=1"}}).hasValidator());
  EXPECT_TRUE(traits({{"Cache-Control", "max-age=1"}}, 503).has(Trait::server_error));
}

TEST(DecideStore, StalePermissionsComeFromTheResponseThenTheRoute) {  // RFC 5861
  RoutePolicy route = enabledRoute();
  route.stale_while_revalidate_s = 5;
  route.stale_if_error_s = 6;
  const auto traits = [&](std::string_view cache_control, uint16_t status = 200) {
    return std::get<Store>(
               decide(get(), response(status, {{"Cache-Control", cache_control}}), route))
        .traits;
  };
  EXPECT_EQ(traits("max-age=1").swr_s, 5U);
  EXPECT_EQ(traits("max-age=1").sie_s, 6U);
  EXPECT_EQ(traits("max-age=1, stale-while-revalidate=50").swr_s, 50U);
  EXPECT_EQ(traits("max-age=1, stale-if-error=0").sie_s, 0U);
  EXPECT_EQ(traits("max-age=1, stale-if-error=x").sie_s, 0U);
  EXPECT_EQ(traits("max-age=1, must-revalidate, stale-if-error=9").sie_s, 0U);
  EXPECT_EQ(traits("max-age=1, stale-while-revalidate=9", 500).swr_s, 0U);
}

TEST(DecideStore, VaryNamesAreNormalised) {
  const auto decision = decide(get(), ok({{"Cache-Control", "max-age=60"},
                                          {"Vary", "X-Tenant, accept-encoding"},
                                          {"Vary", "Accept-Encoding"}}));
  const std::vector<std::string> names = {"accept-encoding", "x-tenant"};
  EXPECT_EQ(std::get<Store>(decision).vary, names);
}

TEST(StoredFields, AreAllButHopByHopAndQualifiedOnes) {  // RFC 9111 3.1, 5.2.2.4, 5.2.2.7
  const http::ResponseHead answer = ok({{"Cache-Control", "max-age=60, private=\"X-Id\""},
                                        {"cache-control", "no-cache=\"a, b\""},
                                        {"Connection", "close, X-Hop"},
                                        {"X-Hop", "1"},
                                        {"Keep-Alive", "timeout=5"},
                                        {"Proxy-Authenticate", "Basic"},
                                        {"Proxy-Authentication-Info", "x"},
                                        {"Proxy-Connection", "close"},
                                        {"Transfer-Encoding", "chunked"},
                                        {"TE", "trailers"},
                                        {"Upgrade", "x"},
                                        {"Age", "3"},
                                        {"x-id", "1"},
                                        {"A", "1"},
                                        {"B", "2"},
                                        {"C", "3"},
                                        {"ETag", "\"e\""},
                                        {"Content-MD5", "m"},
                                        {"Set-Cookie", "s"}});
  const Store store = std::get<Store>(decide(get(), answer));
  const StoredFields stored(answer.fields, store);
  std::vector<std::string_view> kept;
  for (const http::Field& field : answer.fields.all()) {
    if (stored.keeps(field)) {
      kept.push_back(field.name);
    }
  }
  const std::vector<std::string_view> expected = {"Cache-Control", "cache-control", "C",
                                                  "ETag",          "Content-MD5",   "Set-Cookie"};
  EXPECT_EQ(kept, expected);
}

TEST(Reasons, EachHasItsOwnName) {
  std::vector<std::string_view> seen;
  for (size_t i = 0; i < kNoStoreReasonCount; i++) {
    const std::string_view text = name(static_cast<NoStoreReason>(i));
    EXPECT_NE(text, "unknown");
    EXPECT_EQ(std::count(seen.begin(), seen.end(), text), 0) << text;
    seen.push_back(text);
  }
  EXPECT_EQ(name(static_cast<NoStoreReason>(kNoStoreReasonCount)), "unknown");
}

}  // namespace
}  // namespace policy
