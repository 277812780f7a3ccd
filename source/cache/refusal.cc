#include "source/cache/refusal.h"

#include <string>

#include "source/policy/content_type.h"

namespace cache {

std::optional<Refusal> operatorsRefusal(const config::Route& route,
                                        const http::RequestHead& request,
                                        const http::Effective& uri,
                                        const http::ResponseHead& response) {
  if (route.policy.check_content_type &&
      !policy::contentTypeFits(uri.path, response.fields.value(http::Name::content_type))) {
    return Refusal{policy::NoStoreReason::content_type, false};
  }
  if (route.no_store_rules.empty()) {
    return std::nullopt;
  }
  std::string target(uri.path);
  if (uri.has_query) {
    target.append("?").append(uri.query);
  }
  if (!config::anyMatches(route.no_store_rules, request, target, &response)) {
    return std::nullopt;
  }
  const bool of_request = config::anyMatches(route.no_store_rules, request, target, nullptr);
  return Refusal{policy::NoStoreReason::rule, of_request};
}

}  // namespace cache
