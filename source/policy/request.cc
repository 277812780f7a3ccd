#include "source/policy/request.h"

#include <algorithm>
#include <array>
#include <span>

#include "source/http/list.h"

namespace policy {
namespace {

// Content-Length: 0 is a request without content. Framing was checked by the codec.
bool hasContent(const http::Fields& fields) {
  return fields.has(http::Name::transfer_encoding) ||
         fields.value(http::Name::content_length).find_first_not_of('0') != std::string_view::npos;
}

// h2c alone is an offer that is never taken up nor forwarded, so the request is an ordinary one.
bool asksForUpgrade(const http::Fields& fields) {
  http::FieldList protocols(fields, http::Name::upgrade);
  while (const std::optional<std::string_view> protocol = protocols.next()) {
    if (!http::equalsIgnoreCase(*protocol, "h2c")) {
      return true;
    }
  }
  return false;
}

struct Parameter {
  std::string_view text;
  std::string_view name() const { return text.substr(0, text.find('=')); }
};

bool byNameThenText(const Parameter& a, const Parameter& b) {
  const int order = a.name().compare(b.name());
  return order != 0 ? order < 0 : a.text < b.text;
}

bool excludes(const std::vector<std::string>& patterns, std::string_view name) {
  return std::any_of(patterns.begin(), patterns.end(), [name](std::string_view pattern) {
    return pattern.ends_with('*') ? name.starts_with(pattern.substr(0, pattern.size() - 1))
                                  : name == pattern;
  });
}

bool counts(const KeySpec& key, std::string_view name) {
  if (!key.query_parameters_included.empty()) {
    return std::binary_search(key.query_parameters_included.begin(),
                              key.query_parameters_included.end(), name, std::less<>());
  }
  return !excludes(key.query_parameters_excluded, name);
}

void appendWhole(std::string_view query, std::string& out) {
  out.push_back('?');
  out.append(query);
}

// Only the path: a query's encoding is the business of whoever reads its parameters.
void appendPath(std::string_view path, const KeySpec& key, std::string& out) {
  const size_t at = out.size();
  out.append(path);
  if (key.normalise_path && path.find('%') != std::string_view::npos) {
    out.append(path);  // room to write to, behind
    const size_t kept = at + path.size();
    const std::string_view source = std::string_view(out).substr(kept);
    const std::string_view normal =
        http::normalisePercent(source, std::span(out.data() + at, path.size()));
    if (normal.data() == source.data()) {
      out.resize(kept);  // as it was
    } else {
      out.resize(at + normal.size());
    }
  }
}

// Keeps the parameters that count; the "?" stays only before at least one.
void appendFiltered(std::string_view query, const KeySpec& key, std::string& out) {
  if (std::count(query.begin(), query.end(), '&') >= std::ptrdiff_t{kMaxKeyedParameters}) {
    appendWhole(query, out);
    return;
  }
  std::array<Parameter, kMaxKeyedParameters> kept;
  size_t count = 0;
  for (size_t at = 0; at <= query.size();) {
    const size_t end = std::min(query.find('&', at), query.size());
    const Parameter parameter{query.substr(at, end - at)};
    if (counts(key, parameter.name())) {
      kept[count++] = parameter;
    }
    at = end + 1;
  }
  if (key.sort_query) {
    std::sort(kept.begin(), kept.begin() + static_cast<std::ptrdiff_t>(count), byNameThenText);
  }
  for (size_t i = 0; i < count; i++) {
    out.push_back(i == 0 ? '?' : '&');
    out.append(kept[i].text);
  }
}

}  // namespace

std::string_view name(BypassReason reason) {
  switch (reason) {
    case BypassReason::disabled:
      return "disabled";
    case BypassReason::method:
      return "method";
    case BypassReason::body_present:
      return "body_present";
    case BypassReason::upgrade:
      return "upgrade";
    case BypassReason::precondition:
      return "precondition";
    case BypassReason::cookie:
      return "cookie";
    case BypassReason::rule:
      return "rule";
  }
  return "unknown";
}

RequestClass classifyRequest(const http::RequestHead& request, const RoutePolicy& route) {
  if (!route.enabled) {
    return Bypass{BypassReason::disabled};
  }
  const bool is_head = request.method == "HEAD";
  if (!is_head && request.method != "GET") {  // methods are case-sensitive (RFC 9110 9.1)
    return Bypass{BypassReason::method};
  }
  const http::Fields& fields = request.fields;
  if (asksForUpgrade(fields)) {
    return Bypass{BypassReason::upgrade};
  }
  if (hasContent(fields)) {
    return Bypass{BypassReason::body_present};
  }
  if (fields.has(http::Name::if_match) || fields.has(http::Name::if_unmodified_since)) {
    return Bypass{BypassReason::precondition};
  }
  if (route.request_cookies == RequestCookies::bypass && fields.has(http::Name::cookie)) {
    return Bypass{BypassReason::cookie};
  }
  Lookup lookup;
  if (route.honor_request_cache_control) {
    lookup.directives = parseRequestDirectives(fields);
  }
  lookup.is_head = is_head;
  lookup.has_range = !is_head && fields.has(http::Name::range);
  lookup.has_conditionals =
      fields.has(http::Name::if_none_match) || fields.has(http::Name::if_modified_since);
  return lookup;
}

bool isSafeMethod(std::string_view method) {
  static constexpr std::array<std::string_view, 7> kSafe = {
      "GET", "HEAD", "OPTIONS", "TRACE", "PROPFIND", "REPORT", "SEARCH"};
  return std::find(kSafe.begin(), kSafe.end(), method) != kSafe.end();
}

void cacheKey(const http::Effective& uri, const KeySpec& key, std::string& out) {
  out.clear();
  if (!key.exclude_scheme) {
    out.append(http::name(uri.scheme));
    out.push_back(':');
  }
  // An authority holds no "/" and a path begins with one, so the parts cannot run into each other.
  out.append("//");
  if (!key.exclude_host) {
    out.append(uri.authority);
  }
  appendPath(uri.path, key, out);
  if (!uri.has_query) {
    return;
  }
  const bool as_received = key.query_parameters_included.empty() &&
                           key.query_parameters_excluded.empty() && !key.sort_query;
  if (as_received) {
    appendWhole(uri.query, out);
  } else {
    appendFiltered(uri.query, key, out);
  }
}

}  // namespace policy
