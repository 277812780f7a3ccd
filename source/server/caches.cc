// The directories of the caches: opened and locked before the shards start, each with the way to
// its disk. A cache that has several goes on with those that can be used.
#include <algorithm>
#include <ctime>
#include <utility>

#include "source/server/server.h"

namespace server {
namespace {

// An average object; the index is sized for a disk full of them.
constexpr uint64_t kExpectedObject_bytes = 8192;
constexpr uint64_t kMinIndexObjects = 65536;
constexpr uint32_t kLockPatience_ms = 3000;

store::AdmissionOptions admissionOf(const config::AdmissionConfig& config, uint64_t objects,
                                    uint64_t stripes) {
  store::AdmissionOptions options;
  options.keys = static_cast<uint32_t>(std::min<uint64_t>(objects, UINT32_MAX / 2));
  options.second_request = config.policy == config::AdmissionPolicy::second_hit;
  if (config.write_bytes_per_second > 0) {
    options.write_bytes_per_s = std::max<uint64_t>(config.write_bytes_per_second / stripes, 1);
    options.burst_bytes = options.write_bytes_per_s * store::kBudgetBurst_s;
  }
  return options;
}

std::string nameOf(const config::CacheConfig& cache) {
  return "cache " + cache.name + ": ";
}

}  // namespace

store::CacheLayout Server::layoutOf(const config::CacheConfig& cache,
                                    const config::DiskConfig& disk, uint32_t now_s) {
  store::CacheLayout layout;
  layout.directory = disk.path;
  layout.max_size_bytes = disk.max_size_bytes;
  layout.stripes = cache.stripes;
  layout.segment_bytes = cache.segment_bytes;
  layout.direct_io = cache.direct_io;
  layout.sendfile = cache.disk_io == config::DiskIo::sendfile;
  layout.now_s = now_s;
  layout.make_parents = !disk.listed;
  return layout;
}

// Of the cache that the configuration in force has.
std::optional<uint16_t> Server::numberOf(const std::string& cache) const {
  for (uint16_t i = 0; i < caches_.size(); i++) {
    if (caches_[i] != nullptr && !directories_[i].empty() && caches_[i]->name == cache) {
      return i;
    }
  }
  return std::nullopt;
}

// The indexes of a directory's stripes. An error is a sentence.
std::string Server::shareDisk(Directory& directory, uint32_t now_s, cache::CacheShared& shared) {
  const store::CacheFiles& files = *directory.files;
  const uint64_t objects =
      std::max(files.bytes() / kExpectedObject_bytes, kMinIndexObjects) / files.stripes().size();
  cache::CacheDisk disk;
  disk.path = directory.config.path;
  disk.number = next_disk_++;
  disk.share.identity = files.member().identity;
  std::vector<std::unique_ptr<store::StripeShared>> stripes;
  for (store::StripeFiles stripe_files : files.stripes()) {
    stripe_files.disk = disk.number;
    base::Result<std::unique_ptr<store::StripeShared>> stripe =
        store::makeStripeShared(stripe_files, objects, now_s);
    if (!stripe.ok()) {
      return "the index needs " +
             std::to_string(store::IndexShard::bytesFor(objects) * files.stripes().size()) +
             " bytes of memory, which this machine does not give; lower max_size_bytes";
    }
    stripes.push_back(std::move(stripe.value()));
  }
  if (!shared.add(std::move(stripes), disk)) {
    return "a cache has at most " + std::to_string(cache::kMaxStripes) + " stripes";
  }
  directory.index_objects = objects;
  directory.segments_used = files.stripes()[0].superblock.segment_count;
  directory.disk = resized(disk, files, files.segmentsFor(directory.config.max_size_bytes));
  return {};
}

// What all disks have in common, and where keys go.
void Server::shareCache(const config::CacheConfig& config, cache::CacheShared& shared,
                        const std::vector<Directory>& directories) {
  const config::DiskIo how = engines_.diskIo(config).how;
  std::vector<cache::CacheDisk> disks;
  uint64_t objects = 0;
  uint64_t stripes = 0;
  for (const Directory& directory : directories) {
    if (directory.disk.has_value()) {
      shared.hash_seed = directory.files->stripes()[0].superblock.hash_seed;
      shared.disk_io = engines_.describe(how, directory.files->direct());
      objects = std::max(objects, directory.index_objects);
      stripes += directory.files->stripes().size();
      disks.push_back(*directory.disk);
    }
  }
  shared.sendfile = how == config::DiskIo::sendfile;
  shared.admission = admissionOf(config.admission, objects, stripes);
  shared.disks = std::make_unique<cache::DiskTable>(std::move(disks));
  shared.limits = limitsOf(config, *shared.disks);
  if (config.max_object_bytes > shared.limits.max_object_bytes && config.max_object_bytes_given) {
    say(telemetry::LogLevel::warning, nameOf(config) + "max_object_bytes is limited to " +
                                          std::to_string(shared.limits.max_object_bytes) +
                                          ", three quarters of one of its stripes");
  }
}

// An object lies in one stripe, and must not push itself out while it is written.
cache::CacheLimits Server::limitsOf(const config::CacheConfig& config,
                                    const cache::DiskTable& disks) {
  cache::CacheLimits limits{config.memory_bytes, config.max_object_bytes,
                            config.admission.write_bytes_per_second};
  for (const cache::CacheDisk& disk : disks.disks()) {
    limits.max_object_bytes = std::min(limits.max_object_bytes, disk.largest_object_bytes);
  }
  return limits;
}

// Tells of a directory that cannot be used, or not as it was meant.
void Server::noteOpened(const config::CacheConfig& config, Directory& directory,
                        const store::OpenedDisk& opened) {
  directory.why_not = opened.error;
  directory.failures += opened.error.empty() ? 0 : 1;
  if (!opened.error.empty()) {
    say(telemetry::LogLevel::error,
        nameOf(config) + "a disk is not used: " + opened.error + "; the others are");
  }
  if (!opened.warning.empty()) {
    say(telemetry::LogLevel::warning, nameOf(config) + opened.warning);
  }
  if (opened.given_up) {
    say(telemetry::LogLevel::warning, nameOf(config) + directory.config.path +
                                          ": was away while other disks were used; it begins "
                                          "empty, since what was purged meanwhile is not known");
  }
}

bool Server::openCache(const config::CacheConfig& config, uint32_t now_s) {
  const Engines::DiskIo disk_io = engines_.diskIo(config);
  if (!disk_io.error.empty()) {
    fail(disk_io.error);
    return false;
  }
  std::vector<store::CacheLayout> layouts;
  for (const config::DiskConfig& disk : config.disks) {
    layouts.push_back(layoutOf(config, disk, now_s));
    layouts.back().lock_patience_ms = kLockPatience_ms;
  }
  std::vector<store::OpenedDisk> opened = store::openDisks({}, std::move(layouts));
  const bool any = std::ranges::any_of(opened, [](const auto& o) { return o.files != nullptr; });
  auto shared = std::make_unique<cache::CacheShared>();
  shared->name = config.name;
  shared->shard_count = static_cast<uint16_t>(mesh_->size() - 1);
  std::vector<Directory> directories;
  for (size_t i = 0; i < opened.size(); i++) {
    Directory& directory = directories.emplace_back();
    directory.config = config.disks[i];
    if (!any) {
      fail(nameOf(config) + opened[i].error);
      continue;
    }
    noteOpened(config, directory, opened[i]);
    if (opened[i].files == nullptr) {
      continue;
    }
    noteAioFiles(*opened[i].files, disk_io.how);
    directory.files = std::move(opened[i].files);
    std::string error = shareDisk(directory, now_s, *shared);
    if (!error.empty()) {
      fail(nameOf(config) + error);
      return false;
    }
  }
  if (!any) {
    return false;
  }
  shareCache(config, *shared, directories);
  directories_.push_back(std::move(directories));
  caches_.push_back(std::move(shared));
  return true;
}

bool Server::openCaches() {
  const auto now_s = static_cast<uint32_t>(time(nullptr));
  for (const config::CacheConfig& config : config_.snapshot->caches) {
    if (!openCache(config, now_s)) {
      return false;
    }
  }
  return true;
}

// The epoll engine knows by itself; past the page cache only, since kernel AIO blocks otherwise.
void Server::noteAioFiles(const store::CacheFiles& files, config::DiskIo how) {
  if (engines_.kind() == config::Engine::io_uring && how == config::DiskIo::libaio &&
      files.direct()) {
    for (const store::StripeFiles& stripe : files.stripes()) {
      aio_files_.push_back(stripe.data_fd);
    }
  }
}

std::vector<admin::DiskInfo> Server::disks() {
  std::vector<admin::DiskInfo> infos;
  for (size_t i = 0; i < caches_.size(); i++) {
    for (const Directory& directory : directories_[i]) {
      infos.push_back(admin::DiskInfo{caches_[i]->name, directory.config.path,
                                      directory.config.max_size_bytes, directory.why_not,
                                      directory.failures, false});
    }
  }
  for (const std::unique_ptr<Leaving>& leaving : leaving_) {
    for (const Directory& directory : leaving->directories) {
      infos.push_back(admin::DiskInfo{caches_[leaving->cache]->name,
                                      directory.config.path,
                                      directory.config.max_size_bytes,
                                      {},
                                      0,
                                      true});
    }
  }
  return infos;
}

}  // namespace server
