// Under which keys a cache has a URL: each route that uses it may have its own rule.
#pragma once

#include <string>
#include <vector>

#include "source/config/model/snapshot.h"
#include "source/policy/invalidate.h"

namespace server {

// The distinct rules of the routes that use the cache; the default one if there are none.
std::vector<policy::KeySpec> keySpecs(const config::Snapshot& snapshot, uint16_t cache);
// The distinct keys that a URL has under the rules.
struct UrlKey {
  std::string text;
  bool by_path = false;  // its stripe is that of the path, for No-Vary-Search
  friend bool operator==(const UrlKey&, const UrlKey&) = default;
};
std::vector<UrlKey> keysOf(const policy::OwnedUri& uri, const std::vector<policy::KeySpec>& specs);

}  // namespace server
