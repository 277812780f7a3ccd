// Which routes can never be reached because an earlier one of their virtual host takes all their
// requests. Told for what is certain: equal conditions, and prefixes without further conditions.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "source/config/model/request_matcher.h"

namespace config {

class Reachability {
 public:
  // Tells of the routes in their order: the earliest route that takes all that this one matches, if
  // there is one. The matcher must stay where it is.
  std::optional<uint32_t> add(const RequestMatcher& matcher);

 private:
  // Texts to the first route with that prefix, by their length.
  using Prefixes = std::map<size_t, std::unordered_map<std::string, uint32_t>>;
  static std::optional<uint32_t> findPrefix(const Prefixes& prefixes, const std::string& text);

  uint32_t count_ = 0;
  Prefixes exact_;
  Prefixes folded_;  // in lower case, of routes that ignore it
  std::unordered_map<std::string, std::vector<std::pair<uint32_t, const RequestMatcher*>>> by_text_;
};

}  // namespace config
