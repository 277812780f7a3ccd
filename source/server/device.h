// What sysfs tells of the device under a file, and what follows for a shard's reads.
#pragma once

#include <cstdint>
#include <optional>

namespace server {

// Requests that the block device under this file takes at once (nr_requests); nullopt where there
// is none to be found (a network or memory file system, a container without sysfs).
std::optional<uint32_t> deviceQueue(int fd);

// How many reads one of `shards` shards may have under way on a device that takes `queue` at once:
// an eighth of it is left to writes, and no shard has less than kFewestReads.
inline constexpr uint32_t kFewestReads = 4;
uint32_t readsPerShard(std::optional<uint32_t> queue, uint16_t shards, uint32_t most);

}  // namespace server
