#include "source/policy/groups.h"

#include <algorithm>
#include <optional>

#include "source/http/structured.h"
#include "source/policy/request.h"

namespace policy {
namespace {

// The strings of all lines of that name; empty unless every member is one (RFC 9875 2, 3).
std::vector<std::string> stringsOf(const http::Fields& fields, std::string_view name) {
  std::string text;
  bool first = true;
  for (const http::Field& field : fields.all()) {
    if (http::equalsIgnoreCase(field.name, name)) {
      text.append(first ? "" : ", ").append(field.value);
      first = false;
    }
  }
  std::vector<std::string> groups;
  const std::optional<http::structured::List> list = http::structured::parseList(text);
  if (!list.has_value()) {
    return groups;
  }
  for (const http::structured::Member& member : *list) {
    const auto* item = std::get_if<http::structured::Item>(&member);
    const auto* group = item == nullptr ? nullptr : std::get_if<std::string>(&item->value);
    if (group == nullptr) {
      return {};
    }
    if (!group->empty() && group->size() <= kMaxGroupBytes && groups.size() < kMaxGroups) {
      groups.push_back(*group);
    }
  }
  std::sort(groups.begin(), groups.end());
  groups.erase(std::unique(groups.begin(), groups.end()), groups.end());
  return groups;
}

}  // namespace

std::vector<std::string> groupsOf(const http::Fields& response) {
  return stringsOf(response, "cache-groups");
}

std::vector<std::string> invalidatedGroups(const http::RequestHead& request,
                                           const http::ResponseHead& response) {
  const bool succeeded = response.status >= 200 && response.status <= 399;
  if (!succeeded || isSafeMethod(request.method)) {
    return {};
  }
  return stringsOf(response.fields, "cache-group-invalidation");
}

std::string groupTag(const http::Effective& target, const KeySpec& key, std::string_view group) {
  std::string tag;
  if (!key.exclude_scheme) {
    tag.append(http::name(target.scheme)).append(":");
  }
  tag.append("//").append(key.exclude_host ? std::string_view() : target.authority);
  tag.append(" ").append(group);
  return tag;
}

}  // namespace policy
