// Request targets and authorities (RFC 9112 3.2, RFC 3986): forms, validation, normal forms.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "source/base/result.h"
#include "source/http/head.h"

namespace http {

enum class Scheme : uint8_t { http, https };
constexpr std::string_view name(Scheme scheme) {
  return scheme == Scheme::http ? "http" : "https";
}
constexpr uint16_t defaultPort(Scheme scheme) {
  return scheme == Scheme::http ? 80 : 443;
}

// A path begins with "/". A query is what stands behind "?"; an empty one differs from none.
struct PathQuery {
  std::string_view path;
  std::string_view query;
  bool has_query = false;
};
PathQuery splitPathQuery(std::string_view text);

// uri-host [ ":" port ] as received. host keeps the brackets of an IPv6 literal.
struct Authority {
  std::string_view host;
  std::optional<uint16_t> port;
};
// The largest host accepted; a domain name has at most 255 bytes.
inline constexpr size_t kMaxHostBytes = 255;
// nullopt for user information, percent-encoding, empty labels, characters outside the grammar, a
// malformed IP literal, port 0 or a port above 65535. An empty host is accepted with an empty text
// only; an empty port
// ("a:") is no port.
std::optional<Authority> parseAuthority(std::string_view text);

inline constexpr size_t kAuthoritySize = kMaxHostBytes + 6;  // ":65535"
using AuthorityBuffer = std::array<char, kAuthoritySize>;
// Lower case, without the scheme's default port and without the root's dot behind the name. A view
// of authority.host when that is already normal, else of out.
std::string_view normaliseAuthority(const Authority& authority, Scheme scheme,
                                    std::span<char, kAuthoritySize> out);

enum class TargetForm : uint8_t { origin, absolute, authority, asterisk };
struct Target {
  TargetForm form = TargetForm::origin;
  Scheme scheme = Scheme::http;  // absolute form only
  std::string_view authority;    // absolute and authority form
  std::string_view path;         // "/" when an absolute form has none; "*" for the asterisk
  std::string_view query;
  bool has_query = false;
};
// bad_head when the target has none of the four forms, a scheme that is neither http nor https, or
// not the form its method requires: CONNECT takes the authority form and no other method does; only
// OPTIONS takes the asterisk.
base::Result<Target> parseTarget(std::string_view method, std::string_view target);

// The target URI (RFC 9112 3.3): an absolute form overrides Host. Views of the head or of the
// buffer.
struct Effective {
  Scheme scheme = Scheme::http;
  std::string_view authority;  // normalised; empty only for HTTP/1.0 without Host
  std::string_view path;       // as received
  std::string_view query;      // as received, without "?"
  bool has_query = false;
};
// scheme is that of the connection; an absolute form must agree with it, else bad_head (a plain
// connection cannot speak for https).
base::Result<Effective> effectiveUri(const RequestHead& head, Scheme scheme,
                                     AuthorityBuffer& buffer);

// The functions below write at most text.size() bytes to out, which must have that room, and may
// return `text` itself when nothing had to be changed.

// Hexadecimal digits in upper case and percent-encoded unreserved characters decoded (RFC
// 3986 6.2.2.1 and 6.2.2.2). A "%" without two digits stays as it is.
std::string_view normalisePercent(std::string_view text, std::span<char> out);
// RFC 3986 5.2.4. "/.." above the root is dropped. Does not look at percent-encoded dots: normalise
// first.
std::string_view removeDotSegments(std::string_view path, std::span<char> out);

}  // namespace http
