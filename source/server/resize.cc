// Directories that become larger or smaller while they are used.
//
//   larger:  the room is reserved and the superblocks say so; then the stripes use it
//   smaller: the stripes give up what is behind their new end, whole segments; then the superblocks
//            say so, and the file system gets the room back
//
// A start opens a directory as large as it was, so that a size that was lowered meanwhile is come
// to in the same way: what is given up unnoticed might bring back what it had replaced.
#include <algorithm>
#include <utility>

#include "source/server/server.h"

namespace server {
namespace {

constexpr uint64_t kSizeAgain_ns = 10 * base::kSecond_ns;

std::string fieldOf(const config::CacheConfig& cache, const config::DiskConfig& disk) {
  const std::string path = "static_resources.caches[" + cache.name + "]";
  return path + (disk.listed ? ".disks[" + disk.path + "]" : "") + ".max_size_bytes";
}

}  // namespace

cache::CacheDisk resized(cache::CacheDisk disk, const store::CacheFiles& files, uint32_t segments) {
  disk.share.weight = files.bytesFor(segments);
  const uint32_t segment_bytes = files.stripes()[0].superblock.segment_bytes;
  disk.largest_object_bytes = uint64_t{segment_bytes} * segments / 4 * 3;
  return disk;
}

// What can be refused is; the room for what grows is reserved.
std::string Server::prepareSizes(const config::CacheConfig& next, CacheChange& change) {
  const cache::CacheShared* shared = caches_[change.number].get();
  for (const Directory* directory : staying(change)) {
    const auto disk =
        std::ranges::find(next.disks, directory->config.path, &config::DiskConfig::path);
    if (disk->max_size_bytes == directory->config.max_size_bytes) {
      continue;
    }
    if (directory->resizing) {
      return fieldOf(next, *disk) + ": an earlier change is still being made; try again later";
    }
    store::CacheFiles& files = *directory->files;
    uint32_t most = store::kMaxSegments;
    for (uint16_t i = 0; i < directory->disk->stripe_count; i++) {
      const store::StripeShared& stripe = *shared->stripes[directory->disk->first_stripe + i];
      most = std::min(most, stripe.table->capacity());
    }
    SizeChange size{*disk, files.stripes()[0].superblock.segment_count,
                    files.segmentsFor(disk->max_size_bytes)};
    if (size.segments == 0) {
      return fieldOf(next, *disk) + ": the directory needs at least " +
             std::to_string(files.bytesFor(store::kMinSegments)) + ", as it is cut into " +
             std::to_string(files.stripes().size()) + " stripes";
    }
    if (size.segments > most) {
      return fieldOf(next, *disk) + ": without a restart at most " +
             std::to_string(files.bytesFor(most));
    }
    change.sizes.push_back(size);
    std::string error =
        size.segments > size.segments_before ? files.setSegments(size.segments) : std::string();
    if (!error.empty()) {
      return fieldOf(next, *disk) + ": " + error;
    }
  }
  return {};
}

void Server::undoSizes(CacheChange& change) {
  for (const SizeChange& size : change.sizes) {
    for (Directory& directory : directories_[change.number]) {
      if (directory.config.path != size.config.path || size.segments <= size.segments_before) {
        continue;
      }
      std::string error = directory.files->setSegments(size.segments_before);
      error = error.empty() ? directory.files->trimLogs() : error;
      if (!error.empty()) {
        say(telemetry::LogLevel::error, "a size is not undone: " + error);
      }
    }
  }
}

// The sweep does the rest.
void Server::finishSizes(CacheChange& change) {
  for (const SizeChange& size : change.sizes) {
    for (Directory& directory : directories_[change.number]) {
      if (directory.config.path == size.config.path) {
        directory.config = size.config;
        directory.disk = resized(*directory.disk, *directory.files, size.segments);
      }
    }
  }
}

// Directories whose stripes have another size than they should.
void Server::sweepSizes() {
  for (uint16_t i = 0; i < directories_.size(); i++) {
    for (Directory& directory : directories_[i]) {
      if (directory.files == nullptr || directory.resizing) {
        continue;
      }
      const uint32_t wanted = directory.files->segmentsFor(directory.config.max_size_bytes);
      const auto has_it = [&](const store::StripeFiles& stripe) {
        return stripe.superblock.segment_count == wanted;
      };
      const bool reached = directory.segments_used == wanted &&
                           std::ranges::all_of(directory.files->stripes(), has_it);
      if (!reached && wanted != 0) {
        directory.resizing = tasks_->spawn(resize(i, directory.disk->number));
      }
    }
  }
}

Directory* Server::findDisk(uint16_t number) {
  const auto is_it = [number](const Directory& directory) {
    return directory.disk.has_value() && directory.disk->number == number;
  };
  for (std::vector<Directory>& directories : directories_) {
    const auto at = std::ranges::find_if(directories, is_it);
    if (at != directories.end()) {
      return &*at;
    }
  }
  for (const std::unique_ptr<Leaving>& leaving : leaving_) {
    const auto at = std::ranges::find_if(leaving->directories, is_it);
    if (at != leaving->directories.end()) {
      return &*at;
    }
  }
  return nullptr;
}

// One call to each stripe. True: all have done it.
rt::Task<bool> Server::callStripes(uint16_t cache, cache::StripeRange range, SizeOrder order) {
  std::vector<cache::ResizeCall> calls(range.count);
  rt::TaskGroup group(*reactor_, range.count);
  for (uint16_t i = 0; i < range.count; i++) {
    calls[i].cache = cache;
    calls[i].stripe = static_cast<uint16_t>(range.first + i);
    calls[i].segments = order.segments;
    calls[i].cut = order.cut;
    const base::ShardId owner = caches_[cache]->ownerOf(base::StripeId{calls[i].stripe});
    const bool spawned = group.spawn(callOne(base::index(owner), &calls[i]));
    CHECK(spawned);
  }
  co_await group.join();
  co_return std::ranges::all_of(calls, &cache::ResizeCall::done);
}

// The directory's files stay as long as it runs (detach()).
rt::Task<void> Server::resize(uint16_t cache, uint16_t disk) {
  Directory* directory = findDisk(disk);
  store::CacheFiles& files = *directory->files;
  const std::string path = directory->config.path;
  const cache::StripeRange range = directory->disk->stripes();
  const uint32_t segments = files.segmentsFor(directory->config.max_size_bytes);
  SizeOrder order{segments, false};
  const bool reached = co_await callStripes(cache, range, order);
  std::string error = reached ? files.setSegments(segments) : std::string();
  const bool noted = reached && error.empty();
  if (noted) {
    order.cut = true;
    static_cast<void>(co_await callStripes(cache, range, order));
    error = files.trimLogs();
    say(telemetry::LogLevel::info, path + " has " + std::to_string(files.bytes()) + " bytes now");
  }
  if (!error.empty()) {
    say(telemetry::LogLevel::error, "the size of a directory is tried again: " + error);
    static_cast<void>(co_await rt::Sleep(reactor_->now() + kSizeAgain_ns, tasks_->scope()));
  }
  directory = findDisk(disk);
  directory->resizing = false;
  directory->segments_used = noted && error.empty() ? segments : 0;
  resized_.wakeAll();
}

}  // namespace server
