// Told when a disk goes out of use and when it comes back, once each time. Called from the shard
// that noticed; must not suspend.
#pragma once

#include <cstdint>

namespace store {

enum class DiskWork : uint8_t { read, write };

class DiskEvents {
 public:
  virtual ~DiskEvents() = default;
  // `error` is the errno of the last failure, 0 for a missed deadline.
  virtual void diskOut(uint16_t disk, DiskWork work, int32_t error) = 0;
  virtual void diskBack(uint16_t disk, DiskWork work) = 0;
};

}  // namespace store
