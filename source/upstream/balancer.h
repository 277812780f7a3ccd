// Which endpoint gets the next request: pure functions over the endpoints' weights and states. They
// look at every endpoint (at most 1024) and allocate nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "source/base/types.h"
#include "source/upstream/cluster_spec.h"

namespace upstream {

struct Candidate {
  uint32_t weight = 1;             // 1 to 65535
  uint32_t in_flight = 0;          // requests of this shard
  base::MonoTime unhealthy_until;  // healthy from this time on
  int64_t turn = 0;                // round robin: how overdue the endpoint is
};

// Indices that the request has tried already; they are not picked again.
using Tried = std::span<const uint32_t>;

struct Pick {
  uint32_t index = 0;
  // No healthy endpoint was left, so an unhealthy one was taken: better a try than a refusal.
  bool panicked = false;
  friend bool operator==(const Pick&, const Pick&) = default;
};

// Smooth weighted round robin: each endpoint comes as often as its weight says, spread as evenly as
// can be. Ties go to the lower index.
std::optional<Pick> pickRoundRobin(std::span<Candidate> candidates, Tried tried,
                                   base::MonoTime now);

// Of two different endpoints, drawn by weight, the one with fewer requests in flight for its
// weight; the first drawn when they are equal.
std::optional<Pick> pickLeastRequest(std::span<const Candidate> candidates, Tried tried,
                                     base::MonoTime now, uint64_t random);

std::optional<Pick> pick(LbPolicy policy, std::span<Candidate> candidates, Tried tried,
                         base::MonoTime now, uint64_t random);

// How long an endpoint that could not be connected to is passed over, by the number of failures in
// a row: 1 s, doubled with each, at most 30 s.
uint64_t unhealthyFor_ns(uint32_t failures);

}  // namespace upstream
