// Who belongs together: the disks of a cache know how often their company has changed (epoch) and
// who was in it last (company). A disk that was away while the others went on has missed purges;
// what it holds must not come back. It is found by its lower epoch and begins empty.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace store {

struct Membership {
  uint64_t epoch = 0;    // 0: never in company
  uint64_t company = 0;  // companyOf() the disks in use then
  friend bool operator==(const Membership&, const Membership&) = default;
};

struct Member {
  uint64_t identity = 0;  // of the disk's contents: another once they are given up
  Membership was;         // as its superblock has it
  bool blank = false;     // formatted a moment ago: there is nothing to give up
};

uint64_t companyOf(std::span<const Member> members);

// Which of the disks that are to be used together have missed something: those below the newest
// epoch, unless the company of that epoch is this one, and only a crash has kept them from noting
// it.
std::vector<bool> whoMissed(std::span<const Member> members);

// What all of them are to note; their present one if it is the same on all and still true.
Membership nextMembership(std::span<const Member> members);

}  // namespace store
