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

void DiskLog::diskOut(uint16_t disk, store::DiskWork work, int32_t error) {
  telemetry::LogLine line;
  line << "cache " << caches_[disk]->name << ": its disk is taken out of use for " << nameOf(work)
       << ", " << store::DiskHealth::kFailures << " in a row failed: " << diskTrouble(error)
       << "; requests go to their origin, and it is tried again";
  write(telemetry::LogLevel::error, line);
}

void DiskLog::diskBack(uint16_t disk, store::DiskWork work) {
  telemetry::LogLine line;
  line << "cache " << caches_[disk]->name << ": its disk is in use again for " << nameOf(work);
  write(telemetry::LogLevel::info, line);
}

}  // namespace shard
