// A configuration from its file (and text merged over it) to a snapshot, or to a report of
// everything that is wrong with it. Nothing that runs is touched. Called on the control thread;
// reads files, knows no clock.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "source/config/load/report.h"
#include "source/config/model/snapshot.h"

namespace config {

struct Sources {
  std::string path;                 // the file; empty: only the overlay
  std::optional<std::string> text;  // its content, when it was read before or never was a file
  std::string overlay_yaml;  // merged over the file as messages: scalars replace, lists append
};
// What the overlay is called in findings.
inline constexpr const char* kOverlayName = "--config-yaml";

struct LoadedConfig {
  std::shared_ptr<const Snapshot> snapshot;
  std::string bootstrap_json;  // the messages as read, by the proto3 JSON mapping, for /config_dump
};
// nullopt exactly when the report has errors. Warnings are reported either way.
std::optional<LoadedConfig> load(const Sources& sources, LoadReport& report);

// The same without the messages; nullptr exactly when the report has errors.
std::shared_ptr<const Snapshot> loadSnapshot(const Sources& sources, LoadReport& report);

}  // namespace config
