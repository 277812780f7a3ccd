// Caches and disks that come and go by a reload.
//
//   prepare: open what is new, give it to every shard; no key goes there yet. Can be undone.
//   commit:  note on the disks who is in use; every shard gets the new table of keys
//   finish:  what is removed leaves when the last request that may use it has ended
//
// A disk that joins begins empty: what it may hold is of a time when purges did not reach it.
// Purges and invalidations reach every disk that any shard may use: those that join before the
// first shard sends keys there, those that leave until the last has stopped.
#include <algorithm>
#include <ctime>
#include <iterator>
#include <span>
#include <utility>

#include "source/server/server.h"

namespace server {
namespace {

constexpr size_t kMaxDiskNumbers = UINT16_MAX;
constexpr size_t kMaxLeaving = 64;

std::string fieldOf(const config::CacheConfig& cache, const config::DiskConfig& disk) {
  const std::string path = "static_resources.caches[" + cache.name + "]";
  return disk.listed ? path + ".disks[" + disk.path + "]" : path + ".path";
}

}  // namespace

// A directory that was removed a moment ago is still locked, and so is one of another cache.
std::string Server::lookForLeaving(const std::string& directory) const {
  for (uint16_t i = 0; i < caches_.size(); i++) {
    for (const Directory& one : directories_[i]) {
      if (one.config.path == directory && one.files != nullptr) {
        return directory + ": is used by cache " + caches_[i]->name +
               " until a reload removes it there; add it here by a later one";
      }
    }
  }
  for (const std::unique_ptr<Leaving>& leaving : leaving_) {
    for (const Directory& one : leaving->directories) {
      if (one.config.path == directory) {
        return directory +
               ": was removed, and requests that began before still use it; try again later";
      }
    }
  }
  return {};
}

// The engines know the descriptors of its files by number, from their start to their end.
bool Server::hasFixedFiles(const config::CacheConfig& cache) const {
  return engines_.diskIo(cache).how == config::DiskIo::libaio &&
         engines_.kind() == config::Engine::io_uring;
}

// Disks of the cache that were removed, and which requests still use.
std::vector<cache::CacheDisk> Server::leavingDisks(uint16_t number) const {
  std::vector<cache::CacheDisk> disks;
  for (const std::unique_ptr<Leaving>& leaving : leaving_) {
    for (const Directory& directory : leaving->directories) {
      if (leaving->cache == number && directory.disk.has_value()) {
        disks.push_back(*directory.disk);
      }
    }
  }
  return disks;
}

// The directories of the cache that are used now and stay.
std::vector<Directory*> Server::staying(const CacheChange& change) {
  std::vector<Directory*> out;
  for (Directory& directory : directories_[change.number]) {
    const bool removed =
        std::ranges::find(change.removed, directory.config.path) != change.removed.end();
    if (directory.files != nullptr && !removed) {
      out.push_back(&directory);
    }
  }
  return out;
}

// Opens the directories that are new, or could not be used before; the latter may fail again.
std::string Server::openJoining(const config::CacheConfig& next, CacheChange& change,
                                admin::ReloadReport& report) {
  const auto now_s = static_cast<uint32_t>(time(nullptr));
  std::vector<store::CacheFiles*> in_use;
  for (Directory& directory : directories_[change.number]) {
    if (directory.files != nullptr) {
      in_use.push_back(directory.files.get());
    }
  }
  std::vector<store::CacheLayout> layouts;
  std::vector<Directory> asked;
  for (const config::DiskConfig& disk : next.disks) {
    std::vector<Directory>& known = directories_[change.number];
    const auto at = std::ranges::find_if(
        known, [&disk](const Directory& d) { return d.config.path == disk.path; });
    if (at != known.end() && at->files != nullptr) {
      continue;
    }
    std::string leaving = lookForLeaving(disk.path);
    if (!leaving.empty()) {
      return fieldOf(next, disk) + ": " + leaving;
    }
    Directory& directory = asked.emplace_back();
    directory.config = disk;
    directory.failures = at == known.end() ? 0 : at->failures;
    directory.why_not = at == known.end() ? std::string() : at->why_not;
    layouts.push_back(layoutOf(next, disk, now_s));
  }
  std::vector<store::OpenedDisk> opened = store::openDisks(in_use, std::move(layouts));
  for (size_t i = 0; i < opened.size(); i++) {
    Directory& directory = asked[i];
    const std::string field = fieldOf(next, directory.config);
    const bool tried_before = !directory.why_not.empty();
    if (opened[i].files == nullptr && !tried_before) {
      return field + ": " + opened[i].error;
    }
    if (opened[i].files == nullptr) {
      directory.why_not = opened[i].error;
      directory.failures++;
      report.warnings.push_back(field + ": is still not used: " + opened[i].error);
      change.not_used.push_back(std::move(directory));
      continue;
    }
    if (tried_before) {
      report.changed.push_back(field + ": can be used again, and begins empty");
    }
    directory.why_not.clear();
    directory.files = std::move(opened[i].files);
    change.joined.push_back(std::move(directory));
  }
  return {};
}

// What is new of one cache is opened, and has stripes; the shards do not know of it.
std::string Server::prepareCache(const config::CacheConfig& next, CacheChange& change,
                                 admin::ReloadReport& report) {
  const std::string path = "static_resources.caches[" + next.name + "]";
  const Engines::DiskIo disk_io = engines_.diskIo(next);
  if (!disk_io.error.empty()) {
    return disk_io.error;
  }
  std::string error = openJoining(next, change, report);
  if (!error.empty()) {
    return error;
  }
  if ((!change.joined.empty() || !change.removed.empty()) && hasFixedFiles(next)) {
    return path + ".disks: needs a restart: kernel AIO beside io_uring is set up at the start";
  }
  if (change.joined.empty() && staying(change).empty()) {
    return path + ": no disk that can be used is left";
  }
  if (change.joined.size() + directories_[change.number].size() +
          leavingDisks(change.number).size() >
      cache::DiskTable::kMaxDisks) {
    return path + ".disks: requests still use too many that were removed; try again later";
  }
  if (change.is_new) {
    auto shared = std::make_unique<cache::CacheShared>();
    shared->name = next.name;
    shared->shard_count = shardCount();
    caches_[change.number] = std::move(shared);
  }
  cache::CacheShared& shared = *caches_[change.number];
  for (Directory& directory : change.joined) {
    if (next_disk_ == kMaxDiskNumbers) {
      return path + ": too many disks have been added since the start; restart";
    }
    error = shareDisk(directory, static_cast<uint32_t>(time(nullptr)), shared);
    if (!error.empty()) {
      return fieldOf(next, directory.config) + ": " + error;
    }
  }
  if (change.is_new) {
    shareCache(next, shared, change.joined);
  }
  return prepareSizes(next, change);
}

// Every shard makes its stripes of what is new, and looks there for what it invalidates.
rt::Task<void> Server::attach(CacheChange& change) {
  if (change.joined.empty()) {
    co_return;
  }
  cache::CacheShared& shared = *caches_[change.number];
  if (!change.is_new) {
    std::vector<cache::CacheDisk> others = leavingDisks(change.number);
    for (const Directory& directory : change.joined) {
      others.push_back(*directory.disk);
    }
    const std::span<const cache::CacheDisk> now = shared.disks->disks();
    auto table = std::make_unique<const cache::DiskTable>(
        std::vector<cache::CacheDisk>(now.begin(), now.end()), others);
    change.replaced = std::exchange(shared.disks, std::move(table));
  }
  for (const Directory& directory : change.joined) {
    std::vector<shard::AttachDisk> calls(shards_.size());
    for (shard::AttachDisk& call : calls) {
      call.cache = change.number;
      call.shared = &shared;
      call.disk = &*directory.disk;
      call.disks = shared.disks.get();
    }
    co_await callAll(calls);
  }
}

rt::Task<std::string> Server::prepareCaches(const config::Snapshot& next,
                                            std::vector<CacheChange>& changes,
                                            admin::ReloadReport& report) {
  for (const config::CacheConfig& config : config_.snapshot->caches) {
    const bool stays = std::ranges::find(next.caches, config.name, &config::CacheConfig::name) !=
                       next.caches.end();
    if (!stays && hasFixedFiles(config)) {
      co_return "static_resources.caches[" + config.name +
          "]: needs a restart: kernel AIO beside io_uring is set up at the start";
    }
  }
  for (const config::CacheConfig& config : next.caches) {
    CacheChange change;
    const std::optional<uint16_t> number = numberOf(config.name);
    change.is_new = !number.has_value();
    if (change.is_new) {
      const auto free = std::ranges::find_if(
          caches_, [](const std::unique_ptr<cache::CacheShared>& one) { return one == nullptr; });
      change.number = static_cast<uint16_t>(free - caches_.begin());
      if (free == caches_.end()) {
        caches_.emplace_back();
        directories_.emplace_back();
      }
    } else {
      change.number = *number;
    }
    bool asks = change.is_new;
    for (const Directory& directory : directories_[change.number]) {
      const auto at =
          std::ranges::find(config.disks, directory.config.path, &config::DiskConfig::path);
      const bool stays = at != config.disks.end();
      if (!stays) {
        change.removed.push_back(directory.config.path);
      }
      asks = asks || !stays || directory.files == nullptr ||
             at->max_size_bytes != directory.config.max_size_bytes;
    }
    if (!asks && config.disks.size() == directories_[change.number].size()) {
      continue;
    }
    if (leaving_.size() >= kMaxLeaving && !change.removed.empty()) {
      co_return "static_resources.caches[" + config.name + "]: " + std::to_string(kMaxLeaving) +
          " changes of disks wait for requests that began before them; try again later";
    }
    changes.push_back(std::move(change));
    std::string error = prepareCache(config, changes.back(), report);
    if (!error.empty()) {
      co_return error;
    }
    co_await attach(changes.back());
  }
  for (CacheChange& change : changes) {
    std::string error = commitCache(change);
    if (!error.empty()) {
      co_return error;
    }
  }
  co_return std::string();
}

// Notes who is in use from now on, and makes the table that says so. The shards get it with the
// configuration.
std::string Server::commitCache(CacheChange& change) {
  std::vector<store::CacheFiles*> files;
  std::vector<cache::CacheDisk> disks;
  for (const Directory* directory : staying(change)) {
    files.push_back(directory->files.get());
    cache::CacheDisk disk = *directory->disk;
    for (const SizeChange& size : change.sizes) {
      if (size.config.path == directory->config.path) {
        disk = resized(std::move(disk), *directory->files, size.segments);
      }
    }
    disks.push_back(std::move(disk));
  }
  for (const Directory& directory : change.joined) {
    files.push_back(directory.files.get());
    disks.push_back(*directory.disk);
  }
  std::string error = store::noteCompany(files);
  if (!error.empty()) {
    return error;
  }
  std::vector<cache::CacheDisk> leaving = leavingDisks(change.number);
  for (const Directory& directory : directories_[change.number]) {
    if (directory.disk.has_value() &&
        std::ranges::find(change.removed, directory.config.path) != change.removed.end()) {
      leaving.push_back(*directory.disk);
    }
  }
  cache::CacheShared& shared = *caches_[change.number];
  auto table = std::make_unique<const cache::DiskTable>(std::move(disks), leaving);
  change.replaced = std::exchange(shared.disks, std::move(table));
  return {};
}

// The shards go on as before; what has been opened closes again.
rt::Task<void> Server::undoCaches(std::vector<CacheChange>& changes) {
  for (CacheChange& change : changes) {
    cache::CacheShared* shared = caches_[change.number].get();
    if (shared == nullptr) {
      continue;
    }
    std::vector<cache::CacheDisk> disks;
    for (const Directory& directory : directories_[change.number]) {
      if (directory.disk.has_value()) {
        disks.push_back(*directory.disk);
      }
    }
    if (!change.is_new) {
      std::vector<store::CacheFiles*> files;
      for (const Directory& directory : directories_[change.number]) {
        if (directory.files != nullptr) {
          files.push_back(directory.files.get());
        }
      }
      static_cast<void>(store::noteCompany(files));
      auto table =
          std::make_unique<const cache::DiskTable>(std::move(disks), leavingDisks(change.number));
      std::vector<shard::AttachDisk> calls(shards_.size());
      for (shard::AttachDisk& call : calls) {
        call.cache = change.number;
        call.shared = shared;
        call.disks = table.get();
      }
      co_await callAll(calls);
      shared->disks = std::move(table);
      undoSizes(change);
    }
    Leaving leaving;
    leaving.cache = change.number;
    leaving.whole_cache = change.is_new;
    leaving.directories = std::move(change.joined);
    co_await detach(&leaving);
  }
}

// After every shard has taken the new tables.
void Server::finishCaches(std::vector<CacheChange>& changes) {
  const auto leave = [this](uint16_t cache, bool whole, std::vector<Directory> directories) {
    auto leaving = std::make_unique<Leaving>();
    leaving->cache = cache;
    leaving->whole_cache = whole;
    leaving->directories = std::move(directories);
    for (const std::shared_ptr<const config::Snapshot>& snapshot : retired_) {
      leaving->users.push_back(snapshot);
    }
    leaving->users.push_back(std::exchange(admin_calls_, std::make_shared<const int>(0)));
    leaving_.push_back(std::move(leaving));
  };
  for (CacheChange& change : changes) {
    change.replaced.reset();
    finishSizes(change);
    std::vector<Directory> gone;
    std::vector<Directory> now;
    for (Directory& directory : directories_[change.number]) {
      const bool removed =
          std::ranges::find(change.removed, directory.config.path) != change.removed.end();
      if (directory.files != nullptr) {
        (removed ? gone : now).push_back(std::move(directory));
      }
    }
    std::ranges::move(change.joined, std::back_inserter(now));
    std::ranges::move(change.not_used, std::back_inserter(now));
    directories_[change.number] = std::move(now);
    if (!gone.empty()) {
      leave(change.number, false, std::move(gone));
    }
  }
  for (uint16_t i = 0; i < caches_.size(); i++) {
    const bool configured =
        caches_[i] == nullptr ||
        std::ranges::find(config_.snapshot->caches, caches_[i]->name, &config::CacheConfig::name) !=
            config_.snapshot->caches.end();
    if (!configured && !directories_[i].empty()) {
      leave(i, true, std::exchange(directories_[i], {}));
    }
  }
  sweepSizes();
}

// What nobody uses any more goes, a whole cache after its disks that were removed before.
void Server::sweepLeaving() {
  std::vector<uint16_t> earlier;
  for (const std::unique_ptr<Leaving>& leaving : leaving_) {
    const bool free =
        std::ranges::all_of(leaving->users, [](const auto& user) { return user.expired(); });
    const bool first = std::ranges::find(earlier, leaving->cache) == earlier.end();
    earlier.push_back(leaving->cache);
    if (free && first && !leaving->detaching) {
      leaving->detaching = tasks_->spawn(detach(leaving.get()));
    }
  }
}

rt::Task<void> Server::detach(Leaving* leaving) {
  const uint16_t number = leaving->cache;
  for (const Directory& directory : leaving->directories) {
    if (!directory.disk.has_value()) {
      continue;
    }
    std::vector<shard::DetachDisk> calls(shards_.size());
    for (shard::DetachDisk& call : calls) {
      call.cache = number;
      call.stripes = directory.disk->stripes();
    }
    co_await callAll(calls);
    rt::CancelScope never;
    while (directory.resizing) {
      co_await resized_.wait(never);
    }
    caches_[number]->remove(*directory.disk);
  }
  if (leaving->whole_cache) {
    std::vector<shard::DetachDisk> calls(shards_.size());
    for (shard::DetachDisk& call : calls) {
      call.cache = number;
      call.whole_cache = true;
    }
    co_await callAll(calls);
    caches_[number].reset();
  }
  for (const Directory& directory : leaving->directories) {
    say(telemetry::LogLevel::info, directory.config.path + " is closed");
  }
  // Closes the files; not for one that is only being undone, which is its caller's.
  std::erase_if(leaving_, [leaving](const auto& one) { return one.get() == leaving; });
}

// In the order of the configuration.
std::vector<shard::CacheUse> Server::cacheUses(const config::Snapshot& snapshot) const {
  std::vector<shard::CacheUse> uses;
  for (const config::CacheConfig& cache : snapshot.caches) {
    std::optional<uint16_t> number = numberOf(cache.name);
    for (uint16_t i = 0; i < caches_.size() && !number.has_value(); i++) {
      // One that this reload brings: it has no directories yet.
      const bool is_new =
          caches_[i] != nullptr && caches_[i]->name == cache.name &&
          std::ranges::none_of(leaving_, [i](const auto& leaving) { return leaving->cache == i; });
      number = is_new ? std::optional<uint16_t>(i) : std::nullopt;
    }
    const cache::DiskTable& disks = *caches_[*number]->disks;
    uses.push_back(shard::CacheUse{*number, &disks, limitsOf(cache, disks)});
  }
  return uses;
}

}  // namespace server
