#include "source/policy/range_plan.h"

#include <algorithm>
#include <optional>
#include <variant>

#include "source/http/date.h"
#include "source/http/etag.h"

namespace policy {
namespace {

// A Last-Modified is strong when the origin's own clock was clearly past it as it answered, so that
// a second change within that time could not have got the same date (RFC 9110 8.8.2.2).
constexpr int64_t kStrongDateGap_s = 60;

bool dateHolds(base::UnixSeconds condition, const http::Fields& stored, base::UnixSeconds now) {
  const std::optional<base::UnixSeconds> modified =
      http::parseDate(stored.value(http::Name::last_modified), now);
  const std::optional<base::UnixSeconds> date =
      http::parseDate(stored.value(http::Name::date), now);
  return modified && date && date->s - modified->s >= kStrongDateGap_s && *modified == condition;
}

RangePlan planOf(RangePlan::Kind kind, const http::ResolvedRanges& resolved) {
  RangePlan plan;
  plan.kind = kind;
  plan.count = resolved.count;
  plan.ranges = resolved.ranges;
  return plan;
}

RangePlan wholeSince(RangePlan::Note note) {
  RangePlan plan;
  plan.note = note;
  return plan;
}

RangePlan planSeveral(const http::ResolvedRanges& resolved, Access access) {
  const http::ResolvedRanges joined = http::coalesceRanges(resolved, kJoinGapBytes);
  if (joined.count < resolved.count) {
    RangePlan plan =
        planOf(joined.count == 1 ? RangePlan::Kind::single : RangePlan::Kind::multi, joined);
    plan.note = RangePlan::Note::joined;
    return plan;
  }
  // RFC 9110 15.3.7.2: parts may be joined, and are else best sent in the order asked for.
  if (access == Access::forward && !resolved.ascending) {
    return wholeSince(RangePlan::Note::unordered);
  }
  return planOf(RangePlan::Kind::multi, resolved);
}

}  // namespace

bool ifRangeHolds(const http::RequestHead& request, const http::ResponseHead& stored,
                  base::UnixSeconds now) {
  const size_t count = request.fields.count(http::Name::if_range);
  if (count == 0) {
    return true;
  }
  if (count > 1) {
    return false;
  }
  const std::optional<http::IfRange> condition =
      http::parseIfRange(request.fields.value(http::Name::if_range), now);
  if (!condition) {
    return false;
  }
  if (const auto* tag = std::get_if<http::EntityTag>(&*condition)) {
    const std::optional<http::EntityTag> current =
        http::parseEntityTag(stored.fields.value(http::Name::etag));
    return current && http::strongMatch(*tag, *current);  // RFC 9110 13.1.5
  }
  return dateHolds(std::get<base::UnixSeconds>(*condition), stored.fields, now);
}

RangePlan planRange(const http::RequestHead& request, const http::ResponseHead& stored,
                    uint64_t length, base::UnixSeconds now, Access access) {
  // An empty object has no byte to put into a Content-Range: it is sent as it is.
  if (request.method != "GET" || stored.status != 200 || length == 0 ||
      request.fields.count(http::Name::range) != 1 || !ifRangeHolds(request, stored, now)) {
    return RangePlan{};
  }
  const std::variant<http::RangeSet, http::RangeRefusal> parsed =
      http::parseRange(request.fields.value(http::Name::range));
  const auto* set = std::get_if<http::RangeSet>(&parsed);
  if (set == nullptr) {  // another unit, malformed or too many: ignored (RFC 9110 14.2)
    return std::get<http::RangeRefusal>(parsed) == http::RangeRefusal::too_many
               ? wholeSince(RangePlan::Note::too_many)
               : RangePlan{};
  }
  const http::ResolvedRanges resolved = http::resolveRanges(*set, length);
  if (resolved.count == 0) {
    return planOf(RangePlan::Kind::unsatisfiable, resolved);  // RFC 9110 15.5.17
  }
  return resolved.count == 1 ? planOf(RangePlan::Kind::single, resolved)
                             : planSeveral(resolved, access);
}

}  // namespace policy
