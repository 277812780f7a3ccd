// Goal: keys are spread over disks by size, and a change of disks moves the share that it must and
// no other. Method: the table of slots for disks before and after a change, compared slot by slot;
// shares against the weights, within three standard deviations of a fair draw.
#include "source/store/core/disk_choice.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "source/base/random.h"

namespace store {
namespace {

using Disks = std::vector<DiskShare>;

Disks equal(size_t count) {
  Disks disks;
  for (uint64_t i = 0; i < count; i++) {
    disks.push_back(DiskShare{0x1234 + i * 77, 1000});
  }
  return disks;
}

double total(const Disks& disks) {
  double sum = 0;
  for (const DiskShare& disk : disks) {
    sum += static_cast<double>(disk.weight);
  }
  return sum;
}

// Whose each slot is, by identity.
std::vector<uint64_t> owners(const Disks& disks) {
  std::vector<uint64_t> out;
  for (const uint8_t at : chooseDisks(disks)) {
    out.push_back(disks.at(at).identity);
  }
  return out;
}

void expectShares(const Disks& disks) {
  const std::vector<uint64_t> of = owners(disks);
  ASSERT_EQ(of.size(), kDiskSlots);
  for (const DiskShare& disk : disks) {
    const double share = static_cast<double>(disk.weight) / total(disks);
    const double want = share * kDiskSlots;
    const double deviation = std::sqrt(kDiskSlots * share * (1 - share));
    EXPECT_NEAR(static_cast<double>(std::ranges::count(of, disk.identity)), want,
                3 * deviation + 0.5)
        << disk.identity << " of " << disks.size();
  }
}

TEST(DiskChoice, SharesFollowTheWeights) {
  expectShares(equal(1));
  expectShares(equal(2));
  expectShares(equal(3));
  expectShares(equal(kMaxDisks));
  expectShares({{1, 100}, {2, 300}});
  expectShares({{7, uint64_t{16} << 20}, {8, uint64_t{1} << 30}, {9, uint64_t{3} << 30}});
  expectShares({{7, uint64_t{8} << 40}, {8, uint64_t{16} << 40}});
}

TEST(DiskChoice, TheOrderOfTheDisksMakesNoDifference) {
  Disks disks = {{11, 5}, {12, 6}, {13, 7}};
  const std::vector<uint64_t> of = owners(disks);
  std::ranges::reverse(disks);
  EXPECT_EQ(owners(disks), of);
}

TEST(DiskChoice, AnAddedDiskOnlyTakesAndARemovedOneOnlyGives) {
  for (size_t count = 1; count < kMaxDisks; count++) {
    const Disks before = equal(count);
    Disks after = equal(count + 1);
    const std::vector<uint64_t> old = owners(before);
    const std::vector<uint64_t> now = owners(after);
    size_t moved = 0;
    for (size_t i = 0; i < kDiskSlots; i++) {
      if (now[i] != old[i]) {
        ASSERT_EQ(now[i], after.back().identity) << "from one that stays to another that stays";
        moved++;
      }
    }
    const double share = 1.0 / static_cast<double>(count + 1);
    EXPECT_NEAR(static_cast<double>(moved), share * kDiskSlots,
                3 * std::sqrt(kDiskSlots * share * (1 - share)));
  }
}

TEST(DiskChoice, ADiskThatGrowsOnlyGains) {
  const Disks before = {{1, 100}, {2, 100}, {3, 100}};
  const Disks after = {{1, 100}, {2, 200}, {3, 100}};
  const std::vector<uint64_t> old = owners(before);
  const std::vector<uint64_t> now = owners(after);
  size_t moved = 0;
  for (size_t i = 0; i < kDiskSlots; i++) {
    if (now[i] != old[i]) {
      ASSERT_EQ(now[i], 2U);
      moved++;
    }
  }
  // From a third to a half of all.
  EXPECT_NEAR(static_cast<double>(moved), kDiskSlots / 6.0, 3 * std::sqrt(kDiskSlots / 6.0));
  EXPECT_EQ(owners({{1, 200}, {2, 200}, {3, 200}}), old) << "sizes count against each other only";
}

// The stripe is chosen by the low bits of `hi`; a disk's keys must still use all of its stripes.
TEST(DiskChoice, SlotsAreIndependentOfStripes) {
  base::Random random(1);
  constexpr uint32_t kStripes = 8;
  constexpr int kKeys = 80000;
  const std::vector<uint8_t> slots = chooseDisks(equal(2));
  std::array<std::array<int, kStripes>, 2> count{};
  for (int i = 0; i < kKeys; i++) {
    const base::Hash128 hash{random.next(), random.next()};
    ASSERT_LT(diskSlotOf(hash), kDiskSlots);
    count[slots[diskSlotOf(hash)]][stripeOf(hash, kStripes)]++;
  }
  for (const auto& disk : count) {
    for (const int keys : disk) {
      EXPECT_NEAR(keys, kKeys / 16, kKeys / 16 / 10);
    }
  }
}

}  // namespace
}  // namespace store
