// Watches the configuration file: a change in place, a rename over it, and the symlink swap by
// which Kubernetes replaces the files of a ConfigMap. It says that something may have changed;
// whether it did, the content tells.
#pragma once

#include <string>

#include "source/base/result.h"
#include "source/rt/io.h"

namespace server {

class FileWatcher {
 public:
  FileWatcher() = default;
  ~FileWatcher();
  FileWatcher(const FileWatcher&) = delete;
  FileWatcher& operator=(const FileWatcher&) = delete;

  // Watches the file's directory, and the one its symlink points into.
  base::Status open(const std::string& path);
  // Waits for events, and for kQuiet_ns without any. False when cancelled, or when watching has
  // failed.
  rt::Task<bool> changed(rt::Reactor& reactor, rt::CancelScope& scope);

 private:
  static constexpr uint64_t kQuiet_ns = 100 * base::kMillisecond_ns;
  int fd_ = -1;
};

}  // namespace server
