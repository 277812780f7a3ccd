#include "source/policy/response.h"

#include <algorithm>
#include <array>

#include "source/http/codec.h"
#include "source/http/date.h"
#include "source/http/etag.h"
#include "source/http/list.h"
#include "source/policy/invalidate.h"
#include "source/policy/upstream.h"
#include "source/policy/vary.h"

namespace policy {
namespace {

// Never stored here: not final; partial or only about another response (206, 304, 412, 416); for
// the next hop alone (407); and those of RFC 6585, which MUST NOT be stored.
bool isStorableStatus(uint16_t status) {
  switch (status) {
    case 206:
    case 304:
    case 407:
    case 412:
    case 416:
    case 428:
    case 429:
    case 431:
    case 511:
      return false;
    default:
      return status >= 200 && status <= 599;
  }
}

bool isExplicit(LifetimeSource source) {
  return source == LifetimeSource::s_maxage || source == LifetimeSource::max_age ||
         source == LifetimeSource::expires;
}

base::UnixSeconds dateOf(const http::Fields& fields, base::UnixSeconds received) {
  return http::parseDate(fields.value(http::Name::date), received).value_or(received);
}

uint32_t clampDelta(int64_t s) {
  return static_cast<uint32_t>(std::clamp<int64_t>(s, 0, kMaxDelta_s));
}

// RFC 9111 5.3: an invalid date, such as "0", is in the past. Lines that disagree are invalid too.
uint32_t expiresLifetime(const http::Fields& fields, base::UnixSeconds received) {
  const std::string_view first = fields.value(http::Name::expires);
  for (const http::Field& line : fields.all()) {
    if (line.id == http::Name::expires && line.value != first) {
      return 0;
    }
  }
  const std::optional<base::UnixSeconds> expires = http::parseDate(first, received);
  return expires ? clampDelta(expires->s - dateOf(fields, received).s) : 0;
}

// RFC 9111 4.2.2.
uint32_t heuristicLifetime(const http::Fields& fields, base::UnixSeconds received,
                           const Heuristic& heuristic) {
  const std::optional<base::UnixSeconds> modified =
      http::parseDate(fields.value(http::Name::last_modified), received);
  if (!modified) {
    return 0;
  }
  const int64_t unchanged_s = dateOf(fields, received).s - modified->s;
  const uint64_t percent = std::min<uint32_t>(heuristic.fraction_percent, 100);
  const uint64_t guess = unchanged_s <= 0 ? 0 : static_cast<uint64_t>(unchanged_s) * percent / 100;
  return static_cast<uint32_t>(std::min<uint64_t>(guess, heuristic.max_s));
}

const StatusTtl* statusTtl(const RoutePolicy& route, uint16_t status) {
  const StatusTtl* by_class = nullptr;
  for (const StatusTtl& entry : route.status_ttls) {
    if (entry.status == status) {
      return &entry;
    }
    if (entry.status < 10 && entry.status == status / 100) {
      by_class = &entry;
    }
  }
  return by_class;
}

// What is taken off a lifetime: of [0, percent] of it, the share that `draw` has of its range. It
// only shortens, so nothing is served longer than its origin allowed.
uint32_t jitter(uint32_t seconds, uint32_t draw, uint32_t percent) {
  const uint64_t most = uint64_t{seconds} * std::min<uint32_t>(percent, 100) / 100;
  return static_cast<uint32_t>(((most + 1) * draw) >> 32);
}

Lifetime ownLifetime(const http::ResponseHead& response, const Governing& governing,
                     base::UnixSeconds received, const RoutePolicy& route) {
  const ResponseDirectives& directives = governing.said;
  // RFC 9111 4.2.1, in the order of precedence for a shared cache.
  if (directives.s_maxage) {
    return {LifetimeSource::s_maxage, *directives.s_maxage};
  }
  if (directives.max_age) {
    return {LifetimeSource::max_age, *directives.max_age};
  }
  if (governing.expires && response.fields.has(http::Name::expires)) {
    return {LifetimeSource::expires, expiresLifetime(response.fields, received)};
  }
  if (const StatusTtl* ttl = statusTtl(route, response.status)) {
    return {LifetimeSource::status_ttl, ttl->ttl_s};
  }
  if (!directives.public_response && !isHeuristicallyCacheable(response.status)) {
    return {};  // RFC 9111 4.2.2
  }
  if (route.default_ttl_s) {
    return {LifetimeSource::default_ttl, *route.default_ttl_s};
  }
  return {LifetimeSource::heuristic, heuristicLifetime(response.fields, received, route.heuristic)};
}

bool hasCookies(const http::Fields& fields) {
  return fields.has(http::Name::set_cookie) || fields.find("set-cookie2") != nullptr;
}

// What the message itself forbids (RFC 9111 section 3).
std::optional<NoStoreReason> refusal(const http::RequestHead& request,
                                     const RequestDirectives& asked,
                                     const http::ResponseHead& response,
                                     const ResponseDirectives& said, const RoutePolicy& route) {
  if (!route.enabled) {
    return NoStoreReason::disabled;
  }
  if (request.method != "GET") {
    return NoStoreReason::method;
  }
  if (asked.no_store) {
    return NoStoreReason::request_no_store;
  }
  if (!isStorableStatus(response.status)) {
    return NoStoreReason::status;
  }
  if (said.must_understand && !isUnderstoodStatus(response.status)) {
    return NoStoreReason::not_understood;
  }
  if (said.no_store && !said.must_understand) {  // RFC 9111 5.2.2.3: understood, so no-store yields
    return NoStoreReason::no_store;
  }
  if (said.private_response) {
    return NoStoreReason::private_response;
  }
  if (request.fields.has(http::Name::authorization) && !said.public_response &&
      !said.must_revalidate && !said.s_maxage) {
    return NoStoreReason::authorization;
  }
  if (route.max_object_bytes &&
      http::contentLength(response).value_or(0) > *route.max_object_bytes) {
    return NoStoreReason::too_large;
  }
  return std::nullopt;
}

Traits traitsOf(const http::ResponseHead& response, const ResponseDirectives& said,
                const Lifetime& lifetime, base::UnixSeconds received, const RoutePolicy& route) {
  Traits traits;
  const auto setIf = [&traits](bool yes, Trait trait) {
    if (yes) {
      traits.set(trait);
    }
  };
  setIf(said.no_cache, Trait::no_cache);
  // s-maxage has the meaning of proxy-revalidate (RFC 9111 5.2.2.10).
  setIf(said.must_revalidate || said.proxy_revalidate || said.s_maxage.has_value(),
        Trait::must_revalidate);
  const Validators validators = validatorsOf(response.fields, received);
  setIf(!validators.etag.empty(), Trait::has_etag);
  setIf(!validators.etag.empty() && validators.etag.front() == '"', Trait::has_strong_etag);
  setIf(!validators.last_modified.empty(), Trait::has_last_modified);
  setIf(said.immutable, Trait::immutable);
  setIf(lifetime.source == LifetimeSource::heuristic, Trait::heuristic);
  setIf(lifetime.adjusted || lifetime.source == LifetimeSource::status_ttl ||
            lifetime.source == LifetimeSource::default_ttl,
        Trait::operators);
  setIf(response.status >= 500, Trait::server_error);
  setIf(said.stale_if_error.has_value(), Trait::own_stale_if_error);
  if (!traits.forbidsStale() && response.status < 500) {
    traits.swr_s = said.stale_while_revalidate.value_or(route.stale_while_revalidate_s.value_or(0));
    traits.sie_s = said.stale_if_error.value_or(route.stale_if_error_s.value_or(0));
  }
  return traits;
}

// The permissions of RFC 9111 section 3, last item, and whether reuse is possible at all.
bool isReusable(uint16_t status, const ResponseDirectives& said, const Lifetime& lifetime,
                bool age_known, const Traits& traits) {
  if (lifetime.source == LifetimeSource::none && !said.public_response &&
      !isHeuristicallyCacheable(status)) {
    return false;
  }
  const bool can_be_fresh = lifetime.seconds > 0 && age_known && !traits.has(Trait::no_cache);
  return can_be_fresh || traits.hasValidator() || traits.swr_s > 0 || traits.sie_s > 0;
}

Times timesOf(const http::ResponseHead& response, Exchange exchange, const Lifetime& lifetime,
              bool age_known) {
  const int64_t birth_s = exchange.received.s - int64_t{correctedInitialAge(response, exchange)};
  const int64_t expiry_s = birth_s + int64_t{lifetime.seconds};
  return Times{clampSeconds(birth_s),
               clampSeconds(age_known ? expiry_s : std::min(expiry_s, exchange.received.s))};
}

std::vector<std::string> stripList(const http::Fields& fields, const ResponseDirectives& said,
                                   SetCookie cookies, const RoutePolicy& route) {
  std::vector<std::string> names;
  const auto add = [&names](std::string_view name) {
    std::string text(name);
    std::transform(text.begin(), text.end(), text.begin(), [](char c) {
      return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c;
    });
    names.push_back(std::move(text));
  };
  for (const std::string_view name : said.qualifiedFields()) {
    add(name);
  }
  if (cookies == SetCookie::strip && hasCookies(fields)) {
    add("set-cookie");
    add("set-cookie2");
  }
  for (const std::string& name : strippedFromAll(route)) {
    add(name);
  }
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

// What the operator added to the key counts as if the response varied on it.
void addOperatorsNames(const KeySpec& key, std::vector<std::string>& names) {
  if (key.headers.empty() && key.cookies.empty()) {
    return;
  }
  names.insert(names.end(), key.headers.begin(), key.headers.end());
  for (const std::string& cookie : key.cookies) {
    names.push_back(std::string(kCookieName) + cookie);
  }
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
}

// Cookies that are stored with the response and would reach everyone.
bool keepsCookies(const http::Fields& fields, const std::vector<std::string>& strip) {
  const auto kept = [&](std::string_view name) {
    return fields.find(name) != nullptr &&
           !std::binary_search(strip.begin(), strip.end(), name, std::less<>());
  };
  return kept("set-cookie") || kept("set-cookie2");
}

}  // namespace

std::string_view name(NoStoreReason reason) {
  switch (reason) {
    case NoStoreReason::disabled:
      return "disabled";
    case NoStoreReason::method:
      return "method";
    case NoStoreReason::request_no_store:
      return "request_no_store";
    case NoStoreReason::status:
      return "status";
    case NoStoreReason::not_understood:
      return "not_understood";
    case NoStoreReason::no_store:
      return "no_store";
    case NoStoreReason::private_response:
      return "private";
    case NoStoreReason::authorization:
      return "authorization";
    case NoStoreReason::vary_any:
      return "vary_any";
    case NoStoreReason::set_cookie:
      return "set_cookie";
    case NoStoreReason::route_ttl:
      return "route_ttl";
    case NoStoreReason::no_freshness:
      return "no_freshness";
    case NoStoreReason::too_large:
      return "too_large";
    case NoStoreReason::too_many_tags:
      return "too_many_tags";
    case NoStoreReason::unavailable:
      return "unavailable";
    case NoStoreReason::rule:
      return "rule";
    case NoStoreReason::min_uses:
      return "min_uses";
    case NoStoreReason::content_type:
      return "content_type";
    case NoStoreReason::admission:
      return "admission";
    case NoStoreReason::write_budget:
      return "write_budget";
  }
  return "unknown";
}

std::string_view name(LifetimeSource source) {
  switch (source) {
    case LifetimeSource::none:
      return "none";
    case LifetimeSource::s_maxage:
      return "s_maxage";
    case LifetimeSource::max_age:
      return "max_age";
    case LifetimeSource::expires:
      return "expires";
    case LifetimeSource::status_ttl:
      return "status_ttl";
    case LifetimeSource::default_ttl:
      return "default_ttl";
    case LifetimeSource::heuristic:
      return "heuristic";
  }
  return "unknown";
}

bool isUnderstoodStatus(uint16_t status) {
  static constexpr std::array<uint16_t, 40> kUnderstood = {
      200, 201, 202, 203, 204, 205, 206, 300, 301, 302, 303, 304, 307, 308,
      400, 401, 402, 403, 404, 405, 406, 407, 408, 409, 410, 411, 413, 414,
      415, 417, 421, 422, 426, 500, 501, 502, 503, 504, 505, 451};
  return std::find(kUnderstood.begin(), kUnderstood.end(), status) != kUnderstood.end();
}

bool isHeuristicallyCacheable(uint16_t status) {
  static constexpr std::array<uint16_t, 12> kCacheable = {200, 203, 204, 206, 300, 301,
                                                          308, 404, 405, 410, 414, 501};
  return std::find(kCacheable.begin(), kCacheable.end(), status) != kCacheable.end();
}

AgeValue ageValue(const http::Fields& response) {
  const size_t lines = response.count(http::Name::age);
  if (lines == 0) {
    return AgeValue{};
  }
  http::ListReader members(response.value(http::Name::age));
  const std::optional<std::string_view> first = members.next();
  if (lines > 1 || !first) {
    return AgeValue{false, 0};
  }
  const std::optional<uint32_t> seconds = parseDelta(*first);
  if (!seconds) {
    return AgeValue{false, 0};
  }
  bool repeated = false;
  while (const std::optional<std::string_view> member = members.next()) {
    repeated |= *member == *first;
  }
  return AgeValue{!repeated, *seconds};
}

uint32_t correctedInitialAge(const http::ResponseHead& response, Exchange exchange) {
  const int64_t received = exchange.received.s;
  const int64_t apparent_age =
      std::max<int64_t>(0, received - dateOf(response.fields, exchange.received).s);
  const int64_t response_delay = std::max<int64_t>(0, received - exchange.sent.s);
  const int64_t corrected_age = int64_t{ageValue(response.fields).seconds} + response_delay;
  return clampDelta(std::max(apparent_age, corrected_age));
}

Lifetime freshnessLifetime(const http::ResponseHead& response, const Governing& governing,
                           Exchange exchange, const RoutePolicy& route) {
  Lifetime lifetime = ownLifetime(response, governing, exchange.received, route);
  const uint32_t before = lifetime.seconds;
  if (isExplicit(lifetime.source)) {
    lifetime.seconds = std::max(lifetime.seconds, route.min_ttl_s);
  }
  lifetime.seconds = std::min(lifetime.seconds, route.max_ttl_s.value_or(UINT32_MAX));
  lifetime.seconds -= jitter(lifetime.seconds, exchange.draw, route.ttl_jitter_percent);
  lifetime.adjusted = lifetime.seconds != before;
  return lifetime;
}

StoreDecision decideStore(const http::RequestHead& request, const RequestDirectives& directives,
                          const http::ResponseHead& response, Exchange exchange,
                          const RoutePolicy& route, SetCookie cookies) {
  const Governing governs = governing(response.fields, route);
  const ResponseDirectives& said = governs.said;
  if (const auto reason = refusal(request, directives, response, said, route)) {
    return *reason;
  }
  Vary vary = parseVary(response.fields);
  if (vary.any) {
    return NoStoreReason::vary_any;
  }
  const Lifetime lifetime = freshnessLifetime(response, governs, exchange, route);
  if (lifetime.source == LifetimeSource::status_ttl && lifetime.seconds == 0) {
    return NoStoreReason::route_ttl;
  }
  Store store;
  store.strip = stripList(response.fields, said, cookies, route);
  if (keepsCookies(response.fields, store.strip) &&
      (cookies == SetCookie::refuse || !isExplicit(lifetime.source))) {
    return NoStoreReason::set_cookie;
  }
  const bool age_known = ageValue(response.fields).known;
  store.traits = traitsOf(response, said, lifetime, exchange.received, route);
  if (!governs.field.empty()) {
    store.traits.set(Trait::targeted);
  }
  if (!isReusable(response.status, said, lifetime, age_known, store.traits)) {
    return NoStoreReason::no_freshness;
  }
  store.times = timesOf(response, exchange, lifetime, age_known);
  store.vary = std::move(vary.names);
  addOperatorsNames(route.key, store.vary);
  return store;
}

StoreDecision decideStoreOfPost(const http::RequestHead& request, const http::Effective& target,
                                const http::ResponseHead& response, Exchange exchange,
                                const RoutePolicy& route) {
  const http::Field* location = response.fields.find(http::Name::content_location);
  OwnedUri described;
  if (request.method != "POST" || response.status != 200 || location == nullptr ||
      response.fields.count(http::Name::content_location) > 1 ||
      !resolveReference(target, location->value, described) ||
      described.text() != OwnedUri::of(target).text()) {
    return NoStoreReason::method;
  }
  const Lifetime lifetime =
      freshnessLifetime(response, governing(response.fields, route), exchange, route);
  if (!isExplicit(lifetime.source)) {
    return NoStoreReason::method;
  }
  http::RequestHead asked = request;
  asked.method = "GET";
  const RequestDirectives directives = route.honor_request_cache_control
                                           ? parseRequestDirectives(request.fields)
                                           : RequestDirectives{};
  return decideStore(asked, directives, response, exchange, route, route.set_cookie);
}

bool StoredFields::keeps(const http::Field& field) const {
  if (field.id == http::Name::age || hop_by_hop_.covers(field)) {
    return false;
  }
  return std::none_of(store_.strip.begin(), store_.strip.end(), [&field](const std::string& name) {
    return http::equalsIgnoreCase(name, field.name);
  });
}

}  // namespace policy
