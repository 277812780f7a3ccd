#include "source/store/io/snapshot_file.h"

#include <utility>

namespace store {

rt::Task<base::Result<bool>> SnapshotFiles::readBlock(int fd, uint32_t index,
                                                      std::span<std::byte> into,
                                                      rt::CancelScope& scope) {
  size_t done = 0;
  while (done < into.size()) {
    const rt::IoResult result = co_await rt::FileOp(rt::OpKind::read, fd, into.subspan(done),
                                                    uint64_t{index} * kSnapshotBlockBytes + done,
                                                    pool_.registered(), scope, base::kNever);
    if (!result.ok()) {
      co_return result.error(base::Blame::disk);
    }
    if (result.result == 0) {
      co_return false;
    }
    done += static_cast<size_t>(result.result);
  }
  co_return true;
}

rt::Task<std::array<int, 2>> SnapshotFiles::order(std::span<std::byte> block,
                                                  rt::CancelScope& scope) {
  std::array<int, 2> files{-1, -1};
  std::array<uint64_t, 2> numbers{};
  for (size_t i = 0; i < fds_.size(); i++) {
    base::Result<bool> read = co_await readBlock(fds_[i], 0, block, scope);
    if (!read.ok() || !read.value()) {
      continue;
    }
    base::Result<SnapshotHeader> header = peekSnapshot(block, salt_);
    if (header.ok()) {
      files[i] = fds_[i];
      numbers[i] = header.value().number;
      number_ = std::max(number_, numbers[i]);
    }
  }
  if (numbers[1] > numbers[0]) {
    std::swap(files[0], files[1]);
  }
  co_return files;
}

rt::Task<base::Result<std::optional<SnapshotHeader>>> SnapshotFiles::newest(
    rt::CancelScope& scope) {
  base::Result<rt::Buffer> buffer = co_await pool_.take(kSnapshotBlockBytes, scope);
  if (!buffer.ok()) {
    co_return buffer.error();
  }
  const std::span<std::byte> block = buffer.value().span().first(kSnapshotBlockBytes);
  const std::array<int, 2> files = co_await order(block, scope);
  if (scope.requested()) {
    co_return base::Error{base::Code::cancelled, base::Blame::self};
  }
  std::optional<SnapshotHeader> header;
  if (files[0] >= 0) {
    base::Result<bool> read = co_await readBlock(files[0], 0, block, scope);
    base::Result<SnapshotHeader> peeked = peekSnapshot(block, salt_);
    if (read.ok() && read.value() && peeked.ok()) {
      header = peeked.value();
    }
  }
  co_return header;
}

rt::Task<base::Status> SnapshotFiles::save(SnapshotHeader header, std::vector<uint64_t> sequences,
                                           IndexShard& index, rt::CancelScope& scope) {
  base::Result<rt::Buffer> buffer = co_await pool_.take(kSnapshotBlockBytes, scope);
  if (!buffer.ok()) {
    co_return buffer.error();
  }
  const std::span<std::byte> block = buffer.value().span().first(kSnapshotBlockBytes);
  header.number = ++number_;
  const int fd = fds_[header.number % 2];
  SnapshotEncoder encoder(header, std::move(sequences), index, salt_);
  // Who was told to stop does not touch the index any more: another may be scanning it.
  for (uint64_t offset = 0; !scope.requested() && encoder.next(block);
       offset += kSnapshotBlockBytes) {
    size_t done = 0;
    while (done < block.size()) {
      const rt::IoResult result =
          co_await rt::FileOp(rt::OpKind::write, fd, block.subspan(done), offset + done,
                              pool_.registered(), scope, base::kNever);
      if (result.result <= 0) {
        co_return result.ok() ? base::Error{base::Code::io_error, base::Blame::disk}
                              : result.error(base::Blame::disk);
      }
      done += static_cast<size_t>(result.result);
    }
    blocks_written_++;
  }
  if (scope.requested()) {
    co_return base::Error{base::Code::cancelled, base::Blame::self};
  }
  const rt::IoResult synced =
      co_await rt::FileOp(rt::OpKind::fsync, fd, {}, 0, false, scope, base::kNever);
  if (!synced.ok()) {
    co_return synced.error(base::Blame::disk);
  }
  co_return base::Unit{};
}

}  // namespace store
