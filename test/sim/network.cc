#include "test/sim/network.h"

#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace sim {
namespace {

constexpr uint64_t kSynRetry_ns = base::kSecond_ns;

void remove(std::deque<Pending*>& from, Pending& pending) {
  from.erase(std::remove(from.begin(), from.end(), &pending), from.end());
}

}  // namespace

Network::Network(Core& core, const NetworkOptions& options, Descriptors& descriptors)
    : core_(core), options_(options), descriptors_(descriptors) {
  sockets_.push_back(std::make_unique<Socket>());
  sockets_[0]->state = Socket::State::closed;
}

uint64_t Network::create(uint32_t host) {
  auto socket = std::make_unique<Socket>();
  socket->id = sockets_.size();
  socket->host = host;
  sockets_.push_back(std::move(socket));
  return sockets_.back()->id;
}

void Network::listen(uint64_t id, uint16_t port, uint32_t address) {
  Socket& socket = at(id);
  CHECK(socket.state == Socket::State::fresh);
  socket.state = Socket::State::listening;
  socket.port = port;
  socket.address = address;
  listeners_.push_back(id);
}

uint64_t Network::latency() {
  const uint64_t most = core_.chance(options_.spike)
                            ? std::max(options_.spike_max_ns, options_.latency_max_ns)
                            : options_.latency_max_ns;
  return core_.random().between(options_.latency_min_ns, most);
}

void Network::start(Pending& pending, uint64_t id) {
  Socket& socket = at(id);
  pending.node = id;
  switch (pending.op->kind) {
    case rt::OpKind::accept:
      if (socket.state != Socket::State::listening) {
        pending.engine->finish(pending, -EINVAL);
        return;
      }
      socket.accepts.push_back(&pending);
      pumpAccepts(socket);
      return;
    case rt::OpKind::connect:
      startConnect(pending, socket);
      return;
    case rt::OpKind::recv:
    case rt::OpKind::recv_select:
      startReceive(pending, socket);
      return;
    case rt::OpKind::send:
    case rt::OpKind::sendmsg:
      startSend(pending, socket);
      return;
    case rt::OpKind::poll:
      socket.polls.push_back(&pending);
      pumpPolls(socket);
      return;
    case rt::OpKind::shutdown:
      shutdown(pending, socket);
      return;
    default:
      pending.engine->finish(pending, -ESPIPE);
      return;
  }
}

void Network::cancel(Pending& pending) {
  Socket& socket = at(pending.node);
  remove(socket.accepts, pending);
  remove(socket.reads, pending);
  remove(socket.writes, pending);
  remove(socket.polls, pending);
  pending.engine->finish(pending, -ECANCELED);
}

// --- Connecting ---

void Network::startConnect(Pending& pending, Socket& socket) {
  if (socket.state != Socket::State::fresh) {
    pending.engine->finish(pending,
                           socket.state == Socket::State::connecting ? -EALREADY : -EISCONN);
    return;
  }
  const auto* address = static_cast<const sockaddr*>(pending.op->addr);
  if (address->sa_family == AF_INET) {
    const auto* in = static_cast<const sockaddr_in*>(pending.op->addr);
    socket.port = ntohs(in->sin_port);
    socket.address = ntohl(in->sin_addr.s_addr);
  } else if (address->sa_family == AF_INET6) {
    socket.port = ntohs(static_cast<const sockaddr_in6*>(pending.op->addr)->sin6_port);
  } else {
    pending.engine->finish(pending, -EAFNOSUPPORT);
    return;
  }
  socket.state = Socket::State::connecting;
  socket.writes.push_back(&pending);
  if (core_.chance(options_.blackhole)) {
    core_.trace(Trace::connect, socket.id, 2);
    core_.schedule(core_.now() + 127 * base::kSecond_ns,
                   [this, id = socket.id] { failConnect(id, -ETIMEDOUT); });
    return;
  }
  core_.schedule(core_.now() + latency(), [this, id = socket.id] { handshake(id); });
}

std::optional<uint64_t> Network::chooseListener(uint16_t port, uint32_t address) {
  std::vector<uint64_t> fit;
  for (const uint64_t id : listeners_) {
    const Socket& listener = at(id);
    if (listener.port == port && (listener.address == 0 || listener.address == address)) {
      fit.push_back(id);
    }
  }
  if (fit.empty()) {
    return std::nullopt;
  }
  return fit[core_.random().below(fit.size())];
}

// The first packet has come to the server's machine.
void Network::handshake(uint64_t id) {
  Socket& client = at(id);
  if (client.state != Socket::State::connecting) {
    return;
  }
  const std::optional<uint64_t> chosen = chooseListener(client.port, client.address);
  if (!chosen || core_.chance(options_.refuse)) {
    core_.trace(Trace::connect, id, 1);
    core_.schedule(core_.now() + latency(), [this, id] { failConnect(id, -ECONNREFUSED); });
    return;
  }
  Socket& listener = at(*chosen);
  if (listener.backlog.size() >= options_.backlog) {
    core_.schedule(core_.now() + kSynRetry_ns, [this, id] { handshake(id); });
    return;
  }
  Socket& server = at(create(listener.host));
  server.state = Socket::State::connected;
  server.peer = id;
  client.peer = server.id;
  for (Socket* end : {&server, &client}) {
    end->window = static_cast<uint32_t>(core_.random().between(
        options_.window_min, std::max(options_.window_min, options_.window_max)));
  }
  connections_++;
  core_.trace(Trace::connect, id, 0, server.id);
  uint64_t ready_ns = core_.now();
  if (core_.chance(options_.slow_accept)) {
    ready_ns += core_.random().below(options_.spike_max_ns + 1);
    core_.schedule(ready_ns, [this, at_id = listener.id] { pumpAccepts(at(at_id)); });
  }
  listener.backlog.push_back(Socket::Waiting{server.id, ready_ns});
  core_.schedule(core_.now() + latency(), [this, id] { connected(id); });
  pumpAccepts(listener);
  pumpPolls(listener);
}

void Network::connected(uint64_t id) {
  Socket& client = at(id);
  if (client.state != Socket::State::connecting) {
    return;
  }
  client.state = Socket::State::connected;
  if (!client.writes.empty()) {
    Pending& pending = *client.writes.front();
    client.writes.pop_front();
    const int32_t error = std::exchange(client.error, 0);
    pending.engine->finish(pending, -error);
  }
  wake(client);
}

void Network::failConnect(uint64_t id, int32_t error) {
  Socket& client = at(id);
  if (client.state != Socket::State::connecting) {
    return;
  }
  client.state = Socket::State::fresh;
  if (!client.writes.empty()) {
    Pending& pending = *client.writes.front();
    client.writes.pop_front();
    pending.engine->finish(pending, error);
  }
}

void Network::pumpAccepts(Socket& listener) {
  while (!listener.accepts.empty()) {
    const auto ready = std::find_if(
        listener.backlog.begin(), listener.backlog.end(),
        [this](const Socket::Waiting& waiting) { return waiting.ready_ns <= core_.now(); });
    if (ready == listener.backlog.end()) {
      return;
    }
    Pending& pending = *listener.accepts.front();
    listener.accepts.pop_front();
    if (core_.chance(options_.accept_error)) {
      // The connection stays for the next accept, unless it is the one that was aborted.
      if (core_.chance(kAlways / 2)) {
        pending.engine->finish(pending, -EMFILE);
        continue;
      }
      const uint64_t aborted = ready->socket;
      listener.backlog.erase(ready);
      reset(aborted);
      at(aborted).state = Socket::State::closed;
      pending.engine->finish(pending, -ECONNABORTED);
      continue;
    }
    const uint64_t socket = ready->socket;
    listener.backlog.erase(ready);
    pending.engine->finish(pending, descriptors_.add(listener.host, socket));
  }
}

// --- Ends ---

void Network::shutdown(Pending& pending, Socket& socket) {
  if (socket.state != Socket::State::connected || socket.dead) {
    pending.engine->finish(pending, -ENOTCONN);
    return;
  }
  if (!socket.end_sent) {
    socket.end_sent = true;
    put(at(socket.peer), Piece{0, Piece::Kind::end, {}});
    pumpWrites(socket);
  }
  pending.engine->finish(pending, 0);
}

void Network::close(uint64_t id) {
  Socket& socket = at(id);
  // A descriptor must not be closed under operations that use it: they might never end.
  CHECK(socket.reads.empty());
  CHECK(socket.writes.empty());
  CHECK(socket.accepts.empty());
  CHECK(socket.polls.empty());
  if (socket.state == Socket::State::listening) {
    std::erase(listeners_, id);
    for (const Socket::Waiting& waiting : std::exchange(socket.backlog, {})) {
      close(waiting.socket);
    }
  } else if (socket.peer != 0 && !socket.dead) {
    const bool unread = socket.available() > 0;
    if (unread || socket.state == Socket::State::connecting) {
      put(at(socket.peer), Piece{0, Piece::Kind::reset, {}});
    } else if (!socket.end_sent) {
      put(at(socket.peer), Piece{0, Piece::Kind::end, {}});
    }
  }
  socket.state = Socket::State::closed;
  socket.inbox = {};
  socket.inbox_read = 0;
}

void Network::die(Socket& socket, int32_t error) {
  if (socket.dead) {
    return;
  }
  socket.dead = true;
  socket.error = error;
  socket.wire.clear();
  socket.wire_bytes = 0;
  wake(socket);
}

void Network::reset(uint64_t id) {
  Socket& socket = at(id);
  core_.trace(Trace::reset, id, socket.peer);
  if (socket.peer != 0) {
    Socket& peer = at(socket.peer);
    if (core_.chance(kAlways / 2)) {
      peer.wire.clear();  // the reset overtakes what is on the way
      peer.wire_bytes = 0;
    }
    put(peer, Piece{0, Piece::Kind::reset, {}});
  }
  die(socket, ECONNRESET);
}

void Network::wake(Socket& socket) {
  if (core_.random().chance(1, 2)) {
    pumpReads(socket);
    pumpWrites(socket);
  } else {
    pumpWrites(socket);
    pumpReads(socket);
  }
  pumpPolls(socket);
}

void Network::killHost(uint32_t host) {
  for (const std::unique_ptr<Socket>& socket : sockets_) {
    if (socket->host != host || socket->state == Socket::State::closed) {
      continue;
    }
    if (socket->state == Socket::State::listening) {
      std::erase(listeners_, socket->id);
      socket->backlog.clear();
    } else if (socket->peer != 0 && !socket->dead) {
      reset(socket->id);
    }
    socket->state = Socket::State::closed;
  }
}

uint64_t Network::openSockets(uint32_t host) const {
  return static_cast<uint64_t>(
      std::count_if(sockets_.begin(), sockets_.end(), [host](const auto& socket) {
        return socket->host == host && socket->state != Socket::State::closed;
      }));
}

// --- Readiness ---

uint32_t Network::readiness(const Socket& socket) const {
  if (socket.state == Socket::State::listening) {
    const bool any = std::any_of(
        socket.backlog.begin(), socket.backlog.end(),
        [this](const Socket::Waiting& waiting) { return waiting.ready_ns <= core_.now(); });
    return any ? POLLIN : 0;
  }
  if (socket.state != Socket::State::connected) {
    return socket.state == Socket::State::fresh ? POLLOUT | POLLHUP : 0;
  }
  uint32_t events = 0;
  if (socket.available() > 0 || socket.end_arrived || socket.dead) {
    events |= POLLIN;
  }
  if (socket.end_arrived || socket.dead) {
    events |= POLLRDHUP;
  }
  const Socket& to = *sockets_[socket.peer];
  if (socket.dead || to.available() + to.wire_bytes < to.window) {
    events |= POLLOUT;
  }
  if (socket.dead || (socket.end_arrived && socket.end_sent)) {
    events |= POLLHUP;
  }
  return socket.error != 0 ? events | POLLERR : events;
}

void Network::pumpPolls(Socket& socket) {
  const uint32_t ready = readiness(socket);
  for (Pending* pending : std::exchange(socket.polls, {})) {
    const uint32_t hit = ready & (pending->op->len | POLLERR | POLLHUP);
    if (hit != 0) {
      pending->engine->finish(*pending, static_cast<int32_t>(hit));
    } else {
      socket.polls.push_back(pending);
    }
  }
}

}  // namespace sim
