// The plain structs of figures that the shards keep, as tables of names and members: what
// TELEMETRY_METRICS gives its own structs. A member that is added to a struct and not to its table
// does not compile.
#pragma once

#include <span>
#include <string_view>

#include "source/admin/metrics.h"

namespace admin {

template <class Owner, class Number = uint64_t>
struct Figure {
  Kind kind;
  std::string_view name;
  std::string_view help;
  Number Owner::* member;
  Unit unit = Unit::one;
};

std::span<const Figure<rt::IoStats>> ioFigures();
std::span<const Figure<rt::ReactorStats>> reactorFigures();
std::span<const Figure<rt::PeersStats>> callFigures();
std::span<const Figure<store::ReadStats>> readFigures();
std::span<const Figure<store::WriteStats>> writeFigures();
std::span<const Figure<store::PurgeStats>> purgeFigures();
std::span<const Figure<store::ScrubStats>> scrubFigures();
std::span<const Figure<proxy::AccessLogStats>> accessLogFigures();
std::span<const Figure<net::AcceptorStats>> acceptorFigures();
std::span<const Figure<cache::RamStats>> ramFigures();
std::span<const Figure<cache::ShardCacheStats>> lookupFigures();
std::span<const Figure<cache::StripeStats>> stripeFigures();
std::span<const Figure<shard::CacheReport>> cacheFigures();
std::span<const Figure<shard::DiskFigures>> diskFigures();
std::span<const Figure<shard::ShardStats>> shardFigures();
std::span<const Figure<upstream::ClusterStats>> clusterFigures();
std::span<const Figure<upstream::ClusterGauges, uint32_t>> clusterGauges();
std::span<const Figure<upstream::EndpointStats>> endpointFigures();

}  // namespace admin
