#include "source/policy/conditional.h"

#include <array>
#include <optional>

#include "source/http/date.h"
#include "source/http/etag.h"

namespace policy {
namespace {

// A date field counts only when it is there once and valid (RFC 9110 13.1.3, 13.1.4).
std::optional<base::UnixSeconds> singleDate(const http::Fields& fields, http::Name id,
                                            base::UnixSeconds now) {
  return fields.count(id) == 1 ? http::parseDate(fields.value(id), now) : std::nullopt;
}

// RFC 9111 4.3.2: Last-Modified, else Date, else the time of receipt.
base::UnixSeconds modifiedAt(const http::Fields& stored, base::UnixSeconds received,
                             base::UnixSeconds now) {
  if (stored.has(http::Name::last_modified)) {
    // An unreadable one proves nothing, so it is later than every condition.
    return http::parseDate(stored.value(http::Name::last_modified), now)
        .value_or(base::UnixSeconds{INT64_MAX});
  }
  return http::parseDate(stored.value(http::Name::date), now).value_or(received);
}

// RFC 9110 13.1.1 (strong comparison), 13.1.2 (weak comparison).
enum class Comparison : uint8_t { strong, weak };

bool listMatches(const http::Fields& request, http::Name id, const http::Fields& stored,
                 Comparison comparison) {
  http::EntityTagList tags(request, id);
  if (tags.any()) {
    return true;  // "*" matches any current representation
  }
  const std::optional<http::EntityTag> current =
      http::parseEntityTag(stored.value(http::Name::etag));
  if (!current) {
    return false;
  }
  while (const std::optional<http::EntityTag> tag = tags.next()) {
    if (comparison == Comparison::strong ? http::strongMatch(*tag, *current)
                                         : http::weakMatch(*tag, *current)) {
      return true;
    }
  }
  return false;
}

// RFC 9110 13.2.2, steps 1 and 2.
bool originPreconditionsHold(const http::Fields& request, const http::Fields& stored,
                             base::UnixSeconds received, base::UnixSeconds now) {
  if (request.has(http::Name::if_match)) {
    return listMatches(request, http::Name::if_match, stored, Comparison::strong);
  }
  const std::optional<base::UnixSeconds> since =
      singleDate(request, http::Name::if_unmodified_since, now);
  return !since || modifiedAt(stored, received, now) <= *since;
}

}  // namespace

Condition evaluateConditional(const http::RequestHead& request, const http::ResponseHead& stored,
                              base::UnixSeconds received, base::UnixSeconds now, Evaluator who) {
  if (stored.status < 200 || stored.status > 299) {
    return Condition::full;  // RFC 9110 13.2.1
  }
  if (who == Evaluator::origin &&
      !originPreconditionsHold(request.fields, stored.fields, received, now)) {
    return Condition::precondition_failed;
  }
  const bool retrieves = request.method == "GET" || request.method == "HEAD";
  if (request.fields.has(http::Name::if_none_match)) {  // RFC 9110 13.2.2, step 3
    if (!listMatches(request.fields, http::Name::if_none_match, stored.fields, Comparison::weak)) {
      return Condition::full;  // whatever If-Modified-Since says (RFC 9110 13.1.3)
    }
    return retrieves ? Condition::not_modified : Condition::precondition_failed;
  }
  if (!retrieves) {
    return Condition::full;
  }
  const std::optional<base::UnixSeconds> since =
      singleDate(request.fields, http::Name::if_modified_since, now);
  if (since && modifiedAt(stored.fields, received, now) <= *since) {
    return Condition::not_modified;  // RFC 9110 13.2.2, step 4
  }
  return Condition::full;
}

bool keptIn304(const http::Field& field) {
  switch (field.id) {
    case http::Name::content_encoding:
    case http::Name::content_language:
    case http::Name::content_length:
    case http::Name::content_range:
    case http::Name::content_type:
    case http::Name::accept_ranges:
    case http::Name::trailer:
    case http::Name::transfer_encoding:
      return false;
    case http::Name::other:
      break;
    default:
      return true;
  }
  static constexpr std::array<std::string_view, 4> kOfContent = {"content-md5", "content-digest",
                                                                 "repr-digest", "digest"};
  for (const std::string_view name : kOfContent) {
    if (http::equalsIgnoreCase(field.name, name)) {
      return false;
    }
  }
  return true;
}

}  // namespace policy
