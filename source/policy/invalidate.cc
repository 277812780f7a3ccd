#include "source/policy/invalidate.h"

#include <algorithm>
#include <optional>

#include "source/http/grammar.h"
#include "source/policy/request.h"

namespace policy {
namespace {

// RFC 3986 3.1: what stands before the first ":", if that comes before any "/", "?" or "#".
std::optional<std::string_view> schemeOf(std::string_view reference) {
  const size_t end = reference.find_first_of(":/?#");
  if (end == std::string_view::npos || end == 0 || reference[end] != ':') {
    return std::nullopt;
  }
  return reference.substr(0, end);
}

// Nothing that a request-target could not carry may get into a key.
bool isTargetText(std::string_view text) {
  return http::all(http::kTargetChar, text);
}

}  // namespace

OwnedUri OwnedUri::of(const http::Effective& parts) {
  OwnedUri uri;
  uri.scheme_ = parts.scheme;
  uri.authority_ = parts.authority;
  uri.path_ = parts.path;
  uri.query_ = parts.query;
  uri.has_query_ = parts.has_query;
  return uri;
}

http::Effective OwnedUri::parts() const {
  http::Effective uri;
  uri.scheme = scheme_;
  uri.authority = authority_;
  uri.path = path_;
  uri.query = query_;
  uri.has_query = has_query_;
  return uri;
}

std::string OwnedUri::text() const {
  std::string out;
  cacheKey(parts(), KeySpec{}, out);
  return out;
}

bool resolveReference(const http::Effective& base, std::string_view reference, OwnedUri& out) {
  reference = reference.substr(0, reference.find('#'));
  if (!isTargetText(reference)) {
    return false;
  }
  out.scheme_ = base.scheme;
  if (const std::optional<std::string_view> scheme = schemeOf(reference)) {
    const bool secure = http::equalsIgnoreCase(*scheme, "https");
    if (!secure && !http::equalsIgnoreCase(*scheme, "http")) {
      return false;
    }
    out.scheme_ = secure ? http::Scheme::https : http::Scheme::http;
    reference.remove_prefix(scheme->size() + 1);
    if (!reference.starts_with("//")) {
      return false;
    }
  }
  const bool has_authority = reference.starts_with("//");
  if (has_authority) {
    reference.remove_prefix(2);
    const size_t end = std::min(reference.find_first_of("/?"), reference.size());
    const std::optional<http::Authority> authority = http::parseAuthority(reference.substr(0, end));
    if (!authority || authority->host.empty()) {
      return false;
    }
    http::AuthorityBuffer buffer;
    out.authority_ = http::normaliseAuthority(*authority, out.scheme_, buffer);
    reference.remove_prefix(end);
  } else {
    out.authority_ = base.authority;
  }
  const size_t question = std::min(reference.find('?'), reference.size());
  const std::string_view path = reference.substr(0, question);
  out.has_query_ = question < reference.size();
  out.query_ = out.has_query_ ? reference.substr(question + 1) : std::string_view();
  std::string merged;  // RFC 3986 5.2.2, 5.2.3
  if (has_authority || path.starts_with('/')) {
    merged = path.empty() ? "/" : path;
  } else if (path.empty()) {
    merged = base.path;
    if (!out.has_query_) {
      out.has_query_ = base.has_query;
      out.query_ = base.query;
    }
  } else {
    merged.append(base.path.substr(0, base.path.rfind('/') + 1));
    merged.append(path);
    if (!merged.starts_with('/')) {
      merged.insert(merged.begin(), '/');
    }
  }
  std::string buffer(merged.size(), '\0');
  out.path_ = http::removeDotSegments(merged, buffer);
  return true;
}

bool parseAbsoluteUri(std::string_view text, OwnedUri& out) {
  return schemeOf(text).has_value() && resolveReference(http::Effective{}, text, out);
}

Invalidation invalidatedBy(const http::RequestHead& request, const http::Effective& target,
                           const http::ResponseHead& response) {
  Invalidation result;
  const bool succeeded = response.status >= 200 && response.status <= 399;
  if (!succeeded || isSafeMethod(request.method)) {
    return result;
  }
  const auto add = [&result](const OwnedUri& uri) {
    for (uint8_t i = 0; i < result.count; i++) {
      if (result.uris[i].text() == uri.text()) {
        return;
      }
    }
    result.uris[result.count++] = uri;
  };
  OwnedUri uri = OwnedUri::of(target);
  add(uri);
  for (const http::Name id : {http::Name::location, http::Name::content_location}) {
    const http::Field* field = response.fields.find(id);
    if (field == nullptr || !resolveReference(target, field->value, uri)) {
      continue;
    }
    const http::Effective parts = uri.parts();
    if (parts.scheme == target.scheme && parts.authority == target.authority) {
      add(uri);
    }
  }
  return result;
}

}  // namespace policy
