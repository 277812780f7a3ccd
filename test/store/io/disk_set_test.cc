// Goal: the directories of one cache are used together as far as each can be, and one that was away
// comes back empty. Method: real directories under the test's temporary one; a stripe's identity
// tells whether its contents were given up.
#include "source/store/io/disk_set.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace store {
namespace {

class DiskSet : public testing::Test {
 protected:
  DiskSet() {
    std::string pattern = testing::TempDir() + "/disk_set_XXXXXX";
    root_ = mkdtemp(pattern.data());
  }
  ~DiskSet() override { std::filesystem::remove_all(root_); }

  std::string path(char name) const { return root_ + "/" + name; }
  CacheLayout layout(char name) const {
    CacheLayout layout;
    layout.directory = path(name);
    layout.max_size_bytes = 2 * kMinCacheBytes;
    layout.stripes = 2;
    layout.segment_bytes = kMinSegmentBytes;
    layout.now_s = 1000;
    layout.make_parents = false;
    return layout;
  }
  std::vector<OpenedDisk> open(const std::string& names, std::vector<CacheFiles*> in_use = {}) {
    std::vector<CacheLayout> layouts;
    for (const char name : names) {
      layouts.push_back(layout(name));
    }
    return openDisks(in_use, layouts);
  }
  // Opens and closes again; the names of those that were given up, and those that were refused.
  std::string lives(const std::string& names) {
    std::string out;
    const std::vector<OpenedDisk> disks = open(names);
    for (size_t i = 0; i < names.size(); i++) {
      out += disks[i].given_up ? std::string("-") + names[i] : "";
      out += disks[i].files == nullptr ? std::string("!") + names[i] : "";
    }
    return out;
  }

  std::string root_;
};

uint64_t identityOf(const OpenedDisk& disk) {
  return disk.files->member().identity;
}

TEST_F(DiskSet, NewDisksShareASeedAndNothingElse) {
  const std::vector<OpenedDisk> disks = open("ab");
  ASSERT_TRUE(disks[0].files != nullptr && disks[1].files != nullptr);
  EXPECT_NE(identityOf(disks[0]), identityOf(disks[1]));
  EXPECT_EQ(disks[0].files->stripes()[1].superblock.hash_seed,
            disks[1].files->stripes()[1].superblock.hash_seed);
  EXPECT_NE(disks[0].files->stripes()[0].superblock.salt(),
            disks[1].files->stripes()[0].superblock.salt());
}

TEST_F(DiskSet, ADiskThatIsAddedGetsTheSeedOfTheOthers) {
  uint64_t seed = 0;
  {
    const std::vector<OpenedDisk> first = open("b");
    seed = first[0].files->stripes()[0].superblock.hash_seed;
  }
  const std::vector<OpenedDisk> disks = open("ab");
  EXPECT_EQ(disks[0].files->stripes()[0].superblock.hash_seed, seed);
  EXPECT_FALSE(disks[0].given_up || disks[1].given_up);
}

TEST_F(DiskSet, IsFoundAgainAsItWas) {
  uint64_t identity = 0;
  {
    const std::vector<OpenedDisk> disks = open("ab");
    identity = identityOf(disks[1]);
  }
  const std::vector<OpenedDisk> disks = open("ab");
  EXPECT_EQ(identityOf(disks[1]), identity);
  EXPECT_FALSE(disks[0].given_up || disks[1].given_up);
}

TEST_F(DiskSet, WhoWasAwayBeginsEmpty) {
  EXPECT_EQ(lives("ab"), "");
  uint64_t identity = 0;
  {
    const std::vector<OpenedDisk> disks = open("ab");
    identity = identityOf(disks[1]);
  }
  EXPECT_EQ(lives("a"), "");
  const std::vector<OpenedDisk> disks = open("ab");
  EXPECT_TRUE(disks[1].given_up);
  EXPECT_FALSE(disks[0].given_up);
  EXPECT_NE(identityOf(disks[1]), identity);
  for (const StripeFiles& stripe : disks[1].files->stripes()) {
    EXPECT_EQ(stripe.superblock.cache_uuid, disks[1].files->stripes()[0].superblock.cache_uuid);
    struct stat s{};
    ASSERT_EQ(fstat(stripe.journal_fds[0], &s), 0);
    EXPECT_EQ(s.st_size, 0);
  }
}

TEST_F(DiskSet, WhoJoinsThoseInUseBeginsEmpty) {
  EXPECT_EQ(lives("ab"), "");
  const std::vector<OpenedDisk> first = open("a");
  const std::vector<OpenedDisk> joining = open("bc", {first[0].files.get()});
  EXPECT_TRUE(joining[0].given_up);
  EXPECT_FALSE(joining[1].given_up) << "it was empty before";
  const std::vector<CacheFiles*> all{first[0].files.get(), joining[0].files.get(),
                                     joining[1].files.get()};
  EXPECT_EQ(noteCompany(all), "");
  EXPECT_EQ(first[0].files->member().was, joining[1].files->member().was);
}

TEST_F(DiskSet, AfterJoiningAllStayAcrossARestart) {
  EXPECT_EQ(lives("a"), "");
  {
    const std::vector<OpenedDisk> first = open("a");
    const std::vector<OpenedDisk> joining = open("b", {first[0].files.get()});
    const std::vector<CacheFiles*> all{first[0].files.get(), joining[0].files.get()};
    EXPECT_EQ(noteCompany(all), "");
  }
  EXPECT_EQ(lives("ab"), "");
  {
    const std::vector<OpenedDisk> both = open("ab");
    const std::vector<CacheFiles*> left{both[0].files.get()};
    EXPECT_EQ(noteCompany(left), "");
  }
  EXPECT_EQ(lives("ab"), "-b");
}

TEST_F(DiskSet, OneThatCannotBeUsedLeavesTheOthers) {
  EXPECT_EQ(lives("abc"), "");
  // Another program's, a parent that is missing, and a file in its place.
  std::filesystem::remove_all(path('b'));
  std::filesystem::create_directories(path('b'));
  std::ofstream(path('b') + "/stripe-000.data") << "somebody's letters";
  EXPECT_EQ(lives("abc"), "!b");
  std::filesystem::remove_all(path('b'));
  std::ofstream(path('b')) << "x";
  EXPECT_EQ(lives("abc"), "!b");
  std::filesystem::remove_all(path('b'));
  CacheLayout far = layout('b');
  far.directory = root_ + "/not_mounted/b";
  const std::vector<OpenedDisk> disks = openDisks({}, {layout('a'), far});
  EXPECT_NE(disks[0].files, nullptr);
  EXPECT_EQ(disks[1].files, nullptr);
  EXPECT_NE(disks[1].error.find(far.directory), std::string::npos) << disks[1].error;
  EXPECT_FALSE(std::filesystem::exists(root_ + "/not_mounted"));
}

TEST_F(DiskSet, ADiskOfAnotherCacheIsLeftAlone) {
  EXPECT_EQ(lives("a"), "");
  EXPECT_EQ(lives("b"), "");
  EXPECT_EQ(lives("ab"), "!b");
  EXPECT_EQ(lives("ba"), "!a") << "the first says whose cache it is";
  EXPECT_EQ(lives("a"), "");
  EXPECT_EQ(lives("ac"), "");
  EXPECT_EQ(lives("bac"), "!b") << "but two outvote it";
  const std::vector<OpenedDisk> disks = open("ab");
  EXPECT_NE(disks[1].error.find("another cache"), std::string::npos) << disks[1].error;
}

TEST_F(DiskSet, ACopyIsRefused) {
  EXPECT_EQ(lives("a"), "");
  std::filesystem::copy(path('a'), path('b'));
  EXPECT_EQ(lives("ab"), "!b");
}

TEST_F(DiskSet, GivingUpThatWasInterruptedIsEnded) {
  EXPECT_EQ(lives("ab"), "");
  {
    // As a crash leaves it: the first stripe has the new identity, the second the old one.
    const std::string second = path('b') + "/stripe-001.data";
    std::filesystem::copy_file(second, root_ + "/kept");
    std::vector<OpenedDisk> disks = open("ab");
    EXPECT_EQ(disks[1].files->giveUp(2000), "");
    disks.clear();
    std::filesystem::copy_file(root_ + "/kept", second,
                               std::filesystem::copy_options::overwrite_existing);
  }
  const std::vector<OpenedDisk> disks = open("ab");
  ASSERT_EQ(disks[1].error, "");
  const std::vector<StripeFiles>& stripes = disks[1].files->stripes();
  EXPECT_EQ(stripes[1].superblock.cache_uuid, stripes[0].superblock.cache_uuid);
}

}  // namespace
}  // namespace store
