#include "source/net/connect.h"

namespace net {

rt::Task<base::Result<int>> connectTo(const Address& to, SocketFactory& sockets,
                                      rt::CancelScope& scope, base::MonoTime deadline) {
  // In the frame, because the engine reads it until the connection stands.
  const Address target = to;
  if (!target.valid()) {
    co_return base::Error{base::Code::unreachable, base::Blame::self};
  }
  const base::Result<int> made = sockets.stream(target);
  if (!made.ok()) {
    co_return made.error();
  }
  const int fd = made.value();
  const rt::IoResult result =
      co_await rt::Connect(fd, target.data(), target.length(), scope, deadline);
  if (result.ok()) {
    sockets.noDelay(fd);
    co_return fd;
  }
  co_await rt::Close(fd);
  base::Error error = result.error(base::Blame::upstream, base::Retry::if_idempotent);
  if (result.ended == rt::Ended::by_itself && result.result == -EADDRNOTAVAIL) {
    error.code = base::Code::no_capacity;  // every local port to this address is taken
    error.blame = base::Blame::self;
  } else if (error.code == base::Code::cancelled) {
    error.retry = base::Retry::never;
  }
  co_return error;
}

}  // namespace net
