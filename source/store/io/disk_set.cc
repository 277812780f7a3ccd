#include "source/store/io/disk_set.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

namespace store {
namespace {

// The seed that most directories have; of as many, the first one's.
std::optional<uint64_t> commonSeed(const std::vector<CacheLayout>& layouts) {
  std::map<uint64_t, size_t> count;
  std::optional<uint64_t> common;
  std::vector<uint64_t> seeds;
  for (const CacheLayout& layout : layouts) {
    if (const std::optional<uint64_t> seed = CacheFiles::seedIn(layout.directory)) {
      seeds.push_back(*seed);
      count[*seed]++;
    }
  }
  for (const uint64_t seed : seeds) {
    if (!common.has_value() || count[seed] > count[*common]) {
      common = seed;
    }
  }
  return common;
}

std::vector<CacheFiles*> opened(std::span<CacheFiles* const> in_use,
                                const std::vector<OpenedDisk>& joining) {
  std::vector<CacheFiles*> all;
  // The new ones are the first to be written: those are known to be new as long as they differ.
  for (const OpenedDisk& disk : joining) {
    if (disk.files != nullptr) {
      all.push_back(disk.files.get());
    }
  }
  all.insert(all.end(), in_use.begin(), in_use.end());
  return all;
}

std::vector<Member> membersOf(std::span<CacheFiles* const> disks) {
  std::vector<Member> members;
  for (const CacheFiles* disk : disks) {
    members.push_back(disk->member());
  }
  return members;
}

void leaveOut(OpenedDisk& disk, std::string why) {
  disk.error = std::move(why);
  disk.files.reset();
}

// A directory that was copied cannot be told from its original.
void refuseCopies(std::span<CacheFiles* const> in_use, std::vector<OpenedDisk>& joining) {
  std::map<uint64_t, std::string> owners;
  for (const CacheFiles* disk : in_use) {
    owners.emplace(disk->member().identity, disk->directory());
  }
  for (OpenedDisk& disk : joining) {
    if (disk.files == nullptr) {
      continue;
    }
    const auto [owner, is_new] =
        owners.emplace(disk.files->member().identity, disk.files->directory());
    if (!is_new) {
      leaveOut(disk, disk.files->directory() + ": is a copy of " + owner->second +
                         "; delete the directory to start cold");
    }
  }
}

void giveUpMissed(std::span<CacheFiles* const> in_use, std::vector<OpenedDisk>& joining,
                  uint32_t now_s) {
  const std::vector<bool> missed = whoMissed(membersOf(opened(in_use, joining)));
  size_t i = 0;
  for (OpenedDisk& disk : joining) {
    if (disk.files == nullptr) {
      continue;
    }
    const bool away = missed[i++] || !in_use.empty();
    if (!away || disk.files->member().blank) {
      continue;
    }
    disk.given_up = true;
    std::string error = disk.files->giveUp(now_s);
    if (!error.empty()) {
      leaveOut(disk, std::move(error));
    }
  }
}

}  // namespace

std::string noteCompany(std::span<CacheFiles* const> disks) {
  const Membership next = nextMembership(membersOf(disks));
  std::string error;
  size_t noted = 0;
  for (CacheFiles* disk : disks) {
    std::string failed = disk->setMembership(next);
    noted += failed.empty() ? 1 : 0;
    error = failed.empty() ? error : std::move(failed);
  }
  return noted > 0 || disks.empty() ? std::string() : error;
}

std::vector<OpenedDisk> openDisks(std::span<CacheFiles* const> in_use,
                                  std::vector<CacheLayout> layouts) {
  std::optional<uint64_t> seed =
      in_use.empty() ? commonSeed(layouts) : in_use.front()->stripes()[0].superblock.hash_seed;
  std::vector<OpenedDisk> joining;
  for (CacheLayout& layout : layouts) {
    layout.hash_seed = seed;
    CacheFiles::Opened one = CacheFiles::open(layout);
    if (one.files != nullptr && !seed.has_value()) {
      seed = one.files->stripes()[0].superblock.hash_seed;
    }
    joining.push_back(
        OpenedDisk{std::move(one.files), std::move(one.error), std::move(one.warning), false});
  }
  refuseCopies(in_use, joining);
  const uint32_t now_s = layouts.empty() ? 0 : layouts.front().now_s;
  giveUpMissed(in_use, joining, now_s);
  // A disk that cannot be written is not used, and the others' company is another one then.
  for (bool again = true; again;) {
    again = false;
    const Membership next = nextMembership(membersOf(opened(in_use, joining)));
    for (OpenedDisk& disk : joining) {
      std::string error = disk.files == nullptr ? "" : disk.files->setMembership(next);
      if (!error.empty()) {
        leaveOut(disk, std::move(error));
        again = true;
      }
    }
  }
  return joining;
}

}  // namespace store
