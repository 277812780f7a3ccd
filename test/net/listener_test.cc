// Goal: a group of listening sockets opens in shard order, is steered as asked, refuses what it
// must with one clear line, and leaves nothing behind. Method: real sockets on loopback with port
// 0; where a connection arrived is seen by accepting on every socket of the group.

#include "source/net/listener.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>

#include <fstream>

namespace net {
namespace {

using testing::HasSubstr;

struct Opened {
  std::optional<ListenerGroup> group;
  std::string why_not;
};

Opened open(ListenerSpec spec, uint16_t shards, const std::vector<int32_t>& shard_of_cpu = {}) {
  Opened opened;
  base::Result<ListenerGroup> result = openListeners(spec, shards, shard_of_cpu, opened.why_not);
  if (result.ok()) {
    opened.group.emplace(std::move(result.value()));
  }
  return opened;
}

ListenerSpec on(const char* ip, uint16_t port = 0, Steering steering = Steering::automatic) {
  return ListenerSpec{*Address::parse(ip, port), 64, steering};
}

int optionOf(int fd, int level, int option) {
  int value = 0;
  socklen_t length = sizeof(value);
  EXPECT_EQ(getsockopt(fd, level, option, &value, &length), 0);
  return value;
}

// Connects once; returns the shard whose socket got the connection.
size_t arrivalOf(const ListenerGroup& group) {
  const Address& to = group.address();
  const int client = socket(to.family(), SOCK_STREAM | SOCK_CLOEXEC, 0);
  EXPECT_EQ(connect(client, to.data(), to.length()), 0);
  std::vector<pollfd> waits;
  for (const int fd : group.fds()) {
    waits.push_back(pollfd{fd, POLLIN, 0});
  }
  EXPECT_EQ(poll(waits.data(), waits.size(), 10000), 1);
  size_t shard = 0;
  while (shard < waits.size() && waits[shard].revents == 0) {
    shard++;
  }
  if (shard < waits.size()) {
    close(accept(waits[shard].fd, nullptr, nullptr));
  }
  close(client);
  return shard;
}

TEST(Listener, OpensOneSocketAShardOnThePortThatTheKernelChose) {
  for (const char* ip : {"127.0.0.1", "::1"}) {
    Opened opened = open(on(ip), 3);
    ASSERT_TRUE(opened.group) << opened.why_not;
    ASSERT_EQ(opened.group->fds().size(), 3u);
    EXPECT_NE(opened.group->address().port(), 0);
    for (const int fd : opened.group->fds()) {
      EXPECT_EQ(Address::localOf(fd), opened.group->address());
      EXPECT_EQ(optionOf(fd, SOL_SOCKET, SO_ACCEPTCONN), 1);
      EXPECT_EQ(optionOf(fd, SOL_SOCKET, SO_REUSEPORT), 1);
      EXPECT_NE(fcntl(fd, F_GETFD) & FD_CLOEXEC, 0);
      EXPECT_EQ(fcntl(fd, F_GETFL) & O_NONBLOCK, 0);  // the engine does the waiting
    }
  }
}

TEST(Listener, AWildcardOfIpv6LeavesIpv4ToItsOwnGroup) {
  Opened v6 = open(on("::"), 2);
  ASSERT_TRUE(v6.group) << v6.why_not;
  EXPECT_EQ(optionOf(v6.group->fds()[0], IPPROTO_IPV6, IPV6_V6ONLY), 1);
  Opened v4 = open(on("0.0.0.0", v6.group->address().port()), 2);
  EXPECT_TRUE(v4.group) << v4.why_not;
}

TEST(Listener, AnyShardCanGetAConnectionThatIsHashed) {
  Opened opened = open(on("127.0.0.1"), 2);
  ASSERT_TRUE(opened.group) << opened.why_not;
  EXPECT_EQ(opened.group->steering(), Steering::hash);
  EXPECT_EQ(opened.group->steeringText(), "HASH: loopback has no RX queues to steer by");
  std::vector<int> arrived(2);
  for (int i = 0; i < 64; i++) {
    arrived[arrivalOf(*opened.group)]++;
  }
  EXPECT_GT(arrived[0], 0);  // by chance once in 2^63 runs
  EXPECT_GT(arrived[1], 0);
}

// Runs on one CPU while it lives.
class OnCpu {
 public:
  explicit OnCpu(size_t cpu) {
    sched_getaffinity(0, sizeof(before_), &before_);
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    fine_ = sched_setaffinity(0, sizeof(one), &one) == 0;
  }
  ~OnCpu() { sched_setaffinity(0, sizeof(before_), &before_); }
  bool fine() const { return fine_; }

 private:
  cpu_set_t before_;
  bool fine_;
};

std::vector<size_t> ownCpus() {
  cpu_set_t set;
  sched_getaffinity(0, sizeof(set), &set);
  std::vector<size_t> cpus;
  for (size_t cpu = 0; cpu < CPU_SETSIZE; cpu++) {
    if (CPU_ISSET(cpu, &set)) {
      cpus.push_back(cpu);
    }
  }
  return cpus;
}

TEST(Listener, CpuSteeringFollowsTheTable) {
  const std::vector<size_t> cpus = ownCpus();
  if (cpus.size() < 2) {
    GTEST_SKIP() << "needs two CPUs";
  }
  for (const bool swapped : {false, true}) {
    std::vector<int32_t> table(cpus[1] + 1, -1);
    table[cpus[0]] = swapped ? 1 : 0;
    table[cpus[1]] = swapped ? 0 : 1;
    Opened opened = open(on("127.0.0.1", 0, Steering::cpu), 2, table);
    ASSERT_TRUE(opened.group) << opened.why_not;
    EXPECT_EQ(opened.group->steering(), Steering::cpu);
    for (size_t i = 0; i < 2; i++) {
      const OnCpu here(cpus[i]);
      ASSERT_TRUE(here.fine());
      for (int repeat = 0; repeat < 16; repeat++) {
        EXPECT_EQ(arrivalOf(*opened.group), static_cast<size_t>(table[cpus[i]]));
      }
    }
  }
}

TEST(Listener, SteeringChangesWhileTheGroupRuns) {
  Opened opened = open(on("127.0.0.1", 0, Steering::hash), 2);
  ASSERT_TRUE(opened.group) << opened.why_not;
  std::string why_not;
  // Every CPU that this process may run on belongs to shard 1; shard 0 gets a CPU beyond them.
  std::vector<int32_t> table(CPU_SETSIZE, 1);
  table[1023] = 0;
  ASSERT_TRUE(opened.group->steer(Steering::cpu, table, why_not).ok()) << why_not;
  for (int i = 0; i < 16; i++) {
    EXPECT_EQ(arrivalOf(*opened.group), 1u);
  }
  EXPECT_FALSE(opened.group->steer(Steering::queue_mapping, {}, why_not).ok());
  EXPECT_THAT(why_not, HasSubstr("QUEUE_MAPPING steering is impossible"));
  EXPECT_EQ(opened.group->steering(), Steering::cpu);

  ASSERT_TRUE(opened.group->steer(Steering::hash, {}, why_not).ok()) << why_not;
  bool shard_zero = false;
  for (int i = 0; i < 64 && !shard_zero; i++) {
    shard_zero = arrivalOf(*opened.group) == 0;
  }
  EXPECT_TRUE(shard_zero);
  EXPECT_TRUE(opened.group->setBacklog(7, why_not).ok()) << why_not;
}

TEST(Listener, RefusesAPortThatIsInUseEvenByAGroupItCouldJoin) {
  Opened first = open(on("127.0.0.1"), 2);
  ASSERT_TRUE(first.group) << first.why_not;
  const uint16_t port = first.group->address().port();
  for (const char* ip : {"127.0.0.1", "0.0.0.0"}) {
    Opened second = open(on(ip, port), 2);
    EXPECT_FALSE(second.group);
    EXPECT_EQ(second.why_not, "cannot listen on " + std::string(ip) + ":" + std::to_string(port) +
                                  ": the port is in use by another socket");
  }
  EXPECT_EQ(arrivalOf(*first.group) / 2, 0u);
}

TEST(Listener, RefusesAPortThatAnOrdinarySocketListensOn) {
  const Address any = *Address::parse("127.0.0.1", 0);
  const int other = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  ASSERT_EQ(bind(other, any.data(), any.length()), 0);
  ASSERT_EQ(listen(other, 1), 0);
  Opened opened = open(ListenerSpec{Address::localOf(other), 64, Steering::automatic}, 1);
  EXPECT_FALSE(opened.group);
  EXPECT_THAT(opened.why_not, HasSubstr("in use"));
  close(other);
}

TEST(Listener, RefusesAnAddressOfAnotherMachine) {
  Opened opened = open(on("203.0.113.1", 8080), 1);
  EXPECT_FALSE(opened.group);
  EXPECT_EQ(opened.why_not,
            "cannot listen on 203.0.113.1:8080: the address is not one of this machine's");
}

TEST(Listener, SaysThatAPrivilegeIsMissing) {
  int first_free = 1024;
  std::ifstream("/proc/sys/net/ipv4/ip_unprivileged_port_start") >> first_free;
  if (first_free < 2) {
    GTEST_SKIP() << "every port is unprivileged here";
  }
  const uid_t user = geteuid();
  if (user == 0) {
    ASSERT_EQ(seteuid(65534), 0);
  }
  Opened opened = open(on("127.0.0.1", 1), 1);
  if (user == 0) {
    ASSERT_EQ(seteuid(0), 0);
  }
  EXPECT_FALSE(opened.group);
  EXPECT_THAT(opened.why_not, HasSubstr("127.0.0.1:1: no permission"));
}

TEST(Listener, RefusesImpossibleSteeringAndLeavesThePortFree) {
  const uint16_t port = open(on("127.0.0.1"), 1).group->address().port();
  Opened refused = open(on("127.0.0.1", port, Steering::queue_mapping), 2);
  EXPECT_FALSE(refused.group);
  EXPECT_EQ(refused.why_not, "cannot listen on 127.0.0.1:" + std::to_string(port) +
                                 ": QUEUE_MAPPING steering is impossible: loopback has no RX "
                                 "queues to steer by");
  Opened again = open(on("127.0.0.1", port), 2);
  EXPECT_TRUE(again.group) << again.why_not;
}

TEST(Listener, AClosedGroupFreesItsPortAtOnceEvenAfterConnections) {
  Opened opened = open(on("127.0.0.1"), 2);
  ASSERT_TRUE(opened.group) << opened.why_not;
  arrivalOf(*opened.group);  // the server's end closes first: its port is in TIME_WAIT
  const uint16_t port = opened.group->address().port();
  opened.group->closeAll();
  EXPECT_TRUE(opened.group->fds().empty());
  Opened again = open(on("127.0.0.1", port), 2);
  EXPECT_TRUE(again.group) << again.why_not;
}

TEST(Listener, MovingAGroupMovesItsSockets) {
  Opened opened = open(on("127.0.0.1"), 2);
  ASSERT_TRUE(opened.group) << opened.why_not;
  const std::vector<int> fds = opened.group->fds();
  ListenerGroup moved(std::move(*opened.group));
  opened.group.reset();
  EXPECT_EQ(moved.fds(), fds);
  EXPECT_LT(arrivalOf(moved), 2u);
  ListenerGroup target;
  target = std::move(moved);
  EXPECT_LT(arrivalOf(target), 2u);
}

}  // namespace
}  // namespace net
