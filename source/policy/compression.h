// Content codings of what is stored (RFC 9110 8.4, 12.5.3): what is compressed, what is
// decompressed for clients that do not accept it, and what that changes in the head.
//
// The variants of a resource differ in their bytes, so they may not share a strong entity tag (RFC
// 9110 8.8.3.3): one that was made here has a weak one. A weak tag answers If-None-Match, and never
// matches If-Range or If-Match.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "source/http/head.h"
#include "source/policy/route_policy.h"

namespace policy {

enum class Recode : uint8_t { none, compress, decompress };

struct CodingPlan {
  bool negotiated = false;  // what the client accepts makes a difference: Vary says so
  Recode what = Recode::none;
  Coding coding = Coding::gzip;  // which is added, or taken away
};

// request: as normalised, so it accepts at most one of the route's codings. length: of the body, if
// it is known. The response is to a GET, or to a HEAD whose GET is meant.
CodingPlan planCoding(const http::Fields& request, const http::ResponseHead& response,
                      std::optional<uint64_t> length, const RoutePolicy& route);

// The head as the plan makes it: Content-Encoding, a weak entity tag, Vary; without what described
// the old bytes (Content-Length, digests). out borrows from response and text; text is overwritten.
void recodeHead(const http::ResponseHead& response, const CodingPlan& plan, http::ResponseHead& out,
                std::string& text);

// The field "W/" was put before by recodeHead(): the origin's own tag again.
std::string_view unweakened(std::string_view etag);

// Replaces the entity tag. out borrows from head and etag.
void replaceEntityTag(const http::ResponseHead& head, std::string_view etag,
                      http::ResponseHead& out);

// Whether the response's tag is a strong one, which recodeHead() weakens.
bool hasStrongTag(const http::Fields& response);

// A 304 as if it had come for what is stored: with Accept-Encoding in its Vary where the stored one
// has it on this route's account. out borrows from update.
void addStoredVary(const http::Fields& stored, const http::ResponseHead& update,
                   http::ResponseHead& out);

}  // namespace policy
