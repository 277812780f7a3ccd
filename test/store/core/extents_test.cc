// Goal: a table of extents covers its object exactly, or is refused; a byte is found in its chunk.
// Method: random tables against a linear search; every byte flipped; the limits at N and N+1.
#include "source/store/core/extents.h"

#include <gtest/gtest.h>

#include "source/base/crc32c.h"
#include "source/base/random.h"
#include "source/store/core/record.h"

namespace store {
namespace {

struct Made {
  std::vector<Extent> extents;
  uint64_t length = 0;
};

Made makeExtents(base::Random& random, uint32_t count, uint32_t min_body, uint32_t max_body) {
  Made made;
  for (uint32_t i = 0; i < count; i++) {
    const auto body = static_cast<uint32_t>(random.between(min_body, max_body));
    Extent e;
    e.sequence = random.between(1, 1000);
    e.object_offset = made.length;
    e.segment = static_cast<uint32_t>(random.below(kMaxSegments));
    e.offset_units = static_cast<uint16_t>(random.between(8, 2000));
    e.length_units = static_cast<uint16_t>(recordBytes(0, 0, body) / kUnitBytes);
    made.extents.push_back(e);
    made.length += body;
  }
  return made;
}

TEST(Extents, FindsTheChunkOfEveryByte) {
  base::Random random(1);
  for (int round = 0; round < 50; round++) {
    const Made made =
        makeExtents(random, static_cast<uint32_t>(random.between(1, 60)), 1, kMaxChunkBody);
    std::vector<std::byte> bytes;
    ASSERT_TRUE(encodeExtents(made.extents, made.length, bytes).ok());
    const base::Result<ExtentTable> parsed = ExtentTable::parse(bytes, made.length);
    ASSERT_TRUE(parsed.ok());
    const ExtentTable& table = parsed.value();
    ASSERT_EQ(table.count(), made.extents.size());
    uint64_t oldest = UINT64_MAX;
    for (uint32_t i = 0; i < table.count(); i++) {
      EXPECT_EQ(table.at(i), made.extents[i]);
      oldest = std::min(oldest, made.extents[i].sequence);
      const uint64_t first = made.extents[i].object_offset;
      const uint64_t last = first + table.bodyBytes(i) - 1;
      EXPECT_EQ(table.indexOf(first), i);
      EXPECT_EQ(table.indexOf(last), i);
      EXPECT_EQ(table.indexOf(random.between(first, last)), i);
    }
    EXPECT_EQ(table.oldestSequence(), oldest);
  }
}

TEST(Extents, EveryFlippedByteIsNoticed) {
  base::Random random(2);
  const Made made = makeExtents(random, 20, 1000, 100'000);
  std::vector<std::byte> bytes;
  ASSERT_TRUE(encodeExtents(made.extents, made.length, bytes).ok());
  for (size_t i = 0; i < bytes.size(); i++) {
    const auto flip = static_cast<std::byte>(random.between(1, 255));
    bytes[i] ^= flip;
    EXPECT_FALSE(ExtentTable::parse(bytes, made.length).ok()) << i;
    bytes[i] ^= flip;
  }
  EXPECT_FALSE(ExtentTable::parse(std::span(bytes).first(bytes.size() - 1), made.length).ok());
  EXPECT_FALSE(ExtentTable::parse(bytes, made.extents.back().object_offset).ok());
  EXPECT_FALSE(ExtentTable::parse(bytes, made.length + kMaxChunkBody).ok());
}

TEST(Extents, TheLargestObjectFitsAndOneExtentMoreDoesNot) {
  base::Random random(3);
  Made made = makeExtents(random, kMaxExtents, kMaxChunkBody, kMaxChunkBody);
  ASSERT_EQ(made.length, kMaxObjectBytes);
  std::vector<std::byte> bytes;
  ASSERT_TRUE(encodeExtents(made.extents, made.length, bytes).ok());
  EXPECT_EQ(bytes.size(), kMaxHeadBody);
  EXPECT_TRUE(ExtentTable::parse(bytes, made.length).ok());
  EXPECT_EQ(encodeExtents(made.extents, made.length + 1, bytes).error().code,
            base::Code::no_capacity);
  made.extents.push_back(made.extents.back());
  EXPECT_EQ(encodeExtents(made.extents, made.length, bytes).error().code, base::Code::no_capacity);
}

// Tables with an honest checksum that describe nonsense.
TEST(Extents, AGapOrAnImpossibleChunkIsRefused) {
  const auto parse = [](const std::vector<Extent>& extents, uint64_t length) {
    const std::span<const std::byte> table = std::as_bytes(std::span(extents));
    std::vector<std::byte> bytes(extentsBytes(static_cast<uint32_t>(extents.size())));
    storeStruct(std::span(bytes),
                ExtentsHeader{kExtentsMagic, kExtentsVersion, 0,
                              static_cast<uint32_t>(extents.size()), base::crc32c(table)});
    std::copy(table.begin(), table.end(), bytes.begin() + sizeof(ExtentsHeader));
    return ExtentTable::parse(bytes, length).ok();
  };
  base::Random random(4);
  const Made made = makeExtents(random, 3, 1000, 1000);
  ASSERT_TRUE(parse(made.extents, 3000));
  const auto with = [&](auto change) {
    std::vector<Extent> extents = made.extents;
    change(extents);
    return parse(extents, 3000);
  };
  EXPECT_FALSE(with([](auto& e) { e[0].object_offset = 1; }));
  EXPECT_FALSE(with([](auto& e) { e[1].object_offset = e[2].object_offset; }));
  EXPECT_FALSE(with([](auto& e) { e[2].object_offset = 3000; }));
  EXPECT_FALSE(with([](auto& e) { e[1].sequence = 0; }));
  EXPECT_FALSE(with([](auto& e) { e[1].segment = kMaxSegments; }));
  EXPECT_FALSE(with([](auto& e) { e[1].offset_units = 7; }));      // in the segment's header
  EXPECT_FALSE(with([](auto& e) { e[1].length_units = 2; }));      // too short for its body
  EXPECT_FALSE(with([](auto& e) { e[1].offset_units = 32767; }));  // over the segment's end
  EXPECT_FALSE(with([](auto& e) { e.clear(); }));
  EXPECT_FALSE(parse(made.extents, 2000 + kMaxChunkBody + 1));
}

}  // namespace
}  // namespace store
