// Goal: the field that governs a response is the one that RFC 9213 2.2 chooses, read as RFC 9213
// 2.1 says; Surrogate-Control as the Edge Architecture note says. Method: one row a clause.
#include "source/policy/targeted.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "source/policy/response.h"
#include "test/policy/heads.h"

namespace policy {
namespace {

using testing::enabledRoute;
using testing::FieldRows;
using testing::fieldsOf;
using testing::get;
using testing::kNow;
using testing::ok;

RoutePolicy listening(std::vector<std::string> targeted) {
  RoutePolicy route = enabledRoute();
  route.targeted = std::move(targeted);
  return route;
}

// Seconds of freshness, or the reason why it is not stored.
std::string outcome(FieldRows rows, const RoutePolicy& route) {
  const StoreDecision decision = decideStore(get(), RequestDirectives{}, ok(rows),
                                             Exchange{kNow, kNow, 0}, route, route.set_cookie);
  if (const auto* why = std::get_if<NoStoreReason>(&decision)) {
    return std::string(name(*why));
  }
  return std::to_string(freshnessLeft(std::get<Store>(decision).times, kNow));
}

TEST(Targeted, TheFirstUsableFieldOfTheListGoverns) {  // RFC 9213 2.2
  const RoutePolicy route = listening({"ringfence-cache-control", "cdn-cache-control"});
  struct Row {
    std::string_view clause;
    FieldRows rows;
    std::string_view expected;
  };
  const FieldRows one = {{"CDN-Cache-Control", "max-age=600"}, {"Cache-Control", "max-age=60"}};
  const FieldRows order = {{"CDN-Cache-Control", "max-age=600"},
                           {"Ringfence-Cache-Control", "max-age=6"}};
  const FieldRows over_no_store = {{"CDN-Cache-Control", "max-age=600"},
                                   {"Cache-Control", "no-store"}};
  const FieldRows private_here = {{"CDN-Cache-Control", "private"},
                                  {"Cache-Control", "max-age=60"}};
  const FieldRows no_expires = {{"CDN-Cache-Control", "must-revalidate"},
                                {"Expires", "Thu, 18 Aug 2050 02:01:18 GMT"}};
  const FieldRows empty = {{"CDN-Cache-Control", ""}, {"Cache-Control", "max-age=60"}};
  const FieldRows invalid = {{"CDN-Cache-Control", "max-age=600, &"},
                             {"Cache-Control", "max-age=60"}};
  const FieldRows capitals = {{"CDN-Cache-Control", "MAX-AGE=600"},
                              {"Cache-Control", "max-age=60"}};
  const FieldRows next = {{"Ringfence-Cache-Control", "=="},
                          {"CDN-Cache-Control", "max-age=600"},
                          {"Cache-Control", "max-age=60"}};
  const FieldRows lines = {{"CDN-Cache-Control", "max-age=600"}, {"CDN-Cache-Control", "no-store"}};
  const FieldRows last = {{"CDN-Cache-Control", "max-age=600, max-age=5"}};
  const FieldRows other = {{"Other-Cache-Control", "max-age=600"}, {"Cache-Control", "max-age=60"}};
  const Row rows[] = {
      {"2.2", one, "600"},
      {"2.2, in the order of the list", order, "6"},
      {"2.2, Cache-Control is ignored", over_no_store, "600"},
      {"2.2, private is understood", private_here, "private"},
      {"2.2, Expires is ignored", no_expires, "no_freshness"},
      {"2.1, an empty field is ignored", empty, "60"},
      {"2.1, an invalid field is ignored", invalid, "60"},
      {"2.1, keys have no capitals", capitals, "60"},
      {"2.2, the next valid one", next, "600"},
      {"2.1, lines are one dictionary", lines, "no_store"},
      {"8941 4.2.2, the last of a key", last, "5"},
      {"2.2, not on the list", other, "60"},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(outcome(row.rows, route), row.expected) << row.clause;
  }
  EXPECT_EQ(outcome(one, enabledRoute()), "60") << "2.2, an empty list";
}

TEST(Targeted, WrongTypesRestrictAndNeverPermit) {  // RFC 9213 2.1
  struct Row {
    std::string_view value;
    std::string_view expected;
  };
  const Row rows[] = {
      {"max-age=60;x=1", "60"},  // parameters are skipped
      {"max-age=99999999999", "2147483648"},
      {"max-age=60.5", "no_freshness"},
      {"max-age=\"60\"", "no_freshness"},
      {"max-age=-1", "no_freshness"},
      {"max-age", "no_freshness"},
      {"max-age=(60)", "no_freshness"},
      {"max-age=60, no-store=1", "no_store"},
      {"max-age=60, no-store=?0", "60"},
      {"max-age=60, private=\"X-Id\"", "private"},
      {"max-age=60, s-maxage=9", "9"},
      {"max-age=60, unknown=(a b)", "60"},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(outcome({{"CDN-Cache-Control", row.value}}, listening({"cdn-cache-control"})),
              row.expected)
        << row.value;
  }
  ResponseDirectives said;
  ASSERT_TRUE(parseTargeted(fieldsOf(FieldRows{{"CDN-Cache-Control",
                                                "public=1, immutable, must-understand=?0, "
                                                "stale-while-revalidate=5, stale-if-error=6"}}),
                            "cdn-cache-control", said));
  EXPECT_FALSE(said.public_response);
  EXPECT_TRUE(said.immutable);
  EXPECT_FALSE(said.must_understand);
  EXPECT_EQ(said.stale_while_revalidate, 5u);
  EXPECT_EQ(said.stale_if_error, 6u);
}

TEST(SurrogateControl, IsReadByItsOwnRules) {  // Edge Architecture 2.2, 2.3
  struct Row {
    std::string_view value;
    std::optional<uint32_t> max_age;
    std::optional<uint32_t> stale;
    bool no_store;
    bool usable;
  };
  const Row rows[] = {
      {"max-age=60", 60, {}, false, true},
      {"max-age=60+30", 60, 30, false, true},
      {"max-age=60+x", 60, 0, false, true},
      {"max-age=x", 0, {}, false, true},
      {"no-store, max-age=60", 60, {}, true, true},
      {"NO-STORE", {}, {}, true, true},
      {"content=\"ESI/1.0\"", {}, {}, false, true},
      {"max-age=60;ringfence, max-age=5", 60, {}, false, true},
      {"max-age=5, max-age=60;Ringfence", 60, {}, false, true},
      {"max-age=60;other, max-age=5", 5, {}, false, true},
      {"no-store;other", {}, {}, false, false},
      {"", {}, {}, false, false},
      {"max-age=60, content=\"ESI", {}, {}, false, false},
      {"=60", {}, {}, false, false},
  };
  for (const Row& row : rows) {
    ResponseDirectives said;
    EXPECT_EQ(parseSurrogateControl(fieldsOf(FieldRows{{"Surrogate-Control", row.value}}), said),
              row.usable)
        << row.value;
    EXPECT_EQ(said.max_age, row.max_age) << row.value;
    EXPECT_EQ(said.stale_while_revalidate, row.stale) << row.value;
    EXPECT_EQ(said.no_store, row.no_store) << row.value;
  }
}

TEST(SurrogateControl, IsNotKeptWhereItWasConsumed) {  // Edge Architecture 2.2
  const http::ResponseHead answer =
      ok({{"Surrogate-Control", "max-age=60"}, {"Cache-Control", "no-store"}});
  const auto keeps = [&answer](const RoutePolicy& route) {
    const StoreDecision decision = decideStore(get(), RequestDirectives{}, answer,
                                               Exchange{kNow, kNow, 0}, route, route.set_cookie);
    const auto* store = std::get_if<Store>(&decision);
    return store != nullptr && StoredFields(answer.fields, *store).keeps(answer.fields.all()[0]);
  };
  const RoutePolicy consuming = listening({"surrogate-control"});
  EXPECT_EQ(
      outcome({{"Surrogate-Control", "max-age=60"}, {"Cache-Control", "no-store"}}, consuming),
      "60");
  EXPECT_FALSE(keeps(consuming));
  EXPECT_EQ(strippedFromAll(consuming), (std::vector<std::string>{"surrogate-control"}));
  EXPECT_TRUE(strippedFromAll(listening({"cdn-cache-control"})).empty());
}

TEST(Ignored, DirectivesAreAsIfTheyWereAbsent) {
  struct Row {
    Ignored what;
    FieldRows rows;
    std::string_view heard;
    std::string_view ignored;
  };
  const FieldRows no_store = {{"Cache-Control", "no-store, max-age=60"}};
  const FieldRows no_cache = {{"Cache-Control", "no-cache, max-age=60"}};
  const FieldRows priv = {{"Cache-Control", "private, max-age=60"}};
  const FieldRows max_age = {{"Cache-Control", "max-age=60"}};
  const FieldRows s_maxage = {{"Cache-Control", "s-maxage=5, max-age=60"}};
  const FieldRows expires = {{"Expires", "Fri, 15 Jan 2027 08:01:00 GMT"}};  // kNow + 60 s
  const Row rows[] = {
      {Ignored::no_store, no_store, "no_store", "60"},
      {Ignored::no_cache, no_cache, "no_freshness", "60"},
      {Ignored::private_response, priv, "private", "60"},
      {Ignored::max_age, max_age, "60", "7"},
      {Ignored::s_maxage, s_maxage, "5", "60"},
      {Ignored::expires, expires, "60", "7"},
  };
  for (const Row& row : rows) {
    RoutePolicy route = enabledRoute();
    route.default_ttl_s = 7;
    EXPECT_EQ(outcome(row.rows, route), row.heard);
    route.ignored_directives = static_cast<uint32_t>(row.what);
    EXPECT_EQ(outcome(row.rows, route), row.ignored);
    route.ignored_directives = ~static_cast<uint32_t>(row.what);
    EXPECT_NE(outcome(row.rows, route), row.ignored) << row.heard;
  }
}

}  // namespace
}  // namespace policy
