// Replays a trace through policies at several cache sizes, and prints what came of it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "source/tools/cachesim/policy.h"
#include "source/tools/cachesim/trace.h"

namespace cachesim {

struct Row {
  std::string trace;
  double fraction = 0;  // of the footprint
  uint64_t cache_bytes = 0;
  std::string policy;
  uint64_t requests = 0;
  uint64_t misses = 0;
  uint64_t request_bytes = 0;  // of bodies
  uint64_t miss_bytes = 0;
  uint64_t stored_bytes = 0;
  uint64_t written_bytes = 0;
  bool too_small = false;  // the policy cannot work with so little

  double missRatio() const { return ratio(misses, requests); }
  double byteMissRatio() const { return ratio(miss_bytes, request_bytes); }
  double writeAmplification() const { return ratio(written_bytes, stored_bytes); }
  static double ratio(uint64_t part, uint64_t whole) {
    return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
  }
};

struct RunOptions {
  std::vector<double> fractions;
  std::vector<std::string> policies;
  uint32_t segment_bytes = 0;  // 0: as the product cuts a stripe of that size
  bool second_request = false;
  uint64_t write_bytes_per_s = 0;
};

// Bytes of the records of all objects of the trace, each with the size that it has first.
uint64_t footprint(const Trace& trace);
std::vector<Row> run(const Trace& trace, const RunOptions& options);

// The worst of the bars that docs/cache-simulator.md sets for the product's disk; a sentence each.
std::string table(const std::vector<Row>& rows);
std::string csv(const std::vector<Row>& rows);

}  // namespace cachesim
