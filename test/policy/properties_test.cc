// Goal: properties that hold for every input. Method: seeded random heads, traits and requests,
// made of valid, odd and broken pieces; each property is checked against its definition.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "source/base/random.h"
#include "source/policy/conditional.h"
#include "source/policy/error.h"
#include "source/policy/response.h"
#include "source/policy/serve.h"
#include "source/policy/upstream.h"
#include "source/policy/vary.h"
#include "test/policy/heads.h"

namespace policy {
namespace {

using testing::enabledRoute;
using testing::get;
using testing::kNow;
using testing::Text;

constexpr int kRounds = 6000;

template <size_t N>
std::string_view pick(base::Random& random, const std::string_view (&choices)[N]) {
  return choices[random.below(N)];
}

constexpr std::string_view kDirectives[] = {"max-age=60",        "max-age=0",
                                            "max-age=x",         "s-maxage=30",
                                            "s-maxage",          "no-cache",
                                            "no-cache=\"A\"",    "private",
                                            "private=\"B\"",     "public",
                                            "must-revalidate",   "proxy-revalidate",
                                            "must-understand",   "immutable",
                                            "stale-if-error=20", "stale-while-revalidate=20",
                                            "ext=\"no-store\"",  "max-age=99999999999",
                                            "no-transform",      "\"",
                                            "max-age =5",        ""};
constexpr std::string_view kAges[] = {"0", "10", "5, 7", "x", "99999999999", "-1"};
constexpr std::string_view kTags[] = {"\"a\"", "W/\"a\"", "\"b\"", "broken", "\"", ""};

class Maker {
 public:
  explicit Maker(uint64_t seed) : random_(seed) {}

  std::string_view cacheControl() {
    std::string value;
    for (uint64_t i = random_.below(4); i > 0; i--) {
      value += pick(random_, kDirectives);
      value += i > 1 ? ", " : "";
    }
    return text_.keep(std::move(value));
  }
  http::ResponseHead response() {
    static constexpr uint16_t kStatuses[] = {200, 200, 200, 204, 301, 302, 404, 500, 503, 599};
    http::ResponseHead head;
    head.status = kStatuses[random_.below(std::size(kStatuses))];
    maybe(head, "Cache-Control", cacheControl());
    maybe(head, "Cache-Control", cacheControl());
    maybe(head, "Age", pick(random_, kAges));
    maybe(head, "Date", date());
    maybe(head, "Expires", random_.chance(1, 5) ? "0" : date());
    maybe(head, "Last-Modified", date());
    maybe(head, "ETag", pick(random_, kTags));
    maybe(head, "A", "1");
    maybe(head, "B", "1");
    maybe(head, "Content-Encoding", pick(random_, kTags));
    maybe(head, "Content-Length", "5");
    return head;
  }
  RequestDirectives directives() {
    RequestDirectives asked;
    asked.no_cache = random_.chance(1, 8);
    asked.only_if_cached = random_.chance(1, 8);
    asked.max_age = maybeSeconds();
    asked.min_fresh = maybeSeconds();
    asked.max_stale = maybeSeconds();
    return asked;
  }
  Times times() {
    const uint32_t birth_s = static_cast<uint32_t>(kNow.s - 100 + random_.below(120));
    return Times{birth_s, birth_s + static_cast<uint32_t>(random_.below(150))};
  }
  Traits traits() {
    Traits traits;
    for (uint32_t bit = 0; bit < 10; bit++) {
      traits.bits |= random_.chance(1, 6) ? 1U << bit : 0;
    }
    traits.swr_s = random_.chance(1, 2) ? static_cast<uint32_t>(random_.below(60)) : 0;
    traits.sie_s = random_.chance(1, 2) ? static_cast<uint32_t>(random_.below(60)) : 0;
    return traits;
  }
  std::optional<uint32_t> maybeSeconds() {
    return random_.chance(1, 3) ? std::optional(static_cast<uint32_t>(random_.below(120)))
                                : std::nullopt;
  }
  base::Random& random() { return random_; }

 private:
  std::string_view date() { return text_.date(static_cast<int64_t>(random_.below(400)) - 300); }
  void maybe(http::ResponseHead& head, std::string_view name, std::string_view value) {
    if (random_.chance(1, 2)) {
      head.fields.add(name, value);
    }
  }

  base::Random random_;
  Text text_;
};

bool usesStored(Serve how) {
  return how == Serve::fresh || how == Serve::stale || how == Serve::stale_while_revalidate;
}

TEST(Property, AgingNeverMakesStaleFresh) {  // RFC 9111 4.2
  Maker maker(1);
  for (int round = 0; round < kRounds; round++) {
    const RequestDirectives asked = maker.directives();
    const Times times = maker.times();
    const Traits traits = maker.traits();
    bool was_fresh = true;
    bool was_used = true;
    for (int64_t later_s = 0; later_s < 400; later_s += 7) {
      const ServeDecision decision =
          decideServe(asked, times, traits, enabledRoute(), base::UnixSeconds{kNow.s + later_s});
      const bool fresh = decision.how == Serve::fresh;
      ASSERT_TRUE(was_fresh || !fresh) << "round " << round;
      ASSERT_TRUE(was_used || !usesStored(decision.how)) << "round " << round;
      was_fresh = fresh;
      was_used = usesStored(decision.how);
    }
  }
}

TEST(Property, NothingStaleWithoutPermission) {  // RFC 9111 4.2.4
  Maker maker(2);
  for (int round = 0; round < kRounds; round++) {
    const RequestDirectives asked = maker.directives();
    const Times times = maker.times();
    const Traits traits = maker.traits();
    const ServeDecision decision = decideServe(asked, times, traits, enabledRoute(), kNow);
    const int64_t staleness_s = kNow.s - int64_t{times.fresh_until_s};
    if (!usesStored(decision.how)) {
      continue;
    }
    ASSERT_FALSE(traits.has(Trait::no_cache) || traits.has(Trait::hit_for_miss));
    ASSERT_FALSE(asked.no_cache);
    const bool by_client = asked.max_stale && staleness_s <= int64_t{*asked.max_stale};
    const bool by_origin = staleness_s < int64_t{traits.swr_s};
    const bool forbidden = traits.has(Trait::must_revalidate);
    ASSERT_TRUE(staleness_s < 0 || (!forbidden && (by_client || by_origin))) << "round " << round;
  }
}

TEST(Property, StricterRequestsAreNeverServedMore) {
  Maker maker(3);
  for (int round = 0; round < kRounds; round++) {
    const RequestDirectives asked = maker.directives();
    const Times times = maker.times();
    const Traits traits = maker.traits();
    const auto used = [&](const RequestDirectives& d) {
      return usesStored(decideServe(d, times, traits, enabledRoute(), kNow).how);
    };
    const auto less = [&](std::optional<uint32_t> v) {
      return static_cast<uint32_t>(maker.random().below(v.value_or(200) + uint64_t{1}));
    };
    RequestDirectives stricter = asked;
    switch (maker.random().below(4)) {
      case 0:
        stricter.no_cache = true;
        break;
      case 1:
        stricter.max_age = less(asked.max_age);
        break;
      case 2:
        stricter.min_fresh = asked.min_fresh.value_or(0) + less({});
        break;
      default:
        if (asked.max_stale) {
          stricter.max_stale = less(asked.max_stale);
        }
    }
    ASSERT_TRUE(used(asked) || !used(stricter)) << "round " << round;
    RequestDirectives only = asked;  // only-if-cached changes what happens instead, nothing else
    only.only_if_cached = true;
    ASSERT_EQ(used(asked) || asked.only_if_cached, used(only) || asked.only_if_cached);
  }
}

TEST(Property, NoStoreAndPrivateNeverStore) {  // RFC 9111 5.2.2.5, 5.2.2.7
  Maker maker(4);
  for (int round = 0; round < kRounds; round++) {
    http::ResponseHead head = maker.response();
    const std::string_view forms[] = {
        "no-store", "NO-STORE", "private", "max-age=60, private", "no-store;x", "no-store=\"a\""};
    head.fields.add("Cache-Control", pick(maker.random(), forms));
    const bool understood =
        parseResponseDirectives(head.fields).must_understand && isUnderstoodStatus(head.status);
    if (understood) {
      continue;  // RFC 9111 5.2.2.3: no-store is ignored then
    }
    const StoreDecision decision =
        decideStore(get(), {}, head, Exchange{kNow, kNow}, enabledRoute());
    ASSERT_TRUE(std::holds_alternative<NoStoreReason>(decision)) << "round " << round;
  }
}

TEST(Property, NoStoreInARequestNeverStores) {  // RFC 9111 5.2.1.5
  Maker maker(5);
  RequestDirectives asked;
  asked.no_store = true;
  for (int round = 0; round < kRounds; round++) {
    const StoreDecision decision =
        decideStore(get(), asked, maker.response(), Exchange{kNow, kNow}, enabledRoute());
    ASSERT_TRUE(std::holds_alternative<NoStoreReason>(decision));
  }
}

TEST(Property, CredentialsAreStoredOnlyWithLeave) {  // RFC 9111 3.5
  Maker maker(6);
  const http::RequestHead asked = get({{"Authorization", "x"}});
  for (int round = 0; round < kRounds; round++) {
    const http::ResponseHead head = maker.response();
    const StoreDecision decision =
        decideStore(asked, {}, head, Exchange{kNow, kNow}, enabledRoute());
    if (std::holds_alternative<Store>(decision)) {
      const ResponseDirectives said = parseResponseDirectives(head.fields);
      ASSERT_TRUE(said.public_response || said.must_revalidate || said.s_maxage);
    }
  }
}

TEST(Property, AgeIsNeverUnderstated) {  // RFC 9111 4.2.3
  Maker maker(7);
  for (int round = 0; round < kRounds; round++) {
    const http::ResponseHead head = maker.response();
    const int64_t delay_s = static_cast<int64_t>(maker.random().below(20));
    const Exchange exchange{base::UnixSeconds{kNow.s - delay_s}, kNow};
    const StoreDecision decision = decideStore(get(), {}, head, exchange, enabledRoute());
    if (const Store* store = std::get_if<Store>(&decision)) {
      const uint32_t age_s = ageOf(store->times, kNow);
      const int64_t said_s = std::min<int64_t>(ageValue(head.fields).seconds + delay_s, kNow.s);
      ASSERT_GE(age_s, said_s) << "round " << round;
    }
  }
}

TEST(Property, TheMergeKeepsWhatDescribesTheBody) {  // RFC 9111 3.2
  Maker maker(8);
  http::ResponseHead merged;
  for (int round = 0; round < kRounds; round++) {
    const http::ResponseHead stored = maker.response();
    http::ResponseHead update = maker.response();
    update.status = 304;
    mergeOn304(stored, update, merged);
    ASSERT_EQ(merged.status, stored.status);
    for (const http::Name id : {http::Name::content_encoding, http::Name::content_length}) {
      ASSERT_EQ(merged.fields.has(id), stored.fields.has(id));
      ASSERT_EQ(merged.fields.value(id), stored.fields.value(id));
    }
    for (const std::string_view name : {"A", "Cache-Control", "Expires", "Last-Modified"}) {
      const http::Fields& source = update.fields.find(name) ? update.fields : stored.fields;
      const http::Field* expected = source.find(name);
      const http::Field* got = merged.fields.find(name);
      ASSERT_EQ(expected == nullptr, got == nullptr);
      ASSERT_TRUE(expected == nullptr || expected->value == got->value);
      ASSERT_EQ(source.count(http::Name::cache_control),
                name == "Cache-Control" ? merged.fields.count(http::Name::cache_control)
                                        : source.count(http::Name::cache_control));
    }
  }
}

TEST(Property, ErrorsAreAnsweredStaleOnlyWithPermission) {  // RFC 5861 4, RFC 9111 4.2.4
  Maker maker(9);
  for (int round = 0; round < kRounds; round++) {
    RequestDirectives asked;
    asked.stale_if_error = maker.maybeSeconds();
    const Times times = maker.times();
    const Traits traits = maker.traits();
    const ErrorAnswer answer =
        onUpstreamError(UpstreamFailure::reset, times, traits, asked, enabledRoute(), kNow);
    const int64_t staleness_s = kNow.s - int64_t{times.fresh_until_s};
    if (answer != ErrorAnswer::serve_stale || staleness_s < 0) {
      continue;
    }
    ASSERT_FALSE(traits.has(Trait::must_revalidate) || traits.has(Trait::no_cache));
    const uint32_t allowed_s = std::max(traits.sie_s, asked.stale_if_error.value_or(0));
    ASSERT_LT(staleness_s, int64_t{allowed_s});
  }
}

TEST(Property, VariantKeysDependOnNamedFieldsOnly) {  // RFC 9111 4.1
  base::Random random(10);
  constexpr std::string_view kNames[] = {"A", "B", "C", "Accept-Encoding"};
  constexpr std::string_view kValues[] = {"", "1", "2", "1, 2", "gzip, br", "\"x, y\""};
  const std::vector<std::string> names = {"a", "accept-encoding"};
  for (int round = 0; round < kRounds; round++) {
    http::Fields one;
    http::Fields other;
    for (uint64_t i = random.below(5); i > 0; i--) {
      const std::string_view name = pick(random, kNames);
      const std::string_view value = pick(random, kValues);
      one.add(name, value);
      if (name != "B" && name != "C") {
        other.add(name, value);
      }
    }
    std::string key = "k";
    std::string same = "k";
    appendVariantKey(names, one, key);
    appendVariantKey(names, other, same);
    ASSERT_EQ(key, same) << "round " << round;
    other.add("A", "something else");
    std::string different = "k";
    appendVariantKey(names, other, different);
    ASSERT_NE(key, different) << "round " << round;
  }
}

}  // namespace
}  // namespace policy
