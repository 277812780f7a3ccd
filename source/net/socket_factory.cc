#include "source/net/socket_factory.h"

#include <netinet/tcp.h>
#include <sys/socket.h>

#include <cerrno>

namespace net {

base::Result<int> KernelSockets::stream(const Address& to) {
  const int fd = socket(to.family(), SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd >= 0) {
    return fd;
  }
  const int error = errno;
  if (error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM) {
    return base::Error{base::Code::no_capacity, base::Blame::self, base::Retry::never, error};
  }
  // No such family here (IPv6 switched off, or no address at all).
  return base::Error{base::Code::unreachable, base::Blame::upstream, base::Retry::never, error};
}

// Both options are advice: a socket that its peer has already reset may refuse them.
void KernelSockets::noDelay(int fd) {
  const int on = 1;
  (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
}

void KernelSockets::abortOnClose(int fd) {
  const linger reset{.l_onoff = 1, .l_linger = 0};
  (void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
}

}  // namespace net
