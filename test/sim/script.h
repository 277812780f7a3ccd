// What scripted clients and origins say, in coroutines: whole strings over simulated sockets.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "source/rt/io.h"

namespace sim {

// 0 or -errno. The address is 127.0.0.1 unless told otherwise.
rt::Task<int> connectTo(int fd, uint16_t port, rt::CancelScope& scope,
                        base::MonoTime deadline = base::kNever, uint32_t ipv4 = 0x7f000001);
// The number of bytes, or -errno. The text lives until the send ends.
rt::Task<int> sendAll(int fd, std::string_view text, rt::CancelScope& scope,
                      base::MonoTime deadline = base::kNever);
// Appends at most `most` bytes to `to`: their number, 0 at the end of the stream, or -errno.
rt::Task<int> receiveSome(int fd, std::string& to, size_t most, rt::CancelScope& scope,
                          base::MonoTime deadline = base::kNever);
// Everything until the end of the stream or an error.
rt::Task<std::string> receiveAll(int fd, rt::CancelScope& scope);

}  // namespace sim
