// Goal: tags are what the fields' authors mean, whatever blanks, empty members and repetitions
// there are, and their number has a limit. Method: tables; N and N+1.
#include "source/policy/tags.h"

#include <gtest/gtest.h>

#include <string>

namespace policy {
namespace {

TagRules usual() {
  TagRules rules;
  rules.fields = {{"Surrogate-Key", TagSeparator::space}, {"Cache-Tag", TagSeparator::comma}};
  return rules;
}

using Lines = std::vector<std::pair<std::string, std::string>>;

std::vector<std::string> tagsIn(const Lines& lines, const TagRules& rules = usual()) {
  http::Fields fields;
  for (const auto& [name, value] : lines) {
    fields.add(name, value);
  }
  std::vector<std::string_view> tags;
  EXPECT_TRUE(tagsOf(fields, rules, tags));
  return {tags.begin(), tags.end()};
}

using Tags = std::vector<std::string>;

TEST(Tags, AreSplitAsTheFieldDoes) {
  EXPECT_EQ(tagsIn({{"Surrogate-Key", "b a"}}), (Tags{"a", "b"}));
  EXPECT_EQ(tagsIn({{"surrogate-key", " \ta   b\t"}}), (Tags{"a", "b"}));
  EXPECT_EQ(tagsIn({{"Surrogate-Key", "a,b c"}}), (Tags{"a,b", "c"}));
  EXPECT_EQ(tagsIn({{"Cache-Tag", "a, b ,c"}}), (Tags{"a", "b", "c"}));
  EXPECT_EQ(tagsIn({{"Cache-Tag", "a b,c"}}), (Tags{"a b", "c"}));
  EXPECT_EQ(tagsIn({{"Cache-Tag", ",, a,\t,"}}), (Tags{"a"}));
  EXPECT_EQ(tagsIn({{"Cache-Tag", ""}}), Tags{});
  EXPECT_EQ(tagsIn({{"Surrogate-Key", "  "}}), Tags{});
  EXPECT_EQ(tagsIn({{"X-Other", "a b"}}), Tags{});
}

TEST(Tags, AreASetOverAllLinesAndFields) {
  EXPECT_EQ(tagsIn({{"Surrogate-Key", "a b"}, {"Cache-Tag", "b,C"}, {"Surrogate-Key", "a c"}}),
            (Tags{"C", "a", "b", "c"}));
}

TEST(Tags, TheFieldsAreTheConfigurations) {
  TagRules rules;
  rules.fields = {{"X-Tags", TagSeparator::comma}};
  EXPECT_EQ(tagsIn({{"x-tags", "a,b"}, {"Surrogate-Key", "c"}}, rules), (Tags{"a", "b"}));
  http::Fields fields;
  fields.add("Surrogate-Key", "");
  EXPECT_TRUE(hasTagFields(fields, usual()));
  EXPECT_FALSE(hasTagFields(fields, rules));
}

TEST(Tags, HaveALimit) {
  std::string value;
  for (size_t i = 0; i < kMaxTags; i++) {
    value += "t" + std::to_string(i) + " ";
  }
  http::Fields fields;
  fields.add("Surrogate-Key", value);
  fields.add("Surrogate-Key", value);  // no more distinct ones
  std::vector<std::string_view> tags;
  EXPECT_TRUE(tagsOf(fields, usual(), tags));
  EXPECT_EQ(tags.size(), kMaxTags);
  fields.add("Cache-Tag", "one-more");
  EXPECT_FALSE(tagsOf(fields, usual(), tags));
}

}  // namespace
}  // namespace policy
