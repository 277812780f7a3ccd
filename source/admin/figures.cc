#include "source/admin/figures.h"

#include <iterator>

namespace admin {
namespace {

using enum Kind;

// Whether a struct holds `n` numbers of one type, then perhaps a histogram, and nothing else.
template <class Owner, class Number = uint64_t>
constexpr bool holds(size_t n, size_t histograms) {
  const size_t align = alignof(telemetry::Histogram);
  const size_t numbers = n * sizeof(Number);
  return sizeof(Owner) == (histograms == 0 ? numbers
                                           : (numbers + align - 1) / align * align +
                                                 histograms * sizeof(telemetry::Histogram));
}

constexpr Figure<rt::IoStats> kIo[] = {
    {counter, "enters", "System calls that submitted or waited", &rt::IoStats::enters},
    {counter, "sleeps", "System calls that were allowed to wait", &rt::IoStats::sleeps},
    {counter, "submissions", "Operations handed to the kernel", &rt::IoStats::submissions},
    {counter, "completions", "Operations that the kernel has completed", &rt::IoStats::completions},
    {peak, "submission_batch_max", "Most operations handed over at once",
     &rt::IoStats::submission_batch_max},
    {peak, "completion_batch_max", "Most completions taken at once",
     &rt::IoStats::completion_batch_max},
    {counter, "cq_overflows", "Completions that found the completion queue full",
     &rt::IoStats::cq_overflows},
    {counter, "doorbells_rung", "Wake-ups sent to other shards", &rt::IoStats::doorbells_rung},
    {counter, "doorbells_heard", "Wake-ups received from other shards",
     &rt::IoStats::doorbells_heard},
    {gauge, "in_flight", "Operations that the kernel has now: the ring's depth",
     &rt::IoStats::in_flight},
    {gauge, "files_registered", "Files that are registered with the ring",
     &rt::IoStats::files_registered},
    {peak, "in_flight_max", "Most operations that the kernel had at once",
     &rt::IoStats::in_flight_max},
    {counter, "retries", "Operations tried again after EAGAIN or EINTR", &rt::IoStats::retries},
    {counter, "short_transfers", "Sends that had to be continued", &rt::IoStats::short_transfers},
    {counter, "wait_ns", "Time spent in system calls that could wait", &rt::IoStats::wait_ns,
     Unit::nanoseconds},
};
static_assert(holds<rt::IoStats>(std::size(kIo), 0), "a new member needs a row");

constexpr Figure<rt::ReactorStats> kReactor[] = {
    {counter, "turns", "Turns of the event loop", &rt::ReactorStats::turns},
    {counter, "resumed", "Coroutines resumed", &rt::ReactorStats::resumed},
    {counter, "ready_quota_hits", "Turns that left ready coroutines for the next",
     &rt::ReactorStats::ready_quota_hits},
    {counter, "polls", "Times that work was looked for before a sleep", &rt::ReactorStats::polls},
    {counter, "polls_found", "Those that found some", &rt::ReactorStats::polls_found},
    {counter, "poll_ns", "Time spent looking", &rt::ReactorStats::poll_ns, Unit::nanoseconds},
};
static_assert(holds<rt::ReactorStats>(std::size(kReactor), 0), "a new member needs a row");

constexpr Figure<rt::PeersStats> kCalls[] = {
    {counter, "sent", "Calls made to other shards", &rt::PeersStats::calls_sent},
    {counter, "served", "Calls answered for other shards", &rt::PeersStats::calls_served},
    {counter, "waited", "Calls and replies that waited for room in a ring",
     &rt::PeersStats::waited},
};
static_assert(holds<rt::PeersStats>(std::size(kCalls), 0), "a new member needs a row");

constexpr Figure<store::ReadStats> kReads[] = {
    {counter, "reads", "Records read from disks", &store::ReadStats::reads},
    {counter, "read_bytes", "Bytes read from disks", &store::ReadStats::bytes},
    {counter, "short_reads", "Reads that had to be continued", &store::ReadStats::short_reads},
    {counter, "read_errors", "Reads that the disk refused", &store::ReadStats::errors},
    {counter, "read_timeouts", "Reads given up at their deadline", &store::ReadStats::timeouts},
    {counter, "reads_refused", "Reads not tried since the disk was out of use",
     &store::ReadStats::refused},
    {gauge, "reads_late", "Reads that the disk has had for longer than 1 s",
     &store::ReadStats::late},
    {counter, "reads_shared", "Records that another reader was reading, or held",
     &store::ReadStats::shared},
    {counter, "reads_ahead", "Records whose read was begun before they were wanted",
     &store::ReadStats::ahead},
    {counter, "corrupt_records", "Records whose checksum did not hold", &store::ReadStats::corrupt},
    {counter, "stale_locations", "Records found overwritten by newer ones",
     &store::ReadStats::stale_locations},
};
static_assert(holds<store::ReadStats>(std::size(kReads), 1), "a new member needs a row");

constexpr Figure<store::WriteStats> kWrites[] = {
    {counter, "records_appended", "Records appended to the log",
     &store::WriteStats::appended_records},
    {counter, "bytes_appended", "Bytes of records appended to the log",
     &store::WriteStats::appended_bytes},
    {counter, "disk_writes", "Writes to disks", &store::WriteStats::writes},
    {counter, "disk_written_bytes", "Bytes written to disks, with padding and tables",
     &store::WriteStats::written_bytes},
    {counter, "disk_write_errors", "Writes that failed", &store::WriteStats::errors},
    {counter, "appends_refused", "Records not kept since no segment was free",
     &store::WriteStats::refused},
    {counter, "segments_reclaimed", "Segments emptied for reuse",
     &store::WriteStats::reclaimed_segments},
    {counter, "records_reinserted", "Records kept when their segment was emptied",
     &store::WriteStats::reinserted_records},
    {counter, "bytes_reinserted", "Bytes of records kept when their segment was emptied",
     &store::WriteStats::reinserted_bytes},
    {counter, "records_dropped", "Records dropped with their segment",
     &store::WriteStats::dropped_records},
    {counter, "records_noted", "Keys told to the purge journal before a segment was freed",
     &store::WriteStats::noted_records},
};
static_assert(holds<store::WriteStats>(std::size(kWrites), 1), "a new member needs a row");

constexpr Figure<proxy::AccessLogStats> kAccessLog[] = {
    {counter, "lines", "Lines of the access log", &proxy::AccessLogStats::lines},
    {counter, "dropped", "Lines dropped since the disk was too slow",
     &proxy::AccessLogStats::dropped},
    {counter, "write_errors", "Writes of the access log that failed",
     &proxy::AccessLogStats::write_errors},
};
static_assert(holds<proxy::AccessLogStats>(std::size(kAccessLog), 0), "a new member needs a row");

constexpr Figure<net::AcceptorStats> kAcceptor[] = {
    {counter, "downstream_cx_total", "Connections accepted", &net::AcceptorStats::accepted},
    {counter, "downstream_cx_aborted", "Connections gone before they were accepted",
     &net::AcceptorStats::aborted},
    {counter, "downstream_cx_shed", "Connections refused, and reset", &net::AcceptorStats::shed},
    {counter, "downstream_cx_limit_waits", "Times that accepting stopped at the connection limit",
     &net::AcceptorStats::limit_waits},
    {counter, "downstream_cx_exhausted", "Accepts that failed for want of descriptors or memory",
     &net::AcceptorStats::exhausted},
    {counter, "downstream_cx_moved_out", "Connections handed over to shards with fewer",
     &net::AcceptorStats::moved_out},
    {counter, "downstream_cx_moved_in", "Connections taken over from other shards",
     &net::AcceptorStats::moved_in},
    {counter, "downstream_cx_move_refused", "Connections that the other shard had no place for",
     &net::AcceptorStats::move_refused},
};
static_assert(holds<net::AcceptorStats>(std::size(kAcceptor), 0), "a new member needs a row");

constexpr Figure<cache::RamStats> kRam[] = {
    {counter, "memory_copy_hits", "Copies in memory that were used", &cache::RamStats::hits},
    {counter, "memory_outdated", "Copies in memory that the index had moved on from",
     &cache::RamStats::outdated},
    {counter, "memory_inserted", "Records copied into memory", &cache::RamStats::inserted},
    {counter, "memory_evicted", "Copies in memory given up for others", &cache::RamStats::evicted},
};
static_assert(holds<cache::RamStats>(std::size(kRam), 0), "a new member needs a row");

constexpr Figure<cache::ShardCacheStats> kLookups[] = {
    {counter, "memory_hits", "Lookups answered from memory", &cache::ShardCacheStats::memory_hits},
    {counter, "disk_hits", "Lookups answered from a disk", &cache::ShardCacheStats::disk_hits},
    {counter, "broken_records", "Lookups whose record could not be read",
     &cache::ShardCacheStats::broken_records},
    {counter, "flush_waits", "Lookups that waited for a record to be written",
     &cache::ShardCacheStats::flush_waits},
};
static_assert(holds<cache::ShardCacheStats>(std::size(kLookups), 1), "a new member needs a row");

constexpr Figure<cache::StripeStats> kStripe[] = {
    {counter, "fills", "Fetches from origins for the cache", &cache::StripeStats::fills},
    {counter, "collapsed", "Requests that joined a fetch in progress",
     &cache::StripeStats::collapsed},
    {counter, "fills_refused", "Requests that fetched alone at the limit of fills",
     &cache::StripeStats::fills_refused},
    {counter, "admitted", "Responses that the admission filter let in",
     &cache::StripeStats::admitted},
    {counter, "not_admitted", "Responses not stored since their key was not asked for before",
     &cache::StripeStats::not_admitted},
    {counter, "over_write_budget", "Responses not stored since the write budget was used up",
     &cache::StripeStats::over_write_budget},
    {counter, "hit_for_miss", "Keys noted as not stored", &cache::StripeStats::hit_for_miss},
    {counter, "purges", "Purges, each counted in every stripe it went to",
     &cache::StripeStats::purges},
    {counter, "purges_late", "Purges answered before they were durable: the disk took too long",
     &cache::StripeStats::purges_late},
    {counter, "purges_refused", "Purges beyond the limit of those under way",
     &cache::StripeStats::purges_refused},
    {counter, "lists_late", "Pages of objects given up: the disk took too long",
     &cache::StripeStats::lists_late},
    {counter, "lists_refused", "Pages of objects beyond the limit of those under way",
     &cache::StripeStats::lists_refused},
    {counter, "fills_purged", "Fetches in progress whose result a purge forbade to keep",
     &cache::StripeStats::fills_purged},
    {counter, "invalidations", "Keys invalidated by unsafe requests",
     &cache::StripeStats::invalidations},
    {counter, "invalidations_widened",
     "Invalidations at the limit of those not durable; the next start drops all that is older",
     &cache::StripeStats::invalidations_widened},
    {counter, "invalidations_lost", "Invalidations that the next start may undo",
     &cache::StripeStats::invalidations_lost},
    {counter, "partials_kept", "Responses that broke off and whose first bytes were kept",
     &cache::StripeStats::partials_kept},
    {counter, "partials_refused", "Those whose first bytes the log did not take",
     &cache::StripeStats::partials_refused},
    {counter, "partials_resumed", "Those of which the origin gave the rest",
     &cache::StripeStats::partials_resumed},
    {counter, "sliced", "Objects stored in blocks", &cache::StripeStats::sliced},
    {counter, "blocks_fetched", "Blocks of sliced objects fetched",
     &cache::StripeStats::blocks_fetched},
    {counter, "blocks_changed", "Blocks of another version than their object's",
     &cache::StripeStats::blocks_changed},
    {counter, "slices_unusable", "Answers to a range request of which no object could be made",
     &cache::StripeStats::slices_unusable},
    {counter, "compressed", "Bodies compressed to be stored", &cache::StripeStats::compressed},
    {counter, "decompressed", "Bodies decompressed to be stored",
     &cache::StripeStats::decompressed},
    {counter, "coders_refused", "Bodies beyond the limit of those that are coded at once",
     &cache::StripeStats::coders_refused},
    {counter, "coding_failures", "Bodies that were not what their coding says, or grew too much",
     &cache::StripeStats::coding_failures},
};
static_assert(holds<cache::StripeStats>(std::size(kStripe), 0), "a new member needs a row");

constexpr Figure<store::PurgeStats> kPurges[] = {
    {counter, "purge_segments_read", "Tables of contents that purges read",
     &store::PurgeStats::segments_read},
    {counter, "purge_segments_unfiltered", "Of those, because the segment had no filter",
     &store::PurgeStats::segments_unfiltered},
    {counter, "purge_segments_lost", "Segments given up because a purge could not read them",
     &store::PurgeStats::segments_lost},
    {counter, "purge_lines", "Lines of tables of contents that purges looked at",
     &store::PurgeStats::lines},
    {counter, "purge_keys_read", "Records that purges by prefix read for their keys",
     &store::PurgeStats::keys_read},
};
static_assert(holds<store::PurgeStats>(std::size(kPurges), 0), "a new member needs a row");

constexpr Figure<store::ScrubStats> kScrub[] = {
    {counter, "scrub_passes", "Times that a stripe was scrubbed whole", &store::ScrubStats::passes},
    {counter, "scrub_records", "Records that scrubbing read", &store::ScrubStats::records},
    {counter, "scrub_bytes", "Bytes of these", &store::ScrubStats::bytes},
    {counter, "scrub_damaged", "Records dropped since scrubbing found them damaged",
     &store::ScrubStats::damaged},
    {counter, "scrub_unreadable", "Records dropped since scrubbing could not read them",
     &store::ScrubStats::unreadable},
};
static_assert(holds<store::ScrubStats>(std::size(kScrub), 0), "a new member needs a row");

constexpr Figure<shard::CacheReport> kCache[] = {
    {gauge, "index_entries", "Objects in the index", &shard::CacheReport::index_entries},
    {gauge, "index_bytes", "Memory of the index", &shard::CacheReport::index_bytes},
    {counter, "index_evictions", "Objects dropped since the index had no place",
     &shard::CacheReport::index_evictions},
    {gauge, "label_filter_bytes", "Memory of the filters of tags and directories",
     &shard::CacheReport::label_filter_bytes},
    {counter, "label_filters_refused", "Segments without a filter, since its memory was used up",
     &shard::CacheReport::label_filters_refused},
    {gauge, "invalidations_not_durable", "Invalidations in force that a crash may undo",
     &shard::CacheReport::invalidations_not_durable},
    {counter, "snapshots_saved", "Snapshots of the index that were saved",
     &shard::CacheReport::snapshots_saved},
    {counter, "snapshots_failed", "Those that the disk refused",
     &shard::CacheReport::snapshots_failed},
    {counter, "snapshots_late", "Those given up since the disk did not answer",
     &shard::CacheReport::snapshots_late},
    {gauge, "disk_capacity_bytes", "Bytes of all segments",
     &shard::CacheReport::disk_capacity_bytes},
    {gauge, "disk_used_bytes", "Bytes of the segments in use",
     &shard::CacheReport::disk_used_bytes},
    {gauge, "segments_free", "Segments that are free", &shard::CacheReport::segments_free},
    {gauge, "segments_bad", "Segments given up after write errors",
     &shard::CacheReport::segments_bad},
    {gauge, "memory_bytes", "Memory of the objects held in memory",
     &shard::CacheReport::memory_bytes},
    {gauge, "memory_budget_bytes", "Most memory for objects",
     &shard::CacheReport::memory_budget_bytes},
    {gauge, "memory_objects", "Objects held in memory", &shard::CacheReport::memory_objects},
    {gauge, "fills_active", "Fetches in progress", &shard::CacheReport::fills_active},
    {gauge, "stripes_recovering", "Stripes whose contents are not known yet",
     &shard::CacheReport::stripes_recovering},
    {gauge, "segments_to_recover", "Segments of these that have not been dealt with",
     &shard::CacheReport::segments_to_recover},
    {gauge, "stripes_not_written", "Stripes whose disk is out of use for writes",
     &shard::CacheReport::stripes_not_written},
    {gauge, "shards_not_reading", "Shards for whose reads the disk is out of use",
     &shard::CacheReport::shards_not_reading},
    {counter, "disk_outages", "Times that a disk was taken out of use",
     &shard::CacheReport::disk_outages},
};

constexpr Figure<shard::DiskFigures> kDisk[] = {
    {gauge, "stripes", "Stripes of the disk", &shard::DiskFigures::stripes},
    {gauge, "index_entries", "Objects on the disk", &shard::DiskFigures::index_entries},
    {gauge, "capacity_bytes", "Bytes of the disk's segments", &shard::DiskFigures::capacity_bytes},
    {gauge, "used_bytes", "Bytes of the disk's segments in use", &shard::DiskFigures::used_bytes},
    {gauge, "segments_free", "Segments of the disk that are free",
     &shard::DiskFigures::segments_free},
    {gauge, "segments_bad", "Segments of the disk given up after write errors",
     &shard::DiskFigures::segments_bad},
    {gauge, "stripes_recovering", "Stripes of the disk whose contents are not known yet",
     &shard::DiskFigures::stripes_recovering},
    {gauge, "segments_to_recover", "Segments of these that have not been dealt with",
     &shard::DiskFigures::segments_to_recover},
    {gauge, "stripes_not_written", "Stripes for whose writes the disk is out of use",
     &shard::DiskFigures::stripes_not_written},
    {gauge, "shards_not_reading", "Shards for whose reads the disk is out of use",
     &shard::DiskFigures::shards_not_reading},
    {counter, "outages", "Times that the disk was taken out of use", &shard::DiskFigures::outages},
    {counter, "writes", "Writes to the disk", &shard::DiskFigures::writes},
    {counter, "written_bytes", "Bytes written to the disk", &shard::DiskFigures::written_bytes},
    {counter, "write_errors", "Writes to the disk that failed", &shard::DiskFigures::write_errors},
    {counter, "segments_reclaimed", "Segments of the disk that were made free",
     &shard::DiskFigures::segments_reclaimed},
};
static_assert(holds<shard::DiskFigures>(std::size(kDisk), 0), "a new member needs a row");

constexpr Figure<shard::ShardStats> kShard[] = {
    {gauge, "buffer_bytes_in_use", "Buffer memory that is lent out",
     &shard::ShardStats::buffer_bytes_in_use},
    {counter, "buffer_waits", "Times that a buffer had to be waited for",
     &shard::ShardStats::buffer_waits},
    {gauge, "receive_buffers_in_use", "Receive buffers that are lent out",
     &shard::ShardStats::receive_buffers_in_use},
    {counter, "receive_buffers_exhausted", "Times that no receive buffer was free",
     &shard::ShardStats::receive_buffers_exhausted},
    {gauge, "buffers_registered", "Shards whose buffers are registered with their ring",
     &shard::ShardStats::buffers_registered},
    {gauge, "disk_reads_limit", "Most reads under way on one disk",
     &shard::ShardStats::disk_reads_limit},
    {counter, "alive_ns", "Time since the shard began", &shard::ShardStats::alive_ns,
     Unit::nanoseconds},
    {counter, "cpu_user_ns", "Processor time of the shard outside the kernel, polling included",
     &shard::ShardStats::cpu_user_ns, Unit::nanoseconds},
    {counter, "cpu_kernel_ns", "Processor time of the shard in the kernel",
     &shard::ShardStats::cpu_kernel_ns, Unit::nanoseconds},
    {gauge, "connections_open", "Places taken of the connection limit",
     &shard::ShardStats::connections_open},
    {gauge, "connection_limit", "Most connections", &shard::ShardStats::connection_limit},
    {gauge, "configs_retained", "Configurations that requests still use",
     &shard::ShardStats::configs_retained},
};

constexpr Figure<upstream::ClusterStats> kCluster[] = {
    {counter, "upstream_cx_total", "Connections made", &upstream::ClusterStats::cx_total},
    {counter, "upstream_cx_connect_fail", "Connects that failed, timeouts included",
     &upstream::ClusterStats::cx_connect_fail},
    {counter, "upstream_cx_connect_timeout", "Connects that took longer than connect_timeout",
     &upstream::ClusterStats::cx_connect_timeout},
    {counter, "upstream_cx_overflow", "Requests that met max_connections and had to wait",
     &upstream::ClusterStats::cx_overflow},
    {counter, "upstream_cx_idle_timeout", "Unused connections closed here",
     &upstream::ClusterStats::cx_idle_timeout},
    {counter, "upstream_cx_idle_closed", "Unused connections closed by the origin",
     &upstream::ClusterStats::cx_idle_closed},
    {counter, "upstream_cx_unexpected_bytes", "Unused connections on which the origin spoke",
     &upstream::ClusterStats::cx_unexpected_bytes},
    {counter, "upstream_cx_max_requests", "Connections that reached max_requests_per_connection",
     &upstream::ClusterStats::cx_max_requests},
    {counter, "upstream_cx_evicted", "Unused connections closed to make room",
     &upstream::ClusterStats::cx_evicted},
    {counter, "upstream_cx_destroy", "Connections closed, for whatever reason",
     &upstream::ClusterStats::cx_destroy},
    {counter, "upstream_cx_none_healthy", "Requests refused since no endpoint was left to try",
     &upstream::ClusterStats::none_healthy},
    {counter, "lb_healthy_panic", "Picks among unhealthy endpoints for want of others",
     &upstream::ClusterStats::lb_healthy_panic},
    {counter, "membership_change", "Changes of the set of endpoints",
     &upstream::ClusterStats::membership_change},
    {counter, "upstream_rq_total", "Requests sent, retries included",
     &upstream::ClusterStats::rq_total},
    {counter, "upstream_rq_completed", "Final response heads received",
     &upstream::ClusterStats::rq_completed},
    {counter, "upstream_rq_2xx", "Responses with status 2xx", &upstream::ClusterStats::rq_2xx},
    {counter, "upstream_rq_3xx", "Responses with status 3xx", &upstream::ClusterStats::rq_3xx},
    {counter, "upstream_rq_4xx", "Responses with status 4xx", &upstream::ClusterStats::rq_4xx},
    {counter, "upstream_rq_5xx", "Responses with status 5xx", &upstream::ClusterStats::rq_5xx},
    {counter, "upstream_rq_timeout", "Response heads that did not come in time",
     &upstream::ClusterStats::rq_timeout},
    {counter, "upstream_rq_reset", "Connections that ended before the response head",
     &upstream::ClusterStats::rq_reset},
    {counter, "upstream_rq_protocol_error", "Responses that were not HTTP, or ambiguous",
     &upstream::ClusterStats::rq_protocol_error},
    {counter, "upstream_rq_truncated", "Responses that ended before their body did",
     &upstream::ClusterStats::rq_truncated},
    {counter, "upstream_rq_early_response", "Responses that came before the request was sent",
     &upstream::ClusterStats::rq_early_response},
    {counter, "upstream_rq_cancelled", "Requests given up by the one who asked",
     &upstream::ClusterStats::rq_cancelled},
    {counter, "upstream_rq_overflow", "Requests refused at max_requests",
     &upstream::ClusterStats::rq_overflow},
    {counter, "upstream_rq_pending_total", "Requests that waited for a connection",
     &upstream::ClusterStats::rq_pending_total},
    {counter, "upstream_rq_pending_overflow", "Requests refused at max_pending_requests",
     &upstream::ClusterStats::rq_pending_overflow},
    {counter, "upstream_rq_pending_timeout", "Requests that waited for a connection in vain",
     &upstream::ClusterStats::rq_pending_timeout},
    {counter, "upstream_rq_retry_connect", "Further attempts after a failed connect",
     &upstream::ClusterStats::rq_retry_connect},
    {counter, "upstream_rq_retry_reused", "Further attempts after a reused connection had died",
     &upstream::ClusterStats::rq_retry_reused},
    {counter, "upstream_rq_retry_success", "Requests answered after a further attempt",
     &upstream::ClusterStats::rq_retry_success},
    {counter, "upstream_rx_bytes", "Bytes of bodies received", &upstream::ClusterStats::rx_bytes},
    {counter, "upstream_tx_bytes", "Bytes of bodies sent", &upstream::ClusterStats::tx_bytes},
};
static_assert(holds<upstream::ClusterStats>(std::size(kCluster), 0), "a new member needs a row");

using GaugeFigure = Figure<upstream::ClusterGauges, uint32_t>;
constexpr GaugeFigure kClusterGauges[] = {
    {gauge, "upstream_cx_active", "Connections open", &upstream::ClusterGauges::cx_active},
    {gauge, "upstream_cx_idle", "Connections open and unused", &upstream::ClusterGauges::cx_idle},
    {gauge, "upstream_rq_active", "Requests in progress", &upstream::ClusterGauges::rq_active},
    {gauge, "upstream_rq_pending_active", "Requests that wait for a connection",
     &upstream::ClusterGauges::rq_pending_active},
    {peak, "membership_total", "Endpoints, on the shard that knows most",
     &upstream::ClusterGauges::membership_total},
    {peak, "membership_healthy", "Healthy endpoints, on the shard that knows most",
     &upstream::ClusterGauges::membership_healthy},
};
static_assert(holds<upstream::ClusterGauges, uint32_t>(std::size(kClusterGauges), 0),
              "a new member needs a row");

constexpr Figure<upstream::EndpointStats> kEndpoint[] = {
    {counter, "cx_total", "Connections made to the endpoint", &upstream::EndpointStats::cx_total},
    {counter, "cx_connect_fail", "Connects to the endpoint that failed",
     &upstream::EndpointStats::cx_connect_fail},
    {counter, "rq_total", "Requests sent to the endpoint", &upstream::EndpointStats::rq_total},
    {counter, "rq_success", "Responses of the endpoint below 500",
     &upstream::EndpointStats::rq_success},
    {counter, "rq_error", "Responses of the endpoint from 500 on, or none",
     &upstream::EndpointStats::rq_error},
    {counter, "rq_timeout", "Response heads of the endpoint that did not come in time",
     &upstream::EndpointStats::rq_timeout},
};
static_assert(holds<upstream::EndpointStats>(std::size(kEndpoint), 0), "a new member needs a row");

}  // namespace

std::span<const Figure<rt::IoStats>> ioFigures() {
  return kIo;
}
std::span<const Figure<rt::ReactorStats>> reactorFigures() {
  return kReactor;
}
std::span<const Figure<rt::PeersStats>> callFigures() {
  return kCalls;
}
std::span<const Figure<store::ReadStats>> readFigures() {
  return kReads;
}
std::span<const Figure<store::WriteStats>> writeFigures() {
  return kWrites;
}
std::span<const Figure<proxy::AccessLogStats>> accessLogFigures() {
  return kAccessLog;
}
std::span<const Figure<net::AcceptorStats>> acceptorFigures() {
  return kAcceptor;
}
std::span<const Figure<store::PurgeStats>> purgeFigures() {
  return kPurges;
}
std::span<const Figure<store::ScrubStats>> scrubFigures() {
  return kScrub;
}
std::span<const Figure<cache::RamStats>> ramFigures() {
  return kRam;
}
std::span<const Figure<cache::ShardCacheStats>> lookupFigures() {
  return kLookups;
}
std::span<const Figure<cache::StripeStats>> stripeFigures() {
  return kStripe;
}
std::span<const Figure<shard::CacheReport>> cacheFigures() {
  return kCache;
}
std::span<const Figure<shard::DiskFigures>> diskFigures() {
  return kDisk;
}
std::span<const Figure<shard::ShardStats>> shardFigures() {
  return kShard;
}
std::span<const Figure<upstream::ClusterStats>> clusterFigures() {
  return kCluster;
}
std::span<const Figure<upstream::ClusterGauges, uint32_t>> clusterGauges() {
  return kClusterGauges;
}
std::span<const Figure<upstream::EndpointStats>> endpointFigures() {
  return kEndpoint;
}

}  // namespace admin
