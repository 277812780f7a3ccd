#include "test/contract/real_descriptors.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "source/base/check.h"

namespace contract {

int RealDescriptors::socket() {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  CHECK(fd >= 0);
  return fd;
}

int RealDescriptors::listen(sockaddr_in& address) {
  const int fd = socket();
  address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  socklen_t length = sizeof address;
  CHECK(::bind(fd, generic, length) == 0);
  CHECK(::getsockname(fd, generic, &length) == 0);
  CHECK(::listen(fd, 128) == 0);
  return fd;
}

// A port that was just free: bound once and closed.
sockaddr_in RealDescriptors::nobody() {
  sockaddr_in address{};
  close(listen(address));
  return address;
}

int RealDescriptors::file() {
  const char* directory = std::getenv("TEST_TMPDIR");
  std::string path = std::string(directory == nullptr ? "/tmp" : directory) + "/contract.XXXXXX";
  const int fd = mkostemp(path.data(), O_CLOEXEC);
  CHECK(fd >= 0);
  unlink(path.c_str());
  return fd;
}

std::byte* RealDescriptors::map(int fd, size_t bytes) {
  void* map = mmap(nullptr, bytes, PROT_READ, MAP_SHARED, fd, 0);
  CHECK(map != MAP_FAILED);
  maps_.emplace_back(static_cast<std::byte*>(map), bytes);
  return static_cast<std::byte*>(map);
}

RealDescriptors::~RealDescriptors() {
  for (const std::span<std::byte> map : maps_) {
    munmap(map.data(), map.size());
  }
}

int RealDescriptors::event() {
  const int fd = eventfd(0, EFD_CLOEXEC);
  CHECK(fd >= 0);
  return fd;
}

void RealDescriptors::signal(int fd, uint64_t count) {
  CHECK(::write(fd, &count, sizeof count) == sizeof count);
}

void RealDescriptors::close(int fd) {
  CHECK(::close(fd) == 0);
}

void RealDescriptors::closeWithReset(int fd) {
  const linger abort{1, 0};
  CHECK(::setsockopt(fd, SOL_SOCKET, SO_LINGER, &abort, sizeof abort) == 0);
  close(fd);
}

}  // namespace contract
