// Vary and the variants of a resource (RFC 9111 4.1, RFC 9110 12.5.5).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "source/http/head.h"

namespace policy {

// More names than this are treated as "*": such a response is not worth its variants.
inline constexpr size_t kMaxVaryNames = 32;

struct Vary {
  bool any = false;                // "*", alone or as a member, or a member that is no field name
  std::vector<std::string> names;  // lower case, sorted, unique; empty when any
};
Vary parseVary(const http::Fields& response);

// Before a cookie's name where a name of a field could stand: the variant depends on the value of
// that cookie alone. No field name has this character, so no response can ask for it.
inline constexpr std::string_view kCookieName = "cookie;";

// Accept-Language and Accept-Encoding values with more members than this are not sorted.
inline constexpr size_t kMaxSortedMembers = 64;

// Appends to `key` the text that tells this request's variant from the others of the same primary
// key: per name a line feed, the name, and ": value" unless the field is absent. The value is
// normalised as far as that is free of meaning: lines joined by ", ", white space around commas
// removed outside of quotes (not in fields that are no lists, such as User-Agent and Cookie);
// Accept-Encoding and Accept-Language in lower case, without ";q=1", their members sorted. Fields
// that Connection removes before forwarding count as absent. A kCookieName gives the first cookie
// of that name, byte by byte. Nothing is appended without names.
void appendVariantKey(std::span<const std::string> names, const http::Fields& request,
                      std::string& key);

// The names joined by ",", as stored with the primary key, and back. Empty text: no names.
std::string joinVaryNames(std::span<const std::string> names);
std::vector<std::string> splitVaryNames(std::string_view text);

}  // namespace policy
