// A listening address as a group of sockets, one a shard, that share the port through SO_REUSEPORT.
// Opened, steered and closed on the control thread; each shard accepts on its own socket.
//
// The order matters to the kernel. Sockets are bound in shard order, then listen in shard order,
// which gives each its number in the group; the steering program is attached through socket 0 after
// the last listen (a program attached earlier, while another group exists, makes listen fail).
// Closing one socket would move the last into its place, so a group is closed whole: the shards
// first drain their accept queues (Acceptor:: drain) and join their acceptors, then closeAll()
// closes every socket at once. Connections that complete in between are reset by the kernel.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "source/base/result.h"
#include "source/net/address.h"
#include "source/net/steering.h"

namespace net {

struct ListenerSpec {
  Address address;          // port 0: the kernel chooses one, for the whole group
  uint32_t backlog = 4096;  // the kernel caps it at net.core.somaxconn
  Steering steering = Steering::automatic;
};

// Owns the sockets of one address.
class ListenerGroup {
 public:
  ListenerGroup() = default;
  ListenerGroup(ListenerGroup&& other) noexcept;
  ListenerGroup& operator=(ListenerGroup&& other) noexcept;
  ~ListenerGroup() { closeAll(); }

  // By shard. A shard borrows its socket until it has said that it accepts no more.
  const std::vector<int>& fds() const { return fds_; }
  const Address& address() const { return address_; }  // with the port that was chosen
  Steering steering() const { return plan_.in_force; }
  // What is in force and why, for people: "HASH: eth0 has 1 RX queue for 2 shards".
  std::string steeringText() const;

  // Changes of a running group; on failure `why_not` says why and nothing has changed.
  base::Status steer(Steering asked, const std::vector<int32_t>& shard_of_cpu,
                     std::string& why_not);
  base::Status setBacklog(uint32_t backlog, std::string& why_not);
  // No shard accepts any more.
  void closeAll();

 private:
  friend base::Result<ListenerGroup> openListeners(const ListenerSpec& spec, uint16_t shards,
                                                   const std::vector<int32_t>& shard_of_cpu,
                                                   std::string& why_not);
  std::vector<int> fds_;
  Address address_;
  SteeringPlan plan_;
};

// Opens the group, or says in one line why not: the port is in use, the address is not of this
// machine, the port needs a privilege, the steering is impossible. A port that anybody listens on
// is in use, even where the kernel would let us share it. shard_of_cpu names the shard pinned to
// each CPU, for CPU steering.
base::Result<ListenerGroup> openListeners(const ListenerSpec& spec, uint16_t shards,
                                          const std::vector<int32_t>& shard_of_cpu,
                                          std::string& why_not);

}  // namespace net
