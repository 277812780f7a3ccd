// What the store's labels stand for: an object's tags, its cache groups (RFC 9875), and the
// directories of its URL. Made from text with the cache's seed, so that labels of two caches have
// nothing to do with each other.
//
//   http://h/a/b?c  has the directories  http://h/  and  http://h/a/
//
// Limit: kMaxDirectories of a URL, from the root on; a prefix that goes deeper takes the last of
// them and compares keys. All together at most store::kMaxLabels: an object with more is not
// stored.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "source/http/uri.h"
#include "source/policy/route_policy.h"
#include "source/policy/tags.h"
#include "source/store/core/selector.h"

namespace cache {

inline constexpr size_t kMaxDirectories = 16;
static_assert(kMaxDirectories + policy::kMaxTags <= store::kMaxLabels);

store::Label tagLabel(std::string_view tag, uint64_t seed);
// The directories of a primary key, from the root on.
std::vector<std::string_view> directoriesOf(std::string_view key);
store::Label directoryLabel(std::string_view directory, uint64_t seed);
// `key` is a primary key as policy::cacheKey writes it.
void appendDirectoryLabels(std::string_view key, uint64_t seed, std::vector<store::Label>& out);

// A response's tags as they are kept with it: joined by line feeds, which no field has. nullopt
// when there are too many.
std::optional<std::string> joinTags(const http::Fields& response, const policy::TagRules& rules);
void appendTagLabels(std::string_view joined, uint64_t seed, std::vector<store::Label>& out);

// The groups that a response of this URI says it belongs to.
void appendGroupLabels(const http::Effective& uri, const policy::KeySpec& key,
                       const http::Fields& response, uint64_t seed, std::vector<store::Label>& out);

store::Selector selectTag(std::string_view tag, uint64_t seed);
// `group` is what policy::groupTag makes of a group's name.
store::Selector selectGroup(std::string_view group, uint64_t seed);
// Keys that begin with this text, which policy::cacheKey wrote of an absolute URL: it has a path.
store::Selector selectPrefix(std::string_view key_prefix, uint64_t seed);

}  // namespace cache
