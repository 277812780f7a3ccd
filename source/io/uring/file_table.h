// Descriptors that are registered with a ring: an operation on one of them spares the kernel the
// lookup, and the count of who uses it, that every other descriptor costs it.
//
// Limit: kSlots; further descriptors are used as they are.
#pragma once

#include <liburing.h>

#include <cstdint>
#include <optional>
#include <vector>

namespace io {

class FileTable {
 public:
  static constexpr uint32_t kSlots = 1024;

  // Makes the ring's table. False: the kernel refuses it (RLIMIT_NOFILE), and nothing is
  // registered.
  bool open(io_uring& ring);
  // False: there is no table or no free slot, or it is registered already.
  bool add(io_uring& ring, int fd);
  void remove(io_uring& ring, int fd);
  std::optional<uint32_t> slotOf(int fd) const {
    const bool known = fd >= 0 && static_cast<size_t>(fd) < slots_.size() && slots_[fd] != kNone;
    return known ? std::optional(slots_[fd]) : std::nullopt;
  }
  uint32_t size() const { return open_ ? kSlots - static_cast<uint32_t>(free_.size()) : 0; }

 private:
  static constexpr uint32_t kNone = UINT32_MAX;

  bool open_ = false;
  std::vector<uint32_t> slots_;  // by descriptor
  std::vector<uint32_t> free_;
};

}  // namespace io
