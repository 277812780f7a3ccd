// Goal: Cache-Status values (RFC 9211) and answers to failures of the origin (RFC 5861 4,
// RFC 9111 4.2.4). Method: one row a clause.
#include <gtest/gtest.h>

#include <string>

#include "source/policy/cache_status.h"
#include "source/policy/error.h"
#include "test/policy/heads.h"

namespace policy {
namespace {

using testing::enabledRoute;
using testing::kNow;

std::string format(const CacheStatus& status) {
  CacheStatusBuffer buffer;
  return std::string(formatCacheStatus(status, buffer));
}

TEST(CacheStatusField, SaysHitOrForward) {  // RFC 9211 2.1, 2.2
  CacheStatus status;
  EXPECT_EQ(format(status), "ringfence");
  status.hit = true;
  status.ttl_s = 30;
  EXPECT_EQ(format(status), "ringfence; hit; ttl=30");
  status.ttl_s = -5;
  status.detail = "stale_while_revalidate";
  EXPECT_EQ(format(status), "ringfence; hit; ttl=-5; detail=stale_while_revalidate");
}

TEST(CacheStatusField, DescribesTheForwardedRequest) {  // RFC 9211 2.3 to 2.6
  CacheStatus status;
  status.forward = Forward::uri_miss;
  status.fwd_status = 200;
  status.stored = true;
  status.collapsed = true;
  EXPECT_EQ(format(status), "ringfence; fwd=uri-miss; fwd-status=200; stored; collapsed");
  status.hit = true;  // a hit has no forwarding parameters
  EXPECT_EQ(format(status), "ringfence; hit");
}

TEST(CacheStatusField, KnowsAllForwardReasons) {  // RFC 9211 2.2
  const char* const expected[] = {"none", "bypass",  "method", "uri-miss", "vary-miss",
                                  "miss", "request", "stale",  "partial"};
  for (size_t i = 0; i < kForwardCount; i++) {
    EXPECT_EQ(name(static_cast<Forward>(i)), expected[i]);
  }
}

TEST(CacheStatusField, DetailIsATokenOfLimitedLength) {  // RFC 8941 3.3.4
  CacheStatus status;
  status.detail = "9no; \"store\"";
  EXPECT_EQ(format(status), "ringfence; detail=nostore");
  const std::string at_limit(kMaxCacheStatusDetail, 'x');
  const std::string beyond(kMaxCacheStatusDetail + 1, 'x');
  status.detail = at_limit;
  EXPECT_EQ(format(status), "ringfence; detail=" + at_limit);
  status.detail = beyond;
  EXPECT_EQ(format(status), "ringfence; detail=" + at_limit);
}

TEST(CacheStatusField, TheLongestFits) {
  CacheStatus status;
  status.forward = Forward::vary_miss;
  status.fwd_status = 65535;
  status.ttl_s = INT64_MIN;
  status.stored = true;
  status.collapsed = true;
  const std::string detail(kMaxCacheStatusDetail, 'x');
  status.detail = detail;
  EXPECT_EQ(format(status),
            "ringfence; fwd=vary-miss; fwd-status=65535; ttl=-999999999999999; stored; collapsed; "
            "detail=" +
                detail);
}

TEST(UpstreamError, WithNothingStored) {  // RFC 9110 15.6.3 to 15.6.5
  EXPECT_EQ(statusOf(onUpstreamError(UpstreamFailure::no_endpoint)), 503);
  EXPECT_EQ(statusOf(onUpstreamError(UpstreamFailure::connect)), 503);
  EXPECT_EQ(statusOf(onUpstreamError(UpstreamFailure::reset)), 502);
  EXPECT_EQ(statusOf(onUpstreamError(UpstreamFailure::bad_response)), 502);
  EXPECT_EQ(statusOf(onUpstreamError(UpstreamFailure::truncated)), 502);
  EXPECT_EQ(statusOf(onUpstreamError(UpstreamFailure::timeout)), 504);
  EXPECT_EQ(onUpstreamError(UpstreamFailure::status), ErrorAnswer::pass_response);
  EXPECT_EQ(statusOf(ErrorAnswer::pass_response), 0);
}

TEST(UpstreamError, StatusesThatAreErrors) {  // RFC 5861 4
  for (const uint16_t status : {500, 502, 503, 504}) {
    EXPECT_TRUE(isErrorStatus(status)) << status;
  }
  for (const uint16_t status : {200, 404, 499, 501, 505, 599}) {
    EXPECT_FALSE(isErrorStatus(status)) << status;
  }
}

struct Stored {
  int64_t staleness_s = 0;  // negative: still fresh
  std::initializer_list<Trait> traits = {};
  uint32_t sie_s = 0;
};

ErrorAnswer answer(const Stored& stored, const RequestDirectives& asked = {},
                   const RoutePolicy& route = enabledRoute()) {
  Traits traits;
  traits.sie_s = stored.sie_s;
  for (const Trait trait : stored.traits) {
    traits.set(trait);
  }
  const Times times{clampSeconds(kNow.s - 1000), clampSeconds(kNow.s - stored.staleness_s)};
  return onUpstreamError(UpstreamFailure::timeout, times, traits, asked, route, kNow);
}

TEST(UpstreamError, StaleIfError) {  // RFC 5861 4, RFC 9111 4.2.4
  const ErrorAnswer stale = ErrorAnswer::serve_stale;
  const ErrorAnswer error = ErrorAnswer::gateway_timeout;
  EXPECT_EQ(answer({0}), error);
  EXPECT_EQ(answer({0, {}, 30}), stale);
  EXPECT_EQ(answer({29, {}, 30}), stale);
  EXPECT_EQ(answer({30, {}, 30}), error);
  EXPECT_EQ(answer({5, {Trait::must_revalidate}, 30}), error);
  EXPECT_EQ(answer({5, {Trait::no_cache}, 30}), error);
  EXPECT_EQ(answer({5, {Trait::server_error}, 30}), error);
  EXPECT_EQ(answer({5, {Trait::hit_for_miss}, 30}), error);
}

TEST(UpstreamError, TheOperatorTellsClassesOfFailuresApart) {
  RoutePolicy route = enabledRoute();
  route.stale_on = StaleOn{.connect_failure_s = 300, .timeout_s = 200, .server_error_s = 100};
  struct Row {
    UpstreamFailure what;
    uint32_t allowed_s;
  };
  const Row rows[] = {{UpstreamFailure::no_endpoint, 300}, {UpstreamFailure::connect, 300},
                      {UpstreamFailure::reset, 300},       {UpstreamFailure::truncated, 300},
                      {UpstreamFailure::timeout, 200},     {UpstreamFailure::status, 100},
                      {UpstreamFailure::bad_response, 100}};
  const auto stale = [&route](UpstreamFailure what, int64_t staleness_s, Traits traits) {
    const Times times{clampSeconds(kNow.s - 1000), clampSeconds(kNow.s - staleness_s)};
    return onUpstreamError(what, times, traits, {}, route, kNow) == ErrorAnswer::serve_stale;
  };
  for (const Row& row : rows) {
    Traits traits;
    traits.sie_s = 50;  // the route's stale_if_error
    EXPECT_TRUE(stale(row.what, row.allowed_s - 1, traits)) << name(row.what);
    EXPECT_FALSE(stale(row.what, row.allowed_s, traits)) << name(row.what);
    // RFC 5861 4: what the response says itself counts.
    traits.set(Trait::own_stale_if_error);
    EXPECT_TRUE(stale(row.what, 49, traits)) << name(row.what);
    EXPECT_FALSE(stale(row.what, 50, traits)) << name(row.what);
    traits.clear(Trait::own_stale_if_error);
    traits.set(Trait::must_revalidate);  // RFC 9111 4.2.4
    EXPECT_FALSE(stale(row.what, 1, traits)) << name(row.what);
  }
  route.stale_on = StaleOn{};
  route.stale_on.timeout_s = 0;
  Traits traits;
  traits.sie_s = 50;
  EXPECT_FALSE(stale(UpstreamFailure::timeout, 1, traits));
  EXPECT_TRUE(stale(UpstreamFailure::connect, 49, traits));
}

TEST(UpstreamError, AFreshResponseServesAClientThatWantedValidation) {  // RFC 9111 5.2.1.4
  EXPECT_EQ(answer({-1}), ErrorAnswer::serve_stale);
  EXPECT_EQ(answer({-1, {Trait::must_revalidate}}), ErrorAnswer::serve_stale);
  EXPECT_EQ(answer({-1, {Trait::no_cache}}), ErrorAnswer::gateway_timeout);
  EXPECT_EQ(answer({-1, {Trait::hit_for_miss}}), ErrorAnswer::gateway_timeout);
}

TEST(UpstreamError, AClientMayAllowIt) {  // RFC 5861 4: stale-if-error in requests
  RequestDirectives asked;
  asked.stale_if_error = 60;
  EXPECT_EQ(answer({59}, asked), ErrorAnswer::serve_stale);
  EXPECT_EQ(answer({60}, asked), ErrorAnswer::gateway_timeout);
  EXPECT_EQ(answer({59, {Trait::must_revalidate}}, asked), ErrorAnswer::gateway_timeout);
  RoutePolicy route = enabledRoute();
  route.honor_request_cache_control = false;
  EXPECT_EQ(answer({59}, asked, route), ErrorAnswer::gateway_timeout);
}

}  // namespace
}  // namespace policy
