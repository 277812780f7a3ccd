// What the store's labels stand for: an object's tags, and the directories of its URL. Made from
// text with the cache's seed, so that labels of two caches have nothing to do with each other.
//
//   http://h/a/b?c  has the directories  http://h/  and  http://h/a/
//
// Limit: kMaxDirectories of a URL, from the root on; a prefix that goes deeper takes the last of
// them and compares keys.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "source/policy/tags.h"
#include "source/store/core/selector.h"

namespace cache {

inline constexpr size_t kMaxDirectories = 16;
static_assert(kMaxDirectories + policy::kMaxTags <= store::kMaxLabels);

store::Label tagLabel(std::string_view tag, uint64_t seed);
// `key` is a primary key as policy::cacheKey writes it.
void appendDirectoryLabels(std::string_view key, uint64_t seed, std::vector<store::Label>& out);

// A response's tags as they are kept with it: joined by line feeds, which no field has. nullopt
// when there are too many.
std::optional<std::string> joinTags(const http::Fields& response, const policy::TagRules& rules);
void appendTagLabels(std::string_view joined, uint64_t seed, std::vector<store::Label>& out);

store::Selector selectTag(std::string_view tag, uint64_t seed);
// Keys that begin with this text, which policy::cacheKey wrote of an absolute URL: it has a path.
store::Selector selectPrefix(std::string_view key_prefix, uint64_t seed);

}  // namespace cache
