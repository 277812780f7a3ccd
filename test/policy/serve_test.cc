// Goal: stored responses are reused exactly when RFC 9111 sections 4, 4.2.4 and 5.2.1 and RFC 5861
// allow it. Method: one row a clause, on a response born at kNow - age with a lifetime of 100 s.
#include "source/policy/serve.h"

#include <gtest/gtest.h>

#include <span>
#include <string>

#include "test/policy/heads.h"

namespace policy {
namespace {

using testing::enabledRoute;
using testing::FieldRows;
using testing::fieldsOf;
using testing::kNow;

constexpr uint32_t kLifetime_s = 100;

struct Stored {
  uint32_t age_s = 0;
  std::initializer_list<Trait> traits = {};
  uint32_t swr_s = 0;
};

Traits traitsOf(const Stored& stored) {
  Traits traits;
  for (const Trait trait : stored.traits) {
    traits.set(trait);
  }
  traits.swr_s = stored.swr_s;
  return traits;
}

ServeDecision decide(const Stored& stored, std::string_view cache_control,
                     const RoutePolicy& route = enabledRoute()) {
  const uint32_t birth_s = clampSeconds(kNow.s - stored.age_s);
  const RequestDirectives asked =
      parseRequestDirectives(fieldsOf(FieldRows{{"Cache-Control", cache_control}}));
  return decideServe(asked, Times{birth_s, birth_s + kLifetime_s}, traitsOf(stored), route, kNow);
}

struct Row {
  std::string_view clause;
  Stored stored;
  std::string_view request;
  Serve how;
  NoReuseReason why;
};

constexpr auto kNone = NoReuseReason::none;
constexpr auto kStale = NoReuseReason::stale;
constexpr auto kByAge = NoReuseReason::request_max_age;
constexpr auto kByMin = NoReuseReason::request_min_fresh;

void expectEach(std::span<const Row> rows) {
  for (const Row& row : rows) {
    const ServeDecision decision = decide(row.stored, row.request);
    EXPECT_EQ(name(decision.how), name(row.how)) << row.clause;
    EXPECT_EQ(name(decision.why), name(row.why)) << row.clause;
  }
}

TEST(DecideServe, FollowsWhatTheRequestSays) {
  using enum Trait;
  const Row rows[] = {
      {"4.2 fresh", {0}, "", Serve::fresh, kNone},
      {"4.2 last fresh second", {99}, "", Serve::fresh, kNone},
      {"4.2 lifetime = age is stale", {100}, "", Serve::miss, kStale},
      {"4.3.1 stale with ETag", {100, {has_etag}}, "", Serve::revalidate, kStale},
      {"4.3.1 stale with Last-Modified", {100, {has_last_modified}}, "", Serve::revalidate, kStale},
      {"5.2.1.1 max-age reached", {60}, "max-age=60", Serve::fresh, kNone},
      {"5.2.1.1 max-age exceeded", {61}, "max-age=60", Serve::miss, kByAge},
      {"5.2.1.1 max-age=0 always validates", {0}, "max-age=0", Serve::miss, kByAge},
      {"8246 2 immutable needs no reload", {60, {immutable}}, "max-age=0", Serve::fresh, kNone},
      {"8246 2 but the client may insist",
       {60, {immutable, has_etag}},
       "no-cache",
       Serve::revalidate,
       NoReuseReason::request_no_cache},
      {"8246 2 while it is fresh", {100, {immutable}}, "max-age=0", Serve::miss, kByAge},
      {"5.2.1.1 max-age forbids stale", {110, {}, 60}, "max-age=500", Serve::miss, kStale},
      {"5.2.1.1 max-age with max-stale", {110}, "max-age=500, max-stale=10", Serve::stale, kStale},
      {"5.2.1.1 max-age before max-stale", {110}, "max-age=50, max-stale", Serve::miss, kByAge},
      {"5.2.1.2 max-stale reached", {105}, "max-stale=5", Serve::stale, kStale},
      {"5.2.1.2 max-stale exceeded", {106}, "max-stale=5", Serve::miss, kStale},
      {"5.2.1.2 max-stale without value", {99999}, "max-stale", Serve::stale, kStale},
      {"5.2.1.2 max-stale limits", {106, {}, 60}, "max-stale=5", Serve::miss, kStale},
      {"5.2.1.3 min-fresh met", {40}, "min-fresh=60", Serve::fresh, kNone},
      {"5.2.1.3 min-fresh not met", {41}, "min-fresh=60", Serve::miss, kByMin},
      {"5.2.1.3 min-fresh before max-stale", {110}, "min-fresh=1, max-stale", Serve::miss, kByMin},
      {"5.2.1.4 no-cache", {0}, "no-cache", Serve::miss, NoReuseReason::request_no_cache},
      {"5.2.1.4 no-cache, with ETag",
       {0, {has_etag}},
       "no-cache",
       Serve::revalidate,
       NoReuseReason::request_no_cache},
      {"5.2.1.5 no-store may be served", {0}, "no-store", Serve::fresh, kNone},
      {"5.2.1.7 only-if-cached, fresh", {0}, "only-if-cached", Serve::fresh, kNone},
      {"5.2.1.7 only-if-cached, stale",
       {100, {has_etag}},
       "only-if-cached",
       Serve::gateway_timeout,
       kStale},
      {"5.2.1.7 only-if-cached, max-stale",
       {100},
       "only-if-cached, max-stale",
       Serve::stale,
       kStale},
      {"5.2.1.7 only-if-cached, no-cache",
       {0},
       "only-if-cached, no-cache",
       Serve::gateway_timeout,
       NoReuseReason::request_no_cache},
  };
  expectEach(rows);
}

TEST(DecideServe, FollowsWhatTheResponseSaid) {
  using enum Trait;
  const Row rows[] = {
      {"5.2.2.4 no-cache",
       {0, {no_cache, has_etag}},
       "",
       Serve::revalidate,
       NoReuseReason::response_no_cache},
      {"5.2.2.4 no-cache, max-stale",
       {0, {no_cache}},
       "max-stale",
       Serve::miss,
       NoReuseReason::response_no_cache},
      {"5.2.2.2 must-revalidate, fresh", {99, {must_revalidate}}, "", Serve::fresh, kNone},
      {"5.2.2.2 must-revalidate, max-stale",
       {100, {must_revalidate}},
       "max-stale",
       Serve::miss,
       kStale},
      {"4.2.4 must-revalidate forbids swr", {100, {must_revalidate}, 60}, "", Serve::miss, kStale},
      {"RFC 5861 3, first second", {100, {}, 30}, "", Serve::stale_while_revalidate, kStale},
      {"RFC 5861 3, last second", {129, {}, 30}, "", Serve::stale_while_revalidate, kStale},
      {"RFC 5861 3, beyond", {130, {}, 30}, "", Serve::miss, kStale},
      {"RFC 5861 3, not for errors", {100, {server_error}, 30}, "", Serve::miss, kStale},
      {"RFC 5861 3, min-fresh=0", {100, {}, 30}, "min-fresh=0", Serve::miss, kStale},
      {"hit for miss", {0, {hit_for_miss}}, "", Serve::miss, NoReuseReason::hit_for_miss},
      {"hit for miss, expired", {100, {hit_for_miss}}, "", Serve::miss, NoReuseReason::absent},
      {"hit for miss, only-if-cached",
       {0, {hit_for_miss}},
       "only-if-cached",
       Serve::gateway_timeout,
       NoReuseReason::hit_for_miss},
  };
  expectEach(rows);
}

TEST(DecideServe, GivesAgeAndFreshnessLeft) {  // RFC 9111 4.2.3
  EXPECT_EQ(decide({30}, "").age_s, 30U);
  EXPECT_EQ(decide({30}, "").ttl_s, 70);
  EXPECT_EQ(decide({130}, "").age_s, 130U);
  EXPECT_EQ(decide({130}, "").ttl_s, -30);
}

TEST(DecideServe, ARouteMayIgnoreClientsDirectives) {
  RoutePolicy route = enabledRoute();
  route.honor_request_cache_control = false;
  for (const std::string_view asked : {"no-cache", "max-age=0", "min-fresh=1000"}) {
    EXPECT_EQ(decide({0}, asked, route).how, Serve::fresh) << asked;
  }
  EXPECT_EQ(decide({100}, "max-stale", route).how, Serve::miss);
  EXPECT_EQ(decide({100}, "only-if-cached", route).how, Serve::miss);
}

TEST(DecideServe, SurvivesClocksSetBack) {
  const Times later{clampSeconds(kNow.s + 50), clampSeconds(kNow.s + 150)};
  const ServeDecision decision = decideServe({}, later, {}, enabledRoute(), kNow);
  EXPECT_EQ(decision.how, Serve::fresh);
  EXPECT_EQ(decision.age_s, 0U);
}

TEST(DecideAbsent, IsAMissOr504) {  // RFC 9111 5.2.1.7
  RequestDirectives asked;
  EXPECT_EQ(decideAbsent(asked, enabledRoute()).how, Serve::miss);
  asked.only_if_cached = true;
  EXPECT_EQ(decideAbsent(asked, enabledRoute()).how, Serve::gateway_timeout);
  RoutePolicy route = enabledRoute();
  route.honor_request_cache_control = false;
  EXPECT_EQ(decideAbsent(asked, route).how, Serve::miss);
}

TEST(HitForMiss, LastsItsTime) {
  const Remembered note = hitForMiss(kNow, 2);
  const auto whyAt = [&note](int64_t s) {
    return decideServe({}, note.times, note.traits, enabledRoute(), base::UnixSeconds{kNow.s + s})
        .why;
  };
  EXPECT_EQ(whyAt(0), NoReuseReason::hit_for_miss);
  EXPECT_EQ(whyAt(1), NoReuseReason::hit_for_miss);
  EXPECT_EQ(whyAt(2), NoReuseReason::absent);
}

}  // namespace
}  // namespace policy
