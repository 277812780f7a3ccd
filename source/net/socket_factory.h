// What is done to a socket outside the engine: making it, asking about it, setting its options. It
// is a seam so that the simulator, whose descriptors are not the kernel's, answers for its own.
#pragma once

#include "source/base/result.h"
#include "source/net/address.h"

namespace net {

class SocketFactory {
 public:
  virtual ~SocketFactory() = default;

  // A stream socket that can connect to `to`: close-on-exec. The error carries the
  // blame of the one that is connected to; no_capacity when descriptors or memory ran out.
  virtual base::Result<int> stream(const Address& to) = 0;
  // Sends what is written at once (TCP_NODELAY).
  virtual void noDelay(int fd) = 0;
  // The next close resets the connection instead of ending it in order (SO_LINGER 0).
  virtual void abortOnClose(int fd) = 0;
  // The two ends of a connected socket; no address if unknown.
  virtual Address local(int fd) = 0;
  virtual Address peer(int fd) = 0;
};

// The kernel's sockets. Stateless: one serves all threads.
class KernelSockets final : public SocketFactory {
 public:
  base::Result<int> stream(const Address& to) override;
  void noDelay(int fd) override;
  void abortOnClose(int fd) override;
  Address local(int fd) override { return Address::localOf(fd); }
  Address peer(int fd) override { return Address::peerOf(fd); }
};

}  // namespace net
