// The command line, as values. Flags follow Envoy's.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "source/telemetry/log_ring.h"

namespace server {

inline constexpr const char* kVersion = "0.1.0";

enum class Mode : uint8_t { serve, validate };

struct Options {
  std::string config_path;
  std::string config_yaml;
  Mode mode = Mode::serve;
  std::optional<uint32_t> concurrency;
  std::optional<telemetry::LogLevel> log_level;
  std::string admin_address_path;
  std::optional<uint32_t> drain_time_s;
  std::vector<std::pair<std::string, std::string>> given;  // for /server_info
};

// Exit codes.
inline constexpr int kExitOk = 0;
inline constexpr int kExitFailed = 1;  // bad configuration or failed start
inline constexpr int kExitUsage = 2;

}  // namespace server
