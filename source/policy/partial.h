// Incomplete responses (RFC 9111 3.3, 3.4; RFC 9110 14.2, 15.3.7.3): which may be completed, and
// whether a 206 is the rest of one. Bytes are put together under a strong entity tag alone.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "source/http/head.h"

namespace policy {

// The response's entity tag if it is a strong one; else empty.
std::string_view strongTagOf(const http::Fields& response);

// Whether the first bytes of this response are worth keeping when the others do not come: a 200
// with a strong entity tag, of an origin that does not say that it knows no ranges.
bool canBeCompleted(const http::ResponseHead& response);

// The part of a body that is missing. Without `end` it goes to the body's end.
struct Rest {
  uint64_t first = 0;
  std::optional<uint64_t> end;  // behind its last byte
  std::string_view etag;        // of the version, strong
};

// The response carries exactly these bytes of that version, up to the end of the content.
// `body_length` is the message's own, if it says.
bool isRest(const http::ResponseHead& response, std::optional<uint64_t> body_length,
            const Rest& rest);

// The response is all of that version, whose end is the rest: what an origin without ranges answers
// (RFC 9110 14.2).
bool endsWithRest(const http::ResponseHead& response, std::optional<uint64_t> body_length,
                  const Rest& rest);

}  // namespace policy
