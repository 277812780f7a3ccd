// Puts what happens to a shard's disks into the operators' log, and remembers it for /cache.
#pragma once

#include <memory>
#include <vector>

#include "source/cache/shard_cache.h"
#include "source/rt/reactor.h"
#include "source/store/io/disk_events.h"
#include "source/telemetry/log_ring.h"

namespace shard {

class DiskLog final : public store::DiskEvents {
 public:
  // `ring` may be null: nothing is logged. All outlive it.
  DiskLog(rt::Reactor& reactor, const std::vector<std::unique_ptr<cache::ShardCache>>& caches,
          telemetry::LogRing* ring)
      : reactor_(reactor), caches_(caches), ring_(ring) {}

  void diskOut(uint16_t disk, store::DiskWork work, int32_t error) override;
  void diskBack(uint16_t disk, store::DiskWork work) override;
  void recovered(uint16_t disk, uint32_t stripes, const store::RecoveryReport& report,
                 uint64_t took_ns) override;
  void notRecovered(uint16_t disk, uint32_t stripe, const base::Error& error) override;
  void invalidationsLost(uint16_t disk, uint32_t stripe, uint64_t count,
                         const base::Error& error) override;
  void notStopped(uint16_t disk, uint32_t stripes) override;

 private:
  void write(telemetry::LogLevel level, const telemetry::LogLine& line);
  void nameDisk(uint16_t disk, telemetry::LogLine& line) const;

  rt::Reactor& reactor_;
  const std::vector<std::unique_ptr<cache::ShardCache>>& caches_;
  telemetry::LogRing* ring_;
};

// "No space left on device", or "no answer in time" for 0. For people.
const char* diskTrouble(int32_t error);

}  // namespace shard
