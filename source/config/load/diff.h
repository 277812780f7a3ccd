// What differs between two configurations, and which of it a running process cannot take over.
#pragma once

#include <string>
#include <vector>

#include "source/config/model/snapshot.h"

namespace config {

struct Change {
  std::string path;  // as in findings, with names as indexes: static_resources.caches[main].path
  std::string what;  // such as "changed", "added", "removed" or "changed from 2 to 4"
  friend bool operator==(const Change&, const Change&) = default;
};

struct Difference {
  std::vector<Change> changed;        // all of it
  std::vector<Change> needs_restart;  // the part of it that a reload refuses
  bool reloadable() const { return needs_restart.empty(); }
};
// Listeners, clusters and caches are told apart by their names.
Difference diff(const Snapshot& before, const Snapshot& after);

}  // namespace config
