#include "source/store/core/membership.h"

#include <algorithm>

#include "source/store/core/layout.h"

namespace store {
namespace {

const Member* newest(std::span<const Member> members) {
  const Member* found = nullptr;
  for (const Member& member : members) {
    if (found == nullptr || member.was.epoch > found->was.epoch) {
      found = &member;
    }
  }
  return found;
}

}  // namespace

uint64_t companyOf(std::span<const Member> members) {
  std::vector<uint64_t> identities;
  for (const Member& member : members) {
    identities.push_back(member.identity);
  }
  std::sort(identities.begin(), identities.end());
  uint64_t company = identities.size();
  for (const uint64_t identity : identities) {
    company = mix64(company ^ mix64(identity));
  }
  return company;
}

std::vector<bool> whoMissed(std::span<const Member> members) {
  std::vector<bool> missed(members.size(), false);
  const Member* last = newest(members);
  if (last == nullptr || last->was.company == companyOf(members)) {
    return missed;
  }
  for (size_t i = 0; i < members.size(); i++) {
    missed[i] = !members[i].blank && members[i].was.epoch < last->was.epoch;
  }
  return missed;
}

Membership nextMembership(std::span<const Member> members) {
  const Member* last = newest(members);
  const uint64_t company = companyOf(members);
  const bool stays = std::all_of(members.begin(), members.end(), [&](const Member& member) {
    return member.was == Membership{last->was.epoch, company};
  });
  const uint64_t epoch = last == nullptr ? 0 : last->was.epoch;
  return Membership{stays ? epoch : epoch + 1, company};
}

}  // namespace store
