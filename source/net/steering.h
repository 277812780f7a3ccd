// How the kernel spreads new connections over the sockets of a listening group: by a classic BPF
// program that returns a shard's number, or by the kernel's own hash. Pure: what is known of the
// machine comes in.
//
// What a program sees of a packet: queue_mapping is 0 when no receive queue was recorded, else the
// queue + 1, with two exceptions: on loopback it is always 0, and on veth it is the sender's
// transmit queue, from 0. A program's answer that is no socket's number lets the kernel hash.
#pragma once

#include <linux/filter.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "source/net/address.h"

namespace net {

// automatic: queue_mapping where a network interface has a receive queue for each shard, else hash.
enum class Steering : uint8_t { automatic, queue_mapping, cpu, hash };
std::string_view name(Steering steering);  // AUTO, QUEUE_MAPPING, CPU, HASH

struct Interface {
  std::string name;
  uint32_t index = 0;
  uint32_t rx_queues = 0;  // 0: not known
  bool loopback = false;
  bool veth = false;
};

// The machine as far as steering cares.
struct Topology {
  std::vector<Interface> interfaces;  // those that packets for the address can arrive on
  std::vector<int32_t> shard_of_cpu;  // -1, or no entry: no shard; empty: not pinned
};

// Interfaces that the queue program can tell apart, and CPUs that the CPU program can.
inline constexpr uint32_t kMax_interfaces = 512;
inline constexpr uint32_t kMax_cpus = 1024;

struct SteeringPlan {
  Steering in_force = Steering::hash;  // never automatic
  std::string why;                     // for people
  std::vector<sock_filter> program;    // empty: the kernel's hash
};

// What to do for `shards` sockets, or why what was asked for is impossible.
std::variant<SteeringPlan, std::string> planSteering(Steering asked, const Topology& topology,
                                                     uint16_t shards);

// The interfaces that have `address` (for a wildcard: any address of its family, and are up), with
// what the kernel tells of them now.
std::vector<Interface> interfacesOf(const Address& address);

// The programs by themselves. Packets of loopback and of the interfaces in `hashed` go to the
// kernel's hash.
std::vector<sock_filter> queueProgram(const std::vector<uint32_t>& veths,
                                      const std::vector<uint32_t>& hashed, uint16_t shards);
// CPUs without a shard are hashed; without a table the shard is the CPU modulo their number.
std::vector<sock_filter> cpuProgram(const std::vector<int32_t>& shard_of_cpu, uint16_t shards);

}  // namespace net
