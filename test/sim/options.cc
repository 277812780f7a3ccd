#include "test/sim/options.h"

#include "source/base/random.h"

namespace sim {
namespace {

// Off in half of all worlds, else up to `most`, small weights being likelier than large ones.
uint32_t weight(base::Random& random, uint32_t most) {
  if (random.chance(1, 2)) {
    return 0;
  }
  return static_cast<uint32_t>(random.between(1, 1 + random.below(most)));
}

uint64_t logUniform(base::Random& random, uint64_t low, uint64_t high) {
  uint64_t value = low;
  while (value < high && random.chance(3, 4)) {
    value = value * 2 + random.below(value);
  }
  return value < high ? value : high;
}

void drawNetwork(base::Random& random, NetworkOptions& network) {
  network.latency_min_ns = logUniform(random, 1000, 5 * base::kMillisecond_ns);
  network.latency_max_ns =
      network.latency_min_ns + logUniform(random, 1000, 50 * base::kMillisecond_ns);
  network.spike = weight(random, 20'000);
  network.spike_max_ns = logUniform(random, base::kMillisecond_ns, 5 * base::kSecond_ns);
  network.window_min = static_cast<uint32_t>(logUniform(random, 64, 64 * 1024));
  network.window_max =
      static_cast<uint32_t>(network.window_min + logUniform(random, 64, 1024 * 1024));
  network.fragment = weight(random, kAlways);
  network.short_read = weight(random, kAlways);
  network.slow_send = weight(random, kAlways);
  network.reset = weight(random, 5'000);
  network.refuse = weight(random, 50'000);
  network.blackhole = weight(random, 20'000);
  network.slow_accept = weight(random, 300'000);
  network.accept_error = weight(random, 50'000);
  network.early_no_buffers = weight(random, kAlways);
  network.backlog = static_cast<uint32_t>(logUniform(random, 2, 1024));
}

void drawDisk(base::Random& random, DiskOptions& disk, bool broken) {
  disk.latency_min_ns = logUniform(random, 1000, base::kMillisecond_ns);
  disk.latency_max_ns = disk.latency_min_ns + logUniform(random, 1000, 20 * base::kMillisecond_ns);
  disk.spike = weight(random, 20'000);
  disk.spike_max_ns = logUniform(random, base::kMillisecond_ns, 2 * base::kSecond_ns);
  disk.read_error = weight(random, 10'000);
  disk.write_error = weight(random, 10'000);
  disk.sync_error = weight(random, 10'000);
  disk.short_transfer = weight(random, 20'000);
  disk.write_back = weight(random, kAlways);
  if (broken) {
    disk.lost_write = weight(random, 10'000);
    disk.misdirected_write = weight(random, 10'000);
    disk.bit_rot = weight(random, 10'000);
  }
}

}  // namespace

Options Options::fromSeed(uint64_t seed, bool broken_disk) {
  base::Random random(seed ^ 0x6f7074696f6e73ULL);
  Options options;
  drawNetwork(random, options.network);
  drawDisk(random, options.disk, broken_disk);
  options.turn_max_ns = logUniform(random, 100, base::kMillisecond_ns);
  options.doorbell_max_ns = logUniform(random, 1000, base::kMillisecond_ns);
  options.wall_start_s = random.between(1'000'000'000, 2'000'000'000);
  options.registered_region = random.chance(3, 4);
  return options;
}

}  // namespace sim
