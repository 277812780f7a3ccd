#include "source/io/uring/file_table.h"

namespace io {

bool FileTable::open(io_uring& ring) {
  open_ = io_uring_register_files_sparse(&ring, kSlots) == 0;
  for (uint32_t slot = kSlots; open_ && slot-- > 0;) {
    free_.push_back(slot);
  }
  return open_;
}

bool FileTable::add(io_uring& ring, int fd) {
  if (!open_ || fd < 0 || free_.empty() || slotOf(fd).has_value()) {
    return false;
  }
  const uint32_t slot = free_.back();
  if (io_uring_register_files_update(&ring, slot, &fd, 1) != 1) {
    return false;
  }
  free_.pop_back();
  if (static_cast<size_t>(fd) >= slots_.size()) {
    slots_.resize(static_cast<size_t>(fd) + 1, kNone);
  }
  slots_[fd] = slot;
  return true;
}

void FileTable::remove(io_uring& ring, int fd) {
  const std::optional<uint32_t> slot = slotOf(fd);
  if (!slot.has_value()) {
    return;
  }
  const int none = -1;
  io_uring_register_files_update(&ring, *slot, &none, 1);
  slots_[fd] = kNone;
  free_.push_back(*slot);
}

}  // namespace io
