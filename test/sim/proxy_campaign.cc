#include "test/sim/proxy_campaign.h"

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "test/sim/origin.h"
#include "test/sim/proxy_config.h"
#include "test/sim/proxy_node.h"
#include "test/sim/visitor.h"

namespace sim {
namespace {

constexpr uint64_t kLong_ns = 600 * base::kSecond_ns;

DiskOptions withoutHang(DiskOptions disk) {
  disk.hang = 0;
  return disk;
}

uint32_t weight(base::Random& random, uint32_t most) {
  return random.chance(1, 2) ? 0 : static_cast<uint32_t>(random.between(1, most));
}

class ProxyCampaign {
 public:
  ProxyCampaign(uint64_t seed, Hostile what, Judge& judge)
      : judge_(judge),
        what_(what),
        world_(seed, optionsOf(seed, what)),
        random_(world_.random().next()),
        ledger_(random_, static_cast<uint32_t>(random_.between(1, 25)), slack()),
        origin_(world_, ledger_, drawFaults()),
        endpoints_(static_cast<uint32_t>(random_.between(1, 3))),
        ends_(seed ^ 0x656e6473ULL) {
    judge.watch(world_);
    for (uint32_t i = 0; i < 2; i++) {
      ProxyConfig config;
      config.number = i;
      config.endpoints = endpoints_;
      config.timeout_s = random_.between(2, 30);
      configs_.push_back(loadProxyConfig(judge, config));
    }
    spec_.shards = static_cast<uint16_t>(random_.between(1, 3));
    spec_.cut.stripes = static_cast<uint32_t>(random_.between(1, 3));
    spec_.cut.segments = static_cast<uint32_t>(random_.between(8, 24));
    spec_.cut.memory_bytes = random_.chance(1, 3) ? 0 : random_.between(1 << 20, 8 << 20);
    spec_.cut.hash_seed = random_.next();
    spec_.cut.sendfile = base::Random(seed ^ 0x73656e6466696c65ULL).chance(1, 3);
    spec_.cut.disks = static_cast<uint16_t>(1 + spec_.cut.hash_seed % 3);
    origin_.start(static_cast<uint16_t>(endpoints_));
    const uint64_t visitors = random_.between(1, 6);
    for (uint64_t i = 0; i < visitors; i++) {
      visitors_.push_back(std::make_unique<Visitor>(world_, judge, ledger_, spec_.port));
      if (what == Hostile::disk) {
        visitors_.back()->mustSucceed(&life_);
      }
    }
  }

  uint64_t run() {
    startNode();
    const uint64_t episodes = random_.between(1, 3);
    for (uint64_t i = 0; i < episodes; i++) {
      runEpisode();
      if (i + 1 < episodes) {
        life_++;
        if (what_ == Hostile::disk) {
          world_.setDisk(withoutHang(world_.options().disk));  // or it could not end
        }
        random_.chance(1, 2) ? crash() : stop();
        node_.reset();
        startNode();
      }
    }
    finish();
    return world_.traceHash();
  }

 private:
  static Options optionsOf(uint64_t seed, Hostile what) {
    if (what == Hostile::everything) {
      return Options::fromSeed(seed);
    }
    Options options = Options::fromSeed(seed, true);
    options.network = NetworkOptions();
    return options;
  }
  uint64_t slack() const {
    const NetworkOptions& network = world_.options().network;
    return 3 * base::kSecond_ns + 20 * network.latency_max_ns +
           (network.spike > 0 ? 4 * network.spike_max_ns : 0);
  }
  OriginFaults drawFaults() {
    OriginFaults faults;
    if (what_ == Hostile::disk) {
      return faults;
    }
    faults.error = weight(random_, 100'000);
    faults.slow = weight(random_, 300'000);
    faults.hang_up = weight(random_, 50'000);
    faults.truncate = weight(random_, 100'000);
    faults.close = weight(random_, 300'000);
    return faults;
  }

  void startNode() {
    ProxyNode::Spec spec = spec_;
    spec.process = next_process_++;
    spec.shards = static_cast<uint16_t>(random_.between(1, 3));  // may change between starts
    node_ = std::make_unique<ProxyNode>(world_, judge_, spec, configs_[0]);
    node_->start(kLong_ns);
    life_++;
    if (what_ == Hostile::disk) {
      DiskOptions disk = world_.options().disk;
      disk.hang = weight(random_, 3'000);
      world_.setDisk(disk);
    }
  }

  bool visitorsIdle() const {
    return std::all_of(visitors_.begin(), visitors_.end(),
                       [](const auto& visitor) { return visitor->idle(); });
  }

  // Requests, with things happening around them.
  void runEpisode() {
    const uint64_t pause_ns = random_.between(1, 3 * base::kSecond_ns);
    for (const auto& visitor : visitors_) {
      if (visitor->idle()) {  // one visit at a time: some are still busy from before a crash
        visitor->start(random_.between(1, 30), pause_ns);
      }
    }
    while (!visitorsIdle()) {
      disturb();
      const base::MonoTime until = world_.now() + random_.below(5 * base::kSecond_ns);
      const Ran ran = world_.run([this] { return visitorsIdle(); }, until);
      judge_.require(ran != Ran::stuck, "nothing can happen any more");
      judge_.require(world_.now().ns < 20 * kLong_ns, "the visitors never finish");
      if (random_.chance(1, 30)) {
        return;  // a crash or a stop finds them busy
      }
    }
  }

  void disturb() {
    const auto id = static_cast<uint32_t>(random_.below(ledger_.size()));
    switch (random_.below(6)) {
      case 0:
        ledger_.bump(id);
        break;
      case 1:
        purge(id);
        break;
      case 2:
        purgeEverything();
        break;
      case 3:
        node_->apply(configs_[random_.below(configs_.size())]);
        break;
      default:
        break;
    }
  }

  void purge(uint32_t id) {
    ledger_.bump(id);
    const uint32_t floor = ledger_.version(id);
    node_->purge("http://a.test" + ledger_.resource(id).path(), [this, id, floor](bool ok) {
      if (ok && !dying_) {
        ledger_.setFloor(id, floor, world_.now().ns, true);
      }
    });
  }

  void purgeEverything() {
    if (!random_.chance(1, 3)) {
      return;
    }
    std::vector<uint32_t> floors;
    for (uint32_t id = 0; id < ledger_.size(); id++) {
      ledger_.bump(id);
      floors.push_back(ledger_.version(id));
    }
    node_->purgeAll([this, floors](bool ok) {
      for (uint32_t id = 0; ok && !dying_ && id < floors.size(); id++) {
        ledger_.setFloor(id, floors[id], world_.now().ns, true);
      }
    });
  }

  void crash() {
    dying_ = true;
    if (random_.chance(1, 2)) {
      world_.crashDisk();  // the power fails, not only the process
    }
    node_->kill(kLong_ns);
    dying_ = false;
    ledger_.forget();
  }

  // What unsafe requests ended stays so, unless the process said that it could not see to it. The
  // disk may be very sick in these moments.
  void stop() {
    if (what_ == Hostile::disk && ends_.chance(1, 3)) {
      DiskOptions disk = withoutHang(world_.options().disk);
      disk.read_error = weight(ends_, kAlways);
      disk.write_error = weight(ends_, kAlways);
      disk.sync_error = weight(ends_, kAlways / 2);
      disk.hang = weight(ends_, 100'000);
      world_.setDisk(disk);
    }
    node_->stop(kLong_ns);
    if (node_->invalidationsLost() > 0) {
      ledger_.forget();
      losses_++;
    }
    hung_ += node_->stripesHung() > 0 ? 1 : 0;
    world_.setDisk(withoutHang(world_.options().disk));
  }

  void finish() {
    const Ran idle = world_.run([this] { return visitorsIdle(); }, world_.now() + 20 * kLong_ns);
    judge_.require(idle == Ran::done, "the visitors never finish");
    world_.calm();
    origin_.setFaults(OriginFaults());
    // What the faults left is over soon: after that requests must succeed.
    world_.runFor(180 * base::kSecond_ns);
    checkCollapse();
    checkCounters();
    node_->stop(60 * base::kSecond_ns);
    node_.reset();
    origin_.stop();
    const Ran ran = world_.run([this] { return origin_.idle(); }, world_.now() + kLong_ns);
    judge_.require(ran == Ran::done, "the origin does not stop");
    for (const auto& visitor : visitors_) {
      judge_.require(world_.openDescriptors(visitor->host()) == 0, "a visitor left a descriptor");
    }
    report();
  }

  // Everybody wants the same thing that is not there.
  void checkCollapse() {
    uint32_t chosen = 0;
    while (chosen < ledger_.size() &&
           (!ledger_.resource(chosen).store || ledger_.resource(chosen).max_age_s < 20 ||
            ledger_.resource(chosen).varies)) {
      chosen++;
    }
    if (chosen == ledger_.size()) {
      return;
    }
    // A disk that is still out of use for one shard sends its requests to the origin.
    for (const shard::ShardStats& stats : node_->collect(kLong_ns)) {
      if (stats.caches[0].shards_not_reading > 0 || stats.caches[0].stripes_not_written > 0) {
        return;
      }
    }
    purge(chosen);
    Ran ran = world_.run([this] { return !node_->busy(); }, world_.now() + kLong_ns);
    judge_.require(ran == Ran::done, "a purge never ended");
    const uint64_t before = origin_.requestsFor(chosen);
    for (const auto& visitor : visitors_) {
      visitor->demand(chosen);
    }
    ran = world_.run([this] { return visitorsIdle(); }, world_.now() + 60 * base::kSecond_ns);
    judge_.require(ran == Ran::done, "requests on a healthy network never ended");
    judge_.require(origin_.requestsFor(chosen) == before + 1,
                   "resource " + std::to_string(chosen) + " was fetched " +
                       std::to_string(origin_.requestsFor(chosen) - before) + " times");
  }

  void checkCounters() {
    // Connections end in their own time.
    world_.runFor(120 * base::kSecond_ns);
    for (const shard::ShardStats& stats : node_->collect(kLong_ns)) {
      const proxy::ProxyStats& p = stats.proxy;
      judge_.require(p.downstream_rq_active == 0, "requests are counted as active");
      judge_.require(p.downstream_cx_active == 0, "connections are counted as open");
      judge_.require(stats.connections_open == 0, "connections hold their slots");
      judge_.require(stats.receive_buffers_in_use == 0, "receive buffers are lent");
      const uint64_t answered =
          p.downstream_rq_2xx + p.downstream_rq_3xx + p.downstream_rq_4xx + p.downstream_rq_5xx;
      judge_.require(answered <= p.downstream_rq_total, "more answers than requests");
      const uint64_t kinds = p.cache_hit + p.cache_hit_stale + p.cache_miss + p.cache_collapsed +
                             p.cache_revalidated + p.cache_hit_for_miss + p.cache_bypass +
                             p.cache_gateway_timeout + p.cache_stale_if_error;
      judge_.require(kinds <= p.downstream_rq_total, "more dispositions than requests");
    }
  }

  void report() const {
    VisitorCounts sum;
    for (const auto& visitor : visitors_) {
      const VisitorCounts& c = visitor->counts();
      sum.asked += c.asked;
      sum.answered += c.answered;
      sum.hits += c.hits;
      sum.errors += c.errors;
      sum.cut += c.cut;
    }
    judge_.say("asked " + std::to_string(sum.asked) + ", answered " + std::to_string(sum.answered) +
               ", hits " + std::to_string(sum.hits) + ", errors " + std::to_string(sum.errors) +
               ", cut " + std::to_string(sum.cut) + ", losses " + std::to_string(losses_) +
               ", hung " + std::to_string(hung_) + ", lives " +
               std::to_string(next_process_ - kFirstProcess) + ", virtual seconds " +
               std::to_string(const_cast<SimWorld&>(world_).now().ns / base::kSecond_ns));
  }

  static constexpr uint32_t kFirstProcess = 10;

  Judge& judge_;
  Hostile what_;
  SimWorld world_;
  base::Random random_;
  Ledger ledger_;
  Origin origin_;
  uint32_t endpoints_;
  base::Random ends_;  // of lives
  uint64_t losses_ = 0;
  uint64_t hung_ = 0;  // stops that left a disk behind
  std::vector<std::shared_ptr<const config::Snapshot>> configs_;
  ProxyNode::Spec spec_;
  uint32_t next_process_ = kFirstProcess;
  std::vector<std::unique_ptr<Visitor>> visitors_;
  std::unique_ptr<ProxyNode> node_;
  bool dying_ = false;
  uint64_t life_ = 0;
};

}  // namespace

uint64_t runProxyCampaign(uint64_t seed, Hostile what, Judge& judge) {
  return ProxyCampaign(seed, what, judge).run();
}

}  // namespace sim
