// A whole proxy in a hostile world: shards, clients, an origin, a disk. A seed decides how hostile
// each is, when configurations are applied, what is purged, and when the process is stopped or dies
// with the power. Oracles:
//   (a) every byte of every whole response is the origin's for that resource, variant and version;
//   (b) no answer is older than its lifetime and extension allow (ledger.h);
//   (c) at the end, many requests for one new object cost one fetch;
//   (d) after a purge was acknowledged no older version appears, not even after a crash; the same
//       after an unsafe request, short of a crash;
//   (e) a process that ends has empty groups, full budgets, and no descriptor left;
//   (f) once the faults stop everything ends soon, and requests succeed;
//   (g) the same seed gives the same trace;
//   (h) the counters add up;
//   (i) where only the disk is hostile no request fails, nor waits for longer than kPatience_ns,
//       unless its process dies.
#pragma once

#include <cstdint>

#include "test/sim/campaign.h"
#include "test/sim/options.h"

namespace sim {

enum class Hostile : uint8_t { everything, disk };

// One seed; the trace's hash.
uint64_t runProxyCampaign(uint64_t seed, Hostile what, Judge& judge);

}  // namespace sim
