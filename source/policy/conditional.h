// Preconditions of a request against a selected response (RFC 9110 section 13, RFC 9111 4.3.2).
#pragma once

#include <cstdint>
#include <string_view>

#include "source/base/types.h"
#include "source/http/head.h"

namespace policy {

enum class Condition : uint8_t { full, not_modified, precondition_failed };

// cache: If-Match and If-Unmodified-Since are not applicable (RFC 9111 4.3.2) and ignored.
// origin: all four, in the order of RFC 9110 13.2.2, for responses that this server makes itself.
enum class Evaluator : uint8_t { cache, origin };

// The selected response for a GET or HEAD. Only a 2xx can be turned into 304 or 412 (RFC 9110
// 13.2.1). Without Last-Modified its Date stands in, and without Date `received` (RFC 9111 4.3.2).
Condition evaluateConditional(const http::RequestHead& request, const http::ResponseHead& stored,
                              base::UnixSeconds received, base::UnixSeconds now,
                              Evaluator who = Evaluator::cache);

// Fields of the stored response that a generated 304 carries: all but those that describe the
// content it does not have (RFC 9110 15.4.5).
bool keptIn304(const http::Field& field);

}  // namespace policy
