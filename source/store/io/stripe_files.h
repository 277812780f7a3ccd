// A stripe's open files: cache_files.h makes them; the simulator has its own.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "source/store/core/superblock.h"

namespace store {

struct StripeFiles {
  int data_fd = -1;
  std::array<int, 2> snapshot_fds{-1, -1};
  std::array<int, 2> journal_fds{-1, -1};
  Superblock superblock;
  uint16_t disk = 0;  // stripes with the same number share a device
  // disk_io: SENDFILE: the data again, through the page cache and for reading only; and a mapping
  // of all of it, which is asked and never touched.
  int cached_fd = -1;
  std::byte* mapped = nullptr;
  uint64_t mapped_bytes = 0;  // as much as the log may grow to
};

}  // namespace store
