#include "source/http/codec.h"

#include <cstring>

#include "source/http/field_lines.h"
#include "source/http/grammar.h"
#include "source/http/scan.h"
#include "source/http/uri.h"

namespace http {
namespace {

using base::Blame;
using base::Code;
using base::Error;
using internal::Readable;

constexpr std::string_view kHttp1 = "HTTP/1.";
constexpr size_t kVersionBytes = 8;  // "HTTP/1.1"
constexpr std::string_view kHttp = "HTTP/";

std::string_view between(const char* begin, const char* end) {
  return std::string_view(begin, static_cast<size_t>(end - begin));
}

// A limit is exceeded, or will be whatever follows. `bytes` is the head, or what came of it.
bool exceedsLimits(std::string_view bytes, bool complete, const Limits& limits) {
  if (bytes.size() > limits.head_bytes || (!complete && bytes.size() == limits.head_bytes)) {
    return true;
  }
  if (bytes.starts_with("\r\n")) {
    bytes.remove_prefix(2);
  }
  // Line 0 is the start line; the blank line is not counted.
  for (uint32_t line_number = 0; !bytes.empty(); line_number++) {
    const size_t lf = bytes.find('\n');
    std::string_view line = bytes.substr(0, lf);
    bytes.remove_prefix(lf == bytes.npos ? bytes.size() : lf + 1);
    if (line.ends_with('\r')) {
      line.remove_suffix(1);
    }
    if (line.size() > limits.line_bytes || (!line.empty() && line_number > limits.fields)) {
      return true;
    }
  }
  return false;
}

// "HTTP/" DIGIT "." DIGIT, or the two-digit-less "HTTP/2" that newer versions are called by, of a
// major version that is not ours.
bool isForeignVersion(std::string_view text) {
  if (!text.starts_with(kHttp)) {
    return false;
  }
  text.remove_prefix(kHttp.size());
  const bool dotted =
      text.size() == 3 && is(kDigit, text[0]) && text[1] == '.' && is(kDigit, text[2]);
  const bool bare = text.size() == 1 && is(kDigit, text[0]);
  return (dotted || bare) && text[0] != '1';
}

std::string_view firstLine(std::string_view head) {
  return head.substr(0, head.find_first_of("\r\n"));
}

Code explainRequest(std::string_view head) {
  if (head.starts_with("\r\n")) {
    head.remove_prefix(2);
  }
  const std::string_view line = firstLine(head);
  const size_t first = line.find(' ');
  const size_t last = line.rfind(' ');
  if (first == line.npos || first == last) {
    return Code::bad_head;
  }
  const std::string_view target = line.substr(first + 1, last - first - 1);
  const bool shaped = isToken(line.substr(0, first)) && !target.empty() && all(kTargetChar, target);
  return shaped && isForeignVersion(line.substr(last + 1)) ? Code::unsupported : Code::bad_head;
}

Code explainResponse(std::string_view head) {
  const std::string_view line = firstLine(head);
  return isForeignVersion(line.substr(0, line.find(' '))) ? Code::unsupported : Code::bad_head;
}

// Off the fast path: why were these bytes not a head?
template <class Explain>
ParseOutcome refuse(std::span<const char> bytes, const Limits& limits, Blame blame,
                    Explain explain) {
  const uint32_t end = findHeadEnd(bytes, 0);
  const std::string_view head(bytes.data(), end != 0 ? end : bytes.size());
  if (exceedsLimits(head, end != 0, limits)) {
    return Error{.code = Code::head_too_large, .blame = blame};
  }
  if (end == 0) {
    return NeedMore{};
  }
  return Error{.code = explain(head), .blame = blame};
}

// "HTTP/1.x" at p; nullptr when it is not. Sets minor.
const char* parseVersion(const char* p, const char* end, uint8_t& minor) {
  if (end - p < static_cast<ptrdiff_t>(kVersionBytes) ||
      std::memcmp(p, kHttp1.data(), kHttp1.size()) != 0 || !is(kDigit, p[7])) {
    return nullptr;
  }
  minor = static_cast<uint8_t>(p[7] - '0');
  return p + kVersionBytes;
}

// method SP request-target SP HTTP-version CRLF (RFC 9112 3). The position behind it, or nullptr.
const char* parseRequestLine(const char* p, Readable in, const Limits& limits, RequestHead& out) {
  const char* const line = p;
  const char* const method_end = internal::tokenEnd(p, in);
  if (method_end == p || method_end == in.end || *method_end != ' ') {
    return nullptr;
  }
  const char* const target = method_end + 1;
  const char* const target_end = internal::targetEnd(target, in);
  if (target_end == target || target_end == in.end || *target_end != ' ') {
    return nullptr;
  }
  p = parseVersion(target_end + 1, in.end, out.minor);
  if (p == nullptr || !internal::isCrlf(p, in) ||
      p - line > static_cast<ptrdiff_t>(limits.line_bytes)) {
    return nullptr;
  }
  out.method = between(line, method_end);
  out.target = between(target, target_end);
  return p + 2;
}

// HTTP-version SP status-code [ SP reason-phrase ] CRLF (RFC 9112 4). The grammar asks for the
// second space even without a phrase; origins that leave it out are too many to refuse, and nothing
// is ambiguous.
const char* parseStatusLine(const char* p, Readable in, const Limits& limits, ResponseHead& out) {
  const char* const line = p;
  p = parseVersion(p, in.end, out.minor);
  if (p == nullptr || in.end - p < 6 || p[0] != ' ' || p[1] < '1' || p[1] > '9' ||
      !is(kDigit, p[2]) || !is(kDigit, p[3])) {
    return nullptr;
  }
  out.status = static_cast<uint16_t>((p[1] - '0') * 100 + (p[2] - '0') * 10 + (p[3] - '0'));
  p += 4;
  const char* reason = p;
  if (*p == ' ') {
    reason = p + 1;
    p = internal::valueEnd(reason, in);
  }
  if (!internal::isCrlf(p, in) || p - line > static_cast<ptrdiff_t>(limits.line_bytes)) {
    return nullptr;
  }
  out.reason = between(reason, p);
  return p + 2;
}

// RFC 9112 3.2: one Host in HTTP/1.1, at most one before, and a valid one.
bool hostIsAcceptable(const RequestHead& head) {
  const Field* host = head.fields.find(Name::host);
  if (host == nullptr) {
    return head.minor == 0;
  }
  return head.fields.count(Name::host) == 1 && parseAuthority(host->value).has_value();
}

bool mayBeginRequest(std::span<const char> bytes) {
  size_t at = 0;
  if (bytes[0] == '\r') {
    if (bytes.size() > 1 && bytes[1] != '\n') {
      return false;
    }
    at = 2;
  }
  return at >= bytes.size() || is(kTchar, bytes[at]);
}

bool mayBeginResponse(std::span<const char> bytes) {
  const size_t known = bytes.size() < kHttp.size() ? bytes.size() : kHttp.size();
  return std::memcmp(bytes.data(), kHttp.data(), known) == 0;
}

}  // namespace

uint32_t findHeadEnd(std::span<const char> bytes, uint32_t resume_at) {
  // The two bytes before may hold the line feed of an unfinished "\n\r\n".
  size_t at = resume_at < 2 ? 0 : resume_at - 2;
  while (at < bytes.size()) {
    const void* const found = std::memchr(bytes.data() + at, '\n', bytes.size() - at);
    if (found == nullptr) {
      return 0;
    }
    at = static_cast<size_t>(static_cast<const char*>(found) - bytes.data()) + 1;
    const size_t left = bytes.size() - at;
    if (left >= 1 && bytes[at] == '\n') {
      return static_cast<uint32_t>(at + 1);
    }
    if (left >= 2 && bytes[at] == '\r' && bytes[at + 1] == '\n') {
      return static_cast<uint32_t>(at + 2);
    }
  }
  return 0;
}

ParseOutcome parseRequestHead(std::span<const char> bytes, const Limits& limits, RequestHead& out) {
  out.fields.clear();
  if (bytes.empty()) {
    return NeedMore{};
  }
  if (!mayBeginRequest(bytes)) {
    return Error{.code = Code::bad_head, .blame = Blame::downstream};
  }
  const Readable in{bytes.data(), bytes.data() + bytes.size()};
  // One empty line before the request line is skipped (RFC 9112 2.2).
  const char* p = bytes.size() >= 2 && in.floor[0] == '\r' ? in.floor + 2 : in.floor;
  p = parseRequestLine(p, in, limits, out);
  if (p != nullptr) {
    p = internal::parseFieldLines(p, in, {limits.fields, limits.line_bytes}, out.fields);
  }
  if (p == nullptr || p - in.floor > static_cast<ptrdiff_t>(limits.head_bytes)) [[unlikely]] {
    return refuse(bytes, limits, Blame::downstream, explainRequest);
  }
  if (!hostIsAcceptable(out)) {
    return Error{.code = Code::bad_head, .blame = Blame::downstream};
  }
  return Parsed{static_cast<uint32_t>(p - in.floor)};
}

ParseOutcome parseResponseHead(std::span<const char> bytes, const Limits& limits,
                               ResponseHead& out) {
  out.fields.clear();
  if (bytes.empty()) {
    return NeedMore{};
  }
  if (!mayBeginResponse(bytes)) {
    return Error{.code = Code::bad_head, .blame = Blame::upstream};
  }
  const Readable in{bytes.data(), bytes.data() + bytes.size()};
  const char* p = parseStatusLine(in.floor, in, limits, out);
  if (p != nullptr) {
    p = internal::parseFieldLines(p, in, {limits.fields, limits.line_bytes}, out.fields);
  }
  if (p == nullptr || p - in.floor > static_cast<ptrdiff_t>(limits.head_bytes)) [[unlikely]] {
    return refuse(bytes, limits, Blame::upstream, explainResponse);
  }
  return Parsed{static_cast<uint32_t>(p - in.floor)};
}

}  // namespace http
