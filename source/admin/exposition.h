// The metrics as text, as JSON (both as Envoy's admin writes them) and in Prometheus' text format
// 0.0.4. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "source/admin/metrics.h"

namespace re2 {
class RE2;
}

namespace admin {

enum class Types : uint8_t { all, counters, gauges, histograms, text_readouts };

// What to leave out.
struct Selection {
  const re2::RE2* filter = nullptr;  // by dotted name, anywhere in it
  bool used_only = false;            // only what is not 0
  Types types = Types::all;
};

// Counters and gauges by name, then histograms. Times are milliseconds. A histogram's figures are
// `P50(interval,cumulative)`; there is no interval here, so it is nan, which is Envoy's word for an
// empty one.
std::string writeStatsText(const std::vector<Series>& series, const Selection& selection);
std::string writeStatsJson(const std::vector<Series>& series, const Selection& selection);
std::string writePrometheus(const std::vector<Series>& series, const Selection& selection);

}  // namespace admin
