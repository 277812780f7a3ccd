// The index at 10 million objects: memory by resident size, cost of lookups and inserts. Keys are
// drawn from a generator and lookups are spread over the whole table, so a lookup costs what two
// random cache lines cost; `prefetched` is what a caller pays who asks ahead.
#include <benchmark/benchmark.h>

#include <cstdio>
#include <memory>

#include "source/base/check.h"
#include "source/base/random.h"
#include "source/store/core/index.h"

namespace {

constexpr uint64_t kObjects = 10'000'000;
constexpr int kFills = 3;
constexpr int kRepetitions = 7;  // median and deviation are of these

base::Hash128 hashOf(uint64_t key) {
  return base::Hash128{store::mix64(key + 1), store::mix64(key + 0x51ed270b7f4a7c15ULL)};
}

store::Entry entryFor(base::Hash128 hash, uint64_t key) {
  store::EntryFields f;
  f.kind = store::EntryKind::object;
  f.segment = static_cast<uint32_t>(key & 0xfffff);
  f.offset_units = 8;
  f.length_units = 32;
  return store::Entry::make(hash, f);
}

uint64_t residentBytes() {
  unsigned long pages = 0;
  if (std::FILE* file = std::fopen("/proc/self/statm", "r")) {
    if (std::fscanf(file, "%*u %lu", &pages) != 1) {
      pages = 0;
    }
    std::fclose(file);
  }
  return uint64_t{pages} * 4096;
}

const store::SegmentTable& segments() {
  static const store::SegmentTable table(1);
  return table;
}

std::unique_ptr<store::IndexShard> makeIndex() {
  auto index = store::IndexShard::create(store::IndexOptions{kObjects, 0}, segments());
  CHECK(index.ok());
  return std::move(index.value());
}

void fill(store::IndexShard& index, uint64_t from, uint64_t to) {
  for (uint64_t key = from; key < to; key++) {
    const base::Hash128 hash = hashOf(key);
    index.publish(hash, entryFor(hash, key));
  }
}

store::IndexShard& fullIndex() {
  static const std::unique_ptr<store::IndexShard> index = [] {
    auto made = makeIndex();
    fill(*made, 0, kObjects);
    return made;
  }();
  return *index;
}

// From empty to the stated load.
void fillToLoad(benchmark::State& state) {
  for (auto _ : state) {
    const uint64_t before = residentBytes();
    const auto index = makeIndex();
    fill(*index, 0, kObjects);
    state.counters["bytes_per_object"] =
        static_cast<double>(residentBytes() - before) / static_cast<double>(index->size());
    state.counters["moves_per_object"] =
        static_cast<double>(index->moves()) / static_cast<double>(index->size());
    state.counters["evictions"] = static_cast<double>(index->evictions());
  }
  state.SetItemsProcessed(static_cast<int64_t>(state.iterations() * kObjects));
}
BENCHMARK(fillToLoad)
    ->Iterations(1)
    ->Repetitions(kFills)
    ->ReportAggregatesOnly()
    ->Unit(benchmark::kMillisecond);

// The oldest key goes, a new one comes: the index as it runs for years.
void replaceAtFullLoad(benchmark::State& state) {
  store::IndexShard& index = fullIndex();
  static uint64_t next = kObjects;
  for (auto _ : state) {
    index.erase(hashOf(next - kObjects));
    const base::Hash128 hash = hashOf(next);
    index.publish(hash, entryFor(hash, next));
    next++;
  }
}
BENCHMARK(replaceAtFullLoad)
    ->Iterations(200'000)
    ->Repetitions(kRepetitions)
    ->ReportAggregatesOnly();

void lookup(benchmark::State& state, uint64_t first, uint64_t keys) {
  const store::IndexShard& index = fullIndex();
  base::Random random(1);
  uint64_t found = 0;
  for (auto _ : state) {
    found += index.find(hashOf(first + random.below(keys))).has_value() ? 1 : 0;
  }
  state.counters["found"] = static_cast<double>(found) / static_cast<double>(state.iterations());
}
// Among the newest half, which replaceAtFullLoad leaves alone.
BENCHMARK_CAPTURE(lookup, hit, kObjects / 2, kObjects / 2)
    ->Repetitions(kRepetitions)
    ->ReportAggregatesOnly();
BENCHMARK_CAPTURE(lookup, miss, uint64_t{1} << 40, kObjects)
    ->Repetitions(kRepetitions)
    ->ReportAggregatesOnly();
BENCHMARK_CAPTURE(lookup, hot_hit, kObjects / 2, 1000)
    ->Repetitions(kRepetitions)
    ->ReportAggregatesOnly();

void lookupPrefetched(benchmark::State& state) {
  const store::IndexShard& index = fullIndex();
  base::Random random(1);
  constexpr size_t kAhead = 8;
  base::Hash128 hashes[kAhead];
  for (auto _ : state) {
    for (base::Hash128& hash : hashes) {
      hash = hashOf(kObjects / 2 + random.below(kObjects / 2));
      index.prefetch(hash);
    }
    for (const base::Hash128& hash : hashes) {
      benchmark::DoNotOptimize(index.find(hash));
    }
  }
  state.SetItemsProcessed(static_cast<int64_t>(state.iterations() * kAhead));
}
BENCHMARK(lookupPrefetched)->Repetitions(kRepetitions)->ReportAggregatesOnly();

}  // namespace
