// Goal: RFC 9111 as seen from outside holds for everything that a whole proxy answers
// (freshness.h). Method: a seed a world: shards, an origin that says something else about each
// answer and fails, clients that ask in every way and leave early. In two of three seeds the world
// is calm, and the number of requests at the origin is judged, too; in the others the network and
// the disk are hostile. In two of five the route slices, and the origin knows ranges.
#include <memory>
#include <string>
#include <vector>

#include "test/sim/freshness_world.h"
#include "test/sim/proxy_config.h"
#include "test/sim/proxy_node.h"

namespace sim {
namespace {

constexpr uint64_t kLong_ns = 600 * base::kSecond_ns;

uint64_t run(uint64_t seed, Judge& judge) {
  const bool calm = seed % 3 != 0;
  SimWorld world(seed, calm ? Options() : Options::fromSeed(seed));
  judge.watch(world);
  base::Random random(world.random().next());
  FreshnessOracle oracle(random, static_cast<uint32_t>(random.between(1, 12)));
  if (!calm) {
    oracle.expectFailures();
  }
  const bool slices = seed % 5 < 2;
  FreshOrigin origin(world, judge, oracle, {.one_at_a_time = calm, .knows_ranges = slices});
  ProxyNode::Spec spec;
  spec.process = 10;
  spec.shards = static_cast<uint16_t>(random.between(1, 3));
  spec.cut.stripes = static_cast<uint32_t>(random.between(1, 3));
  spec.cut.memory_bytes = random.chance(1, 3) ? 0 : 4 << 20;
  spec.cut.hash_seed = random.next();
  ProxyConfig config;
  config.slices = slices;
  auto node = std::make_unique<ProxyNode>(world, judge, spec, loadProxyConfig(judge, config));
  origin.start();
  node->start(kLong_ns);
  uint64_t visits = 0;
  std::vector<std::unique_ptr<FreshClient>> clients;
  const uint64_t pause_ns = random.between(1, 2 * base::kSecond_ns);
  const uint64_t count = random.between(2, 10);
  for (uint64_t i = 0; i < count; i++) {
    clients.push_back(std::make_unique<FreshClient>(world, judge, oracle, visits));
    clients.back()->start(random.between(5, 40), pause_ns);
  }
  const auto idle = [&clients] {
    return std::ranges::all_of(clients, [](const auto& client) { return client->idle(); });
  };
  judge.require(world.run(idle, world.now() + 20 * kLong_ns) == Ran::done,
                "the clients never finish");
  world.calm();
  node->stop(kLong_ns);
  node.reset();
  origin.stop();
  judge.require(world.run([&origin] { return origin.idle(); }, world.now() + kLong_ns) == Ran::done,
                "the origin does not stop");
  uint64_t answered = 0;
  uint64_t cut = 0;
  for (const auto& client : clients) {
    answered += client->answered();
    cut += client->cut();
  }
  judge.say("visits " + std::to_string(visits) + ", answered " + std::to_string(answered) +
            ", cut " + std::to_string(cut) + ", reused " + std::to_string(oracle.reused()) +
            ", stale by permission " + std::to_string(oracle.staleUsed()) + ", for one alone " +
            std::to_string(oracle.alone()));
  return world.traceHash();
}

}  // namespace
}  // namespace sim

int main(int argc, char** argv) {
  return sim::runCampaign(argc, argv, "//test/sim:freshness_sim", sim::run);
}
