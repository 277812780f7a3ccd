// An IPv4 or IPv6 socket address: a small value, compared by family, bytes, scope and port. Host
// names are not addresses; they are resolved elsewhere.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace net {

class Address {
 public:
  // The longest text that format() writes: brackets, an IPv6 address, a scope, a port.
  static constexpr uint32_t kText_bytes = 80;

  // No address: family AF_UNSPEC.
  Address() : any_{} {}
  // From numbers without brackets: "127.0.0.1", "::1", "fe80::1%eth0" (or "%2").
  static std::optional<Address> parse(std::string_view ip, uint16_t port);
  // Another family gives no address.
  static Address fromSockaddr(const sockaddr* address, socklen_t length);
  // The two ends of a socket; no address if the kernel cannot tell.
  static Address localOf(int fd);
  static Address peerOf(int fd);

  bool valid() const { return any_.v4.sin_family != AF_UNSPEC; }
  int family() const { return any_.v4.sin_family; }
  bool isIpv6() const { return family() == AF_INET6; }
  // 0.0.0.0 or ::
  bool isWildcard() const;
  // 127.0.0.0/8, ::1 or ::ffff:127.0.0.0/104.
  bool isLoopback() const;
  uint16_t port() const { return ntohs(isIpv6() ? any_.v6.sin6_port : any_.v4.sin_port); }
  void setPort(uint16_t port);

  const sockaddr* data() const { return &any_.base; }
  socklen_t length() const;

  // "127.0.0.1:80" or "[::1]:80", written into `to`; no address gives "-".
  std::string_view format(std::span<char, kText_bytes> to) const;
  // The same without port and brackets.
  std::string_view formatIp(std::span<char, kText_bytes> to) const;
  std::string text() const;

  friend bool operator==(const Address& a, const Address& b);

 private:
  union Any {
    sockaddr_in6 v6;
    sockaddr_in v4;
    sockaddr base;
  };
  Any any_;
};

}  // namespace net
