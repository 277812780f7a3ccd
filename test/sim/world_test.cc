// Goal: the simulated world keeps its promises: same seed, same trace; time moves by itself; lost
// doorbells are noticed; sockets and files behave as the fault models say. Method: small programs
// of coroutines on calm and on hostile worlds, checked against what TCP and a disk do.
#include "test/sim/world.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <vector>

#include "source/rt/io.h"
#include "source/rt/wait.h"
#include "test/sim/script.h"

namespace sim {
namespace {

constexpr base::MonoTime kLong{1000 * base::kSecond_ns};

rt::Task<void> serveOne(int listener, rt::CancelScope& scope, std::string& heard) {
  const rt::IoResult accepted = co_await rt::Accept(listener, scope);
  CHECK(accepted.ok());
  heard = co_await receiveAll(accepted.result, scope);
  co_await rt::Close(accepted.result);
  co_await rt::Close(listener);
}

rt::Task<void> sayOnce(SimWorld& world, SimHost& host, uint16_t port, std::string text,
                       int& result) {
  const int fd = world.socket(host);
  result = co_await connectTo(fd, port, host.scope());
  if (result == 0) {
    result = co_await sendAll(fd, text, host.scope());
  }
  co_await rt::Close(fd);
}

TEST(World, CarriesBytesFromOneHostToAnother) {
  SimWorld world(1);
  SimHost& server = world.addHost();
  SimHost& client = world.addHost();
  std::string heard;
  int result = -1;
  const std::string text(1'000'000, 'x');
  server.spawn(serveOne(world.listen(server, 80), server.scope(), heard));
  client.spawn(sayOnce(world, client, 80, text, result));
  EXPECT_EQ(world.runToEnd(server, kLong), Ran::done);
  EXPECT_EQ(world.runToEnd(client, kLong), Ran::done);
  EXPECT_EQ(result, 1'000'000);
  EXPECT_EQ(heard, text);
  EXPECT_EQ(world.openDescriptors(server), 0U);
  EXPECT_EQ(world.openDescriptors(client), 0U);
}

uint64_t traceOf(uint64_t seed) {
  SimWorld world(seed, Options::fromSeed(seed));
  SimHost& server = world.addHost();
  SimHost& client = world.addHost();
  std::string heard;
  int result = -1;
  server.spawn(serveOne(world.listen(server, 80), server.scope(), heard));
  client.spawn(sayOnce(world, client, 80, std::string(100'000, 'y'), result));
  world.run([&] { return client.group().size() + server.group().size() == 0; }, kLong);
  server.group().cancelAll();
  client.group().cancelAll();
  world.calm();
  EXPECT_EQ(world.runToEnd(server, kLong + kLong.ns), Ran::done);
  EXPECT_EQ(world.runToEnd(client, kLong + kLong.ns), Ran::done);
  return world.traceHash();
}

TEST(World, SameSeedSameTrace) {
  uint64_t before = 0;
  for (uint64_t seed = 1; seed <= 50; seed++) {
    const uint64_t hash = traceOf(seed);
    EXPECT_EQ(hash, traceOf(seed)) << "seed " << seed;
    EXPECT_NE(hash, before);
    before = hash;
  }
}

TEST(World, ConnectingToNobodyIsRefused) {
  SimWorld world(1);
  SimHost& client = world.addHost();
  int result = 0;
  client.spawn(sayOnce(world, client, 81, "x", result));
  EXPECT_EQ(world.runToEnd(client, kLong), Ran::done);
  EXPECT_EQ(result, -ECONNREFUSED);
}

rt::Task<void> waitForEver(int listener, rt::CancelScope& scope) {
  const rt::IoResult accepted = co_await rt::Accept(listener, scope);
  EXPECT_EQ(accepted.result, -ECANCELED);
  co_await rt::Close(listener);
}

TEST(World, ReportsThatNothingCanHappenAnyMore) {
  SimWorld world(1);
  SimHost& server = world.addHost();
  server.spawn(waitForEver(world.listen(server, 80), server.scope()));
  EXPECT_EQ(world.runToEnd(server, kLong), Ran::stuck);
  server.group().cancelAll();
  EXPECT_EQ(world.runToEnd(server, kLong), Ran::done);
}

rt::Task<void> sleepOnce(uint64_t ns, rt::CancelScope& scope, uint64_t& woke_ns) {
  rt::Reactor& reactor = co_await rt::currentReactor();
  co_await rt::Sleep(reactor.now() + ns, scope);
  woke_ns = reactor.now().ns;
}

TEST(World, TimeMovesToTheNextTimer) {
  SimWorld world(1);
  SimHost& host = world.addHost();
  uint64_t woke_ns = 0;
  const uint64_t begun_ns = world.now().ns;
  host.spawn(sleepOnce(100 * base::kSecond_ns, host.scope(), woke_ns));
  EXPECT_EQ(world.runToEnd(host, kLong), Ran::done);
  EXPECT_GE(woke_ns, begun_ns + 100 * base::kSecond_ns);
  EXPECT_LE(woke_ns, begun_ns + 100 * base::kSecond_ns + 10 * base::kMillisecond_ns);
}

// --- Doorbells ---

struct Ping : rt::CallHeader {
  uint64_t question = 0;
  uint64_t answer = 0;
};

struct Pinger {
  rt::Peers* peers;
  static void serve(void* self, rt::CallHeader& header) {
    auto& ping = static_cast<Ping&>(header);
    ping.answer = ping.question + 1;
    static_cast<Pinger*>(self)->peers->reply(ping);
  }
};

rt::Task<void> ask(rt::Peers& peers, base::ShardId to, uint64_t rounds, uint64_t& sum) {
  for (uint64_t i = 0; i < rounds; i++) {
    Ping ping;
    ping.verb = 1;
    ping.question = i;
    co_await peers.call(to, ping);
    sum += ping.answer;
  }
}

TEST(World, ParkedHostsWakeByTheirDoorbell) {
  for (uint64_t seed = 1; seed <= 20; seed++) {
    SimWorld world(seed);
    SimHost& a = world.addHost({0, base::ShardId{0}});
    SimHost& b = world.addHost({0, base::ShardId{1}});
    rt::Mesh mesh(2);
    rt::Reactor reactor_a(a.engine());
    rt::Reactor reactor_b(b.engine());
    rt::Peers peers_a(reactor_a, mesh, base::ShardId{0});
    rt::Peers peers_b(reactor_b, mesh, base::ShardId{1});
    Pinger pinger{&peers_b};
    peers_b.serve(1, Pinger::serve, &pinger);
    a.attach(reactor_a, &peers_a);
    b.attach(reactor_b, &peers_b);
    uint64_t sum = 0;
    rt::TaskGroup group(reactor_a, 10);
    ASSERT_TRUE(group.spawn(ask(peers_a, base::ShardId{1}, 100, sum)));
    EXPECT_EQ(world.run([&] { return group.size() == 0; }, kLong), Ran::done);
    EXPECT_EQ(sum, 5050U);
    a.detach();
    b.detach();
  }
}

// A host that waits for a peer that was never rung: the world says so instead of waking it by
// accident.
TEST(World, ALostDoorbellIsAHang) {
  SimWorld world(1);
  SimHost& a = world.addHost({0, base::ShardId{0}});
  SimHost& b = world.addHost({0, base::ShardId{1}});
  rt::Mesh mesh(2);
  rt::Reactor reactor_a(a.engine());
  rt::Reactor reactor_b(b.engine());
  rt::Peers peers_a(reactor_a, mesh, base::ShardId{0});
  rt::Peers peers_b(reactor_b, mesh, base::ShardId{1});
  Pinger pinger{&peers_b};
  peers_b.serve(1, Pinger::serve, &pinger);
  a.attach(reactor_a, &peers_a);
  b.attach(reactor_b, &peers_b);
  EXPECT_EQ(world.runFor(base::kSecond_ns), Ran::stuck);  // both asleep
  mesh.parked(base::ShardId{1}).parked.store(false);      // the flag lies: nobody rings
  uint64_t sum = 0;
  rt::TaskGroup group(reactor_a, 10);
  ASSERT_TRUE(group.spawn(ask(peers_a, base::ShardId{1}, 1, sum)));
  EXPECT_EQ(world.run([&] { return group.size() == 0; }, kLong), Ran::stuck);
  b.engine().hearDoorbell();
  EXPECT_EQ(world.run([&] { return group.size() == 0; }, kLong), Ran::done);
  a.detach();
  b.detach();
}

}  // namespace
}  // namespace sim
