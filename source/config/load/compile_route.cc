// Virtual hosts and routes.
#include <algorithm>
#include <map>
#include <utility>

#include "source/config/load/compile_parts.h"
#include "source/config/load/reachability.h"
#include "source/http/grammar.h"

namespace config {
namespace {

std::optional<std::string> rewriteTarget(const Place& place, const std::string& text) {
  if (!http::all(http::kTargetChar, text)) {
    place.error("has a character that no request's target can have");
    return std::nullopt;
  }
  if (!text.starts_with('/')) {
    place.error("begins with `/`", "/" + text);
    return std::nullopt;
  }
  return text;
}

ForwardAction compileForward(const Place& place, const pb::RouteAction& from,
                             References& references) {
  ForwardAction action;
  action.cluster = references.clusters.resolve(place["cluster"], from.cluster(), "cluster",
                                               "static_resources.clusters");
  action.timeout_ms = durationMs(place["timeout"], from.has_timeout() ? &from.timeout() : nullptr,
                                 {.otherwise_ms = action.timeout_ms, .high_ms = kDay_ms});
  action.idle_timeout_ms =
      durationMs(place["idle_timeout"], from.has_idle_timeout() ? &from.idle_timeout() : nullptr,
                 {.otherwise_ms = action.idle_timeout_ms, .high_ms = kDay_ms});
  if (!from.prefix_rewrite().empty()) {
    action.prefix_rewrite = rewriteTarget(place["prefix_rewrite"], from.prefix_rewrite());
    if (from.prefix_rewrite().find('?') != std::string::npos) {
      place["prefix_rewrite"].error("a path has no query");
    }
  }
  action.host_rewrite = from.host_rewrite_literal();
  const std::string_view host = action.host_rewrite;
  if (!http::isFieldValue(host) || host.find_first_of(" \t/@?#") != host.npos) {
    place["host_rewrite_literal"].error("`" + action.host_rewrite + "` cannot be a Host");
  }
  const Place retry = place["retry_policy"];
  constexpr uint64_t kMaxRetries = 10;
  if (from.retry_policy().has_num_retries()) {
    action.num_retries =
        static_cast<uint32_t>(numberIn(retry["num_retries"], from.retry_policy().num_retries(),
                                       action.num_retries, {0, kMaxRetries}));
  }
  action.per_try_timeout_ms = durationMs(
      retry["per_try_timeout"],
      from.retry_policy().has_per_try_timeout() ? &from.retry_policy().per_try_timeout() : nullptr,
      {.high_ms = kDay_ms});
  if (action.timeout_ms != 0 && action.per_try_timeout_ms > action.timeout_ms) {
    retry["per_try_timeout"].warning("is longer than the route's timeout, which ends it first");
  }
  return action;
}

uint16_t statusOf(pb::RedirectAction::RedirectResponseCode code) {
  switch (code) {
    case pb::RedirectAction::FOUND:
      return 302;
    case pb::RedirectAction::SEE_OTHER:
      return 303;
    case pb::RedirectAction::TEMPORARY_REDIRECT:
      return 307;
    case pb::RedirectAction::PERMANENT_REDIRECT:
      return 308;
    default:
      return 301;
  }
}

RedirectAction compileRedirect(const Place& place, const pb::RedirectAction& from) {
  RedirectAction action;
  action.status = statusOf(from.response_code());
  action.https = from.https_redirect();
  action.strip_query = from.strip_query();
  action.port = static_cast<uint16_t>(
      numberIn(place["port_redirect"], from.port_redirect(), 0, {0, UINT16_MAX}));
  action.host = from.host_redirect();
  const bool literal = action.host.starts_with('[') && action.host.ends_with(']');
  if (!action.host.empty() && !literal && !isHostName(action.host)) {
    place["host_redirect"].error("`" + action.host + "` is no host name without a port");
  }
  if (from.has_path_redirect()) {
    action.path = rewriteTarget(place["path_redirect"], from.path_redirect());
  } else if (from.has_prefix_rewrite()) {
    action.prefix_rewrite = rewriteTarget(place["prefix_rewrite"], from.prefix_rewrite());
  }
  const bool changes = action.https || action.strip_query || action.port != 0 ||
                       !action.host.empty() || from.path_rewrite_specifier_case() != 0;
  if (!changes) {
    place.error(
        "redirects a request to itself: give host_redirect, path_redirect, "
        "prefix_rewrite, port_redirect, https_redirect or strip_query");
  }
  return action;
}

DirectResponseAction compileDirect(const Place& place, const pb::DirectResponseAction& from) {
  DirectResponseAction action;
  if (from.status() == 0) {
    place["status"].missing();
  } else {
    action.status =
        static_cast<uint16_t>(numberIn(place["status"], from.status(), 200, {200, 599}));
  }
  action.body = from.body().inline_string();
  const Place body = place["body"]["inline_string"];
  if (action.body.size() > kMaxDirectResponseBytes) {
    body.error("has " + std::to_string(action.body.size()) + " bytes, more than " +
               std::to_string(kMaxDirectResponseBytes));
  }
  if (!action.body.empty() && (action.status == 204 || action.status == 304)) {
    body.error("a response with status " + std::to_string(action.status) + " has no body");
  }
  return action;
}

void compileAction(const Place& place, const pb::Route& from, References& references, Route& out) {
  switch (from.action_case()) {
    case pb::Route::kRoute:
      out.action = compileForward(place["route"], from.route(), references);
      break;
    case pb::Route::kRedirect:
      out.action = compileRedirect(place["redirect"], from.redirect());
      break;
    case pb::Route::kDirectResponse:
      out.action = compileDirect(place["direct_response"], from.direct_response());
      break;
    case pb::Route::ACTION_NOT_SET:
      place.missingOneOf("route, redirect and direct_response");
      break;
  }
  if (!from.has_cache()) {
    return;
  }
  if (from.has_redirect() || from.has_direct_response()) {
    place["cache"].error("only answers of a `route` are cached");
  }
  compilePolicy(place["cache"], from.cache(), references, out);
}

// Message: a route or a virtual host.
template <class Message, class Out>
void compileChanges(const Place& place, const Message& from, Out& out) {
  compileHeaders(place,
                 {"request_headers_to_add", from.request_headers_to_add(),
                  "request_headers_to_remove", from.request_headers_to_remove()},
                 out.request_headers);
  compileHeaders(place,
                 {"response_headers_to_add", from.response_headers_to_add(),
                  "response_headers_to_remove", from.response_headers_to_remove()},
                 out.response_headers);
}

Route compileRoute(const Place& place, const pb::Route& from, const std::string& virtual_host,
                   References& references) {
  Route route;
  route.name = from.name();
  route.virtual_host = virtual_host;
  if (from.has_match()) {
    route.match = compileMatch(place["match"], from.match());
  } else {
    place["match"].missing();
  }
  compileAction(place, from, references, route);
  compileChanges(place, from, route);
  return route;
}

void warnUnreachable(const Place& list, const std::vector<Route>& routes) {
  Reachability reachability;
  for (size_t i = 0; i < routes.size(); i++) {
    if (const std::optional<uint32_t> earlier = reachability.add(routes[i].match)) {
      list[static_cast<int>(i)].warning("is never reached: routes[" + std::to_string(*earlier) +
                                        "] takes all its requests");
    }
  }
}

// A domain without scheme, port, path and root dot; what it was probably meant to be.
std::string bareDomain(std::string_view text) {
  if (const size_t scheme = text.find("://"); scheme != text.npos) {
    text.remove_prefix(scheme + 3);
  }
  text = text.substr(0, text.find('/'));
  const size_t colon = text.rfind(':');
  const bool literal = colon != text.npos && text.find(']', colon) != text.npos;
  text = colon == text.npos || literal ? text : text.substr(0, colon);
  while (text.ends_with('.')) {
    text.remove_suffix(1);
  }
  return std::string(text);
}

// In lower case; empty after reporting what is wrong.
std::string compileDomain(const Place& place, const std::string& text) {
  const std::string bare = bareDomain(text);
  if (text.empty()) {
    place.error("a domain cannot be empty", "*");
    return "";
  }
  if (const auto ip = canonicalIp(text); ip.has_value() && text.find(':') != text.npos) {
    place.error("an IPv6 address stands in brackets", "[" + *ip + "]");
    return "";
  }
  if (bare != text) {
    place.error("`" + text + "` is not a host name alone: scheme, port and path do not count",
                bare);
    return "";
  }
  const size_t star = text.find('*');
  const bool single = star == std::string::npos || text.find('*', star + 1) == std::string::npos;
  if (!single || (star != std::string::npos && star != 0 && star + 1 != text.size())) {
    place.error("a domain has one `*` at most, at its beginning or end");
    return "";
  }
  const bool literal = text.starts_with('[') && text.ends_with(']') &&
                       canonicalIp(text.substr(1, text.size() - 2)).has_value();
  const auto is_host_char = [](char c) { return http::is(http::kRegName, c) || c == '%'; };
  if (!literal && (text.size() > kMaxHostNameBytes + 1 ||
                   !std::all_of(text.begin(), text.end(), is_host_char))) {
    place.error("`" + text.substr(0, 80) + "` cannot be a host name");
    return "";
  }
  return lowerCase(text);
}

void compileDomains(const Place& place, const pb::VirtualHost& from, uint32_t index,
                    std::map<std::string, std::string>& owners, RouteTable& out) {
  if (from.domains_size() == 0) {
    place["domains"].missing("at least one domain is required");
  }
  const int count = countWithin(place["domains"], from.domains_size(), kMaxDomains);
  for (int i = 0; i < count; i++) {
    const Place at = place["domains"][i];
    const std::string domain = compileDomain(at, from.domains(i));
    if (domain.empty()) {
      continue;
    }
    if (!out.domains.add(domain, index)) {
      at.error("`" + domain + "` is a domain of virtual host `" + owners[domain] + "` already");
    }
    owners.emplace(domain, from.name());
  }
}

}  // namespace

RouteTable compileRoutes(const Place& place, const pb::RouteConfiguration& from,
                         References& references) {
  RouteTable table;
  table.name = from.name();
  const Place hosts = place["virtual_hosts"];
  if (from.virtual_hosts_size() == 0) {
    hosts.missing("at least one virtual host is required");
  }
  const int count = countWithin(hosts, from.virtual_hosts_size(), kMaxVirtualHosts);
  Names names;
  std::map<std::string, std::string> owners;
  for (int i = 0; i < count; i++) {
    const pb::VirtualHost& host = from.virtual_hosts(i);
    const Place at = hosts[i];
    names.add(at, host.name(), "virtual host", static_cast<uint32_t>(i));
    compileDomains(at, host, static_cast<uint32_t>(i), owners, table);
    VirtualHost compiled;
    compiled.name = host.name();
    const Place routes = at["routes"];
    const int route_count = countWithin(routes, host.routes_size(), kMaxRoutes);
    for (int j = 0; j < route_count; j++) {
      compiled.routes.push_back(compileRoute(routes[j], host.routes(j), host.name(), references));
    }
    warnUnreachable(routes, compiled.routes);
    compileChanges(at, host, compiled);
    table.hosts.push_back(std::move(compiled));
  }
  return table;
}

}  // namespace config
