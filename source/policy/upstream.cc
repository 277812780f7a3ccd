#include "source/policy/upstream.h"

#include <algorithm>
#include <array>
#include <optional>

#include "source/http/codec.h"
#include "source/http/date.h"
#include "source/http/etag.h"
#include "source/http/hop_by_hop.h"
#include "source/policy/targeted.h"
#include "source/policy/vary.h"

namespace policy {
namespace {

// Written by whoever sends the body, or meant for this server.
bool framesMessage(http::Name id) {
  switch (id) {
    case http::Name::content_length:
    case http::Name::transfer_encoding:
    case http::Name::trailer:
    case http::Name::expect:
      return true;
    default:
      return false;
  }
}

bool isConditional(http::Name id) {
  switch (id) {
    case http::Name::if_match:
    case http::Name::if_modified_since:
    case http::Name::if_none_match:
    case http::Name::if_range:
    case http::Name::if_unmodified_since:
    case http::Name::range:
      return true;
    default:
      return false;
  }
}

bool isReplaced(http::Name id, const UpstreamPlan& plan) {
  switch (id) {
    case http::Name::host:
      return !plan.host.empty();
    case http::Name::x_forwarded_for:
      return !plan.client_address.empty();
    case http::Name::x_forwarded_proto:
      return true;
    case http::Name::x_forwarded_host:
      return true;
    case http::Name::via:
      return !plan.via.empty();
    case http::Name::cdn_loop:
      return !plan.cdn_loop.empty();
    default:
      return false;
  }
}

// Fields that change what an origin answers and are in no cache key: whoever sends one must not
// decide what everyone else gets.
bool isUnkeyedInput(const http::Field& field) {
  if (field.id == http::Name::forwarded) {
    return true;
  }
  if (field.id != http::Name::other) {
    return false;
  }
  static constexpr std::array<std::string_view, 12> kNames = {
      "x-original-url",     "x-rewrite-url",          "x-original-host",    "x-host",
      "x-http-method",      "x-http-method-override", "x-method-override",  "x-forwarded-port",
      "x-forwarded-prefix", "x-forwarded-scheme",     "x-forwarded-server", "x-forwarded-ssl"};
  const char first = field.name.empty() ? '\0' : field.name.front();
  return (first == 'x' || first == 'X') &&
         std::any_of(kNames.begin(), kNames.end(), [&field](std::string_view name) {
           return http::equalsIgnoreCase(name, field.name);
         });
}

struct Slice {
  size_t at;
  size_t size;
  std::string_view of(const std::string& text) const {
    return std::string_view(text).substr(at, size);
  }
};

// All lines of a list field and one more member, as one line.
Slice appendJoined(const http::Fields& fields, http::Name id, std::string_view before,
                   std::string_view member, std::string& scratch) {
  const size_t at = scratch.size();
  for (const http::Field& field : fields.all()) {
    if (field.id == id && !field.value.empty()) {
      scratch.append(field.value);
      scratch.append(", ");
    }
  }
  scratch.append(before);
  scratch.append(member);
  return Slice{at, scratch.size() - at};
}

void add(http::Fields& out, http::Name id, std::string_view value) {
  if (!value.empty()) {
    out.add(id, http::spelling(id), value);
  }
}

void addValidators(const UpstreamPlan& plan, http::Fields& out) {
  // Both, each for the origins that know only one of them (RFC 9111 4.3.1).
  add(out, http::Name::if_none_match, plan.etag);
  add(out, http::Name::if_modified_since, plan.last_modified);
}

// RFC 9111 3.2: what describes the bytes that are stored stays theirs. The integrity fields are not
// in the table of names.
bool describesStoredBytes(const http::Field& field) {
  switch (field.id) {
    case http::Name::content_encoding:
    case http::Name::content_length:
    case http::Name::content_range:
    case http::Name::trailer:
      return true;
    case http::Name::other:
      break;
    default:
      return false;
  }
  static constexpr std::array<std::string_view, 4> kIntegrity = {"content-md5", "content-digest",
                                                                 "repr-digest", "digest"};
  return std::any_of(kIntegrity.begin(), kIntegrity.end(), [&field](std::string_view name) {
    return http::equalsIgnoreCase(name, field.name);
  });
}

bool hasSameName(const http::Fields& fields, const http::Field& field) {
  return field.id != http::Name::other ? fields.has(field.id) : fields.find(field.name) != nullptr;
}

// The update's field does not reach the stored response.
bool isHeldBack(const http::Fields& stored, const http::Field& field) {
  if (describesStoredBytes(field) || field.id == http::Name::vary) {
    return true;
  }
  return field.id == http::Name::etag && stored.has(http::Name::etag);
}

enum class Match : uint8_t { yes, no, unknown };

Match matchDates(const http::Fields& a, const http::Fields& b, base::UnixSeconds now) {
  const auto first = http::parseDate(a.value(http::Name::last_modified), now);
  const auto second = http::parseDate(b.value(http::Name::last_modified), now);
  if (!first || !second) {
    return Match::unknown;
  }
  return *first == *second ? Match::yes : Match::no;
}

}  // namespace

void planUpstream(const http::RequestHead& request, const UpstreamPlan& plan, http::Fields& out,
                  std::string& scratch) {
  out.clear();
  scratch.clear();
  const http::Fields& fields = request.fields;
  const http::HopByHop hop_by_hop(fields);
  const bool for_cache = plan.kind != FetchKind::pass;
  // All text first: views of scratch are taken once it no longer grows.
  const Slice forwarded_for =
      appendJoined(fields, http::Name::x_forwarded_for, {}, plan.client_address, scratch);
  const Slice via = appendJoined(fields, http::Name::via, request.minor == 0 ? "1.0 " : "1.1 ",
                                 plan.via, scratch);
  const Slice cdn_loop = appendJoined(fields, http::Name::cdn_loop, {}, plan.cdn_loop, scratch);
  add(out, http::Name::host, plan.host);
  for (const http::Field& field : fields.all()) {
    const bool dropped = hop_by_hop.covers(field) || framesMessage(field.id) ||
                         isReplaced(field.id, plan) ||
                         (for_cache && (isConditional(field.id) || isUnkeyedInput(field)));
    if (!dropped) {
      out.add(field.id, field.name, field.value);
    }
  }
  if (for_cache) {
    add(out, http::Name::range, plan.range);
  }
  if (plan.kind == FetchKind::revalidate) {
    addValidators(plan, out);
  } else if (plan.kind == FetchKind::rest) {
    add(out, http::Name::if_range, plan.etag);  // RFC 9110 13.1.5
  }
  if (!plan.client_address.empty()) {
    add(out, http::Name::x_forwarded_for, forwarded_for.of(scratch));
  }
  add(out, http::Name::x_forwarded_proto, http::name(plan.client_scheme));
  add(out, http::Name::x_forwarded_host, plan.client_host);
  if (!plan.via.empty()) {
    add(out, http::Name::via, via.of(scratch));  // RFC 9110 7.6.3
  }
  if (!plan.cdn_loop.empty()) {
    add(out, http::Name::cdn_loop, cdn_loop.of(scratch));  // RFC 8586 2
  }
  if (plan.surrogate) {
    out.add("Surrogate-Capability", kSurrogateCapability);
  }
}

Validators validatorsOf(const http::Fields& stored, base::UnixSeconds now) {
  Validators validators;
  const std::string_view etag = stored.value(http::Name::etag);
  if (http::parseEntityTag(etag)) {
    validators.etag = etag;
  }
  const std::string_view modified = stored.value(http::Name::last_modified);
  if (http::parseDate(modified, now)) {
    validators.last_modified = modified;
  }
  return validators;
}

bool selectsStored(const http::Fields& stored, const http::Fields& update, base::UnixSeconds now) {
  const auto theirs = http::parseEntityTag(update.value(http::Name::etag));
  const auto ours = http::parseEntityTag(stored.value(http::Name::etag));
  const Match dates = matchDates(stored, update, now);
  if (!theirs) {
    return dates != Match::no;  // without any validator it answers the ones that were sent
  }
  if (!ours) {
    return dates == Match::yes;
  }
  return theirs->weak ? http::weakMatch(*theirs, *ours) : http::strongMatch(*theirs, *ours);
}

void mergeOn304(const http::ResponseHead& stored, const http::ResponseHead& update,
                http::ResponseHead& out) {
  out.status = stored.status;
  out.minor = stored.minor;
  out.reason = stored.reason;
  out.fields.clear();
  const http::HopByHop hop_by_hop(update.fields);
  const bool dated = update.fields.has(http::Name::date);
  const auto passes = [&](const http::Field& field) {
    return !hop_by_hop.covers(field) && !isHeldBack(stored.fields, field);
  };
  for (const http::Field& field : stored.fields.all()) {
    const bool replaced = hasSameName(update.fields, field) && passes(field);
    const bool outdated = field.id == http::Name::age || (field.id == http::Name::date && !dated);
    if (!replaced && !outdated) {
      out.fields.add(field.id, field.name, field.value);
    }
  }
  for (const http::Field& field : update.fields.all()) {
    if (passes(field)) {
      out.fields.add(field.id, field.name, field.value);
    }
  }
}

bool changesVary(const http::Fields& stored, const http::Fields& update) {
  if (!update.has(http::Name::vary)) {
    return false;
  }
  const Vary before = parseVary(stored);
  const Vary after = parseVary(update);
  return before.any != after.any || before.names != after.names;
}

HeadEffect headEffect(const http::ResponseHead& stored, uint64_t stored_length,
                      const http::ResponseHead& head_response, base::UnixSeconds now) {
  if (head_response.status != 200 || stored.status != 200) {
    return HeadEffect::none;
  }
  const http::Fields& got = head_response.fields;
  if (got.has(http::Name::etag)) {
    const auto theirs = http::parseEntityTag(got.value(http::Name::etag));
    const auto ours = http::parseEntityTag(stored.fields.value(http::Name::etag));
    if (!theirs || !ours || !http::weakMatch(*theirs, *ours)) {
      return HeadEffect::invalidate;
    }
  }
  if (got.has(http::Name::last_modified) && matchDates(stored.fields, got, now) != Match::yes) {
    return HeadEffect::invalidate;
  }
  const std::optional<uint64_t> length = http::contentLength(head_response);
  return length && *length != stored_length ? HeadEffect::invalidate : HeadEffect::freshen;
}

}  // namespace policy
