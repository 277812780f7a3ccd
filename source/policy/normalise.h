// A request as the cache and the origin shall see it: with one coding and one language in place of
// what a client lists, and without cookies that are in no key. The origin is asked with the very
// fields that select the variant, so what is stored fits every request that is given it (RFC 9111
// 4.1).
#pragma once

#include <string>
#include <string_view>

#include "source/http/head.h"
#include "source/policy/route_policy.h"

namespace policy {

// The first of `offered` (lower case, in order of preference) that the request accepts: named, or
// by "*", with a weight above 0 (RFC 9110 12.5.3). Empty when none is, or the field is absent.
std::string_view chooseEncoding(const http::Fields& request,
                                const std::vector<std::string>& offered);

// The one of `offered` that the request gives the greatest weight, by the longest range that fits
// it (RFC 9110 12.5.4, RFC 4647 3.3.1); of equals the first. Empty likewise.
std::string_view chooseLanguage(const http::Fields& request,
                                const std::vector<std::string>& offered);

// The cookies of these names (sorted), as a Cookie field has them: "a=1; b=2". Appended to out.
void appendCookies(const http::Fields& request, const std::vector<std::string>& names,
                   std::string& out);

// Replaces the fields of a request as the route says. `spare` is overwritten; `text` holds what the
// new fields view, besides `route`, and is not to change while they are used.
void normaliseRequest(const RoutePolicy& route, http::Fields& request, http::Fields& spare,
                      std::string& text);

}  // namespace policy
