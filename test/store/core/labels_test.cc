// Goal: a filter never denies a label it was given, asks for few others, and the filters' memory
// keeps to its budget. Method: sets of labels under a PRNG against std::set; the budget at N and
// N+1.
#include "source/store/core/labels.h"

#include <gtest/gtest.h>

#include <set>

#include "source/base/random.h"

namespace store {
namespace {

LabelSet setOf(const std::set<Label>& labels) {
  LabelSet set;
  for (const Label label : labels) {
    set.add(label);
  }
  return set;
}

std::set<Label> someLabels(base::Random& random, uint64_t count) {
  std::set<Label> labels;
  while (labels.size() < count) {
    labels.insert(random.next());
  }
  return labels;
}

TEST(LabelSet, IsASet) {
  base::Random random(1);
  for (int round = 0; round < 50; round++) {
    LabelSet set;
    std::set<Label> model;
    const uint64_t range = random.between(1, 3000);
    for (uint64_t i = 0; i < random.below(4000); i++) {
      const Label label = random.below(range);  // 0 among them
      set.add(label);
      model.insert(label);
    }
    ASSERT_EQ(set.size(), model.size());
    std::set<Label> seen;
    set.each([&seen](Label label) { EXPECT_TRUE(seen.insert(label).second); });
    ASSERT_EQ(seen, model);
    set.clear();
    EXPECT_EQ(set.size(), 0u);
    set.add(3);
    EXPECT_EQ(set.size(), 1u);
  }
}

TEST(Labels, PackedLabelsAreFound) {
  const std::vector<Label> labels{1, 0x0100000000000000, 7};
  const std::span<const std::byte> bytes = std::as_bytes(std::span(labels));
  EXPECT_TRUE(hasLabel(bytes, 1));
  EXPECT_TRUE(hasLabel(bytes, 7));
  EXPECT_FALSE(hasLabel(bytes, 0));  // zeros, but not at the begin of a label
  EXPECT_FALSE(hasLabel(bytes, 256));
  EXPECT_FALSE(hasLabel(bytes.first(23), 7));
  EXPECT_FALSE(hasLabel(std::span<const std::byte>(), 0));
}

TEST(LabelFilters, NeverDenyWhatTheyWereGiven) {
  base::Random random(2);
  LabelFilters filters(10, 1 << 20);
  for (const uint64_t count : {0u, 1u, 2u, 51u, 52u, 3000u}) {
    const std::set<Label> labels = someLabels(random, count);
    ASSERT_TRUE(filters.set(3, 77, setOf(labels)));
    for (const Label label : labels) {
      ASSERT_TRUE(filters.mayHave(3, 77, label));
    }
    uint64_t wrong = 0;
    for (int probe = 0; probe < 20000; probe++) {
      const Label label = random.next();
      wrong += labels.count(label) == 0 && filters.mayHave(3, 77, label) ? 1 : 0;
    }
    EXPECT_LT(wrong, 20000u * 3 / 100) << count;  // ten bits a label: about one in a hundred
  }
}

TEST(LabelFilters, KnowNothingOfAnotherSequence) {
  LabelFilters filters(2, 1 << 20);
  EXPECT_TRUE(filters.mayHave(0, 5, 1));  // nothing is known yet
  EXPECT_TRUE(filters.set(0, 5, LabelSet()));
  EXPECT_FALSE(filters.mayHave(0, 5, 1));
  EXPECT_TRUE(filters.mayHave(0, 6, 1));
  EXPECT_TRUE(filters.mayHave(0, 0, 1));
  EXPECT_TRUE(filters.mayHave(7, 5, 1));
  filters.drop(0);
  EXPECT_TRUE(filters.mayHave(0, 5, 1));
}

TEST(LabelFilters, KeepToTheirBudget) {
  base::Random random(3);
  const LabelSet labels = setOf(someLabels(random, 100));  // 1000 bits: two cache lines
  LabelFilters filters(4, 3 * 128);
  EXPECT_TRUE(filters.set(0, 1, labels));
  EXPECT_TRUE(filters.set(1, 2, labels));
  EXPECT_TRUE(filters.set(2, 3, labels));
  EXPECT_EQ(filters.bytes(), 3u * 128);
  EXPECT_FALSE(filters.set(3, 4, labels));  // one more
  EXPECT_EQ(filters.refused(), 1u);
  EXPECT_FALSE(filters.has(3, 4));
  EXPECT_TRUE(filters.mayHave(3, 4, 12345));
  EXPECT_TRUE(filters.set(2, 5, labels));  // in place of what it had
  filters.drop(0);
  EXPECT_EQ(filters.bytes(), 2u * 128);
  EXPECT_TRUE(filters.set(3, 4, labels));
}

}  // namespace
}  // namespace store
