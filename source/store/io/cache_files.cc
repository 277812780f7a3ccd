#include "source/store/io/cache_files.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <optional>

#include "source/store/io/cached_data.h"

namespace store {

// What the stripes of one cache share, found in the first file or made up for a new cache.
struct StripePlan {
  StripeCut cut;
  std::optional<Superblock> like;  // the first stripe's
};

namespace {

// Stripes are not made smaller than this by default: an object must fit one.
constexpr uint64_t kMinStripe_bytes = 64 << 20;
constexpr uint32_t kLockPause_ms = 20;

std::string because(const std::string& path, const char* what) {
  return path + ": cannot " + what + ": " + std::strerror(errno);
}

std::string stripePath(const std::string& directory, uint32_t stripe, const char* suffix) {
  std::string number = std::to_string(stripe);
  number.insert(0, number.size() < 3 ? 3 - number.size() : 0, '0');
  return directory + "/stripe-" + number + suffix;
}

std::string makeDirectories(std::string path, bool with_parents) {
  while (path.size() > 1 && path.ends_with('/')) {
    path.pop_back();
  }
  for (size_t slash = path.find('/', 1); slash != std::string::npos && with_parents;
       slash = path.find('/', slash + 1)) {
    mkdir(path.substr(0, slash).c_str(), 0755);
  }
  if (mkdir(path.c_str(), 0750) != 0 && errno != EEXIST) {
    return because(path, "make the cache directory");
  }
  struct stat s{};
  if (stat(path.c_str(), &s) != 0) {
    return because(path, "look at the cache directory");
  }
  if (!S_ISDIR(s.st_mode)) {
    return path + ": is not a directory; set `path` to a directory of its own for this cache";
  }
  return {};
}

int openFile(const std::string& path, int flags) {
  return ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | flags, 0640);
}

// The two copies of a superblock, as far as the file has them.
SuperblockRead readSuperblock(int fd, const Geometry* expected) {
  alignas(kPageBytes) std::array<std::byte, 2 * kSuperblockBytes> bytes;
  const std::span<std::byte> first = std::span(bytes).first(kSuperblockBytes);
  const std::span<std::byte> second = std::span(bytes).last(kSuperblockBytes);
  const ssize_t a = pread(fd, first.data(), first.size(), 0);
  const ssize_t b = pread(fd, second.data(), second.size(), kSuperblockCopyOffset);
  const std::span<const std::byte> read_a = first.first(a > 0 ? static_cast<size_t>(a) : 0);
  const std::span<const std::byte> read_b = second.first(b > 0 ? static_cast<size_t>(b) : 0);
  return expected == nullptr ? decodeSuperblock(read_a, read_b)
                             : decodeSuperblock(read_a, read_b, *expected);
}

// Of the directory's first stripe, if there is one that is intact.
std::optional<Superblock> lookAt(const std::string& directory) {
  const int fd = ::open(stripePath(directory, 0, ".data").c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) {
    return std::nullopt;
  }
  const SuperblockRead read = readSuperblock(fd, nullptr);
  close(fd);
  return read.superblock;
}

std::string newIdentity(Superblock& superblock, const std::string& path) {
  const ssize_t got = getrandom(superblock.cache_uuid.data(), superblock.cache_uuid.size(), 0);
  return got < 0 ? because(path, "get random bytes for") : std::string();
}

uint64_t logBytes(const Superblock& superblock) {
  return kDataOffset + uint64_t{superblock.segment_count} * superblock.segment_bytes;
}

std::string writeSuperblock(int fd, const Superblock& superblock, const std::string& path) {
  alignas(kPageBytes) std::array<std::byte, kSuperblockBytes> block{};
  encodeSuperblock(block, superblock);
  for (const uint64_t at : {uint64_t{0}, kSuperblockCopyOffset}) {
    if (pwrite(fd, block.data(), block.size(), static_cast<off_t>(at)) !=
        static_cast<ssize_t>(block.size())) {
      return because(path, "write");
    }
  }
  return fdatasync(fd) == 0 ? std::string() : because(path, "sync");
}

std::string refusal(const std::string& path, const SuperblockRead& read) {
  switch (read.fault) {
    case SuperblockFault::other_version:
      return path + ": was written by another version of Ringfence (format " +
             std::to_string(read.version) + ", this one writes " + std::to_string(kFormatVersion) +
             "); point `path` to an empty directory, or delete the directory to start cold";
    case SuperblockFault::other_geometry:
      return path +
             ": has another number of stripes or another segment size than configured; "
             "restore `stripes` and `segment_bytes`, or delete the directory to start cold";
    case SuperblockFault::torn:
      return path + ": its superblock is damaged; delete the directory to start cold";
    case SuperblockFault::not_ours:
    case SuperblockFault::blank:
      break;
  }
  return path +
         ": is not a Ringfence cache file; it is left alone. Point `path` to a directory of "
         "its own";
}

// Cuts off what lies behind the last segment.
std::string trim(int fd, uint64_t bytes, const std::string& path) {
  struct stat s{};
  if (fstat(fd, &s) == 0 && static_cast<uint64_t>(s.st_size) <= bytes) {
    return {};
  }
  const bool done = ftruncate(fd, static_cast<off_t>(bytes)) == 0 && fdatasync(fd) == 0;
  return done ? std::string() : because(path, "shorten");
}

// Reserves the whole file, so that later writes never extend it.
std::string preallocate(int fd, uint64_t bytes, const std::string& path) {
  struct stat s{};
  if (fstat(fd, &s) == 0 && static_cast<uint64_t>(s.st_size) >= bytes &&
      static_cast<uint64_t>(s.st_blocks) * 512 >= bytes) {
    return {};
  }
  int failed = fallocate(fd, 0, 0, static_cast<off_t>(bytes));
  if (failed != 0 && errno == EOPNOTSUPP) {
    failed = ftruncate(fd, static_cast<off_t>(bytes));
  }
  if (failed == 0) {
    return {};
  }
  std::string error = because(path, ("reserve " + std::to_string(bytes) + " bytes").c_str());
  struct statvfs v{};
  if (errno == ENOSPC && fstatvfs(fd, &v) == 0) {
    error += "; the file system has " + std::to_string(uint64_t{v.f_bavail} * v.f_frsize) +
             " bytes free: lower max_size_bytes";
  }
  return error;
}

}  // namespace

StripeCut cutCache(uint64_t max_size_bytes, uint32_t stripes, uint64_t segment_bytes) {
  StripeCut cut;
  cut.stripe_count = stripes;
  if (cut.stripe_count == 0) {
    cut.stripe_count = 8;
    while (cut.stripe_count > 1 && max_size_bytes / cut.stripe_count < kMinStripe_bytes) {
      cut.stripe_count /= 2;
    }
  }
  const uint64_t each = max_size_bytes / cut.stripe_count;
  cut.segment_bytes =
      segment_bytes != 0 ? static_cast<uint32_t>(segment_bytes) : segmentBytesFor(each);
  const uint64_t segments = each > kDataOffset ? (each - kDataOffset) / cut.segment_bytes : 0;
  if (segments < kMinSegments) {
    return StripeCut{};
  }
  cut.segments_per_stripe = static_cast<uint32_t>(std::min<uint64_t>(segments, kMaxSegments));
  return cut;
}

CacheFiles::~CacheFiles() {
  for (StripeFiles& s : stripes_) {
    closeCached(s);
    for (const int fd :
         {s.data_fd, s.snapshot_fds[0], s.snapshot_fds[1], s.journal_fds[0], s.journal_fds[1]}) {
      if (fd >= 0) {
        close(fd);
      }
    }
  }
  if (lock_fd_ >= 0) {
    close(lock_fd_);
  }
}

std::optional<uint64_t> CacheFiles::seedIn(const std::string& directory) {
  const std::optional<Superblock> found = lookAt(directory);
  return found.has_value() ? std::optional<uint64_t>(found->hash_seed) : std::nullopt;
}

std::string CacheFiles::lock(uint32_t patience_ms) {
  const std::string path = directory_ + "/lock";
  lock_fd_ = openFile(path, 0);
  if (lock_fd_ < 0) {
    return because(path, "open (is the directory writable by this user?)");
  }
  const timespec pause{0, kLockPause_ms * 1'000'000};
  for (uint32_t waited_ms = 0; flock(lock_fd_, LOCK_EX | LOCK_NB) != 0;
       waited_ms += kLockPause_ms) {
    if (waited_ms >= patience_ms) {
      return directory_ +
             ": is in use by another process; every cache needs a directory of its own";
    }
    nanosleep(&pause, nullptr);
  }
  return {};
}

namespace {

// How the directory is cut: as it is, where the configuration leaves it open, else as the size
// suits.
std::string planCut(const CacheLayout& layout, StripeCut& cut) {
  const std::optional<Superblock> found = lookAt(layout.directory);
  const bool keep_count = layout.stripes == 0 && found.has_value();
  const bool keep_segments = layout.segment_bytes == 0 && found.has_value();
  const uint32_t stripes = keep_count ? found->stripe_count : layout.stripes;
  const uint64_t segment_bytes = keep_segments ? found->segment_bytes : layout.segment_bytes;
  cut = cutCache(layout.max_size_bytes, stripes, segment_bytes);
  if (cut.stripe_count != 0) {
    return {};
  }
  if (keep_count || keep_segments) {
    return layout.directory + ": max_size_bytes is too small: its " + std::to_string(stripes) +
           " stripes need at least " +
           std::to_string(stripes * (kDataOffset + kMinSegments * segment_bytes)) +
           " bytes; delete the directory to start cold with fewer";
  }
  return layout.directory + ": max_size_bytes is too small: at least " +
         std::to_string(kMinCacheBytes) + " bytes are needed for one stripe";
}

}  // namespace

CacheFiles::Opened CacheFiles::open(const CacheLayout& layout) {
  Opened result;
  std::unique_ptr<CacheFiles> files(new CacheFiles());
  StripePlan plan;
  files->directory_ = layout.directory;
  files->direct_ = layout.direct_io || layout.sendfile;
  result.error = planCut(layout, plan.cut);
  if (result.error.empty()) {
    result.error = makeDirectories(layout.directory, layout.make_parents);
  }
  if (result.error.empty()) {
    result.error = files->lock(layout.lock_patience_ms);
  }
  if (result.error.empty() && layout.sendfile) {
    result.error = checkHeldPages(layout.directory);
  }
  for (uint32_t i = 0; i < plan.cut.stripe_count && result.error.empty(); i++) {
    result.error = files->openStripe(layout, i, plan);
  }
  if (!result.error.empty()) {
    return result;
  }
  if (layout.direct_io && !files->direct_) {
    result.warning =
        layout.directory + ": the file system has no direct I/O; the page cache is used";
  }
  result.files = std::move(files);
  return result;
}

namespace {

// A new superblock for a stripe of the directory that `plan` describes.
std::string format(const CacheLayout& layout, uint32_t stripe, const StripePlan& plan,
                   const std::string& path, Superblock& out) {
  out = Superblock();
  out.stripe = stripe;
  out.stripe_count = plan.cut.stripe_count;
  out.segment_bytes = plan.cut.segment_bytes;
  out.formatted_s = layout.now_s;
  if (plan.like.has_value()) {
    out.cache_uuid = plan.like->cache_uuid;
    out.hash_seed = plan.like->hash_seed;
    return {};
  }
  if (layout.hash_seed.has_value()) {
    out.hash_seed = *layout.hash_seed;
  } else if (getrandom(&out.hash_seed, sizeof out.hash_seed, 0) < 0) {
    return because(path, "get random bytes for");
  }
  return newIdentity(out, path);
}

// What the stripe's superblock is to be: as found, or new. An error if the file is not ours.
std::string identify(const CacheLayout& layout, const SuperblockRead& read, const StripePlan& plan,
                     uint32_t stripe, const std::string& path, Superblock& out) {
  if (!read.superblock.has_value()) {
    return read.fault == SuperblockFault::blank ? format(layout, stripe, plan, path, out)
                                                : refusal(path, read);
  }
  out = *read.superblock;
  const uint64_t seed =
      plan.like.has_value() ? plan.like->hash_seed : layout.hash_seed.value_or(out.hash_seed);
  if (out.hash_seed != seed) {
    return path + ": belongs to another cache than the other " +
           (plan.like.has_value() ? "files of its directory" : "disks of this one") +
           "; delete the directory to start cold";
  }
  if (plan.like.has_value() && plan.like->cache_uuid != out.cache_uuid) {
    return format(layout, stripe, plan, path, out);  // giveUp() has been interrupted
  }
  return {};
}

}  // namespace

std::string CacheFiles::openStripe(const CacheLayout& layout, uint32_t stripe, StripePlan& plan) {
  const std::string path = stripePath(directory_, stripe, ".data");
  StripeFiles s;
  s.data_fd = openFile(path, direct_ ? O_DIRECT : 0);
  if (s.data_fd < 0 && errno == EINVAL && direct_) {
    direct_ = false;
    s.data_fd = openFile(path, 0);
  }
  if (s.data_fd < 0) {
    return because(path, "open");
  }
  stripes_.push_back(s);  // closed by the destructor from here on
  StripeFiles& kept = stripes_.back();
  const Geometry geometry{stripe, plan.cut.stripe_count, plan.cut.segment_bytes};
  const SuperblockRead read = readSuperblock(kept.data_fd, &geometry);
  blank_ = stripe == 0 ? !read.superblock.has_value() : blank_;
  Superblock superblock;
  std::string error = identify(layout, read, plan, stripe, path, superblock);
  if (error.empty() && read.superblock.has_value()) {
    error = trim(kept.data_fd, logBytes(*read.superblock), path);
  }
  if (!error.empty()) {
    return error;
  }
  superblock.segment_count = std::max(superblock.segment_count, plan.cut.segments_per_stripe);
  error = preallocate(kept.data_fd, logBytes(superblock), path);
  if (error.empty() && read.superblock != superblock) {
    error = writeSuperblock(kept.data_fd, superblock, path);
  }
  if (error.empty()) {
    error = trim(kept.data_fd, logBytes(superblock), path);
  }
  if (!error.empty()) {
    return error;
  }
  plan.like = superblock;
  kept.superblock = superblock;
  if (layout.sendfile) {
    error = openCached(kept, path);
    if (!error.empty()) {
      return error;
    }
  }
  return openNotes(stripe);
}

// Snapshots and journals.
std::string CacheFiles::openNotes(uint32_t stripe) {
  constexpr std::array<const char*, 2> kIndex{".index-a", ".index-b"};
  constexpr std::array<const char*, 2> kPurge{".purge-a", ".purge-b"};
  StripeFiles& kept = stripes_.back();
  for (size_t i = 0; i < 2; i++) {
    kept.snapshot_fds[i] = openFile(stripePath(directory_, stripe, kIndex[i]), 0);
    kept.journal_fds[i] = openFile(stripePath(directory_, stripe, kPurge[i]), 0);
    if (kept.snapshot_fds[i] < 0 || kept.journal_fds[i] < 0) {
      return because(directory_, "open the index and purge files in");
    }
  }
  return {};
}

// Size.

uint64_t CacheFiles::bytes() const {
  uint64_t bytes = 0;
  for (const StripeFiles& stripe : stripes_) {
    bytes += logBytes(stripe.superblock);
  }
  return bytes;
}

uint32_t CacheFiles::segmentsFor(uint64_t max_size_bytes) const {
  const uint32_t segment_bytes = stripes_[0].superblock.segment_bytes;
  return cutCache(max_size_bytes, static_cast<uint32_t>(stripes_.size()), segment_bytes)
      .segments_per_stripe;
}

uint64_t CacheFiles::bytesFor(uint32_t segments) const {
  Superblock superblock = stripes_[0].superblock;
  superblock.segment_count = segments;
  return logBytes(superblock) * stripes_.size();
}

std::string CacheFiles::setSegments(uint32_t segments) {
  std::string error;
  for (uint32_t i = 0; i < stripes_.size() && error.empty(); i++) {
    Superblock changed = stripes_[i].superblock;
    changed.segment_count = segments;
    error = preallocate(stripes_[i].data_fd, logBytes(changed), stripePath(directory_, i, ".data"));
  }
  for (uint32_t i = 0; i < stripes_.size() && error.empty(); i++) {
    Superblock changed = stripes_[i].superblock;
    changed.segment_count = segments;
    if (changed != stripes_[i].superblock) {
      error = writeSuperblock(stripes_[i].data_fd, changed, stripePath(directory_, i, ".data"));
      stripes_[i].superblock = error.empty() ? changed : stripes_[i].superblock;
    }
  }
  return error;
}

std::string CacheFiles::trimLogs() {
  std::string error;
  for (uint32_t i = 0; i < stripes_.size() && error.empty(); i++) {
    error = trim(stripes_[i].data_fd, logBytes(stripes_[i].superblock),
                 stripePath(directory_, i, ".data"));
  }
  return error;
}

// Company.

Member CacheFiles::member() const {
  const Superblock& first = stripes_[0].superblock;
  return Member{first.identity(), first.membership, blank_};
}

std::string CacheFiles::setMembership(const Membership& membership) {
  StripeFiles& first = stripes_[0];
  Superblock changed = first.superblock;
  changed.membership = membership;
  if (changed == first.superblock) {
    return {};
  }
  std::string error = writeSuperblock(first.data_fd, changed, stripePath(directory_, 0, ".data"));
  if (error.empty()) {
    first.superblock = changed;
  }
  return error;
}

std::string CacheFiles::giveUp(uint32_t now_s) {
  Superblock fresh;
  std::string error = newIdentity(fresh, directory_);
  // In this order: a stripe that differs from the first has not been given up yet.
  for (uint32_t i = 0; i < stripes_.size() && error.empty(); i++) {
    StripeFiles& stripe = stripes_[i];
    Superblock changed = stripe.superblock;
    changed.cache_uuid = fresh.cache_uuid;
    changed.formatted_s = now_s;
    changed.membership = Membership();
    error = writeSuperblock(stripe.data_fd, changed, stripePath(directory_, i, ".data"));
    if (error.empty()) {
      stripe.superblock = changed;
    }
  }
  // Of the old identity: of no use, and not missed if they stay.
  for (const StripeFiles& stripe : stripes_) {
    for (const int fd : {stripe.snapshot_fds[0], stripe.snapshot_fds[1], stripe.journal_fds[0],
                         stripe.journal_fds[1]}) {
      const int shortened = ftruncate(fd, 0);
      static_cast<void>(shortened);
    }
  }
  blank_ = error.empty();
  return error;
}

}  // namespace store
