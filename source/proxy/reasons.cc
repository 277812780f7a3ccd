#include "source/proxy/reasons.h"

namespace proxy {

uint64_t& counterOf(ProxyStats& stats, policy::BypassReason why) {
  using enum policy::BypassReason;
  switch (why) {
    case disabled:
      return stats.cache_bypass_disabled;
    case method:
      return stats.cache_bypass_method;
    case body_present:
      return stats.cache_bypass_body_present;
    case upgrade:
      return stats.cache_bypass_upgrade;
    case precondition:
      return stats.cache_bypass_precondition;
    case cookie:
      return stats.cache_bypass_cookie;
    case rule:
      return stats.cache_bypass_rule;
  }
  return stats.cache_bypass_disabled;
}

uint64_t& counterOf(ProxyStats& stats, policy::NoStoreReason why) {
  using enum policy::NoStoreReason;
  switch (why) {
    case disabled:
      return stats.cache_not_stored_disabled;
    case method:
      return stats.cache_not_stored_method;
    case request_no_store:
      return stats.cache_not_stored_request_no_store;
    case status:
      return stats.cache_not_stored_status;
    case not_understood:
      return stats.cache_not_stored_not_understood;
    case no_store:
      return stats.cache_not_stored_no_store;
    case private_response:
      return stats.cache_not_stored_private_response;
    case authorization:
      return stats.cache_not_stored_authorization;
    case vary_any:
      return stats.cache_not_stored_vary_any;
    case set_cookie:
      return stats.cache_not_stored_set_cookie;
    case route_ttl:
      return stats.cache_not_stored_route_ttl;
    case no_freshness:
      return stats.cache_not_stored_no_freshness;
    case too_large:
      return stats.cache_not_stored_too_large;
    case too_many_tags:
      return stats.cache_not_stored_too_many_tags;
    case unavailable:
      return stats.cache_not_stored_unavailable;
    case rule:
      return stats.cache_not_stored_rule;
    case min_uses:
      return stats.cache_not_stored_min_uses;
    case content_type:
      return stats.cache_not_stored_content_type;
    case admission:
      return stats.cache_not_stored_admission;
    case write_budget:
      return stats.cache_not_stored_write_budget;
  }
  return stats.cache_not_stored_disabled;
}

uint64_t& counterOf(ProxyStats& stats, policy::NoReuseReason why) {
  using enum policy::NoReuseReason;
  switch (why) {
    case request_no_cache:
      return stats.cache_not_reused_request_no_cache;
    case request_max_age:
      return stats.cache_not_reused_request_max_age;
    case request_min_fresh:
      return stats.cache_not_reused_request_min_fresh;
    case response_no_cache:
      return stats.cache_not_reused_response_no_cache;
    case none:
    case absent:
    case hit_for_miss:
    case stale:
      break;
  }
  return stats.cache_not_reused_stale;
}

}  // namespace proxy
