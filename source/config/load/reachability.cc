#include "source/config/load/reachability.h"

#include <algorithm>
#include <utility>

namespace config {

std::optional<uint32_t> Reachability::findPrefix(const Prefixes& prefixes,
                                                 const std::string& text) {
  std::optional<uint32_t> first;
  for (const auto& [length, routes] : prefixes) {
    if (length > text.size()) {
      break;
    }
    const auto at = routes.find(text.substr(0, length));
    if (at != routes.end()) {
      first = std::min(first.value_or(at->second), at->second);
    }
  }
  return first;
}

std::optional<uint32_t> Reachability::add(const RequestMatcher& matcher) {
  const uint32_t index = count_++;
  const PathMatcher& path = matcher.path;
  const bool is_regex = path.kind == PathMatcher::Kind::regex;
  std::optional<uint32_t> first;
  const auto offer = [&first](std::optional<uint32_t> candidate) {
    if (candidate.has_value()) {
      first = std::min(first.value_or(*candidate), *candidate);
    }
  };
  auto& same = by_text_[is_regex ? std::string(path.regex.pattern()) : path.text];
  const auto equal = std::find_if(
      same.begin(), same.end(), [&matcher](const auto& entry) { return *entry.second == matcher; });
  if (equal != same.end()) {
    offer(equal->first);
  }
  same.emplace_back(index, &matcher);
  // Of an expression it is only known that it matches paths, all of which begin with "/".
  const std::string text = is_regex ? "/" : path.text;
  offer(findPrefix(folded_, lowerCase(text)));
  if (!path.ignore_case || text == "/") {
    offer(findPrefix(exact_, text));
  }
  const bool unconditional = matcher.headers.empty() && matcher.query_parameters.empty();
  if (unconditional && path.kind == PathMatcher::Kind::prefix) {
    (path.ignore_case ? folded_ : exact_)[path.text.size()].emplace(path.text, index);
  }
  return first;
}

}  // namespace config
