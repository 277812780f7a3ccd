// Opening a connection to an origin.
#pragma once

#include "source/net/address.h"
#include "source/net/socket_factory.h"
#include "source/rt/io.h"
#include "source/rt/task.h"

namespace net {

// A connected descriptor with TCP_NODELAY set, for a Stream; it is closed on every failure. No byte
// of a request has been sent when this fails, so another attempt is safe whatever the method; Retry
// says if_idempotent, its nearest word. Codes: refused, unreachable, timeout, cancelled,
// no_capacity (descriptors or local ports ran out, blame self), else io_error.
rt::Task<base::Result<int>> connectTo(const Address& to, SocketFactory& sockets,
                                      rt::CancelScope& scope, base::MonoTime deadline);

}  // namespace net
