#include "source/net/listener.h"

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace net {

namespace {

base::Error failure(int error) {
  const bool capacity = error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM;
  return base::Error{capacity ? base::Code::no_capacity : base::Code::io_error, base::Blame::self,
                     base::Retry::never, error};
}

std::string explain(int error, const Address& address) {
  const std::string where = address.text();
  switch (error) {
    case EADDRINUSE:
      return "cannot listen on " + where + ": the port is in use by another socket";
    case EADDRNOTAVAIL:
      return "cannot listen on " + where + ": the address is not one of this machine's";
    case EACCES:
      return "cannot listen on " + where +
             ": no permission (ports below net.ipv4.ip_unprivileged_port_start need "
             "CAP_NET_BIND_SERVICE)";
    case EAFNOSUPPORT:
      return "cannot listen on " + where + ": this machine has no " +
             (address.isIpv6() ? "IPv6" : "IPv4");
    case EMFILE:
    case ENFILE:
      return "cannot listen on " + where + ": too many open files";
    default:
      return "cannot listen on " + where + ": " + strerror(error);
  }
}

bool turnOn(int fd, int level, int option) {
  const int on = 1;
  return setsockopt(fd, level, option, &on, sizeof(on)) == 0;
}

// A socket bound to the address, or -errno. The first one binds without SO_REUSEPORT, so that it
// fails where another process listens already, even one of the same user that we could join; then
// it opens the group to the sockets that follow.
int bindSocket(const Address& address, bool first) {
  const int fd = socket(address.family(), SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) {
    return -errno;
  }
  bool fine = turnOn(fd, SOL_SOCKET, SO_REUSEADDR);
  fine = fine && (!address.isIpv6() || turnOn(fd, IPPROTO_IPV6, IPV6_V6ONLY));
  fine = fine && (first || turnOn(fd, SOL_SOCKET, SO_REUSEPORT));
  fine = fine && bind(fd, address.data(), address.length()) == 0;
  fine = fine && (!first || turnOn(fd, SOL_SOCKET, SO_REUSEPORT));
  if (!fine) {
    const int error = errno;
    close(fd);
    return -error;
  }
  return fd;
}

// Binds and listens, in shard order; -errno leaves what was opened in `fds`.
int openAll(Address& address, uint32_t backlog, uint16_t shards, std::vector<int>& fds) {
  for (uint16_t shard = 0; shard < shards; shard++) {
    const int fd = bindSocket(address, shard == 0);
    if (fd < 0) {
      return fd;
    }
    fds.push_back(fd);
    if (shard == 0) {
      address.setPort(Address::localOf(fd).port());
    }
  }
  for (const int fd : fds) {
    if (listen(fd, static_cast<int>(backlog)) != 0) {
      return -errno;
    }
  }
  return 0;
}

// Puts the program in force for the whole group, or takes one away.
int attach(int fd, const SteeringPlan& plan, bool had_program) {
  if (!plan.program.empty()) {
    const sock_fprog program{static_cast<unsigned short>(plan.program.size()),
                             const_cast<sock_filter*>(plan.program.data())};
    return setsockopt(fd, SOL_SOCKET, SO_ATTACH_REUSEPORT_CBPF, &program, sizeof(program)) == 0
               ? 0
               : -errno;
  }
  if (!had_program) {
    return 0;
  }
  const int unused = 0;
  return setsockopt(fd, SOL_SOCKET, SO_DETACH_REUSEPORT_BPF, &unused, sizeof(unused)) == 0 ? 0
                                                                                           : -errno;
}

}  // namespace

ListenerGroup::ListenerGroup(ListenerGroup&& other) noexcept
    : fds_(std::exchange(other.fds_, {})),
      address_(other.address_),
      plan_(std::move(other.plan_)) {}

ListenerGroup& ListenerGroup::operator=(ListenerGroup&& other) noexcept {
  if (this != &other) {
    closeAll();
    fds_ = std::exchange(other.fds_, {});
    address_ = other.address_;
    plan_ = std::move(other.plan_);
  }
  return *this;
}

std::string ListenerGroup::steeringText() const {
  return std::string(name(plan_.in_force)) + ": " + plan_.why;
}

base::Status ListenerGroup::steer(Steering asked, const std::vector<int32_t>& shard_of_cpu,
                                  std::string& why_not) {
  const Topology topology{interfacesOf(address_), shard_of_cpu};
  std::variant<SteeringPlan, std::string> planned =
      planSteering(asked, topology, static_cast<uint16_t>(fds_.size()));
  if (std::string* impossible = std::get_if<std::string>(&planned)) {
    why_not = "cannot listen on " + address_.text() + ": " + *impossible;
    return base::Error{base::Code::unsupported, base::Blame::self};
  }
  SteeringPlan& plan = *std::get_if<SteeringPlan>(&planned);
  const int attached = attach(fds_.front(), plan, !plan_.program.empty());
  if (attached < 0) {
    why_not = "cannot listen on " + address_.text() +
              ": the kernel refused the steering program: " + strerror(-attached);
    return failure(-attached);
  }
  plan_ = std::move(plan);
  return base::Unit{};
}

base::Status ListenerGroup::setBacklog(uint32_t backlog, std::string& why_not) {
  for (const int fd : fds_) {
    if (listen(fd, static_cast<int>(backlog)) != 0) {
      const int error = errno;
      why_not = "cannot change the backlog of " + address_.text() + ": " + strerror(error);
      return failure(error);
    }
  }
  return base::Unit{};
}

void ListenerGroup::closeAll() {
  for (const int fd : fds_) {
    close(fd);
  }
  fds_.clear();
}

base::Result<ListenerGroup> openListeners(const ListenerSpec& spec, uint16_t shards,
                                          const std::vector<int32_t>& shard_of_cpu,
                                          std::string& why_not) {
  CHECK(shards > 0);
  ListenerGroup group;
  group.address_ = spec.address;
  const int opened = openAll(group.address_, spec.backlog, shards, group.fds_);
  if (opened < 0) {
    why_not = explain(-opened, spec.address);
    return failure(-opened);
  }
  const base::Status steered = group.steer(spec.steering, shard_of_cpu, why_not);
  if (!steered.ok()) {
    return steered.error();
  }
  return group;
}

}  // namespace net
