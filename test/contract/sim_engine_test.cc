// Goal: the simulator's engine keeps the contract of all engines, in calm and in hostile worlds.
// Method: the contract's suite; a hostile world delays and fragments, but injects no failures,
// since those are not in the contract's expectations.
#include "test/contract/io_engine_contract.h"
#include "test/sim/world.h"

namespace contract {
namespace {

class SimRig : public Rig {
 public:
  explicit SimRig(uint64_t seed, const sim::Options& options) : world_(seed, options) {
    world_.addHost({0, base::ShardId{0}});
    world_.addHost({0, base::ShardId{1}});
  }
  rt::IoEngine& engine(uint16_t shard) override { return world_.host(shard).engine(); }
  int listen(sockaddr_in& address) override {
    address = sim::SimWorld::address(++port_);
    return world_.listen(world_.host(0), port_);
  }
  int socket() override { return world_.socket(world_.host(0)); }
  sockaddr_in nobody() override { return sim::SimWorld::address(9); }
  int file() override {
    sim::FileSpec spec;
    return world_.openFile(world_.host(0), "file" + std::to_string(++files_), spec);
  }
  std::byte* map(int /*fd*/, size_t bytes) override {
    mapped_.resize(bytes);
    return mapped_.data();
  }
  int event() override { return world_.openEvent(world_.host(0)); }
  void signal(int fd, uint64_t count) override { world_.signalEvent(fd, count); }
  void close(int fd) override { world_.closeNow(fd); }
  void closeWithReset(int fd) override {
    world_.resetConnection(fd);
    world_.closeNow(fd);
  }

 private:
  sim::SimWorld world_;
  std::vector<std::byte> mapped_;  // nobody looks
  uint16_t port_ = 1000;
  int files_ = 0;
};

std::unique_ptr<Rig> makeCalm() {
  sim::Options options;
  options.disk.page_drop = 0;
  return std::make_unique<SimRig>(1, options);
}

template <uint64_t seed>
std::unique_ptr<Rig> makeHostile() {
  sim::Options options = sim::Options::fromSeed(seed);
  options.network.spike_max_ns = base::kMillisecond_ns;
  options.network.reset = options.network.refuse = options.network.blackhole = 0;
  options.network.accept_error = 0;
  options.network.latency_max_ns = options.network.latency_min_ns + 1000;
  options.network.window_min += 4096;
  options.network.window_max += 4096;
  options.disk.read_error = options.disk.write_error = options.disk.sync_error = 0;
  options.disk.short_transfer = 0;
  options.disk.page_drop = 0;
  return std::make_unique<SimRig>(seed, options);
}

std::string nameOf(const testing::TestParamInfo<EngineCase>& info) {
  return info.param.name;
}

INSTANTIATE_TEST_SUITE_P(Sim, IoEngineContract,
                         testing::Values(EngineCase{"calm", makeCalm},
                                         EngineCase{"hostile1", makeHostile<1>},
                                         EngineCase{"hostile2", makeHostile<2>},
                                         EngineCase{"hostile3", makeHostile<3>},
                                         EngineCase{"hostile4", makeHostile<4>}),
                         nameOf);

}  // namespace
}  // namespace contract
