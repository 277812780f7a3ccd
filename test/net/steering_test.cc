// Goal: the steering programs send a packet to the shard that its queue or CPU names, and the plan
// says what is in force and why. Method: a small interpreter of classic BPF runs the programs over
// made-up packets; the kernel's own reading of them is tested by listener_test and veth_test.

#include "source/net/steering.h"

#include <gtest/gtest.h>

namespace net {
namespace {

constexpr uint32_t kHash = 0xffffffff;
constexpr uint32_t kEthernet = 1;
constexpr uint32_t kLoopback = 772;

struct Packet {
  uint32_t hardware_type = kEthernet;
  uint32_t interface = 2;
  uint32_t queue = 0;
  uint32_t cpu = 0;
};

// Runs a program; fails the test on what it does not know, on a jump outside and on a missing
// return.
uint32_t interpret(const std::vector<sock_filter>& program, const Packet& packet) {
  uint32_t a = 0;
  for (size_t pc = 0; pc < program.size(); pc++) {
    const sock_filter& i = program[pc];
    switch (i.code) {
      case BPF_LD | BPF_W | BPF_ABS:
        switch (static_cast<int32_t>(i.k) - SKF_AD_OFF) {
          case SKF_AD_HATYPE:
            a = packet.hardware_type;
            break;
          case SKF_AD_IFINDEX:
            a = packet.interface;
            break;
          case SKF_AD_QUEUE:
            a = packet.queue;
            break;
          case SKF_AD_CPU:
            a = packet.cpu;
            break;
          default:
            ADD_FAILURE() << "unknown load " << i.k;
        }
        break;
      case BPF_JMP | BPF_JEQ | BPF_K:
        pc += a == i.k ? i.jt : i.jf;
        break;
      case BPF_JMP | BPF_JA:
        pc += i.k;
        break;
      case BPF_ALU | BPF_SUB | BPF_K:
        a -= i.k;
        break;
      case BPF_ALU | BPF_MOD | BPF_K:
        a %= i.k;
        break;
      case BPF_RET | BPF_K:
        return i.k;
      case BPF_RET | BPF_A:
        return a;
      default:
        ADD_FAILURE() << "unknown instruction " << i.code;
        return 0;
    }
  }
  ADD_FAILURE() << "the program ran over its end";
  return 0;
}

Interface ethernet(std::string name, uint32_t index, uint32_t queues) {
  return Interface{std::move(name), index, queues, false, false};
}
Interface veth(std::string name, uint32_t index, uint32_t queues) {
  return Interface{std::move(name), index, queues, false, true};
}
const Interface kLo{"lo", 1, 1, true, false};

SteeringPlan planOf(Steering asked, const Topology& topology, uint16_t shards) {
  auto planned = planSteering(asked, topology, shards);
  EXPECT_TRUE(std::holds_alternative<SteeringPlan>(planned)) << std::get<std::string>(planned);
  return std::get<SteeringPlan>(planned);
}
std::string refusalOf(Steering asked, const Topology& topology, uint16_t shards) {
  auto planned = planSteering(asked, topology, shards);
  EXPECT_TRUE(std::holds_alternative<std::string>(planned));
  return std::holds_alternative<std::string>(planned) ? std::get<std::string>(planned) : "";
}

TEST(QueueProgram, MapsRecordedQueuesToShards) {
  const auto program = queueProgram({}, {}, 4);
  for (uint32_t queue = 0; queue < 10; queue++) {
    EXPECT_EQ(interpret(program, Packet{.queue = queue + 1}), queue % 4) << queue;
  }
}

TEST(QueueProgram, HashesWithoutARecordedQueue) {
  EXPECT_EQ(interpret(queueProgram({}, {}, 4), Packet{.queue = 0}), kHash);
}

TEST(QueueProgram, HashesLoopbackWhateverItsQueue) {
  for (uint32_t queue = 0; queue < 3; queue++) {
    const Packet packet{.hardware_type = kLoopback, .interface = 1, .queue = queue};
    EXPECT_EQ(interpret(queueProgram({}, {}, 4), packet), kHash);
    EXPECT_EQ(interpret(queueProgram({1}, {}, 4), packet), kHash);
  }
}

TEST(QueueProgram, CountsVethQueuesFromZero) {
  const auto program = queueProgram({7, 9}, {}, 2);
  for (uint32_t queue = 0; queue < 5; queue++) {
    EXPECT_EQ(interpret(program, Packet{.interface = 7, .queue = queue}), queue % 2);
    EXPECT_EQ(interpret(program, Packet{.interface = 9, .queue = queue}), queue % 2);
  }
  EXPECT_EQ(interpret(program, Packet{.interface = 8, .queue = 0}), kHash);
  EXPECT_EQ(interpret(program, Packet{.interface = 8, .queue = 1}), 0u);
}

TEST(QueueProgram, HashesTheInterfacesItIsToldTo) {
  const auto program = queueProgram({7}, {5, 6}, 2);
  EXPECT_EQ(interpret(program, Packet{.interface = 5, .queue = 2}), kHash);
  EXPECT_EQ(interpret(program, Packet{.interface = 6, .queue = 1}), kHash);
  EXPECT_EQ(interpret(program, Packet{.interface = 7, .queue = 1}), 1u);
  EXPECT_EQ(interpret(program, Packet{.interface = 4, .queue = 2}), 1u);
}

TEST(QueueProgram, ReachesItsTailOverAsManyInterfacesAsThereMayBe) {
  std::vector<uint32_t> veths;
  for (uint32_t i = 0; i < kMax_interfaces; i++) {
    veths.push_back(100 + i);
  }
  const auto program = queueProgram(veths, {}, 8);
  EXPECT_LE(program.size(), static_cast<size_t>(BPF_MAXINSNS));
  for (const uint32_t interface : {100u, 227u, 228u, 100 + kMax_interfaces - 1}) {
    EXPECT_EQ(interpret(program, Packet{.interface = interface, .queue = 5}), 5u);
  }
  EXPECT_EQ(interpret(program, Packet{.interface = 99, .queue = 5}), 4u);
}

TEST(CpuProgram, FollowsTheTableAndHashesOtherCpus) {
  const auto program = cpuProgram({1, -1, 0, 2}, 3);
  EXPECT_EQ(interpret(program, Packet{.cpu = 0}), 1u);
  EXPECT_EQ(interpret(program, Packet{.cpu = 1}), kHash);
  EXPECT_EQ(interpret(program, Packet{.cpu = 2}), 0u);
  EXPECT_EQ(interpret(program, Packet{.cpu = 3}), 2u);
  EXPECT_EQ(interpret(program, Packet{.cpu = 4}), kHash);
}

TEST(CpuProgram, TakesTheCpuModuloTheShardsWhenNoneIsPinned) {
  const auto program = cpuProgram({}, 3);
  for (uint32_t cpu = 0; cpu < 7; cpu++) {
    EXPECT_EQ(interpret(program, Packet{.cpu = cpu}), cpu % 3);
  }
}

TEST(CpuProgram, KnowsAsManyCpusAsItsLimitAndHashesTheNext) {
  const std::vector<int32_t> table(kMax_cpus + 1, 1);
  const auto program = cpuProgram(table, 2);
  EXPECT_LE(program.size(), static_cast<size_t>(BPF_MAXINSNS));
  EXPECT_EQ(interpret(program, Packet{.cpu = kMax_cpus - 1}), 1u);
  EXPECT_EQ(interpret(program, Packet{.cpu = kMax_cpus}), kHash);
}

TEST(SteeringPlan, AutoMapsQueuesWhenThereIsOneForEachShard) {
  const SteeringPlan plan =
      planOf(Steering::automatic, Topology{{kLo, ethernet("eth0", 2, 4)}, {}}, 4);
  EXPECT_EQ(plan.in_force, Steering::queue_mapping);
  EXPECT_EQ(plan.why, "eth0 has 4 RX queues for 4 shards");
  EXPECT_EQ(interpret(plan.program, Packet{.queue = 3}), 2u);
}

TEST(SteeringPlan, AutoHashesWhenThereIsOneQueueTooFew) {
  const SteeringPlan plan =
      planOf(Steering::automatic, Topology{{kLo, ethernet("eth0", 2, 3)}, {}}, 4);
  EXPECT_EQ(plan.in_force, Steering::hash);
  EXPECT_EQ(plan.why, "eth0 has 3 RX queues for 4 shards");
  EXPECT_TRUE(plan.program.empty());
}

TEST(SteeringPlan, AutoHashesOnlyTheInterfacesWithTooFewQueues) {
  const SteeringPlan plan = planOf(
      Steering::automatic,
      Topology{{kLo, ethernet("eth0", 2, 2), ethernet("wlan0", 3, 1), veth("veth0", 4, 2)}, {}}, 2);
  EXPECT_EQ(plan.in_force, Steering::queue_mapping);
  EXPECT_EQ(plan.why,
            "eth0 has 2 RX queues, veth0 has 2 RX queues for 2 shards; wlan0 has 1 RX queue, so "
            "its connections are hashed");
  EXPECT_EQ(interpret(plan.program, Packet{.interface = 2, .queue = 2}), 1u);
  EXPECT_EQ(interpret(plan.program, Packet{.interface = 3, .queue = 2}), kHash);
  EXPECT_EQ(interpret(plan.program, Packet{.interface = 4, .queue = 1}), 1u);
}

TEST(SteeringPlan, AutoHashesLoopbackAndAddressesOfNoInterface) {
  EXPECT_EQ(planOf(Steering::automatic, Topology{{kLo}, {}}, 2).why,
            "loopback has no RX queues to steer by");
  EXPECT_EQ(planOf(Steering::automatic, Topology{}, 2).why,
            "no network interface has this address");
}

TEST(SteeringPlan, QueueMappingIsRefusedWithFewerQueuesThanShards) {
  EXPECT_EQ(refusalOf(Steering::queue_mapping, Topology{{ethernet("eth0", 2, 1)}, {}}, 2),
            "QUEUE_MAPPING steering is impossible: eth0 has 1 RX queue for 2 shards");
  EXPECT_EQ(refusalOf(Steering::queue_mapping, Topology{{ethernet("eth0", 2, 0)}, {}}, 2),
            "QUEUE_MAPPING steering is impossible: eth0 has an unknown number of RX queues for 2 "
            "shards");
  EXPECT_EQ(refusalOf(Steering::queue_mapping, Topology{{kLo}, {}}, 2),
            "QUEUE_MAPPING steering is impossible: loopback has no RX queues to steer by");
}

TEST(SteeringPlan, MapsUpToTheLimitOfInterfacesAndNotOneMore) {
  Topology topology;
  for (uint32_t i = 0; i < kMax_interfaces; i++) {
    topology.interfaces.push_back(veth("v" + std::to_string(i), 10 + i, 2));
  }
  EXPECT_EQ(planOf(Steering::automatic, topology, 2).in_force, Steering::queue_mapping);
  topology.interfaces.push_back(veth("one_more", 9, 2));
  EXPECT_EQ(planOf(Steering::automatic, topology, 2).in_force, Steering::hash);
  EXPECT_EQ(refusalOf(Steering::queue_mapping, topology, 2),
            "QUEUE_MAPPING steering is impossible: there are more than 512 network interfaces");
}

TEST(SteeringPlan, CpuSteeringNeedsEveryShardOnSomeCpu) {
  EXPECT_EQ(planOf(Steering::cpu, Topology{{kLo}, {0, 1}}, 2).in_force, Steering::cpu);
  EXPECT_EQ(planOf(Steering::cpu, Topology{{kLo}, {}}, 2).in_force, Steering::cpu);
  EXPECT_EQ(refusalOf(Steering::cpu, Topology{{kLo}, {0, 0}}, 2),
            "CPU steering is impossible: shard 1 is pinned to no CPU");
}

TEST(SteeringPlan, OneShardNeedsNoSteering) {
  for (const Steering asked :
       {Steering::automatic, Steering::queue_mapping, Steering::cpu, Steering::hash}) {
    const SteeringPlan plan = planOf(asked, Topology{{kLo}, {}}, 1);
    EXPECT_EQ(plan.in_force, Steering::hash);
    EXPECT_TRUE(plan.program.empty());
  }
}

TEST(Interfaces, OfALoopbackAddressIsLoopbackAlone) {
  for (const char* ip : {"127.0.0.1", "127.7.7.7"}) {
    const std::vector<Interface> found = interfacesOf(*Address::parse(ip, 80));
    ASSERT_EQ(found.size(), 1u) << ip;
    EXPECT_TRUE(found[0].loopback);
    EXPECT_EQ(found[0].index, 1u);
    EXPECT_FALSE(found[0].veth);
  }
}

TEST(Interfaces, OfAWildcardContainLoopbackAndOfAForeignAddressNothing) {
  const std::vector<Interface> all = interfacesOf(*Address::parse("0.0.0.0", 80));
  ASSERT_FALSE(all.empty());
  EXPECT_TRUE(all[0].loopback);
  // 203.0.113.0/24 is for documentation (RFC 5737).
  EXPECT_TRUE(interfacesOf(*Address::parse("203.0.113.1", 80)).empty());
}

}  // namespace
}  // namespace net
