// Purging a tag of 100,000 objects among a million, on the real store: one shard with eight stripes
// on a disk, while it reads records as requests would. Prints how long the purge took and the
// slowest read meanwhile; exits with 1 when one is over its bar.
//
//   purge_bench DIRECTORY [OBJECTS]      DIRECTORY is an empty one of its own, with 3 GiB free
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "source/base/random.h"
#include "source/io/uring/uring_engine.h"
#include "source/rt/buffer_pool.h"
#include "source/rt/task_group.h"
#include "source/store/core/record_writer.h"
#include "source/store/io/cache_files.h"
#include "source/store/io/stripe_store.h"

namespace {

constexpr uint32_t kStripes = 8;
constexpr uint64_t kPurgeBar_ms = 1000;
constexpr uint64_t kReadBar_us = 20'000;
constexpr store::Label kTag = 0xabcdef0123456789;

struct Bench {
  rt::Reactor* reactor;
  store::RecordReader* reader;
  uint64_t objects;
  uint64_t seed;
  std::vector<std::unique_ptr<store::StripeShared>> shared;
  std::vector<std::unique_ptr<store::StripeStore>> stores;
  bool purging = false;
  uint64_t reads = 0;
  uint64_t slowest_us = 0;
};

std::string keyOf(uint64_t number) {
  return "http://example.com/section" + std::to_string(number % 50) + "/page" +
         std::to_string(number % 5000) + "/" + std::to_string(number);
}

// Three directories, of which the last is shared by few, and four tags: the one that will be
// purged on every tenth object, one of a thousand, one of a hundred, and one of its own.
std::vector<store::Label> labelsOf(uint64_t number) {
  std::vector<store::Label> labels{store::mix64(1),
                                   store::mix64(100 + number % 50),
                                   store::mix64(1000 + number % 5000),
                                   store::mix64(10'000 + number / 1000),
                                   store::mix64(200'000 + number / 100),
                                   store::mix64(10'000'000 + number)};
  if (number % 10 == 0) {
    labels.push_back(kTag);
  }
  return labels;
}

uint64_t micros() {
  return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::microseconds>(
                                   std::chrono::steady_clock::now().time_since_epoch())
                                   .count());
}

base::Hash128 hashOf(const Bench& bench, uint64_t number) {
  return base::hash128(keyOf(number), bench.seed);
}

rt::Task<void> fill(Bench* bench) {
  rt::CancelScope never;
  const std::vector<std::byte> body(500, std::byte{7});
  const std::vector<std::byte> meta(200, std::byte{1});
  std::vector<std::byte> record(4096);
  for (uint64_t i = 0; i < bench->objects; i++) {
    const std::string key = keyOf(i);
    const std::vector<store::Label> labels = labelsOf(i);
    store::RecordFields fields;
    fields.hash = hashOf(*bench, i);
    const uint32_t stripe = store::stripeOf(fields.hash, kStripes);
    fields.place.salt = bench->shared[stripe]->files.superblock.salt();
    fields.labels = labels;
    const base::Result<uint32_t> length = store::encodeRecord(record, fields, key, meta, body);
    CHECK(length.ok());
    store::Publish publish;
    publish.kind = store::EntryKind::object;
    base::Result<store::Appended> appended = co_await bench->stores[stripe]->log().append(
        std::span(record).first(length.value()), publish, never);
    CHECK(appended.ok());
  }
  for (const auto& stripe : bench->stores) {
    co_await stripe->log().flush();
  }
}

// What a disk hit does: index, one read, verification.
rt::Task<void> request(Bench* bench, uint64_t seed) {
  rt::CancelScope never;
  base::Random random(seed);
  while (bench->purging) {
    const base::Hash128 hash = hashOf(*bench, random.below(bench->objects));
    const uint32_t stripe = store::stripeOf(hash, kStripes);
    const uint64_t begun = micros();
    const store::StripeShared& shared = *bench->shared[stripe];
    const std::optional<store::Entry> entry = shared.index->find(hash);
    if (entry.has_value() && !entry->inBuffer()) {
      base::Result<store::RecordRef> read = co_await bench->reader->read(
          shared.recordFile(), shared.table->locate(*entry), never, base::kNever);
      CHECK(read.ok());
    }
    co_await rt::NextTurn();
    bench->reads++;
    bench->slowest_us = std::max(bench->slowest_us, micros() - begun);
  }
}

rt::Task<void> purgeOne(Bench* bench, uint32_t stripe, store::Selector selector, uint64_t* purged) {
  rt::CancelScope never;
  base::Result<uint64_t> result =
      co_await bench->stores[stripe]->purgeSelected(std::move(selector), false, never);
  CHECK(result.ok());
  *purged += result.value();
}

rt::Task<void> measure(Bench* bench, const char* what, store::Selector selector, bool* failed) {
  rt::TaskGroup requests(*bench->reactor, 4);
  rt::TaskGroup purges(*bench->reactor, kStripes);
  bench->purging = true;
  bench->reads = bench->slowest_us = 0;
  for (uint64_t i = 0; i < 4; i++) {
    CHECK(requests.spawn(request(bench, i + 1)));
  }
  uint64_t purged = 0;
  const uint64_t begun = micros();
  for (uint32_t i = 0; i < kStripes; i++) {
    CHECK(purges.spawn(purgeOne(bench, i, selector, &purged)));
  }
  co_await purges.join();
  const uint64_t took_us = micros() - begun;
  bench->purging = false;
  co_await requests.join();
  std::printf("%-28s purged %7lu in %7.1f ms; %6lu reads meanwhile, slowest %6.2f ms\n", what,
              purged, static_cast<double>(took_us) / 1000, bench->reads,
              static_cast<double>(bench->slowest_us) / 1000);
  *failed = *failed || took_us > kPurgeBar_ms * 1000 || bench->slowest_us > kReadBar_us;
}

rt::Task<void> run(Bench* bench, int* exit_code) {
  rt::CancelScope never;
  for (const auto& stripe : bench->stores) {
    base::Result<store::RecoveryReport> report = co_await stripe->recover(never);
    CHECK(report.ok());
  }
  const uint64_t begun = micros();
  co_await fill(bench);
  uint64_t filters = 0;
  uint64_t index = 0;
  uint64_t entries = 0;
  for (const auto& stripe : bench->stores) {
    filters += stripe->filters().bytes();
    index += stripe->index().size() * sizeof(store::Entry) * 100 / store::kIndexLoadPercent;
    entries += stripe->index().size();
  }
  std::printf("%lu objects in %.1f s; filters %.2f bytes an object, index at its load %.2f\n",
              entries, static_cast<double>(micros() - begun) / 1e6,
              static_cast<double>(filters) / static_cast<double>(entries),
              static_cast<double>(index) / static_cast<double>(entries));
  bool failed = false;
  const auto of = [](store::Label label) { return store::Selector{label, {}}; };
  co_await measure(bench, "a tag of nothing", of(42), &failed);
  co_await measure(bench, "a tag of one object",
                   of(store::mix64(10'000'000 + 77'777 % bench->objects)), &failed);
  co_await measure(bench, "a tag of a tenth", of(kTag), &failed);
  co_await measure(bench, "a directory of 1/50", of(store::mix64(103)), &failed);
  bool prefix_failed = false;  // reads keys, so it has no bar
  store::Selector prefix = of(store::mix64(107));
  prefix.key_prefix = "http://example.com/section7/page7";
  co_await measure(bench, "a prefix in a directory", prefix, &prefix_failed);
  for (const auto& stripe : bench->stores) {
    co_await stripe->stop();
  }
  *exit_code = failed ? 1 : 0;
}

rt::Task<void> runAndStop(Bench* bench, int* exit_code) {
  co_await run(bench, exit_code);
  bench->reactor->stop();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: purge_bench DIRECTORY [OBJECTS]\n");
    return 2;
  }
  store::CacheLayout layout;
  layout.directory = argv[1];
  layout.max_size_bytes = uint64_t{3} << 30;
  layout.stripes = kStripes;
  layout.segment_bytes = store::kMaxSegmentBytes;
  layout.now_s = 1'800'000'000;
  const store::CacheFiles::Opened opened = store::CacheFiles::open(layout);
  if (opened.files == nullptr) {
    std::fprintf(stderr, "%s\n", opened.error.c_str());
    return 1;
  }
  io::Doorbells doorbells(1);
  auto engine = io::UringEngine::create(io::UringOptions{}, base::ShardId{0}, doorbells);
  CHECK(engine.ok());
  rt::Reactor reactor(*engine.value());
  rt::BufferPool pool(64 << 20);
  store::RecordReader reader(reactor, pool);
  Bench bench{};
  bench.reactor = &reactor;
  bench.reader = &reader;
  bench.objects = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1'000'000;
  bench.seed = opened.files->stripes()[0].superblock.hash_seed;
  for (const store::StripeFiles& files : opened.files->stripes()) {
    auto shared = store::makeStripeShared(
        files, std::max<uint64_t>(bench.objects / kStripes * 5 / 4, 1024), layout.now_s);
    CHECK(shared.ok());
    bench.shared.push_back(std::move(shared.value()));
    bench.stores.push_back(
        std::make_unique<store::StripeStore>(reactor, reader, *bench.shared.back()));
  }
  int exit_code = 1;
  rt::TaskGroup group(reactor, 1);
  CHECK(group.spawn(runAndStop(&bench, &exit_code)));
  reactor.run();
  bench.stores.clear();
  return exit_code;
}
