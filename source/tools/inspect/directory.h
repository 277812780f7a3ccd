// A cache directory as it lies on the disk, opened for reading only. What is no cache of this
// version is refused with a sentence. A server may be running on it: its lock is looked at, not
// taken, and what it writes meanwhile is read as it comes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "source/store/core/superblock.h"

namespace inspect {

// A file descriptor that closes itself.
class File {
 public:
  explicit File(const std::string& path);
  ~File();
  File(File&& other) noexcept;
  File& operator=(File&& other) = delete;

  bool isOpen() const { return fd_ >= 0; }
  int fd() const { return fd_; }
  const std::string& path() const { return path_; }
  uint64_t bytes() const;
  // Reads up to `to.size()` bytes at `offset`; the rest of `to` becomes zeros. False: a disk error.
  bool readAt(uint64_t offset, std::span<std::byte> to) const;
  std::vector<std::byte> readAll() const;

 private:
  std::string path_;
  int fd_ = -1;
};

struct Stripe {
  File data;
  std::array<File, 2> snapshots;
  std::array<File, 2> journals;
  store::Superblock superblock;
  std::array<bool, 2> superblock_bad{};  // copies
};

struct Directory {
  std::string path;
  bool server_runs = false;
  std::vector<Stripe> stripes;
};

struct Opened {
  std::unique_ptr<Directory> directory;
  std::string error;  // a sentence, if there is no directory
};
Opened openDirectory(const std::string& path);

}  // namespace inspect
