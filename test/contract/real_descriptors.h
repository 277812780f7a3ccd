// Descriptors of the real kernel for rigs of real engines.
#pragma once

#include <span>
#include <vector>

#include "test/contract/io_engine_contract.h"

namespace contract {

class RealDescriptors : public Rig {
 public:
  ~RealDescriptors() override;
  int listen(sockaddr_in& address) override;
  int socket() override;
  sockaddr_in nobody() override;
  int file() override;
  std::byte* map(int fd, size_t bytes) override;
  int event() override;
  void signal(int fd, uint64_t count) override;
  void close(int fd) override;
  void closeWithReset(int fd) override;

 private:
  std::vector<std::span<std::byte>> maps_;
};

}  // namespace contract
