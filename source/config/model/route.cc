#include "source/config/model/route.h"

#include <algorithm>

#include "source/base/check.h"

namespace config {
namespace {

bool isNamed(const http::Field& field, const HeaderMutation& mutation) {
  return mutation.id != http::Name::other ? field.id == mutation.id
                                          : http::equalsIgnoreCase(field.name, mutation.name);
}

bool has(const http::Fields& fields, const HeaderMutation& mutation) {
  return mutation.id != http::Name::other ? fields.has(mutation.id)
                                          : fields.find(mutation.name) != nullptr;
}

void remove(const HeaderMutation& mutation, http::Fields& fields, http::Fields& scratch) {
  scratch.clear();
  for (const http::Field& field : fields.all()) {
    if (!isNamed(field, mutation)) {
      scratch.add(field.id, field.name, field.value);
    }
  }
  std::swap(fields, scratch);
}

struct SplitTarget {
  std::string_view path;
  std::string_view query;  // with its "?"; empty without one
};
SplitTarget split(std::string_view target) {
  const size_t mark = std::min(target.find('?'), target.size());
  return {target.substr(0, mark), target.substr(mark)};
}

// Where the port begins in an authority, at its colon; its size when there is none.
size_t portAt(std::string_view authority) {
  const size_t colon = authority.rfind(':');
  const bool in_brackets = colon != authority.npos && authority.find(']', colon) != authority.npos;
  return colon == authority.npos || in_brackets ? authority.size() : colon;
}

}  // namespace

void apply(std::span<const HeaderMutation> mutations, http::Fields& fields, http::Fields& scratch) {
  for (const HeaderMutation& mutation : mutations) {
    const bool exists = has(fields, mutation);
    bool add = true;
    switch (mutation.kind) {
      case HeaderMutation::Kind::remove:
        add = false;
        break;
      case HeaderMutation::Kind::append:
        break;
      case HeaderMutation::Kind::add_if_absent:
        add = !exists;
        break;
      case HeaderMutation::Kind::overwrite:
        break;
      case HeaderMutation::Kind::overwrite_if_exists:
        add = exists;
        break;
    }
    const bool replaces = mutation.kind != HeaderMutation::Kind::append &&
                          mutation.kind != HeaderMutation::Kind::add_if_absent;
    if (exists && replaces) {
      remove(mutation, fields, scratch);
    }
    if (add) {
      fields.add(mutation.id, mutation.name, mutation.value);
    }
  }
}

bool DomainTable::addWildcard(ByLength& table, std::string_view text, uint32_t value) {
  const auto at = std::find_if(table.begin(), table.end(),
                               [text](const auto& entry) { return entry.first <= text.size(); });
  if (at != table.end() && at->first == text.size()) {
    return at->second.emplace(text, value).second;
  }
  table.insert(at, {text.size(), Map{{std::string(text), value}}});
  return true;
}

bool DomainTable::add(std::string_view domain, uint32_t value) {
  if (domain == "*") {
    const bool is_new = !any_.has_value();
    any_ = any_.value_or(value);
    return is_new;
  }
  if (domain.starts_with('*')) {
    return addWildcard(suffixes_, domain.substr(1), value);
  }
  if (domain.ends_with('*')) {
    return addWildcard(prefixes_, domain.substr(0, domain.size() - 1), value);
  }
  return exact_.emplace(domain, value).second;
}

std::optional<uint32_t> DomainTable::find(std::string_view host) const {
  if (const auto at = exact_.find(host); at != exact_.end()) {
    return at->second;
  }
  for (const auto& [length, map] : suffixes_) {
    if (length < host.size()) {
      if (const auto at = map.find(host.substr(host.size() - length)); at != map.end()) {
        return at->second;
      }
    }
  }
  for (const auto& [length, map] : prefixes_) {
    if (length < host.size()) {
      if (const auto at = map.find(host.substr(0, length)); at != map.end()) {
        return at->second;
      }
    }
  }
  return any_;
}

const VirtualHost* RouteTable::findHost(std::string_view host) const {
  const std::optional<uint32_t> index = domains.find(host);
  return index.has_value() ? &hosts[*index] : nullptr;
}

const Route* match(const VirtualHost& host, const http::RequestHead& head,
                   std::string_view target) {
  for (const Route& route : host.routes) {
    if (route.match.matches(head, target)) {
      return &route;
    }
  }
  return nullptr;
}

void changeRequest(const VirtualHost& host, const Route& route, http::Fields& fields,
                   http::Fields& scratch) {
  apply(route.request_headers, fields, scratch);
  apply(host.request_headers, fields, scratch);
}

void changeResponse(const VirtualHost& host, const Route& route, http::Fields& fields,
                    http::Fields& scratch) {
  apply(route.response_headers, fields, scratch);
  apply(host.response_headers, fields, scratch);
}

void appendUpstreamTarget(const Route& route, std::string_view target, std::string& out) {
  const ForwardAction* action = std::get_if<ForwardAction>(&route.action);
  CHECK(action != nullptr);
  if (!action->prefix_rewrite.has_value()) {
    out.append(target);
    return;
  }
  const SplitTarget from = split(target);
  out.append(*action->prefix_rewrite);
  out.append(from.path.substr(route.match.path.matchedBytes(from.path)));
  out.append(from.query);
}

std::string redirectLocation(const Route& route, const RedirectFrom& from) {
  const RedirectAction* action = std::get_if<RedirectAction>(&route.action);
  CHECK(action != nullptr);
  const SplitTarget target = split(from.target);
  std::string location;
  const size_t colon = portAt(from.authority);
  std::string_view host = from.authority.substr(0, colon);
  std::string_view port = from.authority.substr(colon);
  if (!action->host.empty()) {
    host = action->host;
    port = "";
  }
  const std::string own_port = ":" + std::to_string(action->port);
  if (action->port != 0) {
    port = own_port;
  }
  const std::string_view scheme = action->https ? "https" : from.scheme;
  if (port == (action->https ? ":80" : "") || (scheme == "https" && port == ":443") ||
      (scheme == "http" && port == ":80")) {
    port = "";
  }
  if (!host.empty()) {
    location.append(scheme).append("://").append(host).append(port);
  }
  std::string_view query = action->strip_query ? std::string_view() : target.query;
  if (action->path.has_value()) {
    location.append(*action->path);
    query = action->path->find('?') != std::string::npos ? std::string_view() : query;
  } else if (action->prefix_rewrite.has_value()) {
    location.append(*action->prefix_rewrite);
    location.append(target.path.substr(route.match.path.matchedBytes(target.path)));
  } else {
    location.append(target.path);
  }
  return location.append(query);
}

}  // namespace config
