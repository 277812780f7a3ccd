// An object's tags, by which it can be purged: read from the fields that the configuration names.
//
// Limit: kMaxTags distinct tags a response; one with more is not stored, since a purge of a tag
// that was forgotten would not find it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "source/http/head.h"
#include "source/policy/tag_rules.h"

namespace policy {

inline constexpr size_t kMaxTags = 512;

// The distinct tags of a response, sorted, as views of its fields. A tag is any text without its
// separator; case counts. False when there are more than kMaxTags.
bool tagsOf(const http::Fields& response, const TagRules& rules,
            std::vector<std::string_view>& out);
// Whether the response has one of the fields, be it empty.
bool hasTagFields(const http::Fields& response, const TagRules& rules);
bool isTagField(const http::Field& field, const TagRules& rules);
// Adds their names to those not to be kept or sent, when the rules keep them for the cache.
void hideTagFields(const TagRules& rules, std::vector<std::string>& names);

}  // namespace policy
