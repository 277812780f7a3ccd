// Goal: prove the simulator's machinery, and the runtime, before anything larger stands on them.
// Method: shards share a port and answer each block of a connection with its bytes, passed through
// another shard; clients check every byte. Networks are hostile by seed. Oracles: what comes back
// is what was sent, as far as the connection lived; no shard loses a doorbell; once the faults stop
// everything ends; nothing is left open, lent or counted; the same seed gives the same trace.
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "source/rt/receive_pool.h"
#include "source/rt/wait.h"
#include "test/sim/campaign.h"
#include "test/sim/script.h"

namespace sim {
namespace {

constexpr uint16_t kPort = 80;
constexpr rt::Verb kTransform = 1;
constexpr uint64_t kCallMax_ns = 500 * base::kMillisecond_ns;

struct Transform : rt::CallHeader {
  std::span<std::byte> bytes;
};

class Shard {
 public:
  Shard(SimWorld& world, SimHost& host, rt::Mesh& mesh, Judge& judge)
      : host_(host),
        judge_(judge),
        reactor_(host.engine()),
        peers_(reactor_, mesh, host.spec().shard),
        buffers_(host.engine(), 8),
        listener_(world.listen(host, kPort)),
        random_(world.random().next()) {
    host.attach(reactor_, &peers_);
    peers_.serve(kTransform, transform, this);
  }
  ~Shard() { host_.detach(); }

  void start() { CHECK(group_.spawn(acceptAll())); }
  void stop() { group_.cancelAll(); }
  bool idle() const { return group_.size() == 0; }
  uint32_t buffersInUse() const { return buffers_.inUse(); }
  uint64_t echoed() const { return echoed_; }

 private:
  static void transform(void* self, rt::CallHeader& header) {
    auto& call = static_cast<Transform&>(header);
    for (std::byte& byte : call.bytes) {
      byte ^= std::byte{0x55};
    }
    static_cast<Shard*>(self)->peers_.reply(call);
  }

  rt::Task<void> acceptAll() {
    while (!group_.scope().requested()) {
      const rt::IoResult accepted = co_await rt::Accept(listener_, group_.scope());
      if (accepted.ok() && !group_.spawn(echo(accepted.result))) {
        co_await rt::Close(accepted.result);
      }
    }
    co_await rt::Close(listener_);
  }

  rt::Task<void> echo(int fd) {
    while (true) {
      const base::MonoTime deadline = reactor_.now() + 20 * base::kSecond_ns;
      base::Result<rt::ReceiveBuffer> got =
          co_await buffers_.receive(fd, base::Blame::downstream, group_.scope(), deadline);
      if (!got.ok() || !got.value()) {
        break;
      }
      Transform call;
      call.verb = kTransform;
      call.bytes = got.value().bytes();
      const base::ShardId to{static_cast<uint16_t>(random_.below(peers_.size()))};
      const uint64_t took_ns = co_await peers_.call(to, call);
      // A lost doorbell would be made good by the next timer, but not so soon.
      judge_.require(took_ns < kCallMax_ns, "a call waited for somebody who slept");
      const rt::IoResult sent = co_await rt::Send(fd, call.bytes, group_.scope(), deadline);
      if (!sent.ok()) {
        break;
      }
      echoed_ += call.bytes.size();
    }
    co_await rt::Close(fd);
  }

  SimHost& host_;
  Judge& judge_;
  rt::Reactor reactor_;
  rt::Peers peers_;
  rt::ReceivePool buffers_;
  int listener_;
  base::Random random_;
  rt::TaskGroup group_{reactor_, 10};
  uint64_t echoed_ = 0;
};

// Talks to the shards over one connection after another.
class Client {
 public:
  Client(SimWorld& world, Judge& judge)
      : world_(world), judge_(judge), host_(world.addHost({1})), random_(world.random().next()) {}

  void start(uint32_t connections) { host_.spawn(talk(connections)); }
  SimHost& host() { return host_; }
  uint64_t checked() const { return checked_; }

 private:
  rt::Task<void> talk(uint32_t connections) {
    for (uint32_t i = 0; i < connections; i++) {
      const int fd = world_.socket(host_);
      const base::MonoTime deadline = host_.reactor().now() + 5 * base::kSecond_ns;
      const int result = co_await connectTo(fd, kPort, host_.scope(), deadline);
      if (result == 0) {
        co_await converse(fd);
      }
      co_await rt::Close(fd);
      co_await rt::Sleep(host_.reactor().now() + random_.below(base::kSecond_ns), host_.scope());
    }
  }

  rt::Task<void> converse(int fd) {
    const uint64_t rounds = random_.between(1, 10);
    for (uint64_t round = 0; round < rounds; round++) {
      const base::MonoTime deadline = host_.reactor().now() + 10 * base::kSecond_ns;
      std::string text(random_.between(1, 20'000), '\0');
      std::generate(text.begin(), text.end(), [this] { return static_cast<char>(random_.next()); });
      rt::TaskGroup sending(host_.reactor(), 1, host_.scope());
      CHECK(sending.spawn(sendText(fd, text, deadline, sending.scope())));
      std::string got;
      int result = 1;
      while (got.size() < text.size() && result > 0) {
        result = co_await receiveSome(fd, got, text.size() - got.size(), host_.scope(), deadline);
      }
      sending.cancelAll();
      co_await sending.join();
      checkEcho(text, got);
      if (got.size() < text.size() || random_.chance(1, 20)) {
        co_return;
      }
    }
  }

  static rt::Task<void> sendText(int fd, std::string_view text, base::MonoTime deadline,
                                 rt::CancelScope& scope) {
    co_await sendAll(fd, text, scope, deadline);
  }

  void checkEcho(std::string_view sent, std::string_view got) {
    judge_.require(got.size() <= sent.size(), "more came back than was sent");
    for (size_t i = 0; i < got.size(); i++) {
      judge_.require(static_cast<uint8_t>(got[i]) == (static_cast<uint8_t>(sent[i]) ^ 0x55),
                     "a byte came back changed");
    }
    checked_ += got.size();
  }

  SimWorld& world_;
  Judge& judge_;
  SimHost& host_;
  base::Random random_;
  uint64_t checked_ = 0;
};

uint64_t runEcho(uint64_t seed, Judge& judge) {
  SimWorld world(seed, Options::fromSeed(seed));
  judge.watch(world);
  const auto shards = static_cast<uint16_t>(world.random().between(1, 4));
  rt::Mesh mesh(shards);
  std::vector<std::unique_ptr<Shard>> servers;
  for (uint16_t i = 0; i < shards; i++) {
    SimHost& host = world.addHost({0, base::ShardId{i}});
    servers.push_back(std::make_unique<Shard>(world, host, mesh, judge));
    servers.back()->start();
  }
  std::vector<std::unique_ptr<Client>> clients;
  const uint64_t count = world.random().between(1, 5);
  for (uint64_t i = 0; i < count; i++) {
    clients.push_back(std::make_unique<Client>(world, judge));
    clients.back()->start(static_cast<uint32_t>(world.random().between(1, 4)));
  }
  const auto clients_done = [&] {
    return std::all_of(clients.begin(), clients.end(),
                       [](const auto& client) { return client->host().group().size() == 0; });
  };
  const auto all_done = [&] {
    return clients_done() && std::all_of(servers.begin(), servers.end(),
                                         [](const auto& server) { return server->idle(); });
  };
  Ran ran = world.run(clients_done, world.now() + 600 * base::kSecond_ns);
  judge.require(ran == Ran::done, "the clients never finished");
  world.calm();
  for (const auto& server : servers) {
    server->stop();
  }
  ran = world.run(all_done, world.now() + 10 * base::kSecond_ns);
  judge.require(ran == Ran::done, "the shards did not stop");
  uint64_t checked = 0;
  uint64_t echoed = 0;
  for (const auto& client : clients) {
    judge.require(world.openDescriptors(client->host()) == 0, "a client left a descriptor open");
    checked += client->checked();
  }
  for (const auto& server : servers) {
    judge.require(server->buffersInUse() == 0, "a receive buffer is still lent");
    echoed += server->echoed();
  }
  for (uint16_t i = 0; i < shards; i++) {
    judge.require(world.openDescriptors(world.host(i)) == 0, "a shard left a descriptor open");
    judge.require(world.host(i).engine().inFlight() == 0, "an operation is still in flight");
  }
  judge.require(echoed == 0 || checked > 0, "shards answered, and nobody heard");
  judge.say("shards " + std::to_string(shards) + ", bytes checked " + std::to_string(checked) +
            ", steps " + std::to_string(world.core().steps()));
  return world.traceHash();
}

}  // namespace
}  // namespace sim

int main(int argc, char** argv) {
  return sim::runCampaign(argc, argv, "//test/sim:echo_sim", sim::runEcho);
}
