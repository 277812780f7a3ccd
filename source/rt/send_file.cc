#include "source/rt/send_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

namespace rt {
namespace {

constexpr size_t kSmallestPage_bytes = 4096;

// sendfile(2) has no flag for not waiting, so the descriptor says it for the time of the call.
class NonBlocking {
 public:
  explicit NonBlocking(int fd) : fd_(fd), status_(fcntl(fd, F_GETFL)) {
    if (changed()) {
      fcntl(fd_, F_SETFL, status_ | O_NONBLOCK);
    }
  }
  ~NonBlocking() {
    if (changed()) {
      fcntl(fd_, F_SETFL, status_);
    }
  }
  NonBlocking(const NonBlocking&) = delete;
  NonBlocking& operator=(const NonBlocking&) = delete;

 private:
  bool changed() const { return status_ >= 0 && (status_ & O_NONBLOCK) == 0; }
  int fd_;
  int status_;
};

}  // namespace

bool inMemory(void* mapped, size_t bytes) {
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  if (mapped == nullptr || bytes == 0 || bytes > kMaxSendFile_bytes) {
    return false;
  }
  const size_t skip = reinterpret_cast<uintptr_t>(mapped) % page;
  const size_t pages = (skip + bytes + page - 1) / page;
  std::array<unsigned char, kMaxSendFile_bytes / kSmallestPage_bytes + 1> there;
  if (mincore(static_cast<std::byte*>(mapped) - skip, pages * page, there.data()) != 0) {
    return false;
  }
  return std::all_of(there.begin(), there.begin() + static_cast<std::ptrdiff_t>(pages),
                     [](unsigned char one) { return (one & 1) != 0; });
}

int32_t trySendFile(const Op& op) {
  const size_t bytes = std::min(op.len, kMaxSendFile_bytes);
  if (!inMemory(op.addr, bytes)) {
    return -ENODATA;
  }
  const NonBlocking for_now(op.fd);
  auto from = static_cast<off_t>(op.offset);
  ssize_t sent = 0;
  do {
    sent = sendfile(op.fd, op.file, &from, bytes);
  } while (sent < 0 && errno == EINTR);
  if (sent == 0) {
    return -ENODATA;  // the file is shorter than it was
  }
  return sent < 0 ? -errno : static_cast<int32_t>(sent);
}

}  // namespace rt
