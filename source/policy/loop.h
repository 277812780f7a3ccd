// Requests that come back to where they have been (RFC 8586, RFC 9110 7.6.3).
#pragma once

#include <cstdint>
#include <string_view>

#include "source/http/head.h"

namespace policy {

// How often the request has passed a server of these names: the members of Via received by `via`,
// or those of CDN-Loop named `cdn_loop`, whichever are more. An empty name counts nothing. Letter
// case does not count; parameters and comments are skipped.
uint32_t timesPassed(const http::Fields& request, std::string_view via, std::string_view cdn_loop);

}  // namespace policy
