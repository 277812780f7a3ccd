// What is asked of the origin, and how its 304 or HEAD answer updates what is stored
// (RFC 9110 7.6, RFC 9111 sections 3.2, 4.3.1, 4.3.4 and 4.3.5).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "source/base/types.h"
#include "source/http/head.h"
#include "source/http/uri.h"
#include "source/policy/response.h"

namespace policy {

enum class FetchKind : uint8_t {
  pass,        // the client's own request: conditionals and Range stay
  fill,        // for the cache: the whole response, or a range of it, unconditionally
  revalidate,  // fill, but conditional on the stored validators
  rest,        // fill, but only `range`, if the entity tag is still that of what was sent
};

struct UpstreamPlan {
  FetchKind kind = FetchKind::pass;
  http::Scheme client_scheme = http::Scheme::http;
  std::string_view host;            // written as Host; empty: the client's own
  std::string_view client_host;     // X-Forwarded-Host; the authority the client asked for
  std::string_view client_address;  // appended to X-Forwarded-For; empty: none (no client waits)
  std::string_view via;             // pseudonym for Via; empty: no Via
  std::string_view cdn_loop;        // our id in CDN-Loop (RFC 8586); empty: the field stays
  bool surrogate = false;           // announce that Surrogate-Control is understood
  std::string_view etag;            // stored validators, for revalidate; empty: none
  std::string_view last_modified;
  std::string_view range;  // for rest, with a strong etag; or for fill and revalidate
};

// The fields to send, without those that frame the message (Content-Length, Transfer-Encoding,
// Trailer, TE, Connection, Expect): the sender of the body writes these. Views of `request`, `plan`
// and `scratch`, which must outlive `out`. Removed: hop-by-hop fields; for fill and revalidate also
// conditionals and Range; forwarding fields of the client, except X-Forwarded-For, which is
// appended to; and fields with which frameworks let a client rewrite its request without changing
// the cache key.
void planUpstream(const http::RequestHead& request, const UpstreamPlan& plan, http::Fields& out,
                  std::string& scratch);

// The response has an entity tag or date to revalidate with.
struct Validators {
  std::string_view etag;  // as received, valid; empty: none
  std::string_view last_modified;
};
Validators validatorsOf(const http::Fields& stored, base::UnixSeconds now);

// Does a 304 speak of the stored response (RFC 9111 4.3.4)? A strong validator in it must be the
// stored one; else a weak one must correspond; one without validators answers the ones we sent.
bool selectsStored(const http::Fields& stored, const http::Fields& update, base::UnixSeconds now);

// The stored head with the fields of the 304 (or the HEAD response) put in their place: out borrows
// from both. Kept from the stored one: its status, the fields that describe the stored bytes
// (Content-Encoding, Content-Length, Content-Range, Content-MD5, digests), its ETag, and Vary,
// under which it is found. A Date of the stored one is dropped when the update has none, for it
// would tell a wrong age.
void mergeOn304(const http::ResponseHead& stored, const http::ResponseHead& update,
                http::ResponseHead& out);
// Afterwards decideStore() of the merged head gives the new Times, or why to let go of it.

// The update's Vary differs from the stored one's: serve this once, and do not keep it.
bool changesVary(const http::Fields& stored, const http::Fields& update);

// RFC 9111 4.3.5.
enum class HeadEffect : uint8_t {
  none,        // not a 200
  freshen,     // same validators and length: mergeOn304
  invalidate,  // another version: the stored GET response is stale
};
HeadEffect headEffect(const http::ResponseHead& stored, uint64_t stored_length,
                      const http::ResponseHead& head_response, base::UnixSeconds now);

}  // namespace policy
