// Goal: whatever text is taken for an address is written in a form that is read back as the same
// address. Method: the first two bytes are the port, the rest the text.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "source/base/check.h"
#include "source/net/address.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2) {
    return 0;
  }
  const uint16_t port = static_cast<uint16_t>(data[0] << 8 | data[1]);
  const std::string_view text(reinterpret_cast<const char*>(data) + 2, size - 2);
  const std::optional<net::Address> address = net::Address::parse(text, port);
  if (!address) {
    return 0;
  }
  CHECK(address->valid());
  CHECK(address->port() == port);
  char ip[net::Address::kText_bytes];
  const std::optional<net::Address> again = net::Address::parse(address->formatIp(ip), port);
  CHECK(again.has_value());
  CHECK(*again == *address);
  CHECK(net::Address::fromSockaddr(address->data(), address->length()) == *address);
  CHECK(!(address->isLoopback() && address->isWildcard()));
  CHECK(address->text().size() <= net::Address::kText_bytes);
  return 0;
}
