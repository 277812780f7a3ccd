#include "source/upstream/dns.h"

#include <algorithm>
#include <set>
#include <utility>

#include "source/base/check.h"

namespace upstream {
namespace {

// Resolvers rotate their answers; a fixed order tells a change from a rotation.
void normalise(std::vector<net::Address>& addresses) {
  std::vector<std::pair<std::string, net::Address>> keyed;
  for (const net::Address& address : addresses) {
    keyed.emplace_back(address.text(), address);
  }
  std::sort(keyed.begin(), keyed.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
  addresses.clear();
  for (const auto& [text, address] : keyed) {
    if (addresses.empty() || !(addresses.back() == address)) {
      addresses.push_back(address);
    }
  }
}

// Many names have addresses of a family that their hosts cannot be reached by; IPv4 works wherever
// both are there.
void chooseFamily(std::vector<net::Address>& addresses) {
  const bool ipv4 = std::any_of(addresses.begin(), addresses.end(),
                                [](const net::Address& address) { return !address.isIpv6(); });
  if (ipv4) {
    std::erase_if(addresses, [](const net::Address& address) { return address.isIpv6(); });
  }
}

bool sameNames(const ClusterSpec& a, const ClusterSpec& b) {
  return a.dns_refresh_ms == b.dns_refresh_ms &&
         std::equal(a.endpoints.begin(), a.endpoints.end(), b.endpoints.begin(), b.endpoints.end(),
                    [](const auto& x, const auto& y) { return x.host == y.host; });
}

}  // namespace

std::vector<ResolvedEndpoint> endpointsOf(
    const ClusterSpec& spec,
    const std::map<std::string, std::vector<net::Address>, std::less<>>& addresses) {
  std::vector<ResolvedEndpoint> endpoints;
  const auto add = [&](net::Address address, const EndpointSpec& endpoint) {
    address.setPort(endpoint.port);
    const bool known = std::any_of(endpoints.begin(), endpoints.end(),
                                   [&](const auto& e) { return e.address == address; });
    if (!known) {
      endpoints.push_back({address, endpoint.weight});
    }
  };
  for (const EndpointSpec& endpoint : spec.endpoints) {
    if (const auto literal = net::Address::parse(endpoint.host, endpoint.port)) {
      add(*literal, endpoint);
      continue;
    }
    const auto found = addresses.find(endpoint.host);
    if (found != addresses.end()) {
      for (const net::Address& address : found->second) {
        add(address, endpoint);
      }
    }
  }
  return endpoints;
}

DnsRefresher::DnsRefresher(rt::Reactor& reactor, Resolver& resolver, EndpointSink& sink,
                           base::Random& random)
    : reactor_(reactor),
      resolver_(resolver),
      sink_(sink),
      random_(random),
      group_(reactor, UINT32_MAX) {}

DnsRefresher::~DnsRefresher() {
  CHECK(group_.size() == 0);
}

void DnsRefresher::update(std::span<const ClusterSpec> specs) {
  sweep();
  std::map<std::string, std::unique_ptr<Watch>, std::less<>> before = std::move(watches_);
  watches_.clear();
  for (const ClusterSpec& spec : specs) {
    if (spec.discovery != Discovery::strict_dns) {
      continue;
    }
    const auto found = before.find(spec.name);
    if (found != before.end() && sameNames(found->second->spec, spec)) {
      Watch& watch = *found->second;
      watch.spec = spec;
      watches_.emplace(spec.name, std::move(found->second));
      before.erase(found);
      if (watch.went_round) {
        publish(watch);
      }
    } else {
      begin(spec);
    }
  }
  for (auto& [name, watch] : before) {
    watch->scope.request();
    ending_.push_back(std::move(watch));
  }
  round_.wakeAll();
}

void DnsRefresher::begin(const ClusterSpec& spec) {
  auto watch = std::make_unique<Watch>(group_.scope());
  watch->spec = spec;
  Watch* started = watch.get();
  watches_.emplace(spec.name, std::move(watch));
  const bool spawned = group_.spawn(this->watch(started));
  CHECK(spawned);
}

rt::Task<void> DnsRefresher::watch(Watch* watch) {
  while (!watch->scope.requested()) {
    co_await resolveAll(*watch);
    if (watch->scope.requested()) {
      break;
    }
    watch->went_round = true;
    publish(*watch);
    round_.wakeAll();
    co_await rt::Sleep(reactor_.now() + pause_ns(*watch), watch->scope);
  }
  watch->running = false;
}

uint64_t DnsRefresher::pause_ns(const Watch& watch) {
  const uint64_t interval_ns = watch.spec.dns_refresh_ms * base::kMillisecond_ns;
  if (watch.endpoints.empty()) {
    return std::min(interval_ns, kFirst_retry_ns);
  }
  return interval_ns - interval_ns / 20 + random_.below(interval_ns / 10 + 1);
}

rt::Task<void> DnsRefresher::resolveAll(Watch& watch) {
  std::set<std::string> names;
  for (const EndpointSpec& endpoint : watch.spec.endpoints) {
    if (!net::Address::parse(endpoint.host, endpoint.port).has_value()) {
      names.insert(endpoint.host);
    }
  }
  watch.stats.update_attempt++;
  bool all = true;
  for (const std::string& name : names) {
    base::Result<std::vector<net::Address>> found =
        co_await resolver_.resolve(name, watch.scope, reactor_.now() + kAnswer_ns);
    if (watch.scope.requested()) {
      co_return;
    }
    if (!found.ok() || found.value().empty()) {
      all = false;
      continue;
    }
    chooseFamily(found.value());
    normalise(found.value());
    watch.addresses[name] = std::move(found.value());
  }
  (all ? watch.stats.update_success : watch.stats.update_failure)++;
}

void DnsRefresher::publish(Watch& watch) {
  std::vector<ResolvedEndpoint> endpoints = endpointsOf(watch.spec, watch.addresses);
  if (endpoints.empty() || (watch.told && endpoints == watch.endpoints)) {
    return;  // nothing known yet, or nothing new
  }
  watch.endpoints = std::move(endpoints);
  watch.told = true;
  watch.stats.update_change++;
  sink_.onEndpoints(watch.spec.name, watch.endpoints);
}

rt::Task<bool> DnsRefresher::firstRound(rt::CancelScope& scope, base::MonoTime deadline) {
  while (true) {
    const bool all = std::all_of(watches_.begin(), watches_.end(),
                                 [](const auto& entry) { return entry.second->went_round; });
    if (all) {
      co_return true;
    }
    const rt::WaitQueue::Woken how = co_await round_.wait(scope, deadline);
    if (how != rt::WaitQueue::Woken::by_wake) {
      co_return false;
    }
  }
}

void DnsRefresher::sweep() {
  std::erase_if(ending_, [](const std::unique_ptr<Watch>& watch) { return !watch->running; });
}

rt::Task<void> DnsRefresher::shutdown() {
  group_.cancelAll();
  co_await group_.join();
  watches_.clear();
  ending_.clear();
}

const std::vector<ResolvedEndpoint>* DnsRefresher::known(std::string_view cluster) const {
  const auto found = watches_.find(cluster);
  return found == watches_.end() || !found->second->told ? nullptr : &found->second->endpoints;
}

const DnsStats* DnsRefresher::stats(std::string_view cluster) const {
  const auto found = watches_.find(cluster);
  return found == watches_.end() ? nullptr : &found->second->stats;
}

}  // namespace upstream
