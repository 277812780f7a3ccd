// No-Vary-Search (draft-ietf-httpbis-no-vary-search): which parameters of a query do not tell
// responses apart.
//
// A variance is kept as a text of its own: an "o" when the order of names does not count, a "*"
// when no parameter counts but those listed, and then, each behind a line feed, the listed names in
// the form that parameters have in a canonical query. The empty text is the default variance, by
// which every byte of the query counts.
//
// Limits: a field with more than kMaxSearchNames names, or a longer text than kMaxSearchBytes, is
// as if it were absent. A query of more than kMaxSearchParameters parameters is compared as it is.
#pragma once

#include <string>
#include <string_view>

#include "source/http/head.h"

namespace policy {

inline constexpr size_t kMaxSearchNames = 64;
inline constexpr size_t kMaxSearchBytes = 4096;
inline constexpr size_t kMaxSearchParameters = 256;

// The variance of a response; empty (the default) too for what the draft calls invalid.
std::string searchVarianceOf(const http::Fields& response);

// The field's value that means this variance, for people.
std::string describeSearch(std::string_view variance);

// Appends "?" and the query in the form that all queries share which are equivalent to it modulo
// the variance, which is not the default; nothing when no parameter is left. Bytes that are no
// UTF-8 stay what they are, where the draft makes U+FFFD of them: fewer queries are equivalent.
void appendCanonicalQuery(std::string_view variance, std::string_view query, std::string& out);

}  // namespace policy
