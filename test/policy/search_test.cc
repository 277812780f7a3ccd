// Goal: No-Vary-Search is read, and queries compared, as draft-ietf-httpbis-no-vary-search says.
// Method: the draft's own examples, and pairs of queries that are or are not equivalent.
#include "source/policy/search.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "test/policy/heads.h"

namespace policy {
namespace {

using testing::FieldRows;
using testing::fieldsOf;

std::string varianceOf(std::string_view value) {
  return searchVarianceOf(fieldsOf(FieldRows{{"No-Vary-Search", value}}));
}

std::string canonical(std::string_view variance, std::string_view query) {
  std::string out;
  appendCanonicalQuery(variance, query, out);
  return out;
}

TEST(NoVarySearch, WhatIsInvalidMeansNothing) {  // 5.2.1
  for (const std::string_view value : {"unknown-key",
                                       "key-order=\"not a boolean\"",
                                       "params=\"not a boolean or inner list\"",
                                       "params=(not-a-string)",
                                       "params=(\"a\"), except=(\"x\")",
                                       "params=(), except=()",
                                       "params=?0, except=(\"x\")",
                                       "params, except=(not-a-string)",
                                       "params, except=\"not an inner list\"",
                                       "params, except=?1",
                                       "except=(\"x\")",
                                       "except=()",
                                       "params=?0",
                                       "params=()",
                                       "key-order=?0",
                                       "",
                                       "params=(",
                                       "\"params\"",
                                       "key-order, params=1",
                                       "key-order=1, params"}) {
    EXPECT_EQ(varianceOf(value), "") << value;
  }
  EXPECT_EQ(searchVarianceOf(fieldsOf(FieldRows{})), "");
}

TEST(NoVarySearch, IsDescribedInItsConventionalForm) {  // 5.2.1
  struct Row {
    std::string_view value;
    std::string_view conventional;
  };
  const Row rows[] = {
      {"params", "params"},
      {"params=?1", "params"},
      {"key-order", "key-order"},
      {"key-order=?1", "key-order"},
      {"params=(\"b\" \"a\" \"b\")", "params=(\"a\" \"b\")"},
      {"params, except=(\"x\")", "params, except=(\"x\")"},
      {"params, key-order, except=(\"x\")", "key-order, params, except=(\"x\")"},
      {"params, except=()", "params"},
      {"params=(\"a\"), unknown=1", "params=(\"a\")"},
      {"params=(\"a\";p=1);q", "params=(\"a\")"},
      {"params=(\"%c3%A9 %e6%b0%97\")", "params=(\"%C3%A9+%E6%B0%97\")"},
  };
  for (const Row& row : rows) {
    const std::string variance = varianceOf(row.value);
    EXPECT_EQ(describeSearch(variance), row.conventional) << row.value;
    EXPECT_EQ(varianceOf(describeSearch(variance)), variance) << row.value;
  }
  const FieldRows lines = {{"no-vary-search", "key-order"}, {"No-Vary-Search", "params"}};
  EXPECT_EQ(describeSearch(searchVarianceOf(fieldsOf(lines))), "key-order, params");
}

struct Pair {
  std::string_view value;
  std::string_view a;
  std::string_view b;
};

TEST(NoVarySearch, QueriesAreEquivalent) {  // 6, 6.1
  const Pair pairs[] = {
      {"key-order", "", ""},
      {"key-order", "a=x", "%61=%78"},
      {"key-order", "a=\xc3\xa9", "a=%C3%A9"},
      {"key-order", "a=x&&&&", "a=x"},
      {"key-order", "a=", "a"},
      {"key-order", "a=%20", "a=+"},
      {"key-order", "b=2&a=1", "a=1&b=2"},
      {"key-order", "b=1&a=1&b=2", "a=1&b=1&b=2"},
      {"params", "a=1&b", ""},
      {"params=(\"utm\")", "id=1&utm=5", "id=1"},
      {"params=(\"utm\")", "utm&id=1", "%75tm=&id=1&utm=9"},
      {"params=(\"a b\")", "a+b=1&c=1", "a%20b=2&c=1"},
      {"params=(\"%C3%A9+%E6%B0%97\")", "%C3%A9%20%E6%B0%97=3", "\xc3\xa9+\xe6\xb0\x97=1"},
      {"params, except=(\"id\")", "id=1&x=2", "y=3&id=1"},
      {"key-order, params, except=(\"id\" \"p\")", "id=1&x=2&p=3", "p=3&id=1"},
      {"params=(\"\")", "=1&a=1", "a=1"},
      {"key-order", "a=%", "a=%25"},
      {"key-order", "a=%zz", "a=%25zz"},
      {"key-order", "a==1", "a=%3D1"},
  };
  for (const Pair& pair : pairs) {
    const std::string variance = varianceOf(pair.value);
    ASSERT_NE(variance, "") << pair.value;
    EXPECT_EQ(canonical(variance, pair.a), canonical(variance, pair.b)) << pair.a << " " << pair.b;
  }
}

TEST(NoVarySearch, QueriesAreNot) {  // 6
  const Pair pairs[] = {
      {"key-order", "a=1", "a=2"},
      {"key-order", "a=1", "a=1&a=1"},
      {"key-order", "a=1&a=2", "a=2&a=1"},
      {"key-order", "a=1&b=2", "a=1%26b=2"},
      {"key-order", "a=1", "A=1"},
      {"params=(\"utm\")", "id=1", "id=2"},
      {"params=(\"utm\")", "id=1&x=1", "x=1&id=1"},
      {"params=(\"utm\")", "utm2=1", "utm2=2"},
      {"params=(\"utm\")", "UTM=1", "UTM=2"},
      {"params, except=(\"id\")", "id=1", ""},
      {"params, except=(\"id\")", "id=1", "id=1&id=2"},
      {"params=(\"a\" \"c\")", "b=1", "b=2"},
      // The draft makes U+FFFD of both; here they stay what they are.
      {"key-order", "a=%f6", "a=%ef%bf%bd"},
  };
  for (const Pair& pair : pairs) {
    const std::string variance = varianceOf(pair.value);
    EXPECT_NE(canonical(variance, pair.a), canonical(variance, pair.b)) << pair.a << " " << pair.b;
  }
}

TEST(NoVarySearch, ACanonicalQueryIsItsOwnCanonicalForm) {
  for (const std::string_view value :
       {"key-order", "params=(\"a\")", "params, except=(\"a\" \"=\")"}) {
    const std::string variance = varianceOf(value);
    for (const std::string_view query : {"a=1&b=%2f&c", "%3D=x&a=%&a&&b==", "q=a+b%20c"}) {
      const std::string once = canonical(variance, query);
      EXPECT_EQ(canonical(variance, std::string_view(once).substr(once.empty() ? 0 : 1)), once);
    }
  }
}

TEST(NoVarySearch, HasLimits) {
  const auto names = [](size_t count, size_t length) {
    std::string value = "params=(";
    for (size_t i = 0; i < count; i++) {
      std::string name = std::to_string(i);
      name.resize(length, 'x');
      value.append(i == 0 ? "\"" : " \"").append(name).append("\"");
    }
    return value + ")";
  };
  EXPECT_NE(varianceOf(names(kMaxSearchNames, 3)), "");
  EXPECT_EQ(varianceOf(names(kMaxSearchNames + 1, 3)), "");
  EXPECT_EQ(varianceOf(names(1, kMaxSearchBytes - 1)).size(), kMaxSearchBytes);
  EXPECT_EQ(varianceOf(names(1, kMaxSearchBytes)), "");
  const auto query = [](size_t count, std::string_view last) {
    std::string text;
    for (size_t i = 0; i < count; i++) {
      text.append("p=1&");
    }
    return text.append(last);
  };
  const std::string variance = varianceOf("params=(\"q\")");
  EXPECT_EQ(canonical(variance, query(kMaxSearchParameters, "q=1")),
            canonical(variance, query(kMaxSearchParameters, "q=2")));
  EXPECT_NE(canonical(variance, query(kMaxSearchParameters + 1, "q=1")),
            canonical(variance, query(kMaxSearchParameters + 1, "q=2")));
}

}  // namespace
}  // namespace policy
