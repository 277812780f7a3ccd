// HTTP/1.1 message heads and message framing (RFC 9112), strict: whatever two recipients could read
// in two ways is an error here, never a guess.
//
// Use: keep the bytes received, call findHeadEnd() with the count already searched, and parse once
// it gives a position (or parse at once and read on at NeedMore). A caller that searches first
// compares the bytes held with Limits::head_bytes itself, or parses, when the search gives 0. The
// outcome depends on the bytes alone, not on how they were cut: first comes a first byte that
// cannot begin a message (bad_head), then a limit exceeded anywhere in the head (head_too_large),
// then a missing blank line (NeedMore), then the grammar.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <variant>

#include "source/base/result.h"
#include "source/http/head.h"

namespace http {

struct NeedMore {};
// The head ended behind `consumed` bytes; the body, or the next message, begins there.
struct Parsed {
  uint32_t consumed;
};

// Each is the largest size accepted. A line's length counts without its CRLF, a head's with its
// blank line.
struct Limits {
  uint32_t head_bytes = 16384;
  uint16_t fields = 128;
  uint32_t line_bytes = 8192;
};

using ParseOutcome = std::variant<NeedMore, Parsed, base::Error>;

// The position just behind the blank line that ends the head, or 0 when it has not come. An empty
// line made of a bare LF ends the search too, for the parser to refuse it. Bytes before resume_at
// have been searched.
uint32_t findHeadEnd(std::span<const char> bytes, uint32_t resume_at);

// Codes: bad_head (400), head_too_large (431), unsupported (a version other than 1.x: 505). `out`
// borrows from `bytes` and is only meaningful after Parsed. Host is checked here too (RFC
// 9112 3.2).
ParseOutcome parseRequestHead(std::span<const char> bytes, const Limits& limits, RequestHead& out);
ParseOutcome parseResponseHead(std::span<const char> bytes, const Limits& limits,
                               ResponseHead& out);

// How the body is delimited (RFC 9112 6.3). Length{0} was said by the peer, NoBody follows from the
// rules.
struct NoBody {
  friend bool operator==(const NoBody&, const NoBody&) = default;
};
struct Length {
  uint64_t n;
  friend bool operator==(const Length&, const Length&) = default;
};
struct Chunked {
  friend bool operator==(const Chunked&, const Chunked&) = default;
};
struct UntilClose {
  friend bool operator==(const UntilClose&, const UntilClose&) = default;
};
using Framing = std::variant<NoBody, Length, Chunked, UntilClose>;

// Codes: bad_framing (400 to a client, 502 for an origin; close the connection), unsupported (a
// transfer coding other than chunked: 501). A request is never UntilClose.
base::Result<Framing> requestFraming(const RequestHead& head);
// request_method is that of the request answered. 1xx heads are NoBody; behind 101, and behind 2xx
// to CONNECT, the connection is no longer HTTP.
base::Result<Framing> responseFraming(const ResponseHead& head, std::string_view request_method);

// The Content-Length as an intermediary may believe it: nullopt when absent or invalid. For
// responses to HEAD and 304, whose framing says nothing of the length.
std::optional<uint64_t> contentLength(const ResponseHead& head);

// The connection persists after this message as far as its head says (RFC 9112 9.3). A response
// framed UntilClose ends the connection whatever this says.
bool keepAlive(const RequestHead& head);
bool keepAlive(const ResponseHead& head);

// The client waits for 100 (Continue) (RFC 9110 10.1.1); never so in HTTP/1.0.
bool expectsContinue(const RequestHead& head);

}  // namespace http
