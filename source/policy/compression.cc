#include "source/policy/compression.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "source/http/etag.h"
#include "source/http/list.h"
#include "source/policy/cache_control.h"
#include "source/policy/normalise.h"
#include "source/policy/vary.h"

namespace policy {
namespace {

constexpr std::string_view kWeak = "W/";
constexpr std::string_view kAcceptEncoding = "accept-encoding";

// Those whose content is for people and is worth keeping; 203 is a 200 that was changed.
bool isRecodable(uint16_t status) {
  return status == 200 || status == 203 || status == 404 || status == 410;
}

// The one coding that the body has; nullopt: several, or one that cannot be undone here.
std::optional<Coding> codingOf(const http::Fields& response) {
  http::FieldList codings(response, http::Name::content_encoding);
  const std::optional<std::string_view> first = codings.next();
  if (!first.has_value() || codings.next().has_value()) {
    return std::nullopt;
  }
  if (http::equalsIgnoreCase(*first, "x-gzip")) {
    return Coding::gzip;  // RFC 9110 8.4.1.3
  }
  for (const Coding coding : {Coding::gzip, Coding::br, Coding::zstd}) {
    if (http::equalsIgnoreCase(*first, name(coding))) {
      return coding;
    }
  }
  return std::nullopt;
}

bool accepts(const http::Fields& request, Coding coding) {
  return !chooseEncoding(request, {std::string(name(coding))}).empty();
}

bool isCompressible(const http::Fields& response, const Compression& compression) {
  std::string_view type = response.value(http::Name::content_type);
  type = type.substr(0, type.find_first_of("; \t"));
  return std::any_of(compression.content_types.begin(), compression.content_types.end(),
                     [type](std::string_view wanted) {
                       const size_t length = wanted.ends_with('/') ? wanted.size() : type.size();
                       return type.size() >= wanted.size() &&
                              http::equalsIgnoreCase(type.substr(0, length), wanted);
                     });
}

// What is said of the bytes that were received, which nobody gets to see.
bool describesBytes(const http::Field& field) {
  static constexpr std::array<std::string_view, 4> kDigests = {"content-md5", "content-digest",
                                                               "repr-digest", "digest"};
  return field.id == http::Name::content_length ||
         (field.id == http::Name::other &&
          std::any_of(kDigests.begin(), kDigests.end(), [&field](std::string_view digest) {
            return http::equalsIgnoreCase(field.name, digest);
          }));
}

bool variesByCoding(const http::Fields& response) {
  const Vary vary = parseVary(response);
  return vary.any || std::binary_search(vary.names.begin(), vary.names.end(), kAcceptEncoding);
}

void add(http::Fields& out, http::Name id, std::string_view value) {
  out.add(id, http::spelling(id), value);
}

void copyStart(const http::ResponseHead& from, http::ResponseHead& out) {
  out.status = from.status;
  out.minor = from.minor;
  out.reason = from.reason;
  out.fields.clear();
}

}  // namespace

CodingPlan planCoding(const http::Fields& request, const http::ResponseHead& response,
                      std::optional<uint64_t> length, const RoutePolicy& route) {
  CodingPlan plan;
  if (!route.compression.has_value() || !isRecodable(response.status) ||
      parseResponseDirectives(response.fields).no_transform) {  // RFC 9110 7.7
    return plan;
  }
  if (response.fields.has(http::Name::content_encoding)) {
    const std::optional<Coding> coding = codingOf(response.fields);
    if (!coding.has_value() || length == uint64_t{0}) {
      return plan;
    }
    plan.negotiated = true;
    plan.coding = *coding;
    plan.what = accepts(request, *coding) ? Recode::none : Recode::decompress;
    return plan;
  }
  if (length.value_or(UINT64_MAX) < std::max<uint64_t>(route.compression->min_length, 1) ||
      !isCompressible(response.fields, *route.compression)) {
    return plan;
  }
  plan.negotiated = true;
  for (const Coding coding : route.compression->algorithms) {
    if (accepts(request, coding)) {
      plan.coding = coding;
      plan.what = Recode::compress;
      break;
    }
  }
  return plan;
}

bool hasStrongTag(const http::Fields& response) {
  const std::optional<http::EntityTag> tag = http::parseEntityTag(response.value(http::Name::etag));
  return tag.has_value() && !tag->weak;
}

std::string_view unweakened(std::string_view etag) {
  return etag.starts_with(kWeak) ? etag.substr(kWeak.size()) : etag;
}

void recodeHead(const http::ResponseHead& response, const CodingPlan& plan, http::ResponseHead& out,
                std::string& text) {
  const bool changed = plan.what != Recode::none;
  const bool weakens = changed && hasStrongTag(response.fields);
  text.clear();
  if (weakens) {
    text.append(kWeak).append(response.fields.value(http::Name::etag));
  }
  copyStart(response, out);
  for (const http::Field& field : response.fields.all()) {
    if (changed && (describesBytes(field) || field.id == http::Name::content_encoding)) {
      continue;
    }
    const bool tag = weakens && field.id == http::Name::etag;
    out.fields.add(field.id, field.name, tag ? std::string_view(text) : field.value);
  }
  if (plan.what == Recode::compress) {
    add(out.fields, http::Name::content_encoding, name(plan.coding));
  }
  if (plan.negotiated && !variesByCoding(response.fields)) {
    add(out.fields, http::Name::vary, http::spelling(http::Name::accept_encoding));
  }
}

void replaceEntityTag(const http::ResponseHead& head, std::string_view etag,
                      http::ResponseHead& out) {
  copyStart(head, out);
  for (const http::Field& field : head.fields.all()) {
    out.fields.add(field.id, field.name, field.id == http::Name::etag ? etag : field.value);
  }
}

void addStoredVary(const http::Fields& stored, const http::ResponseHead& update,
                   http::ResponseHead& out) {
  copyStart(update, out);
  for (const http::Field& field : update.fields.all()) {
    out.fields.add(field.id, field.name, field.value);
  }
  if (update.fields.has(http::Name::vary) && variesByCoding(stored) &&
      !variesByCoding(update.fields)) {
    add(out.fields, http::Name::vary, http::spelling(http::Name::accept_encoding));
  }
}

}  // namespace policy
