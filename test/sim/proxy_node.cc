#include "test/sim/proxy_node.h"

#include <algorithm>
#include <array>
#include <utility>

namespace sim {
namespace {

constexpr uint64_t kIndexObjects = 4096;
constexpr uint64_t kBufferPool_bytes = 16 << 20;
constexpr uint32_t kReceiveBuffers = 64;

}  // namespace

base::Result<int> SimSockets::stream(const net::Address& to) {
  static_cast<void>(to);
  return world_.socket(host_);
}
void SimSockets::noDelay(int fd) {
  static_cast<void>(fd);
}
net::Address SimSockets::local(int fd) {
  static_cast<void>(fd);
  return net::Address::parse("10.0.0.1", 80).value_or(net::Address());
}
net::Address SimSockets::peer(int fd) {
  static_cast<void>(fd);
  return net::Address::parse("10.0.0.2", 4711).value_or(net::Address());
}

ProxyNode::ProxyNode(SimWorld& world, Judge& judge, const Spec& spec,
                     std::shared_ptr<const config::Snapshot> snapshot)
    : world_(world),
      judge_(judge),
      spec_(spec),
      snapshot_(std::move(snapshot)),
      mesh_(static_cast<uint16_t>(spec.shards + 1)) {
  for (uint16_t i = 0; i <= spec.shards; i++) {
    SimHost& host = world.addHost({spec.process, base::ShardId{i}});
    if (i < spec.shards) {
      members_.push_back(std::make_unique<Member>(world, host));
    } else {
      control_ = std::make_unique<Control>(host, mesh_);
    }
  }
}

ProxyNode::~ProxyNode() {
  CHECK(members_.empty() || members_[0]->shard == nullptr);
}

store::StripeFiles ProxyNode::openStripe(uint16_t disk, uint32_t stripe) {
  const CacheCut& cut = spec_.cut;
  const std::string base = "cache-" + std::to_string(disk) + "/stripe-" + std::to_string(stripe);
  SimHost& owner = control_->host;
  store::StripeFiles files;
  files.superblock.stripe = stripe;
  files.superblock.stripe_count = cut.stripes;
  files.superblock.segment_bytes = cut.segment_bytes;
  files.superblock.segment_count = cut.segments;
  files.superblock.cache_uuid.fill(static_cast<uint8_t>(0x5a + disk));
  files.disk = disk;
  files.superblock.hash_seed = cut.hash_seed;
  files.superblock.formatted_s = 1;
  FileSpec data;
  data.length = store::kDataOffset + uint64_t{cut.segments} * cut.segment_bytes;
  data.limit = data.length;
  data.direct = cut.direct;
  files.data_fd = world_.openFile(owner, base + ".data", data);
  if (cut.sendfile) {
    files.cached_fd = files.data_fd;
    files.mapped = world_.disk().contents(base + ".data").data();
  }
  FileSpec small;
  small.limit = 16 << 20;
  for (size_t i = 0; i < 2; i++) {
    files.snapshot_fds[i] = world_.openFile(owner, base + ".index-" + std::to_string(i), small);
    files.journal_fds[i] = world_.openFile(owner, base + ".purge-" + std::to_string(i), small);
  }
  for (const int fd : {files.data_fd, files.snapshot_fds[0], files.snapshot_fds[1],
                       files.journal_fds[0], files.journal_fds[1]}) {
    files_.push_back(fd);
  }
  return files;
}

void ProxyNode::openCache() {
  auto shared = std::make_unique<cache::CacheShared>();
  shared->name = "main";
  shared->hash_seed = spec_.cut.hash_seed;
  shared->limits.memory_bytes = spec_.cut.memory_bytes;
  shared->limits.max_object_bytes = uint64_t{spec_.cut.segments} * spec_.cut.segment_bytes / 4;
  shared->shard_count = spec_.shards;
  shared->sendfile = spec_.cut.sendfile;
  std::vector<cache::CacheDisk> disks;
  for (uint16_t disk = 0; disk < spec_.cut.disks; disk++) {
    std::vector<std::unique_ptr<store::StripeShared>> stripes;
    for (uint32_t i = 0; i < spec_.cut.stripes; i++) {
      const auto now_s =
          static_cast<uint32_t>(world_.options().wall_start_s + world_.now().ns / base::kSecond_ns);
      base::Result<std::unique_ptr<store::StripeShared>> stripe =
          store::makeStripeShared(openStripe(disk, i), kIndexObjects, now_s);
      judge_.require(stripe.ok(), "the index cannot be made");
      stripes.push_back(std::move(stripe.value()));
    }
    cache::CacheDisk& added = disks.emplace_back();
    added.path = "disk-" + std::to_string(disk);
    added.number = disk;
    added.share = store::DiskShare{uint64_t{disk} + 1, spec_.cut.segments};
    CHECK(shared->add(std::move(stripes), added));
  }
  shared->disks = std::make_unique<cache::DiskTable>(std::move(disks));
  caches_.push_back(std::move(shared));
}

rt::Task<void> ProxyNode::startShard(Member* member) {
  co_await member->shard->start();
}

void ProxyNode::start(uint64_t limit_ns) {
  openCache();
  for (uint16_t i = 0; i < spec_.shards; i++) {
    Member& member = *members_[i];
    member.listener = world_.listen(member.host, spec_.port);
    shard::ShardOptions options;
    options.id = base::ShardId{i};
    options.shards = spec_.shards;
    options.buffer_pool_bytes = kBufferPool_bytes;
    options.receive_buffers = kReceiveBuffers;
    options.max_connections = 200;
    options.seed = world_.random().next();
    member.shard = std::make_unique<shard::Shard>(options, member.host.engine(), mesh_,
                                                  member.sockets, caches_);
    member.host.attach(member.shard->reactor(), &member.shard->peers());
    member.starting = std::make_unique<rt::TaskGroup>(member.shard->reactor(), 1);
    CHECK(member.starting->spawn(startShard(&member)));
  }
  apply(snapshot_);
  waitForControl(limit_ns, "the first configuration was not applied");
}

void ProxyNode::waitForControl(uint64_t limit_ns, std::string_view what) {
  const Ran ran = world_.run([this] { return !busy(); }, world_.now() + limit_ns);
  judge_.require(ran == Ran::done, what);
}

template <class Call, class Prepare>
rt::Task<void> ProxyNode::callAll(std::vector<Call>& calls, Prepare prepare) {
  rt::TaskGroup group(control_->reactor, static_cast<uint32_t>(calls.size()));
  for (uint16_t i = 0; i < calls.size(); i++) {
    prepare(calls[i]);
    CHECK(group.spawn(callOne(i, &calls[i])));
  }
  co_await group.join();
}

rt::Task<void> ProxyNode::callOne(uint16_t shard, rt::CallHeader* call) {
  static_cast<void>(co_await control_->peers.call(base::ShardId{shard}, *call));
}

void ProxyNode::apply(std::shared_ptr<const config::Snapshot> snapshot) {
  snapshot_ = snapshot;
  CHECK(control_->tasks.spawn(applyAll(std::move(snapshot))));
}

rt::Task<void> ProxyNode::applyAll(std::shared_ptr<const config::Snapshot> snapshot) {
  std::vector<shard::ApplyConfig> calls(spec_.shards);
  size_t next = 0;
  const auto prepare = [&](shard::ApplyConfig& call) {
    call.snapshot = snapshot;
    call.caches = {shard::CacheUse{0, cache().disks.get(), cache().limits}};
    call.sockets.push_back(shard::ListenerSocket{"http", members_[next]->listener});
    next++;
  };
  co_await callAll(calls, prepare);
}

void ProxyNode::purge(std::string key, std::function<void(bool)> done) {
  std::vector<cache::PurgeCall> calls(cache().disks->disks().size());
  for (size_t i = 0; i < calls.size(); i++) {
    calls[i].hash = cache().hash(key);
    calls[i].stripe = base::index(cache().disks->stripeOn(i, calls[i].hash));
  }
  CHECK(control_->tasks.spawn(purgeAt(std::move(calls), std::move(key), std::move(done))));
}

void ProxyNode::purgeAll(std::function<void(bool)> done) {
  const std::vector<base::StripeId> stripes = cache().disks->stripeIds();
  std::vector<cache::PurgeCall> calls(stripes.size());
  for (size_t i = 0; i < calls.size(); i++) {
    calls[i].everything = true;
    calls[i].stripe = base::index(stripes[i]);
  }
  CHECK(control_->tasks.spawn(purgeAt(std::move(calls), {}, std::move(done))));
}

rt::Task<void> ProxyNode::purgeAt(std::vector<cache::PurgeCall> calls, std::string key,
                                  std::function<void(bool)> done) {
  rt::TaskGroup group(control_->reactor, static_cast<uint32_t>(calls.size()));
  for (cache::PurgeCall& call : calls) {
    call.key = key;
    const base::ShardId owner = cache().ownerOf(base::StripeId{call.stripe});
    CHECK(group.spawn(callOne(base::index(owner), &call)));
  }
  co_await group.join();
  done(std::all_of(calls.begin(), calls.end(),
                   [](const cache::PurgeCall& call) { return call.error.code == base::Code::ok; }));
}

rt::Task<void> ProxyNode::collectAll(std::vector<shard::ShardStats>* stats) {
  std::vector<shard::CollectStats> calls(spec_.shards);
  size_t next = 0;
  const auto prepare = [&](shard::CollectStats& call) { call.stats = &(*stats)[next++]; };
  co_await callAll(calls, prepare);
}

std::vector<shard::ShardStats> ProxyNode::collect(uint64_t limit_ns) {
  std::vector<shard::ShardStats> stats(spec_.shards);
  CHECK(control_->tasks.spawn(collectAll(&stats)));
  waitForControl(limit_ns, "the statistics were not collected");
  return stats;
}

// Those that have not stopped yet.
rt::Task<void> ProxyNode::stopAll() {
  for (const uint8_t phase : {uint8_t{1}, uint8_t{2}}) {
    std::vector<shard::Stop> calls(spec_.shards);
    rt::TaskGroup group(control_->reactor, spec_.shards);
    for (uint16_t i = 0; i < spec_.shards; i++) {
      calls[i].phase = phase;
      if (!members_[i]->shard->stopped()) {
        CHECK(group.spawn(callOne(i, &calls[i])));
      }
    }
    co_await group.join();
    for (const shard::Stop& call : calls) {
      invalidations_lost_ += control_->host.killed() ? 0 : call.invalidations_lost;
      stripes_hung_ += call.stripes_hung;
    }
  }
}

void ProxyNode::stop(uint64_t limit_ns) {
  waitForControl(limit_ns, "a call of the control thread was never answered");
  CHECK(control_->tasks.spawn(stopAll()));
  waitForControl(limit_ns, "the shards did not stop");
  if (stripes_hung_ > 0) {
    kill(limit_ns);
    return;
  }
  teardown(limit_ns);
}

void ProxyNode::kill(uint64_t limit_ns) {
  world_.kill(spec_.process);
  CHECK(control_->tasks.spawn(stopAll()));
  waitForControl(limit_ns, "a killed process did not unwind");
  teardown(limit_ns);
}

// Every group is empty and every budget full, or the destructors stop the program.
void ProxyNode::teardown(uint64_t limit_ns) {
  const Ran ran = world_.run(
      [this] {
        return std::all_of(members_.begin(), members_.end(), [](const auto& member) {
          return member->shard->stopped() && member->shard->tasks().size() == 0 &&
                 member->starting->size() == 0 && member->host.engine().inFlight() == 0;
        });
      },
      world_.now() + limit_ns);
  judge_.require(ran == Ran::done, "a shard did not end");
  for (const std::unique_ptr<Member>& member : members_) {
    member->host.detach();
    member->starting.reset();
    member->shard.reset();
    world_.closeNow(member->listener);
    judge_.require(world_.openDescriptors(member->host) == 0, "a shard left a descriptor open");
  }
  for (const int fd : std::exchange(files_, {})) {
    world_.closeNow(fd);
  }
  caches_.clear();
}

}  // namespace sim
