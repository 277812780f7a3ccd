// What keeps a response out of the store besides what HTTP says: the operator's rules and guards.
#pragma once

#include <optional>
#include <string_view>

#include "source/config/model/route.h"
#include "source/http/head.h"
#include "source/http/uri.h"
#include "source/policy/response.h"

namespace cache {

struct Refusal {
  policy::NoStoreReason why;
  bool of_request = false;  // it is this request's doing: the next one's response may be stored
};

// After policy::decideStore() would store the response. uri: of the request.
std::optional<Refusal> operatorsRefusal(const config::Route& route,
                                        const http::RequestHead& request,
                                        const http::Effective& uri,
                                        const http::ResponseHead& response);

}  // namespace cache
