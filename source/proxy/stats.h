// What sessions count, and the histograms they keep; one struct a shard.
#pragma once

#include "source/telemetry/counters.h"
#include "source/telemetry/histogram.h"

namespace proxy {

#define PROXY_METRICS(X)                                                                     \
  X(counter, downstream_cx_total, "Connections accepted")                                    \
  X(gauge, downstream_cx_active, "Connections open")                                         \
  X(counter, downstream_cx_idle_timeout, "Connections closed since no request came")         \
  X(counter, downstream_cx_shed, "Connections refused at a limit")                           \
  X(counter, downstream_rq_total, "Requests whose head was read, or tried to be")            \
  X(gauge, downstream_rq_active, "Requests being answered")                                  \
  X(counter, downstream_rq_1xx, "Responses sent with status 1xx")                            \
  X(counter, downstream_rq_2xx, "Responses sent with status 2xx")                            \
  X(counter, downstream_rq_3xx, "Responses sent with status 3xx")                            \
  X(counter, downstream_rq_4xx, "Responses sent with status 4xx")                            \
  X(counter, downstream_rq_5xx, "Responses sent with status 5xx")                            \
  X(counter, downstream_rq_bad_head, "Requests refused: malformed head")                     \
  X(counter, downstream_rq_head_too_large, "Requests refused: head over a limit")            \
  X(counter, downstream_rq_bad_framing, "Requests refused: ambiguous or unknown framing")    \
  X(counter, downstream_rq_head_timeout, "Requests refused: head not complete in time")      \
  X(counter, downstream_rq_aborted, "Responses cut off: the client went away or stalled")    \
  X(counter, downstream_rq_truncated, "Responses cut off: their source failed")              \
  X(counter, downstream_rx_bytes, "Bytes received from clients")                             \
  X(counter, downstream_tx_bytes, "Bytes sent to clients")                                   \
  X(counter, no_route, "Requests that no route matched")                                     \
  X(counter, direct_responses, "Requests answered by the configuration: direct or redirect") \
  X(counter, local_replies, "Error responses made here")                                     \
  X(counter, cache_hit, "Requests answered from a fresh object")                             \
  X(counter, cache_hit_stale, "Requests answered from a stale object that was allowed")      \
  X(counter, cache_miss, "Requests that had to be fetched for the cache")                    \
  X(counter, cache_collapsed, "Requests that joined another's fetch")                        \
  X(counter, cache_revalidated, "Requests answered after the origin confirmed the object")   \
  X(counter, cache_hit_for_miss, "Requests fetched alone: the key is not stored")            \
  X(counter, cache_bypass, "Requests that passed the cache by")                              \
  X(counter, cache_gateway_timeout, "Requests for only-if-cached that were not")             \
  X(counter, cache_invalidations, "Keys invalidated by unsafe requests")                     \
  X(counter, cache_refresh, "Background refreshes started")                                  \
  X(counter, cache_repaired, "Responses of which the origin gave the rest")                  \
  X(counter, cache_cut_off, "Responses cut off since their record could not be read")        \
  X(counter, cache_stale_if_error, "Requests answered stale since the origin failed")        \
  X(counter, upstream_failures, "Requests that the origin failed to answer")

TELEMETRY_METRICS(ProxyMetrics, PROXY_METRICS);

struct ProxyStats : ProxyMetrics {
  telemetry::Histogram request_ns;   // from the head's last byte to the response's last
  telemetry::Histogram upstream_ns;  // to the origin's response head
};

}  // namespace proxy
