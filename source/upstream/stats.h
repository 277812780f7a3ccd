// What clusters and their endpoints count. Plain integers of one shard; names are Envoy's where the
// idea is Envoy's.
#pragma once

#include <cstdint>

namespace upstream {

#define UPSTREAM_CLUSTER_COUNTERS(X)                                                    \
  X(cx_total)            /* connections made */                                         \
  X(cx_connect_fail)     /* attempts that failed, timeouts included */                  \
  X(cx_connect_timeout)  /* attempts that took longer than connect_timeout */           \
  X(cx_overflow)         /* requests that met max_connections and had to wait */        \
  X(cx_idle_timeout)     /* unused connections closed by us */                          \
  X(cx_idle_closed)      /* unused connections closed by the origin */                  \
  X(cx_unexpected_bytes) /* unused connections closed since the origin spoke unasked */ \
  X(cx_max_requests)     /* connections that reached max_requests_per_connection */     \
  X(cx_evicted)          /* unused connections closed to make room for another */       \
  X(cx_destroy)          /* connections closed, for whatever reason */                  \
  X(none_healthy)        /* requests refused since no endpoint was left to try */       \
  X(lb_healthy_panic)    /* picks among unhealthy endpoints, since no other was left */ \
  X(membership_change)   /* changes of the set of endpoints */                          \
  X(rq_total)            /* requests sent, retries included */                          \
  X(rq_completed)        /* final response heads received */                            \
  X(rq_2xx)                                                                             \
  X(rq_3xx)                                                                             \
  X(rq_4xx)                                                                             \
  X(rq_5xx)                                                                             \
  X(rq_timeout)          /* response heads that did not come in time */                 \
  X(rq_reset)            /* connections that ended before the response head */          \
  X(rq_protocol_error)   /* responses that were not HTTP, or ambiguous */               \
  X(rq_truncated)        /* responses that ended before their body did */               \
  X(rq_early_response)   /* responses that came before the request was sent whole */    \
  X(rq_cancelled)        /* requests given up by the one who asked */                   \
  X(rq_overflow)         /* requests refused at max_requests */                         \
  X(rq_pending_total)    /* requests that waited for a connection */                    \
  X(rq_pending_overflow) /* requests refused at max_pending */                          \
  X(rq_pending_timeout)  /* requests that waited for a connection in vain */            \
  X(rq_retry_connect)    /* further attempts since a connect had failed */              \
  X(rq_retry_reused)     /* further attempts since a reused connection had died */      \
  X(rq_retry_success)    /* requests answered after a further attempt */                \
  X(rx_bytes)            /* of bodies */                                                \
  X(tx_bytes)            /* of bodies */

struct ClusterStats {
#define X(n) uint64_t n = 0;
  UPSTREAM_CLUSTER_COUNTERS(X)
#undef X
};

#define UPSTREAM_ENDPOINT_COUNTERS(X) \
  X(cx_total)                         \
  X(cx_connect_fail)                  \
  X(rq_total)                         \
  X(rq_success) /* below 500 */       \
  X(rq_error)   /* 5xx, or no head */ \
  X(rq_timeout)

struct EndpointStats {
#define X(n) uint64_t n = 0;
  UPSTREAM_ENDPOINT_COUNTERS(X)
#undef X
};

// Gauges of a cluster.
struct ClusterGauges {
  uint32_t cx_active = 0;  // made, being made or being closed
  uint32_t cx_idle = 0;
  uint32_t rq_active = 0;
  uint32_t rq_pending_active = 0;
  uint32_t membership_total = 0;
  uint32_t membership_healthy = 0;
};

}  // namespace upstream
