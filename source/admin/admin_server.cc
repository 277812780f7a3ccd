#include "source/admin/admin_server.h"

#include <utility>

#include "source/http/serialize.h"

namespace admin {

// One connection more than the limit is accepted, to be given another's place or to be reset.
AdminServer::AdminServer(rt::Reactor& reactor, rt::ReceivePool& receive,
                         net::SocketFactory& sockets, Control& control, const AdminLimits& limits)
    : reactor_(reactor),
      receive_(receive),
      sockets_(sockets),
      limits_(limits),
      background_(reactor, 1),
      context_{reactor, control, background_, {}, {}},
      slots_(limits.connections + 1),
      connections_(reactor, limits.connections + 1),
      closing_(reactor, 1) {}

AdminServer::~AdminServer() {
  CHECK(!serving_);
}

rt::Task<void> AdminServer::serve(int listen_fd, rt::CancelScope& scope) {
  CHECK(!begun_);
  begun_ = serving_ = true;
  rt::CancelScope accepting(scope);
  if (!stopping_) {
    accepting_ = &accepting;
    net::Acceptor acceptor(listen_fd, sockets_, slots_, *this);
    co_await acceptor.run(accepting);
    accepting_ = nullptr;
  }
  co_await endConnections();
  serving_ = false;
  ended_.wakeAll();
}

rt::Task<void> AdminServer::stop() {
  stopping_ = true;
  if (accepting_ != nullptr) {
    accepting_->request();
  }
  while (serving_) {
    co_await ended_.wait(never_);
  }
}

rt::Task<void> AdminServer::endConnections() {
  stopping_ = true;
  reading_.request();
  closing_.spawn(cutOff());
  co_await connections_.join();
  closing_.cancelAll();
  co_await closing_.join();
  co_await background_.join();
}

rt::Task<void> AdminServer::cutOff() {
  if (co_await rt::Sleep(reactor_.now() + limits_.stop_grace_ns, closing_.scope())) {
    connections_.cancelAll();
  }
}

bool AdminServer::accepted(int fd, net::ConnectionSlot slot) {
  if (stopping_) {
    return false;
  }
  context_.stats.downstream_cx_total++;
  if (slots_.open() > limits_.connections) {
    Connection* oldest = idle_.front();
    if (oldest == nullptr) {
      context_.stats.downstream_cx_shed++;
      return false;
    }
    context_.stats.downstream_cx_evicted++;
    oldest->unlink();
    oldest->scope.request();
  }
  return connections_.spawn(runConnection(fd, std::move(slot)));
}

rt::Task<void> AdminServer::runConnection(int fd, net::ConnectionSlot slot) {
  net::Stream stream(receive_, sockets_, fd, base::Blame::downstream);
  Connection connection(std::move(stream), std::move(slot), limits_, reading_);
  context_.stats.downstream_cx_active++;
  while (!stopping_) {
    if (!connection.hasInput()) {
      idle_.pushBack(&connection);
    }
    const bool comes = co_await connection.waitForRequest(reactor_.now() + limits_.idle_ns);
    connection.unlink();
    if (!comes) {
      context_.stats.downstream_cx_idle_timeout += connection.timed_out ? 1 : 0;
      break;
    }
    const Connection::Got got =
        co_await connection.readRequest(reactor_.now() + limits_.request_ns);
    if (got == Connection::Got::end) {
      break;
    }
    context_.stats.downstream_rq_total++;
    context_.stats.downstream_rq_over_limit += connection.over_limit ? 1 : 0;
    co_await answer(connection, got);
    if (got == Connection::Got::problem) {
      co_await connection.linger(reactor_.now() + limits_.linger_ns, connections_.scope());
    }
    if (!connection.keep_alive) {
      break;
    }
  }
  context_.stats.downstream_cx_active--;
  co_await connection.stream.close();
}

// Sends the problem there is with the request, or else runs its command.
rt::Task<void> AdminServer::answer(Connection& connection, Connection::Got got) {
  Reply reply;
  if (got == Connection::Got::problem) {
    reply = std::move(connection.problem);
  } else {
    reply = co_await dispatch(context_, connection.request());
  }
  connection.keep_alive = connection.keep_alive && !stopping_ && !reply.then_quit;
  countReply(reply.status);
  std::string message = composeHead(reply, connection.keep_alive);
  if (!connection.is_head) {
    message += reply.body;
  }
  const std::span<const std::byte> bytes(reinterpret_cast<const std::byte*>(message.data()),
                                         message.size());
  const base::MonoTime deadline = reactor_.now() + limits_.write_ns;
  const base::Status sent = co_await connection.stream.write(bytes, connections_.scope(), deadline);
  if (!sent.ok()) {
    connection.keep_alive = false;
    connection.stream.abort();
  }
  if (reply.then_quit) {
    context_.control.quit();
  }
}

std::string AdminServer::composeHead(const Reply& reply, bool keep_alive) {
  std::string head;
  http::appendStatusLine(head, reply.status);
  http::appendField(head, http::Name::date, date_.at(reactor_.turn().wall));
  http::appendField(head, http::Name::content_type, reply.content_type);
  http::appendField(head, http::Name::content_length, uint64_t{reply.body.size()});
  http::appendField(head, http::Name::cache_control, "no-cache, max-age=0");
  http::appendField(head, "X-Content-Type-Options", "nosniff");
  if (!reply.allow.empty()) {
    http::appendField(head, http::Name::allow, reply.allow);
  }
  if (!keep_alive) {
    http::appendField(head, http::Name::connection, "close");
  }
  http::appendHeadEnd(head);
  return head;
}

void AdminServer::countReply(uint16_t status) {
  AdminStats& stats = context_.stats;
  stats.downstream_rq_2xx += status / 100 == 2 ? 1 : 0;
  stats.downstream_rq_4xx += status / 100 == 4 ? 1 : 0;
  stats.downstream_rq_5xx += status / 100 == 5 ? 1 : 0;
}

}  // namespace admin
