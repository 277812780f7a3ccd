#include "source/policy/partial.h"

#include "source/http/etag.h"
#include "source/http/grammar.h"
#include "source/http/range.h"

namespace policy {

std::string_view strongTagOf(const http::Fields& response) {
  const std::string_view text = response.value(http::Name::etag);
  const std::optional<http::EntityTag> tag = http::parseEntityTag(text);
  return response.count(http::Name::etag) == 1 && tag && !tag->weak ? text : std::string_view();
}

bool canBeCompleted(const http::ResponseHead& response) {
  const http::Field* ranges = response.fields.find("accept-ranges");
  const bool refuses = ranges != nullptr && http::equalsIgnoreCase(ranges->value, "none");
  return response.status == 200 && !refuses && !strongTagOf(response.fields).empty();
}

bool isRest(const http::ResponseHead& response, std::optional<uint64_t> body_length,
            const Rest& rest) {
  const std::string_view theirs = strongTagOf(response.fields);
  const auto got = http::parseContentRange(response.fields.value(http::Name::content_range));
  if (response.status != 206 || theirs.empty() || theirs != rest.etag || !got || !got->range) {
    return false;
  }
  const std::optional<uint64_t> end = rest.end.has_value() ? rest.end : got->length;
  return got->range->first == rest.first && end == got->range->last + 1 &&
         body_length.value_or(got->range->length()) == got->range->length();
}

bool endsWithRest(const http::ResponseHead& response, std::optional<uint64_t> body_length,
                  const Rest& rest) {
  const std::string_view theirs = strongTagOf(response.fields);
  return response.status == 200 && !theirs.empty() && theirs == rest.etag &&
         (!rest.end.has_value() || body_length == rest.end) &&
         body_length.value_or(rest.first) >= rest.first;
}

}  // namespace policy
