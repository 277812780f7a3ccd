#include "source/net/steering.h"

#include <net/if_arp.h>

#include <algorithm>

#include "source/base/check.h"

namespace net {

namespace {

constexpr uint32_t kLetTheKernelHash = 0xffffffff;

sock_filter loadAncillary(int32_t offset) {
  return BPF_STMT(BPF_LD | BPF_W | BPF_ABS, static_cast<uint32_t>(SKF_AD_OFF + offset));
}

std::string count(uint32_t n, std::string_view noun) {
  return std::to_string(n) + " " + std::string(noun) + (n == 1 ? "" : "s");
}

std::string queuesOf(const Interface& interface) {
  if (interface.rx_queues == 0) {
    return interface.name + " has an unknown number of RX queues";
  }
  return interface.name + " has " + count(interface.rx_queues, "RX queue");
}

// Which interfaces have a queue for every shard, and which have not.
struct Sorted {
  std::vector<const Interface*> mapped;
  std::vector<const Interface*> hashed;
};

Sorted sortInterfaces(const Topology& topology, uint16_t shards) {
  Sorted sorted;
  for (const Interface& interface : topology.interfaces) {
    if (interface.loopback) {
      continue;
    }
    (interface.rx_queues >= shards ? sorted.mapped : sorted.hashed).push_back(&interface);
  }
  return sorted;
}

std::string whyNotMapped(const Topology& topology, const Sorted& sorted, uint16_t shards) {
  if (!sorted.mapped.empty()) {
    return "there are more than " + std::to_string(kMax_interfaces) + " network interfaces";
  }
  if (sorted.hashed.empty()) {
    return topology.interfaces.empty() ? "no network interface has this address"
                                       : "loopback has no RX queues to steer by";
  }
  const auto most = std::max_element(
      sorted.hashed.begin(), sorted.hashed.end(),
      [](const Interface* a, const Interface* b) { return a->rx_queues < b->rx_queues; });
  return queuesOf(**most) + " for " + count(shards, "shard");
}

SteeringPlan mapQueues(const Sorted& sorted, uint16_t shards) {
  SteeringPlan plan;
  plan.in_force = Steering::queue_mapping;
  std::vector<uint32_t> veths;
  std::vector<uint32_t> hashed;
  for (const Interface* interface : sorted.mapped) {
    plan.why += (plan.why.empty() ? "" : ", ") + queuesOf(*interface);
    if (interface->veth) {
      veths.push_back(interface->index);
    }
  }
  plan.why += " for " + count(shards, "shard");
  for (const Interface* interface : sorted.hashed) {
    plan.why += "; " + queuesOf(*interface) + ", so its connections are hashed";
    hashed.push_back(interface->index);
  }
  plan.program = queueProgram(veths, hashed, shards);
  return plan;
}

std::variant<SteeringPlan, std::string> planCpu(const Topology& topology, uint16_t shards) {
  SteeringPlan plan;
  plan.in_force = Steering::cpu;
  if (topology.shard_of_cpu.empty()) {
    plan.why = "CPU modulo " + count(shards, "shard") + ", which are not pinned";
    plan.program = cpuProgram(topology.shard_of_cpu, shards);
    return plan;
  }
  std::vector<bool> reached(shards, false);
  for (size_t cpu = 0; cpu < std::min<size_t>(topology.shard_of_cpu.size(), kMax_cpus); cpu++) {
    const int32_t shard = topology.shard_of_cpu[cpu];
    if (shard >= 0 && shard < shards) {
      reached[static_cast<size_t>(shard)] = true;
    }
  }
  const auto missing = std::find(reached.begin(), reached.end(), false);
  if (missing != reached.end()) {
    return "CPU steering is impossible: shard " + std::to_string(missing - reached.begin()) +
           " is pinned to no CPU";
  }
  plan.why = "by the CPUs that the shards are pinned to";
  plan.program = cpuProgram(topology.shard_of_cpu, shards);
  return plan;
}

}  // namespace

std::string_view name(Steering steering) {
  switch (steering) {
    case Steering::automatic:
      return "AUTO";
    case Steering::queue_mapping:
      return "QUEUE_MAPPING";
    case Steering::cpu:
      return "CPU";
    case Steering::hash:
      return "HASH";
  }
  return "unknown";
}

std::variant<SteeringPlan, std::string> planSteering(Steering asked, const Topology& topology,
                                                     uint16_t shards) {
  CHECK(shards > 0);
  if (shards == 1) {
    return SteeringPlan{Steering::hash, "one shard takes every connection", {}};
  }
  if (asked == Steering::hash) {
    return SteeringPlan{Steering::hash, "as configured", {}};
  }
  if (asked == Steering::cpu) {
    return planCpu(topology, shards);
  }
  const Sorted sorted = sortInterfaces(topology, shards);
  if (!sorted.mapped.empty() && topology.interfaces.size() <= kMax_interfaces) {
    return mapQueues(sorted, shards);
  }
  const std::string why = whyNotMapped(topology, sorted, shards);
  if (asked == Steering::queue_mapping) {
    return "QUEUE_MAPPING steering is impossible: " + why;
  }
  return SteeringPlan{Steering::hash, why, {}};
}

std::vector<sock_filter> queueProgram(const std::vector<uint32_t>& veths,
                                      const std::vector<uint32_t>& hashed, uint16_t shards) {
  CHECK(veths.size() + hashed.size() <= kMax_interfaces);
  std::vector<sock_filter> program;
  program.push_back(loadAncillary(SKF_AD_HATYPE));
  program.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ARPHRD_LOOPBACK, 0, 1));
  program.push_back(BPF_STMT(BPF_RET | BPF_K, kLetTheKernelHash));
  program.push_back(loadAncillary(SKF_AD_IFINDEX));
  for (const uint32_t index : hashed) {
    program.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, index, 0, 1));
    program.push_back(BPF_STMT(BPF_RET | BPF_K, kLetTheKernelHash));
  }
  // A conditional jump reaches 255 instructions, the unconditional one all of them.
  constexpr uint32_t kOther_instructions = 6;
  for (size_t i = 0; i < veths.size(); i++) {
    const uint32_t to_veth_tail =
        static_cast<uint32_t>(2 * (veths.size() - 1 - i)) + kOther_instructions;
    program.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, veths[i], 0, 1));
    program.push_back(BPF_STMT(BPF_JMP | BPF_JA, to_veth_tail));
  }
  program.push_back(loadAncillary(SKF_AD_QUEUE));
  program.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 1));
  program.push_back(BPF_STMT(BPF_RET | BPF_K, kLetTheKernelHash));
  program.push_back(BPF_STMT(BPF_ALU | BPF_SUB | BPF_K, 1));
  program.push_back(BPF_STMT(BPF_ALU | BPF_MOD | BPF_K, shards));
  program.push_back(BPF_STMT(BPF_RET | BPF_A, 0));
  if (!veths.empty()) {
    program.push_back(loadAncillary(SKF_AD_QUEUE));
    program.push_back(BPF_STMT(BPF_ALU | BPF_MOD | BPF_K, shards));
    program.push_back(BPF_STMT(BPF_RET | BPF_A, 0));
  }
  return program;
}

std::vector<sock_filter> cpuProgram(const std::vector<int32_t>& shard_of_cpu, uint16_t shards) {
  std::vector<sock_filter> program;
  program.push_back(loadAncillary(SKF_AD_CPU));
  if (shard_of_cpu.empty()) {
    program.push_back(BPF_STMT(BPF_ALU | BPF_MOD | BPF_K, shards));
    program.push_back(BPF_STMT(BPF_RET | BPF_A, 0));
    return program;
  }
  const size_t cpus = std::min<size_t>(shard_of_cpu.size(), kMax_cpus);
  for (size_t cpu = 0; cpu < cpus; cpu++) {
    const int32_t shard = shard_of_cpu[cpu];
    if (shard >= 0 && shard < shards) {
      program.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<uint32_t>(cpu), 0, 1));
      program.push_back(BPF_STMT(BPF_RET | BPF_K, static_cast<uint32_t>(shard)));
    }
  }
  program.push_back(BPF_STMT(BPF_RET | BPF_K, kLetTheKernelHash));
  return program;
}

}  // namespace net
