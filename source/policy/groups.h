// Cache groups (RFC 9875): responses of one origin that say they belong together, and responses to
// unsafe requests that name the groups which are out of date.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "source/http/head.h"
#include "source/http/uri.h"
#include "source/policy/route_policy.h"

namespace policy {

// RFC 9875 2 asks for 32 groups of 32 characters at least. What is beyond is as if it were absent.
inline constexpr size_t kMaxGroups = 64;
inline constexpr size_t kMaxGroupBytes = 128;

// The groups that a response belongs to, sorted, each once. A field that is no list of strings is
// ignored, and so are parameters (RFC 9875 2, RFC 9651 4.2).
std::vector<std::string> groupsOf(const http::Fields& response);

// The groups that a response to an unsafe request has made out of date; empty for safe methods,
// whose responses MUST NOT invalidate (RFC 9875 3), and for statuses of failures.
std::vector<std::string> invalidatedGroups(const http::RequestHead& request,
                                           const http::ResponseHead& response);

// A group's name over all origins: groups of the same name at two origins are two groups (RFC 9875
// 2.1). Origins that share their objects, by the route's key, share their groups.
std::string groupTag(const http::Effective& target, const KeySpec& key, std::string_view group);

}  // namespace policy
