// Which stored responses an unsafe request makes untrustworthy (RFC 9111 4.4).
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "source/http/head.h"
#include "source/http/uri.h"

namespace policy {

// Target, Location, Content-Location.
inline constexpr size_t kMaxInvalidated = 3;

// An absolute http(s) URI in the parts that cacheKey() takes, owning its text.
class OwnedUri {
 public:
  // A copy of the parts as they are.
  static OwnedUri of(const http::Effective& parts);
  // Views into this object, valid while it lives unchanged.
  http::Effective parts() const;
  std::string text() const;

 private:
  friend bool resolveReference(const http::Effective& base, std::string_view reference,
                               OwnedUri& out);
  http::Scheme scheme_ = http::Scheme::http;
  std::string authority_;
  std::string path_;
  std::string query_;
  bool has_query_ = false;
};

// RFC 3986 5.2 against a target URI, for http and https; false when it is no such URI. The fragment
// is dropped, the authority normalised.
bool resolveReference(const http::Effective& base, std::string_view reference, OwnedUri& out);

struct Invalidation {
  uint8_t count = 0;
  std::array<OwnedUri, kMaxInvalidated> uris;
};

// A non-error response (2xx, 3xx) to a method that is not safe invalidates its target, and the URIs
// in Location and Content-Location if they have the same origin (RFC 9110 4.3.1). No other
// origin's: one site must not empty another's cache.
Invalidation invalidatedBy(const http::RequestHead& request, const http::Effective& target,
                           const http::ResponseHead& response);

// A purge's or an administrator's absolute URL in parts; false when it is none.
bool parseAbsoluteUri(std::string_view text, OwnedUri& out);

}  // namespace policy
