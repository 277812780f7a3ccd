// Goal: a file is accepted only if it is ours, intact and as configured; each refusal has the right
// reason. Method: damage of every kind to either copy.
#include "source/store/core/superblock.h"

#include <gtest/gtest.h>

#include <vector>

#include "source/base/crc32c.h"
#include "source/base/random.h"

namespace store {
namespace {

using Bytes = std::vector<std::byte>;

constexpr Geometry kGeometry{2, 4, kMinSegmentBytes};

Superblock make() {
  Superblock s;
  s.stripe = 2;
  s.stripe_count = 4;
  s.segment_bytes = kMinSegmentBytes;
  s.segment_count = 64;
  for (size_t i = 0; i < s.cache_uuid.size(); i++) {
    s.cache_uuid[i] = static_cast<uint8_t>(i * 7 + 1);
  }
  s.hash_seed = 0x1122334455667788;
  s.formatted_s = 1'800'000'000;
  s.membership = Membership{3, 0x99aabbccddeeff00};
  return s;
}

Bytes block(const Superblock& s) {
  Bytes bytes(kSuperblockBytes, std::byte{9});
  encodeSuperblock(bytes, s);
  return bytes;
}

TEST(Superblock, RoundTrip) {
  const Bytes bytes = block(make());
  const SuperblockRead read = decodeSuperblock(bytes, bytes, kGeometry);
  ASSERT_TRUE(read.superblock.has_value());
  EXPECT_EQ(*read.superblock, make());
  EXPECT_FALSE(read.first_copy_bad);
}

TEST(Superblock, ANewFileIsBlank) {
  EXPECT_EQ(decodeSuperblock({}, {}, kGeometry).fault, SuperblockFault::blank);
  const Bytes zeros(kSuperblockBytes);
  EXPECT_EQ(decodeSuperblock(zeros, zeros, kGeometry).fault, SuperblockFault::blank);
  EXPECT_FALSE(decodeSuperblock(zeros, zeros, kGeometry).superblock.has_value());
}

TEST(Superblock, AFlippedByteInEitherCopyIsRepairedFromTheOther) {
  const Bytes good = block(make());
  for (size_t i = 0; i < good.size(); i++) {
    Bytes bad = good;
    bad[i] ^= std::byte{0x40};
    const SuperblockRead first = decodeSuperblock(bad, good, kGeometry);
    ASSERT_TRUE(first.superblock == make()) << i;
    ASSERT_TRUE(first.first_copy_bad) << i;
    const SuperblockRead second = decodeSuperblock(good, bad, kGeometry);
    ASSERT_TRUE(second.superblock == make()) << i;
    ASSERT_FALSE(second.first_copy_bad) << i;
    ASSERT_FALSE(decodeSuperblock(bad, bad, kGeometry).superblock.has_value()) << i;
  }
}

TEST(Superblock, TornInBothCopiesIsTorn) {
  Bytes bad = block(make());
  std::fill(bad.begin() + 20, bad.end(), std::byte{0});
  EXPECT_EQ(decodeSuperblock(bad, bad, kGeometry).fault, SuperblockFault::torn);
  EXPECT_EQ(decodeSuperblock(bad, {}, kGeometry).fault, SuperblockFault::torn);
}

TEST(Superblock, AFormatThatWasInterruptedBetweenTheCopiesIsUsable) {
  const Bytes good = block(make());
  EXPECT_TRUE(decodeSuperblock(good, {}, kGeometry).superblock.has_value());
  EXPECT_TRUE(decodeSuperblock({}, good, kGeometry).superblock.has_value());
}

TEST(Superblock, AnotherProgramsFileIsNotOursEvenWithARemnantOfOurs) {
  base::Random random(1);
  Bytes foreign(kSuperblockBytes);
  for (std::byte& b : foreign) {
    b = static_cast<std::byte>(random.next());
  }
  EXPECT_EQ(decodeSuperblock(foreign, foreign, kGeometry).fault, SuperblockFault::not_ours);
  EXPECT_EQ(decodeSuperblock(foreign, {}, kGeometry).fault, SuperblockFault::not_ours);
  EXPECT_EQ(decodeSuperblock({}, foreign, kGeometry).fault, SuperblockFault::not_ours);
  // A file system was made over the first copy: 1024 bytes of zeros, then its own superblock.
  Bytes over(kSuperblockBytes);
  std::copy_n(foreign.begin(), 1024, over.begin() + 1024);
  EXPECT_EQ(decodeSuperblock(over, block(make()), kGeometry).fault, SuperblockFault::not_ours);
}

TEST(Superblock, AnotherVersionIsNamed) {
  Bytes bytes = block(make());
  storeStruct(std::span(bytes), uint32_t{kFormatVersion + 1}, 8);
  storeStruct(std::span(bytes), base::crc32c(std::span(bytes).first(kSuperblockBytes - 4)),
              kSuperblockBytes - 4);
  const SuperblockRead read = decodeSuperblock(bytes, bytes, kGeometry);
  EXPECT_EQ(read.fault, SuperblockFault::other_version);
  EXPECT_EQ(read.version, kFormatVersion + 1);
  EXPECT_FALSE(read.superblock.has_value());
  EXPECT_EQ(decodeSuperblock({}, bytes, kGeometry).fault, SuperblockFault::other_version);
}

TEST(Superblock, AnotherGeometryIsRefusedButTheSizeMayDiffer) {
  const auto with = [](auto change) {
    Superblock s = make();
    change(s);
    return decodeSuperblock(block(s), block(s), kGeometry);
  };
  EXPECT_EQ(with([](auto& s) { s.stripe = 1; }).fault, SuperblockFault::other_geometry);
  EXPECT_EQ(with([](auto& s) { s.stripe_count = 8; }).fault, SuperblockFault::other_geometry);
  EXPECT_EQ(with([](auto& s) { s.segment_bytes *= 2; }).fault, SuperblockFault::other_geometry);
  EXPECT_TRUE(with([](auto& s) { s.segment_count = 65; }).superblock.has_value());
  // Intact, but beyond what this version can mean.
  EXPECT_FALSE(with([](auto& s) { s.segment_count = 0; }).superblock.has_value());
  EXPECT_FALSE(with([](auto& s) { s.segment_count = kMaxSegments + 1; }).superblock.has_value());
  EXPECT_TRUE(with([](auto& s) { s.segment_count = kMaxSegments; }).superblock.has_value());
}

TEST(Superblock, TheSaltDependsOnTheCacheAndTheStripe) {
  Superblock a = make();
  Superblock b = make();
  EXPECT_EQ(a.salt(), b.salt());
  b.stripe = 3;
  EXPECT_NE(a.salt(), b.salt());
  b = make();
  b.cache_uuid[15] ^= 1;
  EXPECT_NE(a.salt(), b.salt());
}

TEST(Superblock, EveryFaultHasAName) {
  EXPECT_EQ(name(SuperblockFault::blank), "blank");
  EXPECT_EQ(name(SuperblockFault::not_ours), "not_ours");
  EXPECT_EQ(name(SuperblockFault::torn), "torn");
  EXPECT_EQ(name(SuperblockFault::other_version), "other_version");
  EXPECT_EQ(name(SuperblockFault::other_geometry), "other_geometry");
}

}  // namespace
}  // namespace store
