#include "source/store/io/cached_data.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "source/store/core/segment_table.h"

namespace store {
namespace {

constexpr char kAdvice[] = "; set disk_io to AUTO, or put the cache on ext4 or XFS";

std::string failed(const std::string& what) {
  return "SENDFILE: " + what + ": " + std::strerror(errno) + kAdvice;
}

// A log may grow while its file is mapped.
uint64_t mostBytes(const Superblock& cut) {
  return kDataOffset + uint64_t{SegmentTable::capacityFor(cut.segment_count)} * cut.segment_bytes;
}

// A file that is written past the page cache and read through it, and a pipe that holds a page.
class HeldPage {
 public:
  explicit HeldPage(const std::string& directory) : path_(directory + "/probe-XXXXXX") {}
  ~HeldPage() {
    for (const int fd : {direct_, cached_, pipe_[0], pipe_[1]}) {
      if (fd >= 0) {
        close(fd);
      }
    }
  }
  HeldPage(const HeldPage&) = delete;
  HeldPage& operator=(const HeldPage&) = delete;

  bool open() {
    direct_ = mkostemp(path_.data(), O_CLOEXEC | O_DIRECT);
    if (direct_ < 0) {
      return false;
    }
    cached_ = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC);
    unlink(path_.c_str());
    return cached_ >= 0 && pipe2(pipe_.data(), O_CLOEXEC) == 0;
  }
  bool write(char what) {
    page_.fill(what);
    return pwrite(direct_, page_.data(), page_.size(), 0) == std::ssize(page_);
  }
  bool hold() {
    loff_t from = 0;
    return splice(cached_, &from, pipe_[1], nullptr, page_.size(), 0) == std::ssize(page_);
  }
  bool holds(char what) { return read(pipe_[0], page_.data(), page_.size()) > 0 && isAll(what); }
  bool reads(char what) {
    return pread(cached_, page_.data(), page_.size(), 0) == std::ssize(page_) && isAll(what);
  }

 private:
  bool isAll(char what) const {
    return std::all_of(page_.begin(), page_.end(), [what](char one) { return one == what; });
  }

  std::string path_;
  int direct_ = -1;
  int cached_ = -1;
  std::array<int, 2> pipe_{-1, -1};
  alignas(kPageBytes) std::array<char, kPageBytes> page_{};
};

}  // namespace

std::string checkHeldPages(const std::string& directory) {
  HeldPage page(directory);
  if (!page.open() || !page.write('a')) {
    return failed(directory +
                  ": the file system has no direct I/O, past which records are written");
  }
  if (!page.hold()) {
    return failed(directory + ": cannot send from its files");
  }
  if (!page.write('b')) {
    return failed(directory + ": cannot write past the page cache");
  }
  if (!page.holds('a') || !page.reads('b')) {
    return "SENDFILE: " + directory +
           ": the file system changes pages that are still being sent when it writes directly" +
           kAdvice;
  }
  return {};
}

std::string openCached(StripeFiles& files, const std::string& path) {
  files.cached_fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (files.cached_fd < 0) {
    return failed(path + ": cannot open it for reading");
  }
  // No reading ahead: what gets into the page cache has been asked for, and so is verified.
  posix_fadvise(files.cached_fd, 0, 0, POSIX_FADV_RANDOM);
  files.mapped_bytes = mostBytes(files.superblock);
  void* map =
      mmap(nullptr, files.mapped_bytes, PROT_READ, MAP_SHARED | MAP_NORESERVE, files.cached_fd, 0);
  if (map == MAP_FAILED) {
    return failed(path + ": cannot map it (the limit of address space?)");
  }
  files.mapped = static_cast<std::byte*>(map);
  return {};
}

void closeCached(StripeFiles& files) {
  if (files.mapped != nullptr) {
    munmap(files.mapped, files.mapped_bytes);
    files.mapped = nullptr;
  }
  if (files.cached_fd >= 0) {
    close(files.cached_fd);
    files.cached_fd = -1;
  }
}

}  // namespace store
