// Caches: their disks, sizes and tags.
#include <algorithm>
#include <filesystem>
#include <utility>

#include "source/config/load/compile_parts.h"
#include "source/http/grammar.h"

namespace config {
namespace {

DiskIo diskIoOf(pb::Cache::DiskIo disk_io) {
  switch (disk_io) {
    case pb::Cache::IO_URING:
      return DiskIo::io_uring;
    case pb::Cache::LIBAIO:
      return DiskIo::libaio;
    case pb::Cache::SENDFILE:
      return DiskIo::sendfile;
    default:
      return DiskIo::automatic;
  }
}

void checkSegments(const Place& place, const CacheConfig& cache, uint64_t size_bytes) {
  constexpr uint64_t kMinSegmentsPerStripe = 5;
  if (cache.segment_bytes == 0) {
    return;
  }
  const uint64_t stripes = std::max<uint32_t>(cache.stripes, 1);
  if (size_bytes / stripes / cache.segment_bytes < kMinSegmentsPerStripe) {
    place["segment_bytes"].error(
        "a stripe needs at least " + std::to_string(kMinSegmentsPerStripe) +
        " segments: max_size_bytes would have to be " +
        std::to_string(kMinSegmentsPerStripe * stripes * cache.segment_bytes));
  }
}

void checkDiskIo(const Place& place, const pb::Cache& from, const CacheConfig& cache,
                 Engine engine) {
  if (cache.disk_io == DiskIo::sendfile && cache.direct_io) {
    from.has_direct_io()
        ? place["direct_io"].error("SENDFILE reads through the page cache", "false")
        : place["disk_io"].error("SENDFILE needs `direct_io: false` beside it");
  }
  if (cache.disk_io == DiskIo::io_uring && engine == Engine::epoll) {
    place["disk_io"].error("IO_URING needs the io_uring engine, and runtime.engine is EPOLL",
                           "LIBAIO");
  }
  if (cache.disk_io == DiskIo::libaio && !cache.direct_io) {
    place["direct_io"].error("LIBAIO would block the shard on reads through the page cache",
                             "true");
  }
}

constexpr std::string_view kSurrogateKey = "Surrogate-Key";
constexpr std::string_view kCacheTag = "Cache-Tag";

// What separates the tags of a field; an error when it cannot be told.
policy::TagSeparator separatorOf(const Place& place, const pb::TagField& from) {
  switch (from.separator()) {
    case pb::TagField::SPACE:
      return policy::TagSeparator::space;
    case pb::TagField::COMMA:
      return policy::TagSeparator::comma;
    default:
      break;
  }
  if (http::equalsIgnoreCase(from.name(), kCacheTag)) {
    return policy::TagSeparator::comma;
  }
  if (!http::equalsIgnoreCase(from.name(), kSurrogateKey)) {
    place["separator"].error("must be SPACE or COMMA for a field other than " +
                             std::string(kSurrogateKey) + " and " + std::string(kCacheTag));
  }
  return policy::TagSeparator::space;
}

policy::TagRules compileTags(const Place& place, const pb::Tags& from) {
  constexpr int kMaxTagFields = 16;
  policy::TagRules rules;
  rules.strip = from.strip();
  const Place fields = place["fields"];
  if (from.fields_size() > kMaxTagFields) {
    fields.error("has more than " + std::to_string(kMaxTagFields) + " entries");
    return rules;
  }
  for (int i = 0; i < from.fields_size(); i++) {
    const pb::TagField& field = from.fields(i);
    const Place at = fields[static_cast<size_t>(i)];
    if (field.name().empty()) {
      at["name"].missing();
      continue;
    }
    if (!http::isToken(field.name())) {
      at["name"].error("is not a field name");
      continue;
    }
    const auto same = [&field](const policy::TagField& other) {
      return http::equalsIgnoreCase(other.name, field.name());
    };
    if (std::any_of(rules.fields.begin(), rules.fields.end(), same)) {
      at["name"].error("is there twice");
      continue;
    }
    rules.fields.push_back(policy::TagField{field.name(), separatorOf(at, field)});
  }
  if (from.fields_size() == 0) {
    rules.fields = {{std::string(kSurrogateKey), policy::TagSeparator::space},
                    {std::string(kCacheTag), policy::TagSeparator::comma}};
  }
  return rules;
}

AdmissionConfig compileAdmission(const Place& place, const pb::Admission& from) {
  constexpr uint64_t kMostBytesPerSecond = uint64_t{1} << 40;
  AdmissionConfig admission;
  admission.policy = from.policy() == pb::Admission::SECOND_HIT ? AdmissionPolicy::second_hit
                                                                : AdmissionPolicy::all;
  admission.write_bytes_per_second = numberIn(
      place["write_bytes_per_second"], from.write_bytes_per_second(), 0, {0, kMostBytesPerSecond});
  return admission;
}

// The disks' sizes are the limits of other fields, so they are never 0 once compiled.
uint64_t sizeOf(const Place& place, uint64_t size_bytes) {
  if (size_bytes == 0) {
    place["max_size_bytes"].missing();
    return kMinCacheBytes;
  }
  return numberIn(place["max_size_bytes"], size_bytes, kMinCacheBytes,
                  {kMinCacheBytes, kMaxCacheBytes});
}

std::vector<DiskConfig> compileDisks(const Place& place, const pb::Cache& from,
                                     Directories& directories) {
  std::vector<DiskConfig> disks;
  const bool own_path = !from.path().empty();
  if (own_path || from.max_size_bytes() != 0 || from.disks_size() == 0) {
    if (!own_path) {
      place["path"].missing();
    }
    disks.push_back(DiskConfig{from.path(), sizeOf(place, from.max_size_bytes()), false});
    directories.add(place["path"], from.path(), from.name());
  }
  const Place list = place["disks"];
  const int room = kMaxDisks - static_cast<int>(disks.size());
  const int count = countWithin(list, from.disks_size(), room);
  for (int i = 0; i < count; i++) {
    const Place at = list[i];
    if (from.disks(i).path().empty()) {
      at["path"].missing();
    }
    disks.push_back(
        DiskConfig{from.disks(i).path(), sizeOf(at, from.disks(i).max_size_bytes()), true});
    directories.add(at["path"], from.disks(i).path(), from.name());
  }
  return disks;
}

}  // namespace

void Directories::add(const Place& place, const std::string& path, const std::string& cache) {
  if (!path.empty()) {
    const std::string normal = std::filesystem::path(path + "/").lexically_normal();
    by_path_[normal].push_back(Directory{place, cache});
  }
}

void Directories::check() const {
  for (const auto& [path, users] : by_path_) {
    for (size_t i = 1; i < users.size(); i++) {
      users[i].place.error("cache `" + users.front().cache + "` has the same path");
    }
    for (size_t end = path.find('/'); end + 1 < path.size(); end = path.find('/', end + 1)) {
      const auto above = by_path_.find(path.substr(0, end + 1));
      if (above != by_path_.end()) {
        users.front().place.error("lies in a directory of cache `" + above->second.front().cache +
                                  "`");
        break;
      }
    }
  }
}

CacheConfig compileCache(const Place& place, const pb::Cache& from, Engine engine,
                         Directories& directories) {
  constexpr uint64_t kMaxMemory = uint64_t{1} << 40;
  constexpr uint64_t kMaxScrub = uint64_t{1} << 40;
  constexpr uint64_t kMaxStripes = 1024;
  constexpr uint64_t kLargestShare = 2;  // of a disk, that one object may take
  constexpr uint64_t kMinSegment = uint64_t{1} << 20;
  constexpr uint64_t kMaxSegment = uint64_t{16} << 20;
  CacheConfig cache;
  cache.name = from.name();
  cache.disks = compileDisks(place, from, directories);
  const uint64_t smallest =
      std::ranges::min(cache.disks, {}, &DiskConfig::max_size_bytes).max_size_bytes;
  if (from.has_memory_bytes()) {
    cache.memory_bytes =
        numberIn(place["memory_bytes"], from.memory_bytes(), cache.memory_bytes, {0, kMaxMemory});
  }
  cache.disk_io = diskIoOf(from.disk_io());
  cache.direct_io = from.has_direct_io() ? from.direct_io() : true;
  cache.max_object_bytes = smallest / kLargestShare;
  cache.max_object_bytes_given = from.has_max_object_bytes();
  if (from.has_max_object_bytes()) {
    cache.max_object_bytes = numberIn(place["max_object_bytes"], from.max_object_bytes(),
                                      cache.max_object_bytes, {1, cache.max_object_bytes});
  }
  cache.stripes = static_cast<uint32_t>(
      numberIn(place["stripes"], from.stripes(), cache.stripes, {0, kMaxStripes}));
  if (cache.stripes * cache.disks.size() > kMaxStripesOfCache) {
    place["stripes"].error("makes more than " + std::to_string(kMaxStripesOfCache) +
                           " stripes on " + std::to_string(cache.disks.size()) + " disks");
  }
  if (from.has_segment_bytes()) {
    const uint64_t segment = numberIn(place["segment_bytes"], from.segment_bytes(),
                                      cache.segment_bytes, {kMinSegment, kMaxSegment});
    if ((segment & (segment - 1)) != 0) {
      uint64_t lower = kMinSegment;
      while (lower * 2 < segment) {
        lower *= 2;
      }
      place["segment_bytes"].error("must be a power of two", std::to_string(lower));
    } else {
      cache.segment_bytes = segment;
    }
  }
  cache.tags = compileTags(place["tags"], from.tags());
  cache.scrub_bytes_per_second =
      numberIn(place["scrub_bytes_per_second"], from.scrub_bytes_per_second(), 0, {0, kMaxScrub});
  cache.admission = compileAdmission(place["admission"], from.admission());
  checkSegments(place, cache, smallest);
  checkDiskIo(place, from, cache, engine);
  return cache;
}

}  // namespace config
