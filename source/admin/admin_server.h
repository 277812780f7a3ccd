// The admin's HTTP/1.1 server, on the control thread. It shares nothing with the shards but what
// Control asks them, so it answers whatever the load is.
//
//   accept -> wait for a request (idle) -> read head and body -> dispatch (command.h) -> send ->
//   idle ...
//
// Limits (AdminLimits): connections; one more closes the one that has been unused longest, or is
// itself reset when all are busy. A head is answered 431 beyond its limit, a query 414, a body 413,
// and a request that does not come whole in time 408. The reply of a command is sent within
// write_ns or the connection is reset.
#pragma once

#include <cstdint>
#include <string>

#include "source/admin/command.h"
#include "source/admin/connection.h"
#include "source/base/intrusive_list.h"
#include "source/http/date.h"
#include "source/net/acceptor.h"
#include "source/net/socket_factory.h"
#include "source/rt/receive_pool.h"
#include "source/rt/task_group.h"
#include "source/rt/wait.h"

namespace admin {

class AdminServer final : public net::ConnectionHandler {
 public:
  // All outlive it.
  AdminServer(rt::Reactor& reactor, rt::ReceivePool& receive, net::SocketFactory& sockets,
              Control& control, const AdminLimits& limits = {});
  ~AdminServer() override;

  // Accepts on a listening socket, which is borrowed, and answers, until the scope is cancelled or
  // stop() is called; returns when every connection has ended. Once only.
  rt::Task<void> serve(int listen_fd, rt::CancelScope& scope);
  // Accepts no more, closes unused connections, lets answers that are due be sent (for
  // stop_grace_ns at most), and returns when serve() is about to. The commands that run must be
  // able to end: shards still answer.
  rt::Task<void> stop();

  const AdminStats& stats() const { return context_.stats; }

 private:
  bool accepted(int fd, net::ConnectionSlot slot) override;
  rt::Task<void> runConnection(int fd, net::ConnectionSlot slot);
  rt::Task<void> answer(Connection& connection, Connection::Got got);
  std::string composeHead(const Reply& reply, bool keep_alive);
  rt::Task<void> endConnections();
  rt::Task<void> cutOff();
  void countReply(uint16_t status);

  rt::Reactor& reactor_;
  rt::ReceivePool& receive_;
  net::SocketFactory& sockets_;
  AdminLimits limits_;
  rt::TaskGroup background_;
  Context context_;
  http::DateCache date_;
  net::ConnectionLimit slots_;
  rt::TaskGroup connections_;  // its scope ends everything, answers too
  rt::CancelScope reading_;    // ends waiting for requests
  rt::TaskGroup closing_;
  base::IntrusiveList<Connection> idle_;  // unused the longest first
  rt::CancelScope* accepting_ = nullptr;
  rt::CancelScope never_;
  rt::WaitQueue ended_;
  bool begun_ = false;
  bool serving_ = false;
  bool stopping_ = false;
};

}  // namespace admin
