// Made-up traces: Zipf popularity with a share of objects that are asked for once, scans, and a
// shift of what is popular. The same options and seed give the same trace.
#pragma once

#include <cstdint>
#include <string>

#include "source/tools/cachesim/trace.h"

namespace cachesim {

enum class Sizes : uint8_t {
  unit,  // all of unit_bytes
  web,   // as on the web: half below 16 KiB, a long tail up to 4 MiB; the mean is about 60 KiB
};

struct ZipfOptions {
  double alpha = 1.0;
  uint32_t objects = 100'000;
  uint64_t requests = 1'000'000;
  double one_hit_share = 0;  // of the requests: objects that never come again
  uint64_t scan_every = 0;   // requests between scans; 0: none
  uint64_t scan_length = 0;  // requests of a scan, each for a new object
  double shift_at = 0;       // of the requests: then a tenth of the popular objects change; 0: no
  Sizes sizes = Sizes::unit;
  uint32_t unit_bytes = 16 << 10;
  uint64_t requests_per_s = 1000;
  uint64_t seed = 1;
};

// A sentence if the options make no sense, else empty.
std::string checkZipf(const ZipfOptions& options);
// `options` have been checked.
Trace generateZipf(const ZipfOptions& options);

}  // namespace cachesim
