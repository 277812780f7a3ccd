// Goal: the primitives that everything rests on. Method: published vectors and small models.
#include <gtest/gtest.h>

#include <cstring>
#include <set>
#include <string>
#include <vector>

#include "source/base/crc32c.h"
#include "source/base/hash.h"
#include "source/base/intrusive_list.h"
#include "source/base/random.h"
#include "source/base/result.h"

namespace {

std::span<const std::byte> bytesOf(const std::string& s) {
  return std::as_bytes(std::span(s));
}

// RFC 3720 appendix B.4.
TEST(Crc32c, PublishedVectors) {
  EXPECT_EQ(base::crc32c(bytesOf(std::string(32, '\0'))), 0x8a9136aaU);
  EXPECT_EQ(base::crc32c(bytesOf(std::string(32, '\xff'))), 0x62a8ab43U);
  std::string ascending;
  for (int i = 0; i < 32; i++) {
    ascending.push_back(static_cast<char>(i));
  }
  EXPECT_EQ(base::crc32c(bytesOf(ascending)), 0x46dd794eU);
  EXPECT_EQ(base::crc32c(bytesOf("123456789")), 0xe3069283U);
}

TEST(Crc32c, AnySplitGivesTheSameSum) {
  base::Random random(1);
  std::string data(20000, '\0');
  for (char& c : data) {
    c = static_cast<char>(random.next());
  }
  // A bit-at-a-time model of the definition.
  uint32_t model = ~0U;
  for (char c : data) {
    model ^= static_cast<uint8_t>(c);
    for (int bit = 0; bit < 8; bit++) {
      model = (model >> 1) ^ ((model & 1) != 0 ? 0x82f63b78U : 0);
    }
  }
  model = ~model;
  EXPECT_EQ(base::crc32c(bytesOf(data)), model);
  for (int i = 0; i < 100; i++) {
    const size_t cut = random.below(data.size() + 1);
    const uint32_t a = base::crc32c(bytesOf(data.substr(0, cut)));
    const uint32_t b = base::crc32c(bytesOf(data.substr(cut)));
    EXPECT_EQ(base::crc32c(bytesOf(data.substr(cut)), a), model);
    EXPECT_EQ(base::crc32cCombine(a, b, data.size() - cut), model);
  }
}

TEST(Random, SameSeedSameSequenceAndBoundsHold) {
  base::Random a(7);
  base::Random b(7);
  base::Random c(8);
  bool differs = false;
  for (int i = 0; i < 1000; i++) {
    const uint64_t x = a.next();
    EXPECT_EQ(x, b.next());
    differs |= x != c.next();
    EXPECT_LT(a.below(10), 10U);
    b.below(10);
    const uint64_t y = a.between(5, 6);
    EXPECT_TRUE(y == 5 || y == 6);
    b.next();
  }
  EXPECT_TRUE(differs);
  EXPECT_EQ(a.below(0), 0U);
}

struct Node : base::ListHook {
  explicit Node(int v) : value(v) {}
  int value;
};

TEST(IntrusiveList, ElementsLeaveInAnyOrder) {
  base::IntrusiveList<Node> list;
  Node a(1);
  Node b(2);
  {
    Node c(3);
    list.pushBack(&a);
    list.pushBack(&c);
    list.pushFront(&b);
    EXPECT_EQ(list.front(), &b);
    EXPECT_EQ(list.next(&b), &a);
    EXPECT_EQ(list.next(&a), &c);
    EXPECT_EQ(list.next(&c), nullptr);
  }  // c leaves by being destroyed
  EXPECT_EQ(list.next(&a), nullptr);
  a.unlink();
  EXPECT_FALSE(a.linked());
  EXPECT_EQ(list.popFront(), &b);
  EXPECT_EQ(list.popFront(), nullptr);
}

TEST(Result, CarriesAValueOrAnError) {
  base::Result<int> good = 3;
  EXPECT_TRUE(good.ok());
  EXPECT_EQ(good.value(), 3);
  base::Result<int> bad = base::Error{base::Code::timeout, base::Blame::upstream};
  EXPECT_FALSE(bad.ok());
  EXPECT_EQ(bad.error().code, base::Code::timeout);
  EXPECT_EQ(base::name(bad.error().code), "timeout");
  EXPECT_DEATH(static_cast<void>(bad.value()), "CHECK failed");
}

TEST(MonoTime, AdditionSaturates) {
  EXPECT_EQ((base::MonoTime{5} + 6).ns, 11U);
  EXPECT_EQ(base::kNever + 1, base::kNever);
  EXPECT_EQ(base::MonoTime{5} + UINT64_MAX, base::kNever);
}

}  // namespace
