#include "source/tools/inspect/directory.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace inspect {
namespace {

std::string stripePath(const std::string& directory, uint32_t stripe, const char* suffix) {
  std::string number = std::to_string(stripe);
  number.insert(0, number.size() < 3 ? 3 - number.size() : 0, '0');
  return directory + "/stripe-" + number + suffix;
}

bool isLocked(const std::string& directory) {
  const File lock(directory + "/lock");
  if (!lock.isOpen() || flock(lock.fd(), LOCK_SH | LOCK_NB) == 0) {
    return false;  // the lock that was just got goes with the descriptor
  }
  return errno == EWOULDBLOCK;
}

std::string refusal(const std::string& path, const store::SuperblockRead& read) {
  switch (read.fault) {
    case store::SuperblockFault::other_version:
      return path + ": was written by another version of Ringfence (format " +
             std::to_string(read.version) + "; this tool reads " +
             std::to_string(store::kFormatVersion) + "); use the inspect of that version";
    case store::SuperblockFault::torn:
      return path + ": its superblock is damaged in both copies, so nothing in it can be read";
    case store::SuperblockFault::other_geometry:
      return path + ": its superblock is intact, but no cache can be cut as it says";
    case store::SuperblockFault::blank:
      return path + ": has not been formatted; nothing was ever stored here";
    case store::SuperblockFault::not_ours:
      break;
  }
  return path + ": is not a Ringfence cache file";
}

std::string addStripe(Directory& directory, uint32_t number) {
  const auto open = [&](const char* suffix) {
    return File(stripePath(directory.path, number, suffix));
  };
  Stripe stripe{open(".data"),
                {open(".index-a"), open(".index-b")},
                {open(".purge-a"), open(".purge-b")},
                {},
                {}};
  if (!stripe.data.isOpen()) {
    return stripe.data.path() + ": cannot be read: " + std::strerror(errno);
  }
  std::array<std::array<std::byte, store::kSuperblockBytes>, 2> copies;
  for (size_t i = 0; i < copies.size(); i++) {
    if (!stripe.data.readAt(i * store::kSuperblockCopyOffset, copies[i])) {
      return stripe.data.path() + ": cannot be read: " + std::strerror(errno);
    }
    // A copy is good if it can stand for both.
    stripe.superblock_bad[i] =
        !store::decodeSuperblock(copies[i], copies[i]).superblock.has_value();
  }
  const store::SuperblockRead read = store::decodeSuperblock(copies[0], copies[1]);
  if (!read.superblock.has_value()) {
    return refusal(stripe.data.path(), read);
  }
  stripe.superblock = *read.superblock;
  if (stripe.superblock.stripe != number) {
    return stripe.data.path() + ": calls itself stripe " +
           std::to_string(stripe.superblock.stripe) + "; was it renamed?";
  }
  if (number > 0 && stripe.superblock.cache_uuid != directory.stripes[0].superblock.cache_uuid) {
    return stripe.data.path() + ": belongs to another cache than the other files of its directory";
  }
  directory.stripes.push_back(std::move(stripe));
  return {};
}

}  // namespace

File::File(const std::string& path)
    : path_(path), fd_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {}

File::File(File&& other) noexcept
    : path_(std::move(other.path_)), fd_(std::exchange(other.fd_, -1)) {}

File::~File() {
  if (fd_ >= 0) {
    close(fd_);
  }
}

uint64_t File::bytes() const {
  struct stat s{};
  return isOpen() && fstat(fd_, &s) == 0 ? static_cast<uint64_t>(s.st_size) : 0;
}

bool File::readAt(uint64_t offset, std::span<std::byte> to) const {
  while (!to.empty()) {
    const ssize_t got = pread(fd_, to.data(), to.size(), static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) {
      continue;
    }
    if (got <= 0) {
      std::fill(to.begin(), to.end(), std::byte{0});
      return got == 0;
    }
    offset += static_cast<uint64_t>(got);
    to = to.subspan(static_cast<size_t>(got));
  }
  return true;
}

std::vector<std::byte> File::readAll() const {
  std::vector<std::byte> all(bytes());
  return isOpen() && readAt(0, all) ? all : std::vector<std::byte>();
}

Opened openDirectory(const std::string& path) {
  Opened opened;
  auto directory = std::make_unique<Directory>();
  directory->path = path;
  struct stat s{};
  if (stat(path.c_str(), &s) != 0) {
    opened.error = path + ": cannot be read: " + std::strerror(errno);
    return opened;
  }
  if (stat(stripePath(path, 0, ".data").c_str(), &s) != 0 && errno == ENOENT) {
    opened.error = path + ": is not a Ringfence cache: it has no file stripe-000.data";
    return opened;
  }
  uint32_t stripes = 1;
  for (uint32_t i = 0; i < stripes; i++) {
    opened.error = addStripe(*directory, i);
    if (!opened.error.empty()) {
      return opened;
    }
    stripes = directory->stripes[0].superblock.stripe_count;
  }
  directory->server_runs = isLocked(path);
  opened.directory = std::move(directory);
  return opened;
}

}  // namespace inspect
