#include "source/upstream/cluster.h"

#include <algorithm>

#include "source/base/check.h"
#include "source/net/connect.h"

namespace upstream {
namespace {

base::MonoTime earlier(base::MonoTime a, base::MonoTime b) {
  return std::min(a, b);
}

}  // namespace

Cluster::Cluster(const Context& context, const ClusterSpec& spec)
    : context_(context),
      spec_(spec),
      head_buffers_(context.head_limits.head_bytes + Connection::kFirst_bytes),
      pool_(context.reactor, context.receive, context.sockets, stats_) {
  applyLimits();
  applyFixedEndpoints();
}

Cluster::~Cluster() {
  CHECK(rq_active_ == 0);
  CHECK(pool_.open() == 0);
}

void Cluster::applyLimits() {
  PoolLimits limits;
  limits.max_connections = spec_.max_connections;
  limits.max_pending = spec_.max_pending;
  limits.max_requests_per_connection = spec_.max_requests_per_connection;
  limits.idle_ns = uint64_t{spec_.idle_timeout_ms} * base::kMillisecond_ns;
  pool_.setLimits(limits);
}

void Cluster::applyFixedEndpoints() {
  if (spec_.discovery != Discovery::fixed) {
    return;
  }
  std::vector<ResolvedEndpoint> resolved;
  for (const EndpointSpec& endpoint : spec_.endpoints) {
    // The configuration has been checked; what is no address could not be connected to.
    if (const auto address = net::Address::parse(endpoint.host, endpoint.port)) {
      resolved.push_back({*address, endpoint.weight});
    }
  }
  setEndpoints(resolved);
}

void Cluster::update(const ClusterSpec& spec) {
  CHECK(spec.name == spec_.name);
  if (spec == spec_) {
    return;
  }
  const bool names_changed = spec.discovery != spec_.discovery || spec.endpoints != spec_.endpoints;
  spec_ = spec;
  applyLimits();
  if (names_changed) {
    applyFixedEndpoints();  // those of strict_dns follow when they have been resolved
  }
}

void Cluster::setEndpoints(std::span<const ResolvedEndpoint> endpoints) {
  std::vector<std::unique_ptr<Endpoint>> old = std::move(endpoints_);
  std::vector<Candidate> old_candidates = std::move(candidates_);
  endpoints_.clear();
  candidates_.clear();
  bool changed = false;
  for (const ResolvedEndpoint& wanted : endpoints) {
    const auto same = [&](const std::unique_ptr<Endpoint>& e) {
      return e != nullptr && e->address == wanted.address;
    };
    if (std::any_of(endpoints_.begin(), endpoints_.end(), same)) {
      continue;
    }
    const auto found = std::find_if(old.begin(), old.end(), same);
    Candidate candidate;
    std::unique_ptr<Endpoint> endpoint;
    if (found != old.end()) {
      endpoint = std::move(*found);
      candidate = old_candidates[endpoint->slot];
      changed |= candidate.weight != wanted.weight;
    } else {
      endpoint = std::make_unique<Endpoint>();
      endpoint->id = next_id_++;
      endpoint->address = wanted.address;
      endpoint->text = wanted.address.text();
      changed = true;
    }
    candidate.weight = std::clamp<uint32_t>(wanted.weight, 1, 65535);
    endpoint->slot = static_cast<uint32_t>(endpoints_.size());
    endpoints_.push_back(std::move(endpoint));
    candidates_.push_back(candidate);
  }
  for (std::unique_ptr<Endpoint>& gone : old) {
    if (gone != nullptr) {
      changed = true;
      gone->slot = Endpoint::kRemoved;
      pool_.closeIdle(*gone);
      leaving_.push_back(std::move(gone));
    }
  }
  sweep();
  stats_.membership_change += changed ? 1 : 0;
  ever_resolved_ = true;
  resolved_.wakeAll();
}

void Cluster::sweep() {
  std::erase_if(leaving_, [](const std::unique_ptr<Endpoint>& endpoint) {
    return endpoint->pins == 0 && endpoint->rq_active == 0;
  });
}

bool Cluster::enterRequest() {
  if (rq_active_ >= spec_.max_requests) {
    stats_.rq_overflow++;
    return false;
  }
  rq_active_++;
  return true;
}

void Cluster::leaveRequest() {
  CHECK(rq_active_ > 0);
  if (--rq_active_ == 0) {
    quiet_.wakeAll();
  }
}

std::vector<uint32_t> Cluster::slotsOf(std::span<const uint64_t> ids) const {
  std::vector<uint32_t> slots;
  for (const std::unique_ptr<Endpoint>& endpoint : endpoints_) {
    if (std::find(ids.begin(), ids.end(), endpoint->id) != ids.end()) {
      slots.push_back(endpoint->slot);
    }
  }
  return slots;
}

Endpoint* Cluster::pickEndpoint(const AcquireOptions& options) {
  std::vector<uint32_t> tried;
  if (!options.tried.empty()) {
    tried = slotsOf(options.tried);
  }
  const std::optional<Pick> picked =
      pick(spec_.lb_policy, candidates_, tried, context_.reactor.now(), context_.random.next());
  if (!picked.has_value()) {
    stats_.none_healthy++;
    return nullptr;
  }
  stats_.lb_healthy_panic += picked->panicked ? 1 : 0;
  return endpoints_[picked->index].get();
}

Endpoint* Cluster::find(uint64_t id) const {
  const auto found = std::find_if(endpoints_.begin(), endpoints_.end(),
                                  [&](const auto& endpoint) { return endpoint->id == id; });
  return found == endpoints_.end() ? nullptr : found->get();
}

bool Cluster::awaitsFirstResolution() const {
  return !ever_resolved_ && spec_.discovery == Discovery::strict_dns;
}

Connection& Cluster::lease(Connection& connection) {
  Endpoint& endpoint = connection.endpoint();
  endpoint.rq_active++;
  endpoint.stats.rq_total++;
  stats_.rq_total++;
  if (!endpoint.removed()) {
    candidates_[endpoint.slot].in_flight = endpoint.rq_active;
  }
  return connection;
}

rt::Task<Acquired> Cluster::acquire(AcquireOptions options, rt::CancelScope& scope,
                                    base::MonoTime deadline) {
  Acquired acquired;
  if (awaitsFirstResolution() && waiting_for_names_ < spec_.max_pending) {
    const base::MonoTime until = earlier(
        deadline, context_.reactor.now() + spec_.connect_timeout_ms * base::kMillisecond_ns);
    waiting_for_names_++;
    co_await resolved_.wait(scope, until);
    waiting_for_names_--;
    if (scope.requested()) {
      acquired.failure = {Reason::cancelled, {base::Code::cancelled, base::Blame::downstream}};
      co_return acquired;
    }
  }
  Endpoint* endpoint = pickEndpoint(options);
  if (endpoint == nullptr) {
    acquired.failure = {Reason::no_healthy_endpoint,
                        {base::Code::unreachable, base::Blame::upstream}};
    co_return acquired;
  }
  acquired.endpoint_id = endpoint->id;
  if (!options.fresh_only) {
    if (Connection* idle = pool_.takeIdle(*endpoint, options.max_idle_ns)) {
      acquired.connection = &lease(*idle);
      co_return acquired;
    }
  }
  if (!pool_.tryTakeSlot()) {
    pool_.evictOldest();
    // A request that is particular about its connection takes none that somebody gives back.
    const bool slot_only = options.fresh_only || !options.tried.empty();
    const ConnectionPool::Granted granted = co_await pool_.wait(slot_only, scope, deadline);
    if (granted.failure) {
      acquired.failure = granted.failure;
      co_return acquired;
    }
    if (granted.connection != nullptr) {
      acquired.endpoint_id = granted.connection->endpoint().id;
      acquired.connection = &lease(*granted.connection);
      co_return acquired;
    }
    endpoint = find(acquired.endpoint_id);
    if (endpoint == nullptr) {  // removed meanwhile
      endpoint = pickEndpoint(options);
    }
    if (endpoint == nullptr) {
      pool_.releaseSlot();
      acquired.failure = {Reason::no_healthy_endpoint,
                          {base::Code::unreachable, base::Blame::upstream}};
      co_return acquired;
    }
  }
  acquired = co_await connect(*endpoint, scope, deadline);
  acquired.try_another = acquired.try_another && anotherIsLeft(options, acquired.endpoint_id);
  co_return acquired;
}

bool Cluster::anotherIsLeft(const AcquireOptions& options, uint64_t failed_id) const {
  return std::any_of(endpoints_.begin(), endpoints_.end(), [&](const auto& endpoint) {
    return endpoint->id != failed_id && std::find(options.tried.begin(), options.tried.end(),
                                                  endpoint->id) == options.tried.end();
  });
}

rt::Task<Acquired> Cluster::connect(Endpoint& endpoint, rt::CancelScope& scope,
                                    base::MonoTime deadline) {
  Acquired acquired;
  acquired.endpoint_id = endpoint.id;
  const base::MonoTime until =
      earlier(deadline, context_.reactor.now() + spec_.connect_timeout_ms * base::kMillisecond_ns);
  const net::Address address = endpoint.address;
  endpoint.pins++;  // so the endpoint outlives the wait, even if it is removed
  const base::Result<int> connected =
      co_await net::connectTo(address, context_.sockets, scope, until);
  if (connected.ok()) {
    endpoint.failures = 0;
    if (!endpoint.removed()) {
      candidates_[endpoint.slot].unhealthy_until = {};
    }
    acquired.connection = &lease(pool_.adopt(endpoint, connected.value()));
    endpoint.pins--;
    co_return acquired;
  }
  endpoint.pins--;
  pool_.releaseSlot();
  const base::Error error = connected.error();
  if (error.code == base::Code::cancelled) {
    acquired.failure = {Reason::cancelled, error};
    co_return acquired;
  }
  const bool timed_out = error.code == base::Code::timeout;
  acquired.failure = {timed_out ? Reason::connect_timeout : Reason::connect_failure, error};
  acquired.try_another = true;
  connectFailed(endpoint, error);
  co_return acquired;
}

void Cluster::connectFailed(Endpoint& endpoint, const base::Error& error) {
  stats_.cx_connect_fail++;
  endpoint.stats.cx_connect_fail++;
  stats_.cx_connect_timeout += error.code == base::Code::timeout ? 1 : 0;
  if (error.blame != base::Blame::upstream) {
    return;  // we ran out of something: that says nothing about the endpoint
  }
  endpoint.failures++;
  if (!endpoint.removed()) {
    candidates_[endpoint.slot].unhealthy_until =
        context_.reactor.now() + unhealthyFor_ns(endpoint.failures);
  }
}

void Cluster::giveBack(Connection& connection, const Return& how) {
  Endpoint& endpoint = connection.endpoint();
  CHECK(endpoint.rq_active > 0);
  endpoint.rq_active--;
  if (!endpoint.removed()) {
    candidates_[endpoint.slot].in_flight = endpoint.rq_active;
  }
  pool_.giveBack(connection, how);
}

void Cluster::retire() {
  retired_ = true;
  pool_.drain();
}

void Cluster::revive() {
  retired_ = false;
  pool_.undrain();
}

rt::Task<void> Cluster::join() {
  CHECK(retired_);
  rt::CancelScope never;
  while (rq_active_ > 0) {
    co_await quiet_.wait(never);
  }
  co_await pool_.join();
  sweep();
}

ClusterGauges Cluster::gauges() const {
  ClusterGauges gauges;
  gauges.cx_active = pool_.open();
  gauges.cx_idle = pool_.idle();
  gauges.rq_active = rq_active_;
  gauges.rq_pending_active = pool_.pending() + waiting_for_names_;
  gauges.membership_total = static_cast<uint32_t>(candidates_.size());
  for (const Candidate& candidate : candidates_) {
    gauges.membership_healthy += candidate.unhealthy_until <= context_.reactor.now() ? 1 : 0;
  }
  return gauges;
}

}  // namespace upstream
