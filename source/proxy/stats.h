// What sessions count, and the histograms they keep; one struct a shard.
#pragma once

#include "source/telemetry/counters.h"
#include "source/telemetry/histogram.h"

namespace proxy {

// One for each reason of policy::BypassReason, NoStoreReason and NoReuseReason; see reasons.h.
#define PROXY_REASONS(X)                                                                          \
  X(counter, cache_bypass_disabled, "Requests that passed the cache by: the route has no cache")  \
  X(counter, cache_bypass_method, "Requests that passed the cache by: the method")                \
  X(counter, cache_bypass_body_present, "Requests that passed the cache by: a GET with content")  \
  X(counter, cache_bypass_upgrade, "Requests that passed the cache by: an upgrade was asked for") \
  X(counter, cache_bypass_precondition,                                                           \
    "Requests that passed the cache by: If-Match or If-Unmodified-Since")                         \
  X(counter, cache_bypass_cookie, "Requests that passed the cache by: cookies, by the route")     \
  X(counter, cache_bypass_rule, "Requests that passed the cache by: a rule of the route")         \
  X(counter, cache_not_stored_disabled, "Responses not stored: the route has no cache")           \
  X(counter, cache_not_stored_method, "Responses not stored: the method")                         \
  X(counter, cache_not_stored_request_no_store, "Responses not stored: no-store in the request")  \
  X(counter, cache_not_stored_status, "Responses not stored: the status")                         \
  X(counter, cache_not_stored_not_understood,                                                     \
    "Responses not stored: must-understand, and it is not")                                       \
  X(counter, cache_not_stored_no_store, "Responses not stored: no-store")                         \
  X(counter, cache_not_stored_private_response, "Responses not stored: private")                  \
  X(counter, cache_not_stored_authorization,                                                      \
    "Responses not stored: Authorization without permission")                                     \
  X(counter, cache_not_stored_vary_any, "Responses not stored: Vary: *")                          \
  X(counter, cache_not_stored_set_cookie, "Responses not stored: Set-Cookie")                     \
  X(counter, cache_not_stored_route_ttl, "Responses not stored: lifetime 0 by the route")         \
  X(counter, cache_not_stored_no_freshness,                                                       \
    "Responses not stored: neither lifetime nor validator")                                       \
  X(counter, cache_not_stored_too_large, "Responses not stored: too large")                       \
  X(counter, cache_not_stored_too_many_tags, "Responses not stored: more tags than are kept")     \
  X(counter, cache_not_stored_unavailable, "Responses not stored: the store takes nothing")       \
  X(counter, cache_not_stored_rule, "Responses not stored: a rule of the route")                  \
  X(counter, cache_not_stored_min_uses, "Responses not stored: asked for too seldom")             \
  X(counter, cache_not_stored_content_type, "Responses not stored: not what the path promises")   \
  X(counter, cache_not_stored_admission, "Responses not stored: not asked for before")            \
  X(counter, cache_not_stored_write_budget, "Responses not stored: the write budget is used up")  \
  X(counter, cache_not_reused_request_no_cache,                                                   \
    "Stored responses not served as they were: no-cache in the request")                          \
  X(counter, cache_not_reused_request_max_age,                                                    \
    "Stored responses not served as they were: max-age in the request")                           \
  X(counter, cache_not_reused_request_min_fresh,                                                  \
    "Stored responses not served as they were: min-fresh in the request")                         \
  X(counter, cache_not_reused_response_no_cache,                                                  \
    "Stored responses not served as they were: no-cache in the response")                         \
  X(counter, cache_not_reused_stale, "Stored responses not served as they were: its time is over")

#define PROXY_METRICS(X)                                                                          \
  X(counter, downstream_cx_total, "Connections accepted")                                         \
  X(gauge, downstream_cx_active, "Connections open")                                              \
  X(counter, downstream_cx_idle_timeout, "Connections closed since no request came")              \
  X(counter, downstream_cx_shed, "Connections refused at a limit")                                \
  X(counter, downstream_rq_total, "Requests whose head was read, or tried to be")                 \
  X(gauge, downstream_rq_active, "Requests being answered")                                       \
  X(counter, downstream_rq_1xx, "Responses sent with status 1xx")                                 \
  X(counter, downstream_rq_2xx, "Responses sent with status 2xx")                                 \
  X(counter, downstream_rq_3xx, "Responses sent with status 3xx")                                 \
  X(counter, downstream_rq_4xx, "Responses sent with status 4xx")                                 \
  X(counter, downstream_rq_5xx, "Responses sent with status 5xx")                                 \
  X(counter, downstream_rq_bad_head, "Requests refused: malformed head")                          \
  X(counter, downstream_rq_head_too_large, "Requests refused: head over a limit")                 \
  X(counter, downstream_rq_bad_framing, "Requests refused: ambiguous or unknown framing")         \
  X(counter, downstream_rq_head_timeout, "Requests refused: head not complete in time")           \
  X(counter, downstream_rq_loop, "Requests refused: they have been here before")                  \
  X(counter, downstream_rq_aborted, "Responses cut off: the client went away or stalled")         \
  X(counter, downstream_rq_stalled, "The same: it took nothing while memory was short")           \
  X(counter, downstream_memory_let_go, "Pieces let go of, as memory was short, to be read again") \
  X(counter, downstream_rq_truncated, "Responses cut off: their source failed")                   \
  X(counter, downstream_rx_bytes, "Bytes received from clients")                                  \
  X(counter, downstream_tx_bytes, "Bytes sent to clients")                                        \
  X(counter, no_route, "Requests that no route matched")                                          \
  X(counter, direct_responses, "Requests answered by the configuration: direct or redirect")      \
  X(counter, local_replies, "Error responses made here")                                          \
  X(counter, sendfile_bytes, "Bytes of bodies sent by sendfile(2)")                               \
  X(counter, sendfile_calls, "Calls of sendfile(2)")                                              \
  X(counter, sendfile_waits, "Calls of sendfile(2) that found the socket full")                   \
  X(counter, sendfile_unverified,                                                                 \
    "Chunks read, and not sent by sendfile(2): to be verified first")                             \
  X(counter, sendfile_not_in_memory, "The same: not all of it was in the page cache")             \
  X(counter, sendfile_overwritten, "The same: its segment was to be overwritten")                 \
  X(counter, sendfile_failed, "The same: the call failed")                                        \
  X(counter, cache_hit, "Requests answered from a fresh object")                                  \
  X(counter, cache_hit_partial, "Hits whose first block was fetched: of sliced objects")          \
  X(counter, cache_hit_stale, "Requests answered from a stale object that was allowed")           \
  X(counter, cache_miss, "Requests that had to be fetched for the cache")                         \
  X(counter, cache_collapsed, "Requests that joined another's fetch")                             \
  X(counter, cache_revalidated, "Requests answered after the origin confirmed the object")        \
  X(counter, cache_hit_for_miss, "Requests fetched alone: the key is not stored")                 \
  X(counter, cache_bypass, "Requests that passed the cache by")                                   \
  X(counter, cache_gateway_timeout, "Requests for only-if-cached that were not")                  \
  X(counter, cache_invalidations, "Keys invalidated by unsafe requests")                          \
  X(counter, cache_groups_invalidated, "Cache groups that unsafe requests made out of date")      \
  X(counter, cache_groups_not_durable, "Stripes that could not write down such a group")          \
  X(counter, cache_posts_stored, "Responses to POST that were stored for GET")                    \
  X(counter, cache_refresh, "Background refreshes started")                                       \
  X(counter, cache_repaired, "Responses of which the origin gave the rest")                       \
  X(counter, cache_multipart, "Responses of several ranges in parts")                             \
  X(counter, cache_ranges_joined, "Requests whose ranges overlapped or nearly touched")           \
  X(counter, cache_ranges_too_many, "Requests for more ranges than are served: the whole")        \
  X(counter, cache_ranges_unordered, "Requests for ranges of what arrives: the whole")            \
  X(counter, cache_cut_off, "Responses cut off since their record could not be read")             \
  X(counter, cache_stale_if_error, "Requests answered stale since the origin failed")             \
  X(counter, upstream_failures, "Requests that the origin failed to answer")                      \
  PROXY_REASONS(X)

TELEMETRY_METRICS(ProxyMetrics, PROXY_METRICS);

struct ProxyStats : ProxyMetrics {
  telemetry::Histogram request_ns;   // from the head's last byte to the response's last
  telemetry::Histogram upstream_ns;  // to the origin's response head
};

}  // namespace proxy
