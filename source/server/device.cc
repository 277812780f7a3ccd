#include "source/server/device.h"

#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <fstream>
#include <string>

namespace server {

std::optional<uint32_t> deviceQueue(int fd) {
  struct stat info{};
  if (fstat(fd, &info) != 0) {
    return std::nullopt;
  }
  const std::string device = "/sys/dev/block/" + std::to_string(major(info.st_dev)) + ":" +
                             std::to_string(minor(info.st_dev));
  // A partition's queue is its disk's.
  for (const char* queue : {"/queue/nr_requests", "/../queue/nr_requests"}) {
    std::ifstream file(device + queue);
    uint32_t requests = 0;
    if (file >> requests && requests > 0) {
      return requests;
    }
  }
  return std::nullopt;
}

uint32_t readsPerShard(std::optional<uint32_t> queue, uint16_t shards, uint32_t most) {
  if (!queue.has_value()) {
    return most;
  }
  const uint32_t for_reads = *queue - *queue / 8;
  return std::min(most, std::max(for_reads / shards, kFewestReads));
}

}  // namespace server
