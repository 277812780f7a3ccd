// What a request for a URL would meet: the route that it takes, the key that it has there, what the
// stripe's owner finds under it, and why it would or would not be the answer.
#include <string>
#include <utility>

#include "source/http/codec.h"
#include "source/policy/invalidate.h"
#include "source/policy/normalise.h"
#include "source/policy/request.h"
#include "source/policy/search.h"
#include "source/policy/serve.h"
#include "source/server/key_rules.h"
#include "source/server/server.h"

namespace server {
namespace {

struct Matched {
  const config::ListenerConfig* listener = nullptr;
  const config::VirtualHost* host = nullptr;
  const config::Route* route = nullptr;
};

// The first listener whose routes would take the request to this cache.
Matched matchRoute(const config::Snapshot& snapshot, uint16_t cache, const http::RequestHead& head,
                   const http::Effective& uri) {
  const std::optional<http::Authority> authority = http::parseAuthority(uri.authority);
  const std::string_view host_name = authority.has_value() ? authority->host : uri.authority;
  for (const config::ListenerConfig& listener : snapshot.listeners) {
    const config::VirtualHost* host = listener.routes.findHost(host_name);
    const config::Route* route =
        host == nullptr ? nullptr : config::match(*host, head, head.target);
    if (route != nullptr && route->cache == cache) {
      return Matched{&listener, host, route};
    }
  }
  return Matched{};
}

// The route's name, or its place among those of its virtual host.
std::string nameOf(const Matched& matched) {
  if (!matched.route->name.empty()) {
    return matched.route->name;
  }
  return "routes[" + std::to_string(matched.route - matched.host->routes.data()) + "]";
}

void copyFound(const shard::LookupObject& call, admin::LookupReport& report) {
  report.found = call.found;
  report.in_memory = call.in_memory;
  report.large = call.large;
  report.block_bytes = call.block_bytes;
  report.stale_now = call.stale_now;
  report.stored_key = call.stored_key;
  report.vary = call.vary;
  report.no_vary_search = policy::describeSearch(call.search);
  report.status = call.status;
  report.head = call.head;
  report.times = call.times;
  report.traits = call.traits;
  report.length = call.length;
  if (call.found == cache::Found::hit_for_miss) {
    report.not_stored = policy::name(cache::reasonOfNote(call.entry));
  }
}

// Where the lifetime comes from, by the stored head and the route as it is now.
void explainFreshness(const policy::RoutePolicy& route, admin::LookupReport& report) {
  http::ResponseHead head;
  const http::Limits any{UINT32_MAX, UINT16_MAX, UINT32_MAX};
  if (!std::holds_alternative<http::Parsed>(http::parseResponseHead(report.head, any, head))) {
    return;
  }
  const policy::Governing governs = policy::governing(head.fields, route);
  const base::UnixSeconds born{report.times.birth_s};
  const policy::Lifetime lifetime =
      policy::freshnessLifetime(head, governs, policy::Exchange{born, born, 0}, route);
  report.freshness_source = policy::name(lifetime.source);
  report.freshness_field = governs.field;
}

void explainUse(const http::RequestHead& head, const config::Route* route, base::UnixSeconds now,
                admin::LookupReport& report) {
  policy::RoutePolicy policy;
  policy.enabled = true;
  policy::RequestClass what = policy::Lookup{policy::parseRequestDirectives(head.fields)};
  if (route != nullptr) {
    policy = route->policy;
    what = policy::classifyRequest(head, policy);
    if (config::anyMatches(route->bypass_rules, head, head.target, nullptr)) {
      what = policy::Bypass{policy::BypassReason::rule};
    }
  }
  if (report.found == cache::Found::object) {
    explainFreshness(policy, report);
  }
  if (const auto* bypass = std::get_if<policy::Bypass>(&what)) {
    report.would = "bypass";
    report.why = policy::name(bypass->why);
    return;
  }
  const policy::RequestDirectives& asked = std::get<policy::Lookup>(what).directives;
  policy::ServeDecision decision = policy::decideAbsent(asked, policy);
  if (report.found == cache::Found::object) {
    decision = policy::decideServe(asked, report.times, report.traits, policy, now);
  } else if (report.found == cache::Found::hit_for_miss) {
    decision.why = policy::NoReuseReason::hit_for_miss;
  }
  report.would = policy::name(decision.how);
  report.why = policy::name(decision.why);
}

}  // namespace

rt::Task<admin::LookupReport> Server::lookup(
    std::string cache, std::string url, std::vector<std::pair<std::string, std::string>> headers) {
  admin::LookupReport report;
  const AdminCall running = admin_calls_;
  const FoundCache known = findCache(cache);
  const cache::CacheShared* shared = known.shared;
  policy::OwnedUri uri;
  if (shared == nullptr) {
    report.error = "there is no cache named " + cache;
    co_return report;
  }
  if (!policy::parseAbsoluteUri(url, uri)) {
    report.error = "url: not an absolute http or https URL";
    co_return report;
  }
  const http::Effective parts = uri.parts();
  std::string target(parts.path);
  if (parts.has_query) {
    target.append("?").append(parts.query);
  }
  http::RequestHead head;
  head.method = "GET";
  head.target = target;
  for (const auto& [name, value] : headers) {
    head.fields.add(name, value);
  }
  if (!head.fields.has(http::Name::host)) {
    head.fields.add("Host", parts.authority);
  }
  const config::Snapshot& snapshot = *config_.snapshot;
  const Matched matched = matchRoute(snapshot, known.index, head, parts);
  std::vector<policy::KeySpec> specs = keySpecs(snapshot, known.index);
  http::Fields looked_up = head.fields;
  http::Fields spare;
  std::string text;
  if (matched.route != nullptr) {
    report.listener = matched.listener->name;
    report.virtual_host = matched.host->name;
    report.route = nameOf(matched);
    specs.insert(specs.begin(), matched.route->policy.key);
    policy::normaliseRequest(matched.route->policy, looked_up, spare, text);
  }
  // The route's own rule, then those of others, under which it may have been stored.
  for (const policy::KeySpec& spec : specs) {
    std::string key;
    policy::cacheKey(parts, spec, key);
    shard::LookupObject call;
    call.cache = known.number;
    call.key = key;
    call.by_path = spec.no_vary_search;
    call.request = &looked_up;
    const base::StripeId stripe = shared->stripeOf(key, spec.no_vary_search);
    const base::ShardId owner = shared->ownerOf(stripe);
    co_await callOne(base::index(owner), &call);
    if (!report.key.empty() && call.found == cache::Found::absent) {
      continue;
    }
    report.key = key;
    report.owner_shard = base::index(owner);
    report.stripe = base::index(stripe);
    copyFound(call, report);
    if (call.found != cache::Found::absent) {
      break;
    }
  }
  explainUse(head, matched.route, reactor_->turn().wall, report);
  co_return report;
}

}  // namespace server
