#include "source/cache/labels.h"

#include <algorithm>

#include "source/base/check.h"
#include "source/base/hash.h"
#include "source/policy/groups.h"

namespace cache {
namespace {

// Added to the seed, so that a tag that looks like a directory is none.
constexpr uint64_t kTagSeed = 0x7461;
constexpr uint64_t kGroupSeed = 0x6772;
constexpr uint64_t kDirectorySeed = 0x6469;

// Visits the end of each directory of a key: behind the authority, every "/" of the path.
template <class Visit>
void eachDirectory(std::string_view key, Visit visit) {
  const std::string_view path = key.substr(0, key.find('?'));
  const size_t authority = path.find("//");
  if (authority == std::string_view::npos) {
    return;
  }
  size_t slash = path.find('/', authority + 2);
  for (size_t i = 0; i < kMaxDirectories && slash != std::string_view::npos; i++) {
    visit(slash + 1);
    slash = path.find('/', slash + 1);
  }
}

}  // namespace

store::Label tagLabel(std::string_view tag, uint64_t seed) {
  return base::hash64(tag, seed + kTagSeed);
}

std::vector<std::string_view> directoriesOf(std::string_view key) {
  std::vector<std::string_view> directories;
  eachDirectory(key, [&](size_t end) { directories.push_back(key.substr(0, end)); });
  return directories;
}

store::Label directoryLabel(std::string_view directory, uint64_t seed) {
  return base::hash64(directory, seed + kDirectorySeed);
}

void appendDirectoryLabels(std::string_view key, uint64_t seed, std::vector<store::Label>& out) {
  eachDirectory(key, [&](size_t end) { out.push_back(directoryLabel(key.substr(0, end), seed)); });
}

std::optional<std::string> joinTags(const http::Fields& response, const policy::TagRules& rules) {
  std::vector<std::string_view> tags;
  if (!policy::tagsOf(response, rules, tags)) {
    return std::nullopt;
  }
  std::string joined;
  for (const std::string_view tag : tags) {
    joined.append(joined.empty() ? "" : "\n").append(tag);
  }
  return joined;
}

void appendTagLabels(std::string_view joined, uint64_t seed, std::vector<store::Label>& out) {
  while (!joined.empty()) {
    const size_t end = std::min(joined.find('\n'), joined.size());
    out.push_back(tagLabel(joined.substr(0, end), seed));
    joined.remove_prefix(std::min(end + 1, joined.size()));
  }
}

void appendGroupLabels(const http::Effective& uri, const policy::KeySpec& key,
                       const http::Fields& response, uint64_t seed,
                       std::vector<store::Label>& out) {
  for (const std::string& group : policy::groupsOf(response)) {
    out.push_back(selectGroup(policy::groupTag(uri, key, group), seed).label);
  }
}

store::Selector selectGroup(std::string_view group, uint64_t seed) {
  return store::Selector{base::hash64(group, seed + kGroupSeed), {}};
}

store::Selector selectTag(std::string_view tag, uint64_t seed) {
  return store::Selector{tagLabel(tag, seed), {}};
}

store::Selector selectPrefix(std::string_view key_prefix, uint64_t seed) {
  size_t deepest = 0;
  eachDirectory(key_prefix, [&deepest](size_t end) { deepest = end; });
  CHECK(deepest > 0);
  store::Selector selector;
  selector.label = directoryLabel(key_prefix.substr(0, deepest), seed);
  if (deepest < key_prefix.size()) {
    selector.key_prefix = key_prefix;
  }
  return selector;
}

}  // namespace cache
