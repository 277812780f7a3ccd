#include "source/shard/disk_log.h"

#include <cstring>

#include "source/store/core/disk_health.h"

namespace shard {
namespace {

constexpr uint16_t kDiskSite = 1;

std::string_view nameOf(store::DiskWork work) {
  return work == store::DiskWork::read ? "reads" : "writes";
}

}  // namespace

const char* diskTrouble(int32_t error) {
  if (error == 0) {
    return "no answer in time";
  }
  const char* text = strerrordesc_np(error);
  return text != nullptr ? text : "an unknown error";
}

void DiskLog::write(telemetry::LogLevel level, const telemetry::LogLine& line) {
  if (ring_ != nullptr) {
    ring_->write(level, kDiskSite, reactor_.engine().wallMilliseconds(), line.view());
  }
}

void DiskLog::nameDisk(uint16_t disk, telemetry::LogLine& line) const {
  for (const std::unique_ptr<cache::ShardCache>& cache : caches_) {
    if (cache == nullptr) {
      continue;
    }
    for (const cache::CacheDisk& known : cache->disks().all()) {
      if (known.number == disk) {
        line << "cache " << cache->shared().name << ": its disk " << known.path;
        return;
      }
    }
  }
  line << "disk " << uint64_t{disk};
}

void DiskLog::diskOut(uint16_t disk, store::DiskWork work, int32_t error) {
  telemetry::LogLine line;
  nameDisk(disk, line);
  line << " is taken out of use for " << nameOf(work) << ", " << store::DiskHealth::kFailures
       << " in a row failed: " << diskTrouble(error)
       << "; requests go to their origin, and it is tried again";
  write(telemetry::LogLevel::error, line);
}

void DiskLog::diskBack(uint16_t disk, store::DiskWork work) {
  telemetry::LogLine line;
  nameDisk(disk, line);
  line << " is in use again for " << nameOf(work);
  write(telemetry::LogLevel::info, line);
}

void DiskLog::recovered(uint16_t disk, uint32_t stripes, const store::RecoveryReport& report,
                        uint64_t took_ns) {
  telemetry::LogLine line;
  nameDisk(disk, line);
  line << " is recovered: " << report.entries << " objects in " << stripes << " stripes within "
       << took_ns / base::kMillisecond_ns << " ms"
       << (report.from_snapshot ? ", from a snapshot and " : ", without a snapshot, from ")
       << report.segments_read << " segments";
  if (report.segments_lost > 0) {
    line << "; " << report.segments_lost << " segments could not be read and are given up";
  }
  write(telemetry::LogLevel::info, line);
}

void DiskLog::notRecovered(uint16_t disk, uint32_t stripe, const base::Error& error) {
  telemetry::LogLine line;
  nameDisk(disk, line);
  line << " has a stripe, " << stripe << ", that cannot be read (" << base::name(error.code)
       << ", errno " << error.sys
       << "); nothing is stored in it until it can be, which is tried again and again";
  write(telemetry::LogLevel::error, line);
}

void DiskLog::invalidationsLost(uint16_t disk, uint32_t stripe, uint64_t count,
                                const base::Error& error) {
  telemetry::LogLine line;
  nameDisk(disk, line);
  line << " did not take " << count << " invalidations of stripe " << stripe << " ("
       << base::name(error.code) << ", errno " << error.sys
       << "): after the next start objects may come back that unsafe requests had ended; purge the "
          "cache then, or empty the directory";
  write(telemetry::LogLevel::error, line);
}

void DiskLog::notStopped(uint16_t disk, uint32_t stripes) {
  telemetry::LogLine line;
  nameDisk(disk, line);
  line << " does not answer: " << stripes
       << " stripes are left as a kill would leave them, and the next start reads what is newer "
          "than "
          "their last snapshot";
  write(telemetry::LogLevel::error, line);
}

}  // namespace shard
