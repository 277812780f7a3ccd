// The copying of a shard's figures; no decision is taken here.
#include <utility>

#include "source/shard/shard.h"

namespace shard {
namespace {

void addScrubbing(const store::ScrubStats& from, store::ScrubStats& into) {
  into.passes += from.passes;
  into.records += from.records;
  into.bytes += from.bytes;
  into.damaged += from.damaged;
  into.unreadable += from.unreadable;
}

void addWrites(const store::WriteStats& from, store::WriteStats& into) {
  into.appended_records += from.appended_records;
  into.appended_bytes += from.appended_bytes;
  into.writes += from.writes;
  into.written_bytes += from.written_bytes;
  into.errors += from.errors;
  into.refused += from.refused;
  into.reclaimed_segments += from.reclaimed_segments;
  into.reinserted_records += from.reinserted_records;
  into.reinserted_bytes += from.reinserted_bytes;
  into.dropped_records += from.dropped_records;
  into.noted_records += from.noted_records;
  into.latency_ns.merge(from.latency_ns);
}

void addPurging(store::StripeStore& store, CacheReport& report) {
  report.label_filter_bytes += store.filters().bytes();
  report.label_filters_refused += store.filters().refused();
  const store::PurgeStats& purges = store.purgeStats();
  report.purges.segments_read += purges.segments_read;
  report.purges.segments_unfiltered += purges.segments_unfiltered;
  report.purges.segments_lost += purges.segments_lost;
  report.purges.lines += purges.lines;
  report.purges.keys_read += purges.keys_read;
}

void addStripe(cache::Stripe& stripe, CacheReport& report) {
  store::StripeStore& store = stripe.store();
  report.stripes_owned++;
  report.index_bytes += store.index().memoryBytes();
  report.index_evictions += store.index().evictions();
  addPurging(store, report);
  addScrubbing(store.scrubStats(), report.scrub);
  report.fills_active += stripe.fillsRunning();
  report.stripe.fills += stripe.stats().fills;
  report.stripe.collapsed += stripe.stats().collapsed;
  report.stripe.fills_refused += stripe.stats().fills_refused;
  report.stripe.admitted += stripe.stats().admitted;
  report.stripe.not_admitted += stripe.stats().not_admitted;
  report.stripe.over_write_budget += stripe.stats().over_write_budget;
  report.stripe.hit_for_miss += stripe.stats().hit_for_miss;
  report.stripe.purges += stripe.stats().purges;
  report.stripe.purges_late += stripe.stats().purges_late;
  report.stripe.purges_refused += stripe.stats().purges_refused;
  report.stripe.lists_late += stripe.stats().lists_late;
  report.stripe.lists_refused += stripe.stats().lists_refused;
  report.snapshots_saved += store.snapshotStats().saved;
  report.snapshots_failed += store.snapshotStats().failed;
  report.snapshots_late += store.snapshotStats().late;
  report.stripe.fills_purged += stripe.stats().fills_purged;
  report.stripe.invalidations += stripe.stats().invalidations;
  report.stripe.invalidations_widened += stripe.stats().invalidations_widened;
  report.invalidations_not_durable += stripe.notDurable();
  report.stripe.invalidations_lost += stripe.stats().invalidations_lost;
  report.stripe.partials_kept += stripe.stats().partials_kept;
  report.stripe.partials_refused += stripe.stats().partials_refused;
  report.stripe.partials_resumed += stripe.stats().partials_resumed;
  report.stripe.sliced += stripe.stats().sliced;
  report.stripe.blocks_fetched += stripe.stats().blocks_fetched;
  report.stripe.blocks_changed += stripe.stats().blocks_changed;
  report.stripe.slices_unusable += stripe.stats().slices_unusable;
  report.stripe.compressed += stripe.stats().compressed;
  report.stripe.decompressed += stripe.stats().decompressed;
  report.stripe.coders_refused += stripe.stats().coders_refused;
  report.stripe.coding_failures += stripe.stats().coding_failures;
  if (!store.ready()) {
    return;
  }
  addWrites(store.log().stats(), report.writes);
}

void addStripe(cache::Stripe& stripe, DiskReport& report) {
  store::StripeStore& store = stripe.store();
  const uint32_t segment_bytes = store.shared().files.superblock.segment_bytes;
  DiskFigures& disk = report.figures;
  disk.stripes++;
  disk.index_entries += store.index().size();
  disk.capacity_bytes += uint64_t{segment_bytes} * store.segmentCount();
  if (!store.ready()) {
    disk.stripes_recovering++;
    disk.segments_to_recover += store.segmentCount() - store.segmentsRecovered();
    return;
  }
  const store::DiskHealth& health = store.log().health();
  disk.outages += health.outages();
  if (health.out()) {
    disk.stripes_not_written++;
    report.trouble = std::string("writes: ") + diskTrouble(health.lastError());
  }
  const store::SegmentAllocator& allocator = store.log().allocator();
  disk.segments_free += allocator.freeCount();
  disk.segments_bad += allocator.badCount();
  disk.used_bytes += uint64_t{segment_bytes} * allocator.usedCount();
  const store::WriteStats& writes = store.log().stats();
  disk.writes += writes.writes;
  disk.written_bytes += writes.written_bytes;
  disk.write_errors += writes.errors;
  disk.segments_reclaimed += writes.reclaimed_segments;
}

void addDisk(const DiskReport& disk, CacheReport& report) {
  report.index_entries += disk.figures.index_entries;
  report.disk_capacity_bytes += disk.figures.capacity_bytes;
  report.disk_used_bytes += disk.figures.used_bytes;
  report.segments_free += disk.figures.segments_free;
  report.segments_bad += disk.figures.segments_bad;
  report.stripes_recovering += disk.figures.stripes_recovering;
  report.segments_to_recover += disk.figures.segments_to_recover;
  report.stripes_not_written += disk.figures.stripes_not_written;
  report.shards_not_reading += disk.figures.shards_not_reading;
  report.disk_outages += disk.figures.outages;
  report.disk_trouble += report.disk_trouble.empty() ? disk.trouble : std::string();
}

}  // namespace

CacheReport Shard::reportCache(cache::ShardCache& cache) {
  CacheReport report;
  report.name = cache.shared().name;
  report.disk_io = cache.shared().disk_io;
  report.memory_bytes = cache.ram().usedBytes();
  report.memory_budget_bytes = cache.ram().budgetBytes();
  report.memory_objects = cache.ram().count();
  report.memory = cache.ram().stats();
  report.lookups = cache.stats();
  for (const cache::CacheDisk& known : cache.disks().disks()) {
    DiskReport disk;
    disk.path = known.path;
    const store::DiskHealth& reads = reader_.health(known.number);
    disk.figures.outages += reads.outages();
    if (reads.out()) {
      disk.figures.shards_not_reading = 1;
      disk.trouble = std::string("reads: ") + diskTrouble(reads.lastError());
    }
    for (uint16_t i = 0; i < known.stripe_count; i++) {
      const base::StripeId id{static_cast<uint16_t>(known.first_stripe + i)};
      if (cache::Stripe* stripe = cache.owned(id)) {
        addStripe(*stripe, report);
        addStripe(*stripe, disk);
      }
    }
    addDisk(disk, report);
    report.disks.push_back(std::move(disk));
  }
  return report;
}

rt::Task<void> Shard::collectStats(CollectStats* call) {
  ShardStats& out = *call->stats;
  out.id = options_.id;
  out.proxy = stats_;
  out.io = reactor_.engine().stats();
  out.reactor = reactor_.stats();
  out.peers = peers_.stats();
  out.reads = reader_.stats();
  out.access_log = access_log_.stats();
  out.buffer_bytes_in_use = buffers_.bytesInUse();
  out.buffer_waits = buffers_.waits();
  out.receive_buffers_in_use = receive_.inUse();
  out.receive_buffers_exhausted = receive_.exhausted();
  out.buffers_registered = buffers_.registered() ? 1 : 0;
  out.disk_reads_limit = options_.disk_reads;
  const rt::CpuTime cpu = reactor_.engine().cpuTime();
  out.alive_ns = reactor_.now().ns - started_at_.ns;
  out.cpu_user_ns = cpu.user_ns;
  out.cpu_kernel_ns = cpu.kernel_ns;
  out.connections_open = connections_.open();
  out.connection_limit = connections_.limit();
  out.config_version = config_.has() ? config_.current().version : 0;
  out.configs_retained = config_.has() ? config_.retained() : 0;
  for (const auto& [fd, listening] : listening_) {
    ListenerStats stats{listening->name, listening->acceptor.stats()};
    out.listeners.push_back(std::move(stats));
  }
  clusters_.forEach([&out](upstream::Cluster& cluster) {
    ClusterReport report;
    report.name = cluster.spec().name;
    report.stats = cluster.stats();
    report.gauges = cluster.gauges();
    cluster.forEachEndpoint([&report](const upstream::Cluster::EndpointView& view) {
      EndpointReport endpoint;
      endpoint.address = view.endpoint.address.text();
      endpoint.weight = view.weight;
      endpoint.healthy = view.healthy;
      endpoint.cx_active = view.endpoint.pins;
      endpoint.rq_active = view.endpoint.rq_active;
      endpoint.stats = view.endpoint.stats;
      report.endpoints.push_back(std::move(endpoint));
    });
    out.clusters.push_back(std::move(report));
  });
  for (const std::unique_ptr<cache::ShardCache>& cache : caches_) {
    if (cache == nullptr) {
      continue;
    }
    out.call_ns.merge(cache->stats().call_ns);
    out.caches.push_back(reportCache(*cache));
  }
  co_return;
}

}  // namespace shard
