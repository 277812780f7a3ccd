#include "test/sim/script.h"

#include <netinet/in.h>

#include "test/sim/world.h"

namespace sim {

rt::Task<int> connectTo(int fd, uint16_t port, rt::CancelScope& scope, base::MonoTime deadline,
                        uint32_t ipv4) {
  const sockaddr_in address = SimWorld::address(port, ipv4);
  const auto* generic = reinterpret_cast<const sockaddr*>(&address);
  const rt::IoResult result = co_await rt::Connect(fd, generic, sizeof address, scope, deadline);
  co_return result.result;
}

rt::Task<int> sendAll(int fd, std::string_view text, rt::CancelScope& scope,
                      base::MonoTime deadline) {
  const auto bytes = std::as_bytes(std::span(text));
  const rt::IoResult result = co_await rt::Send(fd, bytes, scope, deadline);
  co_return result.result;
}

rt::Task<int> receiveSome(int fd, std::string& to, size_t most, rt::CancelScope& scope,
                          base::MonoTime deadline) {
  const size_t before = to.size();
  to.resize(before + most);
  const auto space = std::as_writable_bytes(std::span(to)).subspan(before);
  const rt::IoResult result = co_await rt::Recv(fd, space, scope, deadline);
  to.resize(before + (result.ok() ? static_cast<size_t>(result.result) : 0));
  co_return result.result;
}

rt::Task<std::string> receiveAll(int fd, rt::CancelScope& scope) {
  std::string all;
  int result = 1;
  while (result > 0) {
    result = co_await receiveSome(fd, all, 16384, scope);
  }
  co_return all;
}

}  // namespace sim
