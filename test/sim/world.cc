#include "test/sim/world.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace sim {

SimWorld::SimWorld(uint64_t seed, const Options& options)
    : options_(options),
      core_(seed),
      network_(core_, options.network, *this),
      disk_(core_, options.disk) {}

SimWorld::~SimWorld() = default;

SimHost& SimWorld::addHost(HostSpec spec) {
  const auto index = static_cast<uint32_t>(hosts_.size());
  Kernel& kernel = *this;
  hosts_.push_back(
      std::make_unique<SimHost>(core_, kernel, index, spec, options_.registered_region));
  hosts_.back()->engine().setWall(options_.wall_start_s);
  return *hosts_.back();
}

// --- Descriptors ---

int SimWorld::addNode(Node node) {
  nodes_[next_descriptor_] = node;
  return next_descriptor_++;
}

int SimWorld::add(uint32_t host, uint64_t socket) {
  return addNode(Node{Node::Kind::socket, socket, host});
}

int SimWorld::socket(SimHost& host) {
  return add(host.index(), network_.create(host.index()));
}

int SimWorld::listen(SimHost& host, uint16_t port, uint32_t ipv4) {
  const uint64_t socket = network_.create(host.index());
  network_.listen(socket, port, ipv4);
  return add(host.index(), socket);
}

int SimWorld::openFile(SimHost& host, std::string_view name, const FileSpec& spec) {
  const uint64_t file = disk_.open(name, spec.length, spec.limit);
  return addNode(Node{Node::Kind::file, file, host.index(), spec.direct});
}

int SimWorld::openEvent(SimHost& host) {
  events_.push_back(std::make_unique<Event>());
  return addNode(Node{Node::Kind::event, events_.size() - 1, host.index()});
}

void SimWorld::signalEvent(int fd, uint64_t count) {
  Event& event = *events_[nodes_.at(fd).id];
  event.count += count;
  pumpEvent(event);
}

void SimWorld::closeNow(int fd) {
  const auto found = nodes_.find(fd);
  if (found == nodes_.end()) {
    return;
  }
  if (found->second.kind == Node::Kind::socket) {
    if (found->second.abort && !network_.socket(found->second.id).dead) {
      network_.reset(found->second.id);
    }
    network_.close(found->second.id);
  }
  nodes_.erase(found);
  if (fd < kFirstDescriptor) {
    ::close(fd);
  }
}

uint64_t SimWorld::openDescriptors(const SimHost& host) const {
  return static_cast<uint64_t>(std::count_if(nodes_.begin(), nodes_.end(), [&](const auto& node) {
    return node.second.host == host.index();
  }));
}

void SimWorld::abortOnClose(int fd) {
  const auto found = nodes_.find(fd);
  if (found != nodes_.end()) {
    found->second.abort = true;
  }
}

void SimWorld::resetConnection(int fd) {
  network_.reset(nodes_.at(fd).id);
}

sockaddr_in SimWorld::address(uint16_t port, uint32_t ipv4) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(ipv4);
  return address;
}

// --- The kernel's side of the engines ---

SimWorld::Node* SimWorld::find(Pending& pending) {
  const int fd = pending.op->fd;
  auto found = nodes_.find(fd);
  if (found == nodes_.end() && pending.op->kind == rt::OpKind::connect && fd >= 0 &&
      fd < kFirstDescriptor && fcntl(fd, F_GETFD) >= 0) {
    // A socket made by socket(2): from here on the descriptor stands for one of this world.
    const uint32_t host = pending.engine->host();
    found = nodes_.emplace(fd, Node{Node::Kind::socket, network_.create(host), host}).first;
  }
  return found == nodes_.end() ? nullptr : &found->second;
}

void SimWorld::start(Pending& pending) {
  if (hosts_[pending.engine->host()]->killed()) {
    if (pending.op->kind == rt::OpKind::close) {
      closeNow(pending.op->fd);
    }
    pending.engine->finish(pending, -ECANCELED);
    return;
  }
  if (pending.op->kind == rt::OpKind::close) {
    startClose(pending);
    return;
  }
  const Node* node = find(pending);
  if (node == nullptr) {
    pending.engine->finish(pending, -EBADF);
    return;
  }
  pending.direct = node->direct;
  dispatch(pending, *node);
}

void SimWorld::dispatch(Pending& pending, const Node& node) {
  const rt::OpKind kind = pending.op->kind;
  if (kind == rt::OpKind::send_file) {
    startSendFile(pending, node);
    return;
  }
  const bool of_files =
      kind == rt::OpKind::read || kind == rt::OpKind::write || kind == rt::OpKind::fsync;
  switch (node.kind) {
    case Node::Kind::file:
      disk_.start(pending, node.id);
      return;
    case Node::Kind::event:
      startEvent(pending, node.id);
      return;
    case Node::Kind::socket:
      if (of_files) {
        pending.engine->finish(pending, -ESPIPE);
      } else {
        network_.start(pending, node.id);
      }
      return;
  }
}

void SimWorld::startSendFile(Pending& pending, const Node& node) {
  const rt::Op& op = *pending.op;
  const auto file = nodes_.find(op.file);
  if (file == nodes_.end() || file->second.kind != Node::Kind::file) {
    pending.engine->finish(pending, -EBADF);
    return;
  }
  const std::span<const std::byte> bytes = disk_.cached(file->second.id, op.offset, op.len);
  if (bytes.empty()) {
    pending.engine->finish(pending, -ENODATA);
  } else if (node.kind != Node::Kind::socket) {
    pending.engine->finish(pending, -EINVAL);
  } else {
    network_.sendNow(pending, node.id, bytes);
  }
}

void SimWorld::startClose(Pending& pending) {
  const int fd = pending.op->fd;
  int32_t result = 0;
  if (nodes_.contains(fd)) {
    closeNow(fd);
  } else if (fd < 0 || fd >= kFirstDescriptor || ::close(fd) != 0) {
    result = -EBADF;
  }
  pending.engine->finish(pending, result);
}

void SimWorld::startEvent(Pending& pending, uint64_t id) {
  Event& event = *events_[id];
  const rt::OpKind kind = pending.op->kind;
  pending.node = id;
  if (kind == rt::OpKind::poll || (kind == rt::OpKind::read && pending.op->len >= 8)) {
    event.waiting.push_back(&pending);
    pumpEvent(event);
  } else if (kind == rt::OpKind::write && pending.op->len >= 8) {
    uint64_t count = 0;
    std::memcpy(&count, pending.op->addr, sizeof count);
    event.count += count;
    pending.engine->finish(pending, 8);
    pumpEvent(event);
  } else {
    pending.engine->finish(pending, -EINVAL);
  }
}

void SimWorld::pumpEvent(Event& event) {
  for (Pending* pending : std::exchange(event.waiting, {})) {
    const rt::Op& op = *pending->op;
    if (op.kind == rt::OpKind::poll) {
      const uint32_t ready = op.len & (POLLOUT | (event.count > 0 ? POLLIN : 0));
      if (ready != 0) {
        pending->engine->finish(*pending, static_cast<int32_t>(ready));
        continue;
      }
    } else if (event.count > 0) {
      const uint64_t count = std::exchange(event.count, 0);
      std::memcpy(op.addr, &count, sizeof count);
      pending->engine->finish(*pending, 8);
      continue;
    }
    event.waiting.push_back(pending);
  }
}

void SimWorld::cancel(Pending& pending) {
  if (core_.random().chance(1, 2)) {
    cancelNow(pending);
    return;
  }
  // Its own result may come first.
  const uint64_t delay_ns = core_.random().below(options_.network.latency_max_ns + 1);
  core_.schedule(core_.now() + delay_ns, [this, &pending, id = pending.id] {
    if (pending.id == id && !pending.settled) {
      cancelNow(pending);
    }
  });
}

void SimWorld::cancelNow(Pending& pending) {
  const auto found = nodes_.find(pending.op->fd);
  CHECK(found != nodes_.end());  // a descriptor is not closed while operations use it
  switch (found->second.kind) {
    case Node::Kind::socket:
      network_.cancel(pending);
      return;
    case Node::Kind::file:
      disk_.cancel(pending);
      return;
    case Node::Kind::event:
      std::erase(events_[pending.node]->waiting, &pending);
      pending.engine->finish(pending, -ECANCELED);
      return;
  }
}

void SimWorld::ringDoorbell(SimEngine& from, base::ShardId to) {
  const HostSpec& spec = hosts_[from.host()]->spec();
  for (const std::unique_ptr<SimHost>& host : hosts_) {
    if (host->spec().process == spec.process && host->spec().shard == to &&
        &host->engine() != &from) {
      core_.trace(Trace::ring, from.host(), host->index());
      core_.schedule(core_.now() + core_.random().below(options_.doorbell_max_ns + 1),
                     [engine = &host->engine()] { engine->hearDoorbell(); });
    }
  }
}

void SimWorld::sleep(SimEngine& engine, base::MonoTime until) {
  while (!engine.hasNews() && core_.now() < until.ns) {
    if (core_.runOneDue()) {
      continue;
    }
    const uint64_t next = std::min(core_.nextEvent(), until.ns);
    CHECK(next != UINT64_MAX);  // nothing would ever end this sleep
    core_.advanceTo(next);
  }
}

// --- Running ---

SimHost* SimWorld::chooseRunnable() {
  runnable_.clear();
  for (const std::unique_ptr<SimHost>& host : hosts_) {
    if (host->runnable(core_.now())) {
      runnable_.push_back(host.get());
    }
  }
  return runnable_.empty() ? nullptr : runnable_[core_.random().below(runnable_.size())];
}

uint64_t SimWorld::nextMoment() const {
  uint64_t next = core_.nextEvent();
  for (const std::unique_ptr<SimHost>& host : hosts_) {
    next = std::min(next, host->deadline());
  }
  return next;
}

Ran SimWorld::run(const std::function<bool()>& done, base::MonoTime deadline) {
  while (!done()) {
    if (core_.now() >= deadline.ns) {
      return Ran::deadline;
    }
    if (core_.runOneDue()) {
      continue;
    }
    if (SimHost* host = chooseRunnable()) {
      host->takeTurn();
      core_.advanceTo(core_.now() + core_.random().below(options_.turn_max_ns + 1));
      continue;
    }
    const uint64_t next = nextMoment();
    if (next == UINT64_MAX) {
      return Ran::stuck;
    }
    core_.advanceTo(std::min(next, deadline.ns));
  }
  return Ran::done;
}

Ran SimWorld::runToEnd(SimHost& host, base::MonoTime deadline) {
  return run([&host] { return host.group().size() == 0; }, deadline);
}

Ran SimWorld::runFor(uint64_t ns) {
  return run([] { return false; }, now() + ns);
}

void SimWorld::kill(uint32_t process) {
  for (const std::unique_ptr<SimHost>& host : hosts_) {
    if (host->spec().process != process || host->killed()) {
      continue;
    }
    core_.trace(Trace::kill, host->index());
    host->setKilled();
    network_.killHost(host->index());
    for (Pending* pending : host->engine().inKernel()) {
      if (!pending->settled) {
        const auto found = nodes_.find(pending->op->fd);
        if (found != nodes_.end() && found->second.kind == Node::Kind::file) {
          disk_.abandon(*pending);
        } else {
          cancelNow(*pending);
        }
      }
    }
  }
}

void SimWorld::calm() {
  const Options calm;
  network_.setOptions(calm.network);
  disk_.setOptions(calm.disk);
}

}  // namespace sim
