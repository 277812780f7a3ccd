#include "source/policy/serve.h"

namespace policy {
namespace {

// Why the stored response may not be used as it is, before staleness is looked at.
NoReuseReason objection(const RequestDirectives& asked, Traits traits, uint32_t age_s,
                        int64_t left_s) {
  if (traits.has(Trait::no_cache)) {
    return NoReuseReason::response_no_cache;
  }
  if (asked.no_cache) {
    return NoReuseReason::request_no_cache;
  }
  // max-age=0 is how clients ask for an end-to-end revalidation: it holds within the first second,
  // too, in which the age is still 0.
  // That is what a reload sends; a fresh response that is immutable needs none (RFC 8246 2). A
  // client that insists says no-cache.
  const bool reload_is_idle = traits.has(Trait::immutable) && left_s > 0;
  if (asked.max_age && !reload_is_idle && (*asked.max_age == 0 || age_s > *asked.max_age)) {
    return NoReuseReason::request_max_age;
  }
  if (asked.min_fresh && left_s < int64_t{*asked.min_fresh}) {
    return NoReuseReason::request_min_fresh;
  }
  return NoReuseReason::none;
}

// Serve::stale or Serve::stale_while_revalidate when someone allowed it, else Serve::miss.
Serve staleUse(const RequestDirectives& asked, Traits traits, int64_t staleness_s) {
  if (traits.forbidsStale()) {
    return Serve::miss;  // RFC 9111 4.2.4
  }
  if (asked.max_stale) {  // RFC 9111 5.2.1.2: a permission up to its value, and a limit beyond
    return staleness_s <= int64_t{*asked.max_stale} ? Serve::stale : Serve::miss;
  }
  // With max-age and without max-stale a client wants nothing stale (RFC 9111 5.2.1.1), and none
  // with min-fresh.
  const bool refuses_stale = asked.max_age.has_value() || asked.min_fresh.has_value();
  if (!refuses_stale && !traits.has(Trait::server_error) && staleness_s < int64_t{traits.swr_s}) {
    return Serve::stale_while_revalidate;  // RFC 5861 3
  }
  return Serve::miss;
}

Serve fetchInstead(const RequestDirectives& asked, Traits traits) {
  if (asked.only_if_cached) {
    return Serve::gateway_timeout;  // RFC 9111 5.2.1.7
  }
  return traits.hasValidator() ? Serve::revalidate : Serve::miss;
}

}  // namespace

std::string_view name(Serve how) {
  switch (how) {
    case Serve::fresh:
      return "fresh";
    case Serve::stale:
      return "stale";
    case Serve::stale_while_revalidate:
      return "stale_while_revalidate";
    case Serve::revalidate:
      return "revalidate";
    case Serve::miss:
      return "miss";
    case Serve::gateway_timeout:
      return "gateway_timeout";
  }
  return "unknown";
}

std::string_view name(NoReuseReason reason) {
  switch (reason) {
    case NoReuseReason::none:
      return "none";
    case NoReuseReason::absent:
      return "absent";
    case NoReuseReason::hit_for_miss:
      return "hit_for_miss";
    case NoReuseReason::request_no_cache:
      return "request_no_cache";
    case NoReuseReason::request_max_age:
      return "request_max_age";
    case NoReuseReason::request_min_fresh:
      return "request_min_fresh";
    case NoReuseReason::response_no_cache:
      return "response_no_cache";
    case NoReuseReason::stale:
      return "stale";
  }
  return "unknown";
}

ServeDecision decideServe(const RequestDirectives& directives, Times times, Traits traits,
                          const RoutePolicy& route, base::UnixSeconds now) {
  const RequestDirectives asked =
      route.honor_request_cache_control ? directives : RequestDirectives{};
  ServeDecision decision;
  decision.age_s = ageOf(times, now);
  decision.ttl_s = freshnessLeft(times, now);
  if (traits.has(Trait::hit_for_miss)) {
    decision.how = fetchInstead(asked, Traits{});
    decision.why = decision.ttl_s > 0 ? NoReuseReason::hit_for_miss : NoReuseReason::absent;
    return decision;
  }
  decision.why = objection(asked, traits, decision.age_s, decision.ttl_s);
  if (decision.why != NoReuseReason::none) {
    decision.how = fetchInstead(asked, traits);
    return decision;
  }
  if (decision.ttl_s > 0) {
    decision.how = Serve::fresh;
    return decision;
  }
  decision.why = NoReuseReason::stale;
  decision.how = staleUse(asked, traits, -decision.ttl_s);
  if (decision.how == Serve::miss) {
    decision.how = fetchInstead(asked, traits);
  }
  return decision;
}

ServeDecision decideAbsent(const RequestDirectives& directives, const RoutePolicy& route) {
  ServeDecision decision;
  decision.why = NoReuseReason::absent;
  const bool refused = directives.only_if_cached && route.honor_request_cache_control;
  decision.how = refused ? Serve::gateway_timeout : Serve::miss;
  return decision;
}

}  // namespace policy
