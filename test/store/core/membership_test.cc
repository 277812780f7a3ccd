// Goal: a disk that was away while the cache's others went on is found out, and no disk is that
// never was. Method: lives of two and three disks, told step by step, with crashes while a change
// is being noted.
#include "source/store/core/membership.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

namespace store {
namespace {

// Disks by name, and what their superblocks have.
class Lives {
 public:
  // Starts with these disks; returns those that were found to have missed something. `written`: how
  // many note the change before a crash.
  std::string start(const std::string& names, size_t written = SIZE_MAX) {
    std::string missed;
    const std::vector<bool> found = whoMissed(members(names));
    for (size_t i = 0; i < names.size(); i++) {
      if (found[i]) {
        missed += names[i];
        disks_[names[i]] = Member{next_identity_++, {}, true};
      }
    }
    const Membership next = nextMembership(members(names));
    for (size_t i = 0; i < names.size() && i < written; i++) {
      changes_ += disks_[names[i]].was == next ? 0 : 1;
      disks_[names[i]].was = next;
    }
    for (const char name : names) {
      disks_[name].blank = false;
    }
    return missed;
  }
  int changes() const { return changes_; }

 private:
  std::vector<Member> members(const std::string& names) {
    std::vector<Member> out;
    for (const char name : names) {
      if (!disks_.contains(name)) {
        disks_[name] = Member{next_identity_++, {}, true};
      }
      out.push_back(disks_[name]);
    }
    return out;
  }
  std::map<char, Member> disks_;
  uint64_t next_identity_ = 100;
  int changes_ = 0;
};

TEST(Membership, NobodyMissesAnythingWhileAllStay) {
  Lives lives;
  EXPECT_EQ(lives.start("ab"), "");
  const int changes = lives.changes();
  EXPECT_EQ(lives.start("ab"), "");
  EXPECT_EQ(lives.start("ba"), "") << "their order is nothing";
  EXPECT_EQ(lives.changes(), changes) << "and nothing needs to be written";
}

TEST(Membership, WhoWasAwayMissed) {
  Lives lives;
  lives.start("ab");
  EXPECT_EQ(lives.start("a"), "");
  EXPECT_EQ(lives.start("ab"), "b");
  EXPECT_EQ(lives.start("ab"), "") << "once";
  EXPECT_EQ(lives.start("b"), "");
  EXPECT_EQ(lives.start("ba"), "a");
}

TEST(Membership, AlsoAfterSeveralChanges) {
  Lives lives;
  lives.start("abc");
  lives.start("ab");
  lives.start("a");
  EXPECT_EQ(lives.start("abc"), "bc");
  lives.start("bc");
  lives.start("b");
  EXPECT_EQ(lives.start("ac"), "a") << "c went on without a";
}

TEST(Membership, ANewDiskMakesNobodyMiss) {
  Lives lives;
  lives.start("a");
  EXPECT_EQ(lives.start("ab"), "");
  EXPECT_EQ(lives.start("abc"), "");
}

TEST(Membership, ACrashWhileTheChangeIsNotedCostsNothing) {
  for (size_t written = 0; written <= 3; written++) {
    Lives lives;
    lives.start("ab");
    EXPECT_EQ(lives.start("abc", written), "") << written;
    // Nothing was served before all had noted it, so a new disk has nothing to lose.
    EXPECT_EQ(lives.start("abc"), written == 0 ? "c" : "") << written;
    EXPECT_EQ(lives.start("ab"), "") << written;
    EXPECT_EQ(lives.start("abc"), "c") << written;
  }
}

// The rest of them begins anew at worst; what was away must not be kept.
TEST(Membership, ACrashWhileALeaveIsNotedDoesNotHideIt) {
  for (size_t written = 1; written <= 2; written++) {
    Lives lives;
    lives.start("abc");
    lives.start("ab", written);
    EXPECT_NE(lives.start("abc").find('c'), std::string::npos) << written;
  }
}

TEST(Membership, CompaniesDifferByTheirMembers) {
  const auto of = [](std::vector<uint64_t> identities) {
    std::vector<Member> members;
    for (const uint64_t identity : identities) {
      members.push_back(Member{identity, {}, false});
    }
    return companyOf(members);
  };
  EXPECT_EQ(of({1, 2}), of({2, 1}));
  EXPECT_NE(of({1, 2}), of({1, 3}));
  EXPECT_NE(of({1}), of({1, 2}));
  EXPECT_NE(of({}), of({0}));
}

}  // namespace
}  // namespace store
