// Goal: traces are read as they are meant, mistakes are told with their line and a remedy, and a
// seed is a trace. Method: small texts, and shares counted in what was made.
#include "source/tools/cachesim/trace.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "source/tools/cachesim/generate.h"
#include "source/tools/cachesim/report.h"

namespace cachesim {
namespace {

TEST(Csv, ReadsLibCacheSimsColumns) {
  const CsvResult result = parseCsv("0, a, 100\n1.5, b, 200\n\n2,a,100\r\n", CsvOptions());
  ASSERT_EQ(result.error, "");
  const std::vector<Request>& r = result.trace.requests;
  ASSERT_EQ(r.size(), 3u);
  EXPECT_EQ(result.trace.objects, 2u);
  EXPECT_EQ(r[0].object, r[2].object);
  EXPECT_NE(r[0].object, r[1].object);
  EXPECT_EQ(r[1].bytes, 200u);
  EXPECT_EQ(r[1].time_s, 1u);
  EXPECT_EQ(r[0].next, 2u);
  EXPECT_EQ(r[1].next, kNeverAgain);
}

TEST(Csv, ColumnsMayBeInAnyOrderAndMissing) {
  CsvOptions options;
  options.time_column = 0;
  options.id_column = 2;
  options.size_column = 0;
  options.unit_bytes = 7;
  options.has_header = true;
  options.delimiter = '\t';
  const CsvResult result = parseCsv("op\tkey\nget\t\"x\"\nget\ty", options);
  ASSERT_EQ(result.error, "");
  ASSERT_EQ(result.trace.requests.size(), 2u);
  EXPECT_EQ(result.trace.requests[1].bytes, 7u);
  EXPECT_EQ(result.trace.requests[1].time_s, 1u);
}

TEST(Csv, SizesEndWhere32BitsDo) {
  EXPECT_EQ(parseCsv("0,a,4294967295", CsvOptions()).error, "");
  EXPECT_TRUE(parseCsv("0,a,4294967296", CsvOptions()).error.starts_with("line 1: "));
}

TEST(Csv, SaysWhichLineIsWrongAndWhatToDo) {
  const struct {
    const char* text;
    const char* begins;
    const char* advises;
  } cases[] = {
      {"0,a,1\n1,b", "line 2: has 2 columns where column 3 is needed", "--columns"},
      {"0,a,1\n\n1,,5", "line 3: has no object id in column 2", ""},
      {"time,id,size\n0,a,1", "line 1: `size` is no size", "--header"},
      {"0,a,-1", "line 1: `-1` is no size", "--columns"},
      {"0,a,1\n0,a,1.5", "line 2: `1.5` is no size", "--columns"},
      {"0,a,1\nnoon,a,1", "line 2: `noon` is no time", "--columns"},
      {"", "there is no request", "time,object id,size"},
  };
  for (const auto& c : cases) {
    const std::string error = parseCsv(c.text, CsvOptions()).error;
    EXPECT_TRUE(error.starts_with(c.begins)) << error;
    EXPECT_NE(error.find(c.advises), std::string::npos) << error;
  }
}

bool same(const Trace& a, const Trace& b) {
  bool equal = a.requests.size() == b.requests.size();
  for (size_t i = 0; equal && i < a.requests.size(); i++) {
    equal =
        a.requests[i].object == b.requests[i].object && a.requests[i].bytes == b.requests[i].bytes;
  }
  return equal;
}

TEST(Generate, ASeedIsATrace) {
  ZipfOptions options;
  options.objects = 1000;
  options.requests = 5000;
  options.one_hit_share = 0.2;
  options.sizes = Sizes::web;
  const Trace first = generateZipf(options);
  EXPECT_TRUE(same(first, generateZipf(options)));
  options.seed = 2;
  EXPECT_FALSE(same(first, generateZipf(options)));
}

TEST(Generate, MakesTheSharesThatAreAskedFor) {
  ZipfOptions options;
  options.objects = 100;
  options.requests = 100'000;
  options.one_hit_share = 0.25;
  const Trace trace = generateZipf(options);
  uint64_t once = 0;
  uint64_t hottest = 0;
  std::vector<uint64_t> counts(trace.objects);
  for (const Request& request : trace.requests) {
    once += request.object >= 100 ? 1 : 0;
    hottest = std::max(hottest, ++counts[request.object]);
  }
  EXPECT_NEAR(static_cast<double>(once), 25'000, 1000);
  // The first of 100 ranks with exponent 1 has 1 / (1 + 1/2 + ... + 1/100) = 0.1928 of them.
  EXPECT_NEAR(static_cast<double>(hottest), 75'000 * 0.1928, 1000);
}

TEST(Generate, ScansAreNewObjectsInARow) {
  ZipfOptions options;
  options.objects = 10;
  options.requests = 1000;
  options.scan_every = 100;
  options.scan_length = 30;
  const Trace trace = generateZipf(options);
  EXPECT_EQ(trace.objects, 10u + 9 * 30 + 1);  // the last scan has one request
  for (uint64_t i = 99; i < 129; i++) {
    EXPECT_GE(trace.requests[i].object, 10u);
  }
}

TEST(Generate, RefusesWhatMakesNoSense) {
  ZipfOptions options;
  EXPECT_EQ(checkZipf(options), "");
  options.alpha = 6;
  EXPECT_NE(checkZipf(options), "");
  options = {};
  options.one_hit_share = 1;
  EXPECT_NE(checkZipf(options), "");
  options = {};
  options.objects = 0;
  EXPECT_NE(checkZipf(options), "");
}

TEST(Report, HasALineForEachPolicyAndSize) {
  ZipfOptions zipf;
  zipf.objects = 500;
  zipf.requests = 2000;
  Trace trace = generateZipf(zipf);
  trace.name = "t";
  RunOptions options;
  options.fractions = {0.1, 0.5};
  options.policies = {"lru", "segments", "s3fifo"};
  const std::vector<Row> rows = run(trace, options);
  ASSERT_EQ(rows.size(), 6u);
  EXPECT_TRUE(rows[1].too_small);  // less than five segments
  EXPECT_NE(table(rows).find("too small"), std::string::npos);
  const std::string text = csv(rows);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1 + 6 - 2);
  EXPECT_TRUE(text.starts_with("trace,fraction,cache_bytes,policy,"));
  EXPECT_NE(text.find("\nt,0.5,"), std::string::npos);
}

}  // namespace
}  // namespace cachesim
