// Goal: the series add the shards up as their kinds say, have names that Envoy's and Prometheus'
// users expect, and make an exposition that scrapers accept. Method: figures of two fake shards; a
// strict reader of the format.

#include "source/admin/metrics.h"

#include <gtest/gtest.h>
#include <re2/re2.h>

#include "source/admin/exposition.h"
#include "test/admin/exposition_check.h"
#include "test/admin/fake_control.h"
#include "test/admin/parse_json.h"

namespace admin {
namespace {

std::string statsText(const std::vector<Series>& series, const Selection& selection = {}) {
  return "\n" + writeStatsText(series, selection);
}

bool has(const std::string& text, const std::string& line) {
  return text.find("\n" + line + "\n") != std::string::npos;
}

TEST(MetricsTest, CountersAndGaugesAddUpAndOfPeaksTheLargestCounts) {
  const std::vector<shard::ShardStats> shards = twoShards();
  const std::string text = statsText(collectMetrics(shards, {}));
  EXPECT_TRUE(has(text, "http.downstream_rq_total: 201"));
  EXPECT_TRUE(has(text, "shard.0.http.downstream_rq_total: 100"));
  EXPECT_TRUE(has(text, "shard.1.http.downstream_rq_total: 101"));
  EXPECT_TRUE(has(text, "http.downstream_cx_active: 10"));
  EXPECT_TRUE(has(text, "io.submission_batch_max: 11"));
  EXPECT_TRUE(has(text, "shard.0.io.submissions: 400"));
  EXPECT_TRUE(has(text, "cache.main.hits: 140"));
  EXPECT_TRUE(has(text, "cache.main.index_entries: 2000"));
  EXPECT_TRUE(has(text, "listener.http.downstream_cx_total: 24"));  // of both addresses
  EXPECT_TRUE(has(text, "cluster.origin.upstream_cx_total: 8"));
  EXPECT_TRUE(has(text, "cluster.origin.membership_total: 2"));
  EXPECT_TRUE(has(text, "cluster.origin.endpoint.127.0.0.1_8000.rq_total: 18"));
}

TEST(MetricsTest, TextIsSortedByName) {
  const std::vector<shard::ShardStats> shards = twoShards();
  Selection counters;
  counters.types = Types::counters;
  const std::string text = writeStatsText(collectMetrics(shards, {}), counters);
  std::string before;
  for (size_t at = 0; at < text.size();) {
    const size_t end = text.find('\n', at);
    const std::string name = text.substr(at, text.find(':', at) - at);
    EXPECT_LT(before, name);
    before = name;
    at = end + 1;
  }
}

TEST(MetricsTest, HistogramsComeLastWithTheirQuantilesInMilliseconds) {
  std::vector<shard::ShardStats> shards = twoShards();
  shards[0].reads.latency_ns.reset();
  shards[1].reads.latency_ns.reset();
  const std::string text = statsText(collectMetrics(shards, {}));
  EXPECT_TRUE(has(text, "disk.read_time: No recorded values"));
  const size_t begin = text.find("\ncache.main.disk_write_time: P0(nan,");
  ASSERT_NE(begin, std::string::npos);
  EXPECT_LT(text.rfind("server.uptime_seconds"), begin);
  EXPECT_NE(text.find("P100(nan,1)\n", begin), std::string::npos);  // the maximum is exact
}

TEST(MetricsTest, ASelectionLeavesOutWhatIsUnusedOrOfAnotherNameOrType) {
  const std::vector<shard::ShardStats> shards = twoShards();
  const std::vector<Series> series = collectMetrics(shards, {});
  const re2::RE2 filter("^cache\\.main\\.(hits|purges)$");
  EXPECT_EQ(writeStatsText(series, {&filter}), "cache.main.hits: 140\ncache.main.purges: 0\n");
  EXPECT_EQ(writeStatsText(series, {&filter, true}), "cache.main.hits: 140\n");
  EXPECT_EQ(writeStatsText(series, {&filter, false, Types::gauges}), "");
  EXPECT_EQ(writeStatsText(series, {nullptr, false, Types::text_readouts}), "");
  const std::string histograms = writeStatsText(series, {nullptr, false, Types::histograms});
  EXPECT_EQ(histograms.find("downstream_rq_total"), std::string::npos);
  EXPECT_NE(histograms.find("http.downstream_rq_time:"), std::string::npos);
}

TEST(MetricsTest, JsonHasTheSameNumbersAsText) {
  const std::vector<shard::ShardStats> shards = twoShards();
  const re2::RE2 filter("^(io.submissions|disk.read_time)$");
  const Json json = parseJson(writeStatsJson(collectMetrics(shards, {}), {&filter}));
  EXPECT_EQ(textAt(json, "stats.0.name"), "io.submissions");
  EXPECT_EQ(numberAt(json, "stats.0.value"), 800);
  EXPECT_EQ(numberAt(json, "stats.1.histograms.supported_quantiles.9"), 100);
  EXPECT_EQ(textAt(json, "stats.1.histograms.computed_quantiles.0.name"), "disk.read_time");
  EXPECT_EQ(numberAt(json, "stats.1.histograms.computed_quantiles.0.values.9.cumulative"), 0.08);
}

TEST(PrometheusTest, TheExpositionIsValid) {
  const std::vector<shard::ShardStats> shards = twoShards();
  const Exposition read = readExposition(writePrometheus(collectMetrics(shards, {}), {}));
  for (const std::string& problem : read.problems) {
    ADD_FAILURE() << problem;
  }
  EXPECT_EQ(read.samples.at("ringfence_http_downstream_rq_total{shard=\"1\"}"), "101");
  EXPECT_EQ(read.samples.at("ringfence_cache_hits_total{shard=\"0\",cache=\"main\"}"), "70");
  EXPECT_EQ(read.samples.at("ringfence_cluster_endpoint_rq_total{cluster=\"origin\","
                            "endpoint=\"[::1]:8000\"}"),
            "2");
  EXPECT_EQ(read.samples.at("ringfence_io_wait_seconds_total{shard=\"0\"}"), "1.5");
  EXPECT_EQ(read.samples.at("ringfence_cluster_membership{cluster=\"origin\"}"), "2");
  EXPECT_EQ(read.types.at("ringfence_http_downstream_rq_seconds"), "histogram");
  const std::string buckets = "ringfence_http_downstream_rq_seconds_bucket{shard=\"0\",le=\"";
  EXPECT_EQ(read.samples.at(buckets + "0.00001\"}"), "0");
  EXPECT_EQ(read.samples.at(buckets + "0.00005\"}"), "1");
  EXPECT_EQ(read.samples.at(buckets + "0.0025\"}"), "2");
  EXPECT_EQ(read.samples.at(buckets + "600\"}"), "2");
  EXPECT_EQ(read.samples.at(buckets + "+Inf\"}"), "3");
  EXPECT_EQ(read.samples.at("ringfence_http_downstream_rq_seconds_sum{shard=\"0\"}"), "3000");
}

TEST(PrometheusTest, NamesFromTheConfigurationCannotBreakALine) {
  std::vector<shard::ShardStats> shards = twoShards();
  for (shard::ShardStats& stats : shards) {
    stats.clusters[0].name = "a \"b\"\\\n{c}";
    stats.clusters.push_back({"a_\"b\"\\_{c}"});  // alike once its characters are made plain
  }
  const std::vector<Series> series = collectMetrics(shards, {});
  const Exposition read = readExposition(writePrometheus(series, {}));
  EXPECT_TRUE(read.problems.empty()) << read.problems[0];
  EXPECT_TRUE(read.samples.contains(
      "ringfence_cluster_upstream_cx_total{cluster=\"a \\\"b\\\"\\\\\\n{c}\"}"));
  EXPECT_TRUE(has(statsText(series), "cluster.a_\"b\"\\_{c}.upstream_cx_total: 8"));
}

TEST(PrometheusTest, NothingUsedGivesNothing) {
  std::vector<shard::ShardStats> shards(1);
  Selection used;
  used.used_only = true;
  const re2::RE2 filter("^http");
  used.filter = &filter;
  EXPECT_EQ(writePrometheus(collectMetrics(shards, {}), used), "");
}

TEST(BaselineTest, CountersStartAgainAndGaugesPeaksAndHistogramsDoNot) {
  std::vector<shard::ShardStats> shards = twoShards();
  const Baseline baseline = takeBaseline(collectMetrics(shards, {}));
  shards[1].proxy.downstream_rq_total += 5;
  shards[0].clusters[0].endpoints[0].stats.rq_total += 2;
  std::vector<Series> series = collectMetrics(shards, {});
  subtractBaseline(baseline, series);
  const std::string text = statsText(series);
  EXPECT_TRUE(has(text, "http.downstream_rq_total: 5"));
  EXPECT_TRUE(has(text, "shard.0.http.downstream_rq_total: 0"));
  EXPECT_TRUE(has(text, "shard.1.http.downstream_rq_total: 5"));
  EXPECT_TRUE(has(text, "cluster.origin.endpoint.127.0.0.1_8000.rq_total: 2"));
  EXPECT_TRUE(has(text, "http.downstream_cx_active: 10"));
  EXPECT_TRUE(has(text, "io.submission_batch_max: 11"));
  EXPECT_EQ(text.find("http.downstream_rq_time: No recorded"), std::string::npos);
}

TEST(BaselineTest, ACounterThatBeganAgainIsNotMadeNegative) {
  std::vector<shard::ShardStats> shards = twoShards();
  const Baseline baseline = takeBaseline(collectMetrics(shards, {}));
  shards[0].clusters[0].stats.cx_total = 1;
  shards[1].clusters[0].stats.cx_total = 2;
  std::vector<Series> series = collectMetrics(shards, {});
  subtractBaseline(baseline, series);
  EXPECT_TRUE(has(statsText(series), "cluster.origin.upstream_cx_total: 3"));
}

TEST(ClusterSumTest, AnEndpointIsHealthyIfEveryShardFindsItSo) {
  std::vector<shard::ShardStats> shards = twoShards();
  shards[1].clusters[0].endpoints[1].healthy = false;
  const std::vector<ClusterSum> clusters = sumClusters(shards);
  ASSERT_EQ(clusters.size(), 1u);
  ASSERT_EQ(clusters[0].endpoints.size(), 2u);
  EXPECT_TRUE(clusters[0].endpoints[0].healthy);
  EXPECT_FALSE(clusters[0].endpoints[1].healthy);
  EXPECT_EQ(clusters[0].endpoints[0].rq_active, 2u);
}

}  // namespace
}  // namespace admin
