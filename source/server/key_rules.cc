#include "source/server/key_rules.h"

#include <algorithm>
#include <utility>

#include "source/policy/request.h"

namespace server {

std::vector<policy::KeySpec> keySpecs(const config::Snapshot& snapshot, uint16_t cache) {
  std::vector<policy::KeySpec> specs;
  for (const config::ListenerConfig& listener : snapshot.listeners) {
    for (const config::VirtualHost& host : listener.routes.hosts) {
      for (const config::Route& route : host.routes) {
        if (route.cache == cache &&
            std::find(specs.begin(), specs.end(), route.policy.key) == specs.end()) {
          specs.push_back(route.policy.key);
        }
      }
    }
  }
  if (specs.empty()) {
    specs.push_back(policy::KeySpec{});
  }
  return specs;
}

std::vector<UrlKey> keysOf(const policy::OwnedUri& uri, const std::vector<policy::KeySpec>& specs) {
  std::vector<UrlKey> keys;
  for (const policy::KeySpec& spec : specs) {
    UrlKey key;
    policy::cacheKey(uri.parts(), spec, key.text);
    key.by_path = spec.no_vary_search;
    if (std::find(keys.begin(), keys.end(), key) == keys.end()) {
      keys.push_back(std::move(key));
    }
  }
  return keys;
}

}  // namespace server
