#include "source/net/address.h"

#include <arpa/inet.h>
#include <net/if.h>

#include <charconv>
#include <cstring>

#include "source/base/check.h"

namespace net {

namespace {

// A scope is an interface's name or its number; 0 when there is no such thing.
uint32_t parseScope(const char* text, size_t size) {
  uint32_t number = 0;
  const auto [end, error] = std::from_chars(text, text + size, number);
  if (error == std::errc() && end == text + size) {
    return number;
  }
  return if_nametoindex(text);
}

size_t appendNumber(std::span<char> to, size_t at, uint32_t number) {
  const auto [end, error] = std::to_chars(to.data() + at, to.data() + to.size(), number);
  CHECK(error == std::errc());
  return static_cast<size_t>(end - to.data());
}

}  // namespace

std::optional<Address> Address::parse(std::string_view ip, uint16_t port) {
  char text[kText_bytes];
  if (ip.empty() || ip.size() >= sizeof(text) || ip.find('\0') != std::string_view::npos) {
    return std::nullopt;
  }
  memcpy(text, ip.data(), ip.size());
  text[ip.size()] = '\0';

  Address address;
  if (inet_pton(AF_INET, text, &address.any_.v4.sin_addr) == 1) {
    address.any_.v4.sin_family = AF_INET;
    address.setPort(port);
    return address;
  }
  uint32_t scope = 0;
  const size_t percent = ip.find('%');
  if (percent != std::string_view::npos) {
    scope = parseScope(text + percent + 1, ip.size() - percent - 1);
    if (scope == 0) {
      return std::nullopt;
    }
    text[percent] = '\0';
  }
  address = Address();
  if (inet_pton(AF_INET6, text, &address.any_.v6.sin6_addr) != 1) {
    return std::nullopt;
  }
  address.any_.v6.sin6_family = AF_INET6;
  address.any_.v6.sin6_scope_id = scope;
  address.setPort(port);
  return address;
}

Address Address::fromSockaddr(const sockaddr* from, socklen_t length) {
  Address address;
  if (length >= sizeof(sockaddr_in) && from->sa_family == AF_INET) {
    memcpy(&address.any_.v4, from, sizeof(sockaddr_in));
  } else if (length >= sizeof(sockaddr_in6) && from->sa_family == AF_INET6) {
    memcpy(&address.any_.v6, from, sizeof(sockaddr_in6));
  }
  return address;
}

Address Address::localOf(int fd) {
  Any any{};
  socklen_t length = sizeof(any);
  if (getsockname(fd, &any.base, &length) != 0) {
    return Address();
  }
  return fromSockaddr(&any.base, length);
}

Address Address::peerOf(int fd) {
  Any any{};
  socklen_t length = sizeof(any);
  if (getpeername(fd, &any.base, &length) != 0) {
    return Address();
  }
  return fromSockaddr(&any.base, length);
}

bool Address::isWildcard() const {
  if (isIpv6()) {
    return IN6_IS_ADDR_UNSPECIFIED(&any_.v6.sin6_addr);
  }
  return valid() && any_.v4.sin_addr.s_addr == htonl(INADDR_ANY);
}

bool Address::isLoopback() const {
  if (isIpv6()) {
    const in6_addr& ip = any_.v6.sin6_addr;
    return IN6_IS_ADDR_LOOPBACK(&ip) || (IN6_IS_ADDR_V4MAPPED(&ip) && ip.s6_addr[12] == 127);
  }
  return valid() && (ntohl(any_.v4.sin_addr.s_addr) >> 24) == 127;
}

void Address::setPort(uint16_t port) {
  if (isIpv6()) {
    any_.v6.sin6_port = htons(port);
  } else {
    any_.v4.sin_port = htons(port);
  }
}

socklen_t Address::length() const {
  if (!valid()) {
    return 0;
  }
  return isIpv6() ? sizeof(sockaddr_in6) : sizeof(sockaddr_in);
}

std::string_view Address::formatIp(std::span<char, kText_bytes> to) const {
  if (!valid()) {
    to[0] = '-';
    return {to.data(), 1};
  }
  const void* bytes = isIpv6() ? static_cast<const void*>(&any_.v6.sin6_addr)
                               : static_cast<const void*>(&any_.v4.sin_addr);
  CHECK(inet_ntop(family(), bytes, to.data(), to.size()) != nullptr);
  size_t size = strlen(to.data());
  if (isIpv6() && any_.v6.sin6_scope_id != 0) {
    to[size] = '%';
    size = appendNumber(to, size + 1, any_.v6.sin6_scope_id);
  }
  return {to.data(), size};
}

std::string_view Address::format(std::span<char, kText_bytes> to) const {
  char ip_text[kText_bytes];
  const std::string_view ip = formatIp(ip_text);
  size_t size = 0;
  if (isIpv6()) {
    to[size++] = '[';
  }
  memcpy(to.data() + size, ip.data(), ip.size());
  size += ip.size();
  if (isIpv6()) {
    to[size++] = ']';
  }
  if (valid()) {
    to[size++] = ':';
    size = appendNumber(to, size, port());
  }
  return {to.data(), size};
}

std::string Address::text() const {
  char to[kText_bytes];
  return std::string(format(to));
}

bool operator==(const Address& a, const Address& b) {
  if (a.family() != b.family()) {
    return false;
  }
  if (!a.valid()) {
    return true;
  }
  if (a.port() != b.port()) {
    return false;
  }
  if (!a.isIpv6()) {
    return a.any_.v4.sin_addr.s_addr == b.any_.v4.sin_addr.s_addr;
  }
  return memcmp(&a.any_.v6.sin6_addr, &b.any_.v6.sin6_addr, sizeof(in6_addr)) == 0 &&
         a.any_.v6.sin6_scope_id == b.any_.v6.sin6_scope_id;
}

}  // namespace net
