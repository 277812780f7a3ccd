// Goal: each policy does what its paper says, and the product's code keeps to its bars. Method: a
// trace whose hits were worked out by hand, properties that hold for any trace (LRU's inclusion,
// Belady's optimality), and the product's policies beside independent ones.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "source/tools/cachesim/generate.h"
#include "source/tools/cachesim/policy.h"
#include "source/tools/cachesim/report.h"

namespace cachesim {
namespace {

// An object without a body takes one unit.
constexpr uint64_t kUnit = 512;

Trace traceOf(const std::string& letters) {
  Trace trace;
  for (const char letter : letters) {
    Request request;
    request.object = static_cast<uint32_t>(letter - 'A');
    trace.requests.push_back(request);
  }
  trace.objects = 26;
  trace.link();
  return trace;
}

std::unique_ptr<Policy> make(std::string_view name, uint64_t bytes, uint32_t objects) {
  PolicyOptions options;
  options.size = {bytes, objects, store::kMinSegmentBytes};
  return makePolicy(name, options);
}

// 1 for a hit and 0 for a miss, request by request.
std::string hits(Policy& policy, const Trace& trace) {
  std::string out;
  for (const Request& request : trace.requests) {
    out += policy.request(request) ? '1' : '0';
  }
  return out;
}

std::string hits(std::string_view name, const std::string& letters) {
  const Trace trace = traceOf(letters);
  const std::unique_ptr<Policy> policy = make(name, 3 * kUnit, trace.objects);
  return hits(*policy, trace);
}

TEST(Policies, DoByHandWhatTheirPapersSay) {
  ASSERT_EQ(storedBytes(0, store::kMinSegmentBytes), kUnit);
  const std::string letters = "ABCADEAFGHA";
  // The hit at the fourth request changes nothing: A leaves first.
  EXPECT_EQ(hits("fifo", letters), "00010000000");
  // A stays as long as fewer than three others come after it.
  EXPECT_EQ(hits("lru", letters), "00010010000");
  // A is spared once, then the hand is past it: the newer ones go before it.
  EXPECT_EQ(hits("sieve", letters), "00010010001");
  // One hit in the small queue is not enough: A goes to the ghosts, and from there to main.
  EXPECT_EQ(hits("s3fifo", letters), "00010000001");
  // Room for two besides the window; A was asked for twice and no newcomer was.
  EXPECT_EQ(hits("wtinylfu", letters), "00010010001");
  EXPECT_EQ(hits("belady", letters), "00010010001");
}

TEST(Policies, S3FifoPromotesOnTheSecondHitAndGivesMainAnotherRound) {
  // A is hit twice while it is small, moves to main, and outlasts any number of newcomers.
  EXPECT_EQ(hits("s3fifo", "AAABCDEFGA"), "0110000001");
}

TEST(Policies, BeladyLetsTheOneGoThatIsNeededLatest) {
  // With room for three, D is needed later than A, B and C, and is not kept.
  EXPECT_EQ(hits("belady", "ABCDABCD"), "00001110");
}

TEST(Policies, AnObjectThatDoesNotFitIsNeverStored) {
  for (const std::string_view name : policyNames()) {
    if (name == "segments") {
      continue;
    }
    Trace trace = traceOf("AAA");
    for (Request& request : trace.requests) {
      request.bytes = 4 * kUnit;
    }
    const std::unique_ptr<Policy> policy = make(name, 3 * kUnit, trace.objects);
    EXPECT_EQ(hits(*policy, trace), "000") << name;
    EXPECT_EQ(policy->storedTotal(), 0u) << name;
  }
}

Trace zipf(double alpha, uint64_t seed, double one_hit_share = 0) {
  ZipfOptions options;
  options.alpha = alpha;
  options.objects = 20'000;
  options.requests = 200'000;
  options.one_hit_share = one_hit_share;
  options.unit_bytes = 60'000;
  options.seed = seed;
  return generateZipf(options);
}

TEST(Policies, ALargerLruHitsWhereverASmallerOneDoes) {
  for (uint64_t seed = 1; seed <= 3; seed++) {
    const Trace trace = zipf(0.8, seed);
    std::string before(trace.requests.size(), '0');
    for (const uint64_t objects : {10, 100, 1000, 5000}) {
      const std::unique_ptr<Policy> lru =
          make("lru", objects * storedBytes(60'000, store::kMinSegmentBytes), trace.objects);
      const std::string now = hits(*lru, trace);
      for (size_t i = 0; i < now.size(); i++) {
        ASSERT_FALSE(before[i] == '1' && now[i] == '0') << "seed " << seed << " request " << i;
      }
      before = now;
    }
  }
}

std::vector<Row> rowsOf(const Trace& trace, double fraction) {
  RunOptions options;
  options.fractions = {fraction};
  options.policies.assign(policyNames().begin(), policyNames().end());
  return run(trace, options);
}

const Row& rowOf(const std::vector<Row>& rows, std::string_view policy) {
  return *std::find_if(rows.begin(), rows.end(),
                       [&](const Row& row) { return row.policy == policy; });
}

TEST(Policies, NoneBeatsBeladyWhenAllSizesAreEqual) {
  for (uint64_t seed = 1; seed <= 3; seed++) {
    for (const double fraction : {0.05, 0.2}) {
      const std::vector<Row> rows = rowsOf(zipf(0.9, seed), fraction);
      const Row& belady = rowOf(rows, "belady");
      for (const Row& row : rows) {
        EXPECT_FALSE(row.too_small) << row.policy;
        EXPECT_GE(row.misses, belady.misses) << row.policy << " seed " << seed;
        EXPECT_LE(row.misses, row.requests);
      }
    }
  }
}

// The same algorithm, written twice.
TEST(Policies, TheMemoryTierIsS3Fifo) {
  for (uint64_t seed = 1; seed <= 3; seed++) {
    const std::vector<Row> rows = rowsOf(zipf(1.0, seed), 0.1);
    EXPECT_NEAR(rowOf(rows, "memory").missRatio(), rowOf(rows, "s3fifo").missRatio(),
                rowOf(rows, "s3fifo").missRatio() * 0.01);
  }
}

// The bars of docs/cache-simulator.md.
TEST(Policies, TheProductsDiskKeepsToItsBars) {
  ZipfOptions options;
  options.objects = 200'000;
  options.unit_bytes = 8000;
  RunOptions three;
  three.fractions = {0.1};
  three.policies = {"s3fifo", "lru", "segments"};
  for (const double alpha : {0.8, 1.0}) {
    options.alpha = alpha;
    const std::vector<Row> rows = run(generateZipf(options), three);
    const Row& segments = rowOf(rows, "segments");
    EXPECT_LE(segments.missRatio(), rowOf(rows, "s3fifo").missRatio() * 1.02);
    EXPECT_LE(segments.missRatio(), rowOf(rows, "lru").missRatio());
    EXPECT_LE(segments.writeAmplification(), 1.4);
    EXPECT_GT(segments.writeAmplification(), 1.0);
  }
}

TEST(Policies, LargeObjectsAreKeptWholeOrNotAtAll) {
  ZipfOptions options;
  options.objects = 3000;
  options.requests = 60'000;
  options.sizes = Sizes::web;
  const std::vector<Row> rows = rowsOf(generateZipf(options), 0.3);
  const Row& segments = rowOf(rows, "segments");
  EXPECT_LE(segments.missRatio(), rowOf(rows, "lru").missRatio() * 1.1);
  EXPECT_LE(segments.writeAmplification(), 1.4);
}

TEST(Policies, AWriteBudgetCutsTheWrites) {
  const Trace trace = zipf(0.9, 1, 0.3);
  RunOptions options;
  options.fractions = {0.1};
  options.policies = {"segments"};
  const uint64_t all = run(trace, options)[0].written_bytes;
  options.write_bytes_per_s = 1 << 20;
  const uint64_t budgeted = run(trace, options)[0].written_bytes;
  EXPECT_LT(budgeted, all / 2);
  EXPECT_GT(budgeted, 0u);
}

TEST(Policies, FewerThanFiveSegmentsAreSaidToBeTooFew) {
  EXPECT_EQ(make("segments", 5 * store::kMinSegmentBytes - 1, 10), nullptr);
  EXPECT_NE(make("segments", 5 * store::kMinSegmentBytes, 10), nullptr);
}

}  // namespace
}  // namespace cachesim
