#include "source/http/uri.h"

#include <bit>
#include <cstring>

#include "source/base/check.h"
#include "source/http/grammar.h"
#include "source/http/scan.h"

namespace http {
namespace {

using base::Blame;
using base::Code;
using base::Error;

constexpr Error kBadTarget{.code = Code::bad_head, .blame = Blame::downstream};
constexpr size_t kMaxPortDigits = 5;

// Up to four decimal octets without leading zeros (RFC 3986 3.2.2).
bool isIpv4(std::string_view text) {
  for (int octet = 0; octet < 4; octet++) {
    const size_t dot = octet < 3 ? text.find('.') : text.size();
    if (dot == text.npos || dot == 0 || dot > 3 || (dot > 1 && text[0] == '0')) {
      return false;
    }
    const std::optional<uint64_t> value = parseDecimal(text.substr(0, dot));
    if (!value.has_value() || *value > 255) {
      return false;
    }
    text.remove_prefix(octet < 3 ? dot + 1 : dot);
  }
  return text.empty();
}

// What stands between the brackets: eight groups, fewer with one "::", the last two perhaps as
// IPv4. A zone (RFC 6874) means nothing to another host and is refused.
bool isIpv6(std::string_view text) {
  int groups = 0;
  bool compressed = false;
  if (text.starts_with("::")) {
    compressed = true;
    text.remove_prefix(2);
  }
  while (!text.empty()) {
    const size_t colon = text.find(':');
    const std::string_view group = text.substr(0, colon);
    if (colon == text.npos && group.find('.') != group.npos) {
      if (!isIpv4(group)) {
        return false;
      }
      groups += 2;
      break;
    }
    if (group.empty() || group.size() > 4 || !all(kHexDigit, group)) {
      return false;
    }
    groups++;
    if (colon == text.npos) {
      break;
    }
    text.remove_prefix(colon + 1);
    if (text.empty()) {
      return false;
    }
    if (text.front() == ':') {
      if (compressed) {
        return false;
      }
      compressed = true;
      text.remove_prefix(1);
    }
  }
  return compressed ? groups <= 7 : groups == 8;
}

// The length of the registered name at the beginning, 0 when there is none that we accept.
// Percent-encoding is refused, though RFC 3986 has it: no domain name needs it, and "%2e" must not
// pass for a dot anywhere. So are empty labels, but for the root's behind the last dot.
size_t registeredNameSize(std::string_view text) {
  const internal::Readable in{text.data(), text.data() + text.size()};
  uint32_t dot_before = 1;
  for (size_t at = 0;; at += 16) {
    const __m128i x = internal::load16(text.data() + at, in);
    const uint32_t end_mask = internal::outside(internal::kRegNameNibbles, x);
    const uint32_t name_mask = (end_mask & (0U - end_mask)) - 1;  // all ones when the name goes on
    const uint32_t dots = internal::equalTo(x, '.') & name_mask;
    if ((dots & (dots << 1 | dot_before)) != 0) {
      return 0;
    }
    if (end_mask != 0) {
      return at + static_cast<size_t>(std::countr_zero(end_mask));
    }
    dot_before = dots >> 15;
  }
}

bool hasUpperCase(std::string_view text) {
  const internal::Readable in{text.data(), text.data() + text.size()};
  uint32_t found = 0;
  for (size_t at = 0; at < text.size(); at += 16) {
    found |= internal::upperCase(internal::load16(text.data() + at, in));
  }
  return found != 0;
}

bool parsePort(std::string_view text, std::optional<uint16_t>& port) {
  if (text.empty()) {
    return true;
  }
  uint32_t value = 0;
  for (const char c : text) {
    if (!is(kDigit, c)) {
      return false;
    }
    value = value * 10 + static_cast<uint32_t>(c - '0');
    if (value > UINT16_MAX) {
      return false;
    }
  }
  port = static_cast<uint16_t>(value);
  return value != 0 && text.size() <= kMaxPortDigits;
}

// scheme "://" at the beginning, in any letter case; 0 when it is not there.
size_t skipScheme(std::string_view target, Scheme scheme) {
  const std::string_view word = name(scheme);
  const bool matches = target.size() >= word.size() + 3 &&
                       equalsIgnoreCase(target.substr(0, word.size()), word) &&
                       target.substr(word.size(), 3) == "://";
  return matches ? word.size() + 3 : 0;
}

base::Result<Target> parseAbsolute(std::string_view method, std::string_view target) {
  Target out;
  out.form = TargetForm::absolute;
  size_t at = skipScheme(target, Scheme::http);
  if (at == 0) {
    out.scheme = Scheme::https;
    at = skipScheme(target, Scheme::https);
  }
  if (at == 0) {
    return kBadTarget;
  }
  const size_t end = target.find_first_of("/?", at);
  out.authority = target.substr(at, end == target.npos ? target.npos : end - at);
  if (out.authority.empty() || !parseAuthority(out.authority).has_value()) {
    return kBadTarget;
  }
  const PathQuery rest =
      splitPathQuery(end == target.npos ? std::string_view() : target.substr(end));
  out.path = rest.path;
  out.query = rest.query;
  out.has_query = rest.has_query;
  if (out.path.empty()) {
    // RFC 9112 3.2.4: OPTIONS without path and query is about the server as a whole.
    out.path = method == "OPTIONS" && !out.has_query ? "*" : "/";
  }
  return out;
}

// The last segment of the output goes, with the slash before it.
size_t withoutLastSegment(std::span<char> out, size_t size) {
  while (size > 0) {
    size--;
    if (out[size] == '/') {
      break;
    }
  }
  return size;
}

}  // namespace

PathQuery splitPathQuery(std::string_view text) {
  const size_t mark = text.find('?');
  if (mark == text.npos) {
    return PathQuery{.path = text};
  }
  return PathQuery{.path = text.substr(0, mark), .query = text.substr(mark + 1), .has_query = true};
}

std::optional<Authority> parseAuthority(std::string_view text) {
  Authority out;
  if (text.empty()) {
    return out;
  }
  size_t host_size = 0;
  if (text.front() == '[') {
    const size_t close = text.find(']');
    if (close == text.npos || !isIpv6(text.substr(1, close - 1))) {
      return std::nullopt;
    }
    host_size = close + 1;
  } else {
    host_size = registeredNameSize(text);
  }
  if (host_size == 0 || host_size > kMaxHostBytes) {
    return std::nullopt;
  }
  out.host = text.substr(0, host_size);
  text.remove_prefix(host_size);
  if (!text.empty() && (text.front() != ':' || !parsePort(text.substr(1), out.port))) {
    return std::nullopt;
  }
  return out;
}

std::string_view normaliseAuthority(const Authority& authority, Scheme scheme,
                                    std::span<char, kAuthoritySize> out) {
  std::string_view host = authority.host;
  if (host.ends_with('.')) {
    host.remove_suffix(1);
  }
  CHECK(host.size() <= kMaxHostBytes);
  const bool has_port = authority.port.has_value() && *authority.port != defaultPort(scheme);
  if (!has_port && !hasUpperCase(host)) {
    return host;
  }
  size_t size = 0;
  for (const char c : host) {
    out[size++] = toLower(c);
  }
  if (has_port) {
    std::array<char, kMaxPortDigits> digits;
    size_t first = kMaxPortDigits;
    for (unsigned port = *authority.port; port != 0; port /= 10) {
      digits[--first] = static_cast<char>('0' + port % 10);
    }
    out[size++] = ':';
    std::memcpy(out.data() + size, digits.data() + first, kMaxPortDigits - first);
    size += kMaxPortDigits - first;
  }
  return std::string_view(out.data(), size);
}

base::Result<Target> parseTarget(std::string_view method, std::string_view target) {
  const char* const end = target.data() + target.size();
  if (target.empty() || internal::targetEnd(target.data(), {target.data(), end}) != end) {
    return kBadTarget;
  }
  if (method == "CONNECT") {
    const std::optional<Authority> authority = parseAuthority(target);
    if (!authority.has_value() || !authority->port.has_value()) {
      return kBadTarget;
    }
    return Target{.form = TargetForm::authority, .authority = target};
  }
  if (target.front() == '/') {
    const PathQuery parts = splitPathQuery(target);
    return Target{.form = TargetForm::origin,
                  .path = parts.path,
                  .query = parts.query,
                  .has_query = parts.has_query};
  }
  if (target == "*") {
    if (method != "OPTIONS") {
      return kBadTarget;
    }
    return Target{.form = TargetForm::asterisk, .path = target};
  }
  return parseAbsolute(method, target);
}

base::Result<Effective> effectiveUri(const RequestHead& head, Scheme scheme,
                                     AuthorityBuffer& buffer) {
  const base::Result<Target> parsed = parseTarget(head.method, head.target);
  if (!parsed.ok()) {
    return parsed.error();
  }
  const Target& target = parsed.value();
  const bool own_authority =
      target.form == TargetForm::absolute || target.form == TargetForm::authority;
  if (target.form == TargetForm::absolute && target.scheme != scheme) {
    return kBadTarget;
  }
  const std::string_view text = own_authority ? target.authority : head.fields.value(Name::host);
  const std::optional<Authority> authority = parseAuthority(text);
  // An http or https URI has a host (RFC 9110 4.2.1). Only HTTP/1.0 may leave it to the listener.
  if (!authority.has_value() || (authority->host.empty() && head.minor >= 1)) {
    return kBadTarget;
  }
  return Effective{.scheme = scheme,
                   .authority = normaliseAuthority(*authority, scheme, buffer),
                   .path = target.path,
                   .query = target.query,
                   .has_query = target.has_query};
}

std::string_view normalisePercent(std::string_view text, std::span<char> out) {
  const size_t first = text.find('%');
  if (first == text.npos) {
    return text;
  }
  CHECK(out.size() >= text.size());
  std::memcpy(out.data(), text.data(), first);
  size_t size = first;
  for (size_t at = first; at < text.size(); at++) {
    const char c = text[at];
    const int high = c == '%' && at + 2 < text.size() ? hexValue(text[at + 1]) : -1;
    const int low = high >= 0 ? hexValue(text[at + 2]) : -1;
    if (low < 0) {
      out[size++] = c;
      continue;
    }
    const char decoded = static_cast<char>(high << 4 | low);
    if (is(kUnreserved, decoded)) {
      out[size++] = decoded;
    } else {
      out[size++] = '%';
      out[size++] = toUpper(text[at + 1]);
      out[size++] = toUpper(text[at + 2]);
    }
    at += 2;
  }
  return std::string_view(out.data(), size);
}

std::string_view removeDotSegments(std::string_view path, std::span<char> out) {
  if (path.find("/.") == path.npos && !path.starts_with('.')) {
    return path;
  }
  CHECK(out.size() >= path.size());
  size_t size = 0;
  // The steps A to E of RFC 3986 5.2.4.
  while (!path.empty()) {
    if (path.starts_with("../") || path.starts_with("./")) {
      path.remove_prefix(path[1] == '.' ? 3 : 2);
    } else if (path.starts_with("/./")) {
      path.remove_prefix(2);
    } else if (path == "/.") {
      path = "/";
    } else if (path.starts_with("/../")) {
      path.remove_prefix(3);
      size = withoutLastSegment(out, size);
    } else if (path == "/..") {
      path = "/";
      size = withoutLastSegment(out, size);
    } else if (path == "." || path == "..") {
      break;
    } else {
      const size_t next = path.find('/', 1);
      const size_t length = next == path.npos ? path.size() : next;
      std::memcpy(out.data() + size, path.data(), length);
      size += length;
      path.remove_prefix(length);
    }
  }
  return std::string_view(out.data(), size);
}

}  // namespace http
