// Told when a disk goes out of use and when it comes back, once each time, and what recovering the
// stripes on it came to. Called from the shard that noticed; must not suspend.
#pragma once

#include <cstdint>

#include "source/base/result.h"

namespace store {

struct RecoveryReport;  // stripe_store.h

enum class DiskWork : uint8_t { read, write };

class DiskEvents {
 public:
  virtual ~DiskEvents() = default;
  // `error` is the errno of the last failure, 0 for a missed deadline.
  virtual void diskOut(uint16_t disk, DiskWork work, int32_t error) = 0;
  virtual void diskBack(uint16_t disk, DiskWork work) = 0;
  // The stripes of one shard, added up.
  virtual void recovered(uint16_t disk, uint32_t stripes, const RecoveryReport& report,
                         uint64_t took_ns) = 0;
  // Nothing is stored in the stripe until a later attempt succeeds.
  virtual void notRecovered(uint16_t disk, uint32_t stripe, const base::Error& error) = 0;
  // The stripe has stopped, and so many invalidations are not on the disk: the next start may bring
  // back what they ended.
  virtual void invalidationsLost(uint16_t disk, uint32_t stripe, uint64_t count,
                                 const base::Error& error) = 0;
  // The process ends without so many of its stripes: it does not answer.
  virtual void notStopped(uint16_t disk, uint32_t stripes) = 0;
};

}  // namespace store
