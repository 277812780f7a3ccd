// Goal: a list of metrics becomes a struct that can be visited, added up and reset by its kinds.
// Method: one list with every kind; names are checked by hand-written cases.

#include "source/telemetry/counters.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace telemetry {
namespace {

#define SAMPLE_METRICS(X)                     \
  X(counter, hits, "Answered from the cache") \
  X(gauge, open_connections, "Open now")      \
  X(peak, batch_max, "Largest batch")
TELEMETRY_METRICS(SampleMetrics, SAMPLE_METRICS);

TEST(Counters, AreVisitedInTheListsOrderWithNameKindAndHelp) {
  SampleMetrics metrics;
  metrics.hits = 3;
  metrics.open_connections = 5;
  metrics.batch_max = 7;
  std::vector<std::string> seen;
  std::vector<MetricKind> kinds;
  metrics.forEach([&](const Metric& metric, uint64_t value) {
    seen.push_back(std::string(metric.name) + "=" + std::to_string(value) + " " +
                   std::string(metric.help));
    kinds.push_back(metric.kind);
  });
  EXPECT_EQ(seen,
            (std::vector<std::string>{"hits=3 Answered from the cache",
                                      "open_connections=5 Open now", "batch_max=7 Largest batch"}));
  EXPECT_EQ(kinds,
            (std::vector<MetricKind>{MetricKind::counter, MetricKind::gauge, MetricKind::peak}));
  EXPECT_EQ(SampleMetrics::kCount, 3u);
}

TEST(Counters, AddUpCountersAndGaugesAndKeepTheHigherPeak) {
  SampleMetrics a{.hits = 1, .open_connections = 2, .batch_max = 9};
  const SampleMetrics b{.hits = 10, .open_connections = 20, .batch_max = 4};
  a.add(b);
  EXPECT_EQ(a, (SampleMetrics{.hits = 11, .open_connections = 22, .batch_max = 9}));
}

TEST(Counters, ResetLeavesGauges) {
  SampleMetrics a{.hits = 1, .open_connections = 2, .batch_max = 9};
  a.reset();
  EXPECT_EQ(a, (SampleMetrics{.hits = 0, .open_connections = 2, .batch_max = 0}));
}

TEST(Counters, NamesAreSnakeCase) {
  EXPECT_TRUE(isMetricName("a"));
  EXPECT_TRUE(isMetricName("bytes_in"));
  EXPECT_TRUE(isMetricName("http2xx_count"));
  EXPECT_TRUE(isMetricName("a_2xx"));
  for (const char* wrong : {"", "_a", "a_", "a__b", "A", "aB", "2xx", "a-b", "a b"}) {
    EXPECT_FALSE(isMetricName(wrong)) << wrong;
  }
}

}  // namespace
}  // namespace telemetry
