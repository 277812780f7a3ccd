// The directories of the caches: opened and locked before the shards start, each with the way to
// its disk.
#include <algorithm>
#include <ctime>
#include <utility>

#include "source/server/server.h"

namespace server {
namespace {

// An average object; the index is sized for a cache full of them.
constexpr uint64_t kExpectedObject_bytes = 8192;
constexpr uint64_t kMinIndexObjects = 65536;
constexpr uint64_t kBudgetBurst_s = 60;

store::AdmissionOptions admissionOf(const config::AdmissionConfig& config, uint64_t objects,
                                    uint64_t stripes) {
  store::AdmissionOptions options;
  options.keys = static_cast<uint32_t>(std::min<uint64_t>(objects, UINT32_MAX / 2));
  options.second_request = config.policy == config::AdmissionPolicy::second_hit;
  if (config.write_bytes_per_second > 0) {
    options.write_bytes_per_s = std::max<uint64_t>(config.write_bytes_per_second / stripes, 1);
    options.burst_bytes = options.write_bytes_per_s * kBudgetBurst_s;
  }
  return options;
}

}  // namespace

// Null: it failed, and has said why.
std::unique_ptr<cache::CacheShared> Server::shareCache(const config::CacheConfig& config,
                                                       const store::CacheFiles& files,
                                                       uint32_t now_s) {
  const auto shards = static_cast<uint16_t>(mesh_->size() - 1);
  auto shared = std::make_unique<cache::CacheShared>();
  shared->name = config.name;
  shared->hash_seed = files.stripes()[0].superblock.hash_seed;
  shared->memory_bytes = config.memory_bytes;
  // An object lies in one stripe, and must not push itself out while it is written.
  const store::Superblock& cut = files.stripes()[0].superblock;
  const uint64_t most = uint64_t{cut.segment_bytes} * cut.segment_count / 4 * 3;
  if (config.max_object_bytes > most && config.max_object_bytes != config.max_size_bytes / 2) {
    say(telemetry::LogLevel::warning, "cache " + config.name + ": max_object_bytes is limited to " +
                                          std::to_string(most) + ", three quarters of one of its " +
                                          std::to_string(files.stripes().size()) + " stripes");
  }
  shared->max_object_bytes = std::min(config.max_object_bytes, most);
  shared->shard_count = shards;
  const uint64_t objects =
      std::max(files.bytes() / kExpectedObject_bytes, kMinIndexObjects) / files.stripes().size();
  shared->admission = admissionOf(config.admission, objects, files.stripes().size());
  for (const store::StripeFiles& stripe_files : files.stripes()) {
    base::Result<std::unique_ptr<store::StripeShared>> stripe =
        store::makeStripeShared(stripe_files, objects, now_s);
    if (!stripe.ok()) {
      fail("cache " + config.name + ": the index needs " +
           std::to_string(store::IndexShard::bytesFor(objects) * files.stripes().size()) +
           " bytes of memory, which this machine does not give; lower max_size_bytes");
      return nullptr;
    }
    stripe.value()->files.disk = static_cast<uint16_t>(caches_.size());
    shared->stripes.push_back(std::move(stripe.value()));
  }
  return shared;
}

bool Server::openCaches() {
  for (const config::CacheConfig& config : config_.snapshot->caches) {
    const Engines::DiskIo disk_io = engines_.diskIo(config);
    if (!disk_io.error.empty()) {
      fail(disk_io.error);
      return false;
    }
    store::CacheLayout layout;
    layout.directory = config.path;
    layout.max_size_bytes = config.max_size_bytes;
    layout.stripes = config.stripes;
    layout.segment_bytes = config.segment_bytes;
    layout.direct_io = config.direct_io;
    layout.sendfile = disk_io.how == config::DiskIo::sendfile;
    layout.now_s = static_cast<uint32_t>(time(nullptr));
    store::CacheFiles::Opened opened = store::CacheFiles::open(layout);
    if (opened.files == nullptr) {
      fail("cache " + config.name + ": " + opened.error);
      return false;
    }
    if (!opened.warning.empty()) {
      say(telemetry::LogLevel::warning, "cache " + config.name + ": " + opened.warning);
    }
    noteAioFiles(*opened.files, disk_io.how);
    std::unique_ptr<cache::CacheShared> shared = shareCache(config, *opened.files, layout.now_s);
    if (shared == nullptr) {
      return false;
    }
    shared->sendfile = layout.sendfile;
    shared->disk_io = engines_.describe(disk_io.how, opened.files->direct());
    cache_files_.push_back(std::move(opened.files));
    caches_.push_back(std::move(shared));
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

}  // namespace server
