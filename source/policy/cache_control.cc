#include "source/policy/cache_control.h"

#include <algorithm>

#include "source/http/grammar.h"
#include "source/http/list.h"
#include "source/policy/times.h"

namespace policy {
namespace {

// One member of the field. clean: it matches the grammar of a directive, so that what it permits
// may be believed.
struct Member {
  std::string_view name;
  std::string_view value;
  bool has_value = false;
  bool clean = false;
};

Member readMember(std::string_view element) {
  if (const std::optional<http::Directive> d = http::parseDirective(element)) {
    return Member{d->name, d->value, d->has_value, true};
  }
  // "no-store;x", "max-age =1", an unclosed quote: the name is still recognised.
  size_t end = 0;
  while (end < element.size() && http::is(http::kTchar, element[end])) {
    end++;
  }
  return Member{element.substr(0, end), {}, false, false};
}

bool named(const Member& member, std::string_view name) {
  return http::equalsIgnoreCase(member.name, name);
}

template <class Take>
void forEachMember(const http::Fields& fields, Take take) {
  for (const http::Field& line : fields.all()) {
    if (line.id != http::Name::cache_control) {
      continue;
    }
    http::ListReader reader(line.value);
    while (const std::optional<std::string_view> element = reader.next()) {
      take(readMember(*element));
    }
  }
}

std::optional<uint32_t> deltaOf(const Member& member) {
  return member.clean && member.has_value ? parseDelta(member.value) : std::nullopt;
}

// RFC 9111 4.2.1: the first occurrence, and 0 (stale) once any is invalid.
void takeFirst(const Member& member, std::optional<uint32_t>& slot) {
  const std::optional<uint32_t> value = deltaOf(member);
  if (!value) {
    slot = 0;
  } else if (!slot) {
    slot = value;
  }
}

// Adds the names in private="…" or no-cache="…"; false when the directive has to be taken without
// them, which restricts more.
bool takeQualified(const Member& member, ResponseDirectives& out) {
  if (!member.clean || !member.has_value) {
    return false;
  }
  http::ListReader names(member.value);
  const uint8_t before = out.qualified_count;
  while (const std::optional<std::string_view> name = names.next()) {
    if (!http::isToken(*name) || out.qualified_count == kMaxQualifiedFields) {
      return false;
    }
    out.qualified[out.qualified_count++] = *name;
  }
  return out.qualified_count > before;
}

bool takeLifetime(const Member& member, ResponseDirectives& out) {
  if (named(member, "max-age")) {
    takeFirst(member, out.max_age);  // RFC 9111 5.2.2.1
  } else if (named(member, "s-maxage")) {
    takeFirst(member, out.s_maxage);  // RFC 9111 5.2.2.10
  } else if (named(member, "stale-while-revalidate")) {
    takeFirst(member, out.stale_while_revalidate);  // RFC 5861 3
  } else if (named(member, "stale-if-error")) {
    takeFirst(member, out.stale_if_error);  // RFC 5861 4
  } else {
    return false;
  }
  return true;
}

void takeRestriction(const Member& member, ResponseDirectives& out) {
  if (named(member, "no-store")) {
    out.no_store = true;  // RFC 9111 5.2.2.5
  } else if (named(member, "no-cache")) {
    out.no_cache |= !takeQualified(member, out);  // RFC 9111 5.2.2.4
  } else if (named(member, "private")) {
    out.private_response |= !takeQualified(member, out);  // RFC 9111 5.2.2.7
  } else if (named(member, "must-revalidate")) {
    out.must_revalidate = true;  // RFC 9111 5.2.2.2
  } else if (named(member, "proxy-revalidate")) {
    out.proxy_revalidate = true;  // RFC 9111 5.2.2.8
  } else if (named(member, "no-transform")) {
    out.no_transform = true;  // RFC 9111 5.2.2.6
  }
}

void takePermission(const Member& member, ResponseDirectives& out) {
  if (!member.clean) {
    return;
  }
  if (named(member, "public")) {
    out.public_response = true;  // RFC 9111 5.2.2.9
  } else if (named(member, "must-understand")) {
    out.must_understand = true;  // RFC 9111 5.2.2.3
  } else if (named(member, "immutable")) {
    out.immutable = true;  // RFC 8246 2
  }
}

void takeRequestMember(const Member& member, RequestDirectives& out) {
  if (named(member, "no-cache")) {
    out.no_cache = true;  // RFC 9111 5.2.1.4
  } else if (named(member, "no-store")) {
    out.no_store = true;  // RFC 9111 5.2.1.5
  } else if (named(member, "no-transform")) {
    out.no_transform = true;  // RFC 9111 5.2.1.6
  } else if (named(member, "only-if-cached")) {
    out.only_if_cached = true;            // RFC 9111 5.2.1.7
  } else if (named(member, "max-age")) {  // RFC 9111 5.2.1.1
    out.max_age = std::min(out.max_age.value_or(UINT32_MAX), deltaOf(member).value_or(0));
  } else if (named(member, "min-fresh")) {  // RFC 9111 5.2.1.3
    out.min_fresh = std::max(out.min_fresh.value_or(0), deltaOf(member).value_or(UINT32_MAX));
  } else if (named(member, "max-stale")) {  // RFC 9111 5.2.1.2
    const bool bare = member.clean && !member.has_value;
    const std::optional<uint32_t> value = bare ? UINT32_MAX : deltaOf(member);
    if (value) {
      out.max_stale = std::min(out.max_stale.value_or(UINT32_MAX), *value);
    }
  } else if (named(member, "stale-if-error")) {  // RFC 5861 4
    if (const std::optional<uint32_t> value = deltaOf(member)) {
      out.stale_if_error = std::min(out.stale_if_error.value_or(UINT32_MAX), *value);
    }
  }
}

}  // namespace

std::optional<uint32_t> parseDelta(std::string_view text) {
  if (text.empty() || !http::all(http::kDigit, text)) {
    return std::nullopt;
  }
  uint64_t value = 0;
  for (const char c : text) {
    value = std::min<uint64_t>(value * 10 + static_cast<uint64_t>(c - '0'), kMaxDelta_s);
  }
  return static_cast<uint32_t>(value);
}

RequestDirectives parseRequestDirectives(const http::Fields& request) {
  RequestDirectives out;
  if (request.has(http::Name::cache_control)) {
    forEachMember(request, [&out](const Member& member) { takeRequestMember(member, out); });
    return out;
  }
  // RFC 9111 5.4: only without Cache-Control.
  out.no_cache = http::listContains(request, http::Name::pragma, "no-cache");
  return out;
}

ResponseDirectives parseResponseDirectives(const http::Fields& response) {
  ResponseDirectives out;
  forEachMember(response, [&out](const Member& member) {
    if (!takeLifetime(member, out)) {
      takeRestriction(member, out);
      takePermission(member, out);
    }
  });
  return out;
}

}  // namespace policy
