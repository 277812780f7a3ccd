// What the kernel tells of its network interfaces.

#include <ifaddrs.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "source/net/steering.h"

namespace net {

namespace {

// The number of receive queues in use; 0 when /sys is not there or shows another network namespace.
uint32_t countRxQueues(const std::string& interface, uint32_t index) {
  const std::filesystem::path folder = "/sys/class/net/" + interface;
  uint32_t shown_index = 0;
  std::ifstream(folder / "ifindex") >> shown_index;
  if (shown_index != index) {
    return 0;
  }
  uint32_t queues = 0;
  std::error_code error;
  for (std::filesystem::directory_iterator it(folder / "queues", error), end; it != end && !error;
       it.increment(error)) {
    if (it->path().filename().string().starts_with("rx-")) {
      queues++;
    }
  }
  return queues;
}

bool isVeth(const std::string& interface) {
  const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) {
    return false;
  }
  ethtool_drvinfo info{};
  info.cmd = ETHTOOL_GDRVINFO;
  ifreq request{};
  interface.copy(request.ifr_name, IFNAMSIZ - 1);
  request.ifr_data = reinterpret_cast<char*>(&info);
  const bool known = ioctl(fd, SIOCETHTOOL, &request) == 0;
  close(fd);
  return known && strncmp(info.driver, "veth", sizeof(info.driver)) == 0;
}

bool serves(const ifaddrs& entry, const Address& address) {
  if (entry.ifa_addr == nullptr || entry.ifa_addr->sa_family != address.family()) {
    return false;
  }
  if (address.isWildcard()) {
    return (entry.ifa_flags & IFF_UP) != 0;
  }
  Address own = Address::fromSockaddr(
      entry.ifa_addr, address.isIpv6() ? sizeof(sockaddr_in6) : sizeof(sockaddr_in));
  own.setPort(address.port());
  char own_text[Address::kText_bytes];
  char text[Address::kText_bytes];
  const std::string_view own_ip = own.formatIp(own_text);
  const std::string_view ip = address.formatIp(text);
  // A link-local address carries its scope in one of the two perhaps.
  return own_ip.substr(0, own_ip.find('%')) == ip.substr(0, ip.find('%'));
}

}  // namespace

std::vector<Interface> interfacesOf(const Address& address) {
  std::vector<Interface> found;
  ifaddrs* all = nullptr;
  if (getifaddrs(&all) != 0) {
    return found;
  }
  const bool loopback_only = address.isLoopback();
  for (const ifaddrs* entry = all; entry != nullptr; entry = entry->ifa_next) {
    const bool loopback = (entry->ifa_flags & IFF_LOOPBACK) != 0;
    // All of 127.0.0.0/8 belongs to loopback, though it names one address only.
    const bool wanted = loopback_only ? loopback : serves(*entry, address);
    const std::string name = entry->ifa_name;
    const bool seen = std::any_of(found.begin(), found.end(),
                                  [&name](const Interface& other) { return other.name == name; });
    if (!wanted || seen) {
      continue;
    }
    Interface interface;
    interface.name = name;
    interface.index = if_nametoindex(entry->ifa_name);
    interface.rx_queues = countRxQueues(name, interface.index);
    interface.loopback = loopback;
    interface.veth = isVeth(name);
    found.push_back(std::move(interface));
  }
  freeifaddrs(all);
  std::sort(found.begin(), found.end(),
            [](const Interface& a, const Interface& b) { return a.index < b.index; });
  return found;
}

}  // namespace net
