// Index snapshots on the disk: two files, written in turn, so that one is always whole.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "source/base/result.h"
#include "source/rt/buffer_pool.h"
#include "source/rt/io.h"
#include "source/store/core/snapshot.h"

namespace store {

class SnapshotFiles {
 public:
  SnapshotFiles(rt::BufferPool& pool, std::array<int, 2> fds, uint32_t salt)
      : pool_(pool), fds_(fds), salt_(salt) {}

  // What the one that load() tries first says of itself, as far as its first block is intact; none:
  // there is none. Error: cancelled, no_capacity.
  rt::Task<base::Result<std::optional<SnapshotHeader>>> newest(rt::CancelScope& scope);
  // Reads the newest complete snapshot, entry by entry, into `take` (a callable: header, sequences,
  // entry). False when there is none that can be read; entries that were given before a bad block
  // are true all the same. Error: cancelled.
  template <class Take>
  rt::Task<base::Result<bool>> load(Take& take, rt::CancelScope& scope);
  // Writes and syncs one; the index may change meanwhile.
  rt::Task<base::Status> save(SnapshotHeader header, std::vector<uint64_t> sequences,
                              IndexShard& index, rt::CancelScope& scope);

  uint64_t number() const { return number_; }
  const SnapshotHeader& loaded() const { return loaded_; }

  // Blocks that were ever written: whether one that takes long gets anywhere.
  uint64_t blocksWritten() const { return blocks_written_; }

 private:
  rt::Task<base::Result<bool>> readBlock(int fd, uint32_t index, std::span<std::byte> into,
                                         rt::CancelScope& scope);
  // Which of the two to try, newest first; -1 for none.
  rt::Task<std::array<int, 2>> order(std::span<std::byte> block, rt::CancelScope& scope);

  rt::BufferPool& pool_;
  std::array<int, 2> fds_;
  uint32_t salt_;
  uint64_t blocks_written_ = 0;
  uint64_t number_ = 0;  // of the newest there is
  SnapshotHeader loaded_;
};

template <class Take>
rt::Task<base::Result<bool>> SnapshotFiles::load(Take& take, rt::CancelScope& scope) {
  base::Result<rt::Buffer> buffer = co_await pool_.take(kSnapshotBlockBytes, scope);
  if (!buffer.ok()) {
    co_return buffer.error();
  }
  const std::span<std::byte> block = buffer.value().span().first(kSnapshotBlockBytes);
  const std::array<int, 2> files = co_await order(block, scope);
  for (int fd : files) {
    SnapshotDecoder decoder(salt_);
    std::vector<PlacedEntry> entries;
    for (uint32_t index = 0; fd >= 0; index++) {
      base::Result<bool> read = co_await readBlock(fd, index, block, scope);
      if (!read.ok() && scope.requested()) {
        co_return read.error();
      }
      base::Status fed = read.ok() && read.value() ? decoder.feed(block, entries)
                                                   : base::Status(base::Error{base::Code::corrupt});
      for (const PlacedEntry& entry : entries) {
        take(decoder.header(), decoder.sequences(), entry);
      }
      entries.clear();
      if (!fed.ok()) {
        break;
      }
      if (decoder.complete()) {
        loaded_ = decoder.header();
        co_return true;
      }
    }
  }
  co_return false;
}

}  // namespace store
