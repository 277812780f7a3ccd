// Goal: a prefix selects the keys that begin with it and no others, through labels alone where it
// is a directory. Method: every prefix of many URLs against every URL, with std::string as the
// model; the limit of directories at N and N+1.
#include "source/cache/labels.h"

#include <gtest/gtest.h>

#include <string>

namespace cache {
namespace {

constexpr uint64_t kSeed = 5;

std::vector<store::Label> labelsOf(const std::string& key) {
  std::vector<store::Label> labels;
  appendDirectoryLabels(key, kSeed, labels);
  return labels;
}

bool selects(const std::string& prefix, const std::string& key) {
  const store::Selector selector = selectPrefix(prefix, kSeed);
  return store::hasLabel(labelsOf(key), selector.label) && key.starts_with(selector.key_prefix);
}

const std::vector<std::string> kKeys = {
    "http://h/",         "http://h/a",         "http://h/a/",    "http://h/a/b",
    "http://h/a/bc",     "http://h/a/b/c",     "http://h/ab/c",  "http://h/a?x=/b/c",
    "http://h/a/b?x=/y", "http://h:81/a/b",    "https://h/a/b",  "http://h2/a/b",
    "//h/a/b",           "http:///a/b",        "http://h//a//b", "http://h/?/a/b",
    "http://[::1]/a/b",  "http://h/a/b%2Fc/d", "http://h/A/b",
};

TEST(PrefixLabels, SelectWhatBeginsWithThePrefix) {
  size_t by_label = 0;
  for (const std::string& of : kKeys) {
    // From the root on: a prefix has a whole authority.
    const size_t root = of.find('/', of.find("//") + 2) + 1;
    for (size_t length = root; length <= of.size(); length++) {
      const std::string prefix = of.substr(0, length);
      by_label += selectPrefix(prefix, kSeed).key_prefix.empty() ? 1 : 0;
      for (const std::string& key : kKeys) {
        EXPECT_EQ(selects(prefix, key), key.starts_with(prefix)) << prefix << " of " << key;
      }
    }
  }
  EXPECT_GT(by_label, kKeys.size());
}

TEST(PrefixLabels, ADirectoryNeedsNoKeys) {
  EXPECT_TRUE(selectPrefix("http://h/", kSeed).key_prefix.empty());
  EXPECT_TRUE(selectPrefix("http://h/a/", kSeed).key_prefix.empty());
  EXPECT_EQ(selectPrefix("http://h/a", kSeed).key_prefix, "http://h/a");
  EXPECT_EQ(selectPrefix("http://h/a/?q", kSeed).key_prefix, "http://h/a/?q");
}

TEST(PrefixLabels, DeeperThanTheLimitKeysAreCompared) {
  std::string deepest = "http://h/";  // the first directory
  for (size_t i = 1; i < kMaxDirectories; i++) {
    deepest += "d/";
  }
  EXPECT_EQ(labelsOf(deepest).size(), kMaxDirectories);
  EXPECT_TRUE(selectPrefix(deepest, kSeed).key_prefix.empty());
  const std::string deeper = deepest + "d/";
  EXPECT_EQ(labelsOf(deeper + "x").size(), kMaxDirectories);
  EXPECT_EQ(selectPrefix(deeper, kSeed).key_prefix, deeper);
  EXPECT_TRUE(selects(deeper, deeper + "x"));
  EXPECT_FALSE(selects(deeper, deepest + "e/x"));
}

TEST(TagLabels, AreNoDirectories) {
  const std::string root = "http://h/";
  EXPECT_NE(selectTag(root, kSeed).label, labelsOf(root)[0]);
  EXPECT_NE(tagLabel("a", kSeed), tagLabel("A", kSeed));
  EXPECT_NE(tagLabel("a", kSeed), tagLabel("a", kSeed + 1));
  EXPECT_TRUE(selectTag("a", kSeed).key_prefix.empty());
}

}  // namespace
}  // namespace cache
