// Cache-Control and Pragma (RFC 9111 5.2, 5.4, RFC 5861, RFC 8246) as values.
//
// Reading leans one way: what restricts reuse is honoured even when it is malformed, what permits
// reuse only when it is well formed. Field lines are read one by one, so that an unclosed quote in
// one cannot hide a directive in the next. Nothing within a quoted-string is taken for a directive.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "source/http/head.h"

namespace policy {

// RFC 9111 5.2.1. Repeated directives: the strictest counts.
struct RequestDirectives {
  bool no_cache = false;  // also Pragma: no-cache without Cache-Control (RFC 9111 5.4)
  bool no_store = false;
  bool no_transform = false;
  bool only_if_cached = false;
  std::optional<uint32_t> max_age;         // an invalid value is 0
  std::optional<uint32_t> min_fresh;       // an invalid value is the greatest
  std::optional<uint32_t> max_stale;       // without a value: the greatest; invalid: ignored
  std::optional<uint32_t> stale_if_error;  // RFC 5861 4; invalid: ignored
  friend bool operator==(const RequestDirectives&, const RequestDirectives&) = default;
};

RequestDirectives parseRequestDirectives(const http::Fields& request);

// More fields than this in private="…" and no-cache="…" together make both unqualified.
inline constexpr size_t kMaxQualifiedFields = 32;

// RFC 9111 5.2.2.
struct ResponseDirectives {
  bool no_store = false;
  bool no_cache = false;          // unqualified
  bool private_response = false;  // unqualified
  bool public_response = false;
  bool must_revalidate = false;
  bool proxy_revalidate = false;
  bool must_understand = false;
  bool no_transform = false;
  bool immutable = false;
  // The first occurrence counts; any invalid one makes the value 0, so the response is stale (RFC
  // 9111 4.2.1).
  std::optional<uint32_t> max_age;
  std::optional<uint32_t> s_maxage;
  // RFC 5861: the first occurrence counts; any invalid one makes it 0: no permission.
  std::optional<uint32_t> stale_while_revalidate;
  std::optional<uint32_t> stale_if_error;
  // The field names of qualified private and no-cache, as received.
  std::array<std::string_view, kMaxQualifiedFields> qualified{};
  uint8_t qualified_count = 0;

  std::span<const std::string_view> qualifiedFields() const {
    return {qualified.data(), qualified_count};
  }
};

ResponseDirectives parseResponseDirectives(const http::Fields& response);

// 1*DIGIT, saturating at kMaxDelta_s (RFC 9111 1.2.2); nullopt for anything else.
std::optional<uint32_t> parseDelta(std::string_view text);

}  // namespace policy
