// The purge journal on the disk: two files, of which the one with the greater generation counts. An
// append is synced before it returns, so a purge that was answered survives any crash.
//
// Limits: appends go one by one; beyond kCompactBytes the journal is written anew into the other
// file, without the purges that no live segment needs any more.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "source/base/result.h"
#include "source/rt/credits.h"
#include "source/rt/io.h"
#include "source/store/core/journal.h"
#include "source/store/core/purge_set.h"

namespace store {

// What a recovery makes of bytes that the disk does not give: it fails, so that it can be tried
// again, or it takes them for lost.
enum class Unreadable : uint8_t { fails, is_lost };

class JournalFile {
 public:
  static constexpr uint64_t kCompactBytes = 4 << 20;

  // data_fd is synced before a purge is forgotten: the segments that it concerned must be gone for
  // good.
  JournalFile(std::array<int, 2> fds, int data_fd, uint32_t salt)
      : fds_(fds), data_fd_(data_fd), salt_(salt) {}

  // Reads what is there. Purges are added to `purges`; if acknowledged ones were lost to damage,
  // everything they may have concerned is dropped. May be called again after an error.
  rt::Task<base::Status> recover(PurgeSet& purges, Unreadable unreadable, rt::CancelScope& scope);
  // Starts a new, compacted file of this generation, greater than any before.
  rt::Task<base::Status> begin(uint64_t generation, uint32_t now_s, rt::CancelScope& scope);
  // Appends and syncs. Of several any may count when it fails or the process dies.
  rt::Task<base::Status> append(PurgeRecord record, uint64_t oldest_live_sequence,
                                rt::CancelScope& scope);
  rt::Task<base::Status> appendAll(std::vector<PurgeRecord> records, uint64_t oldest_live_sequence,
                                   rt::CancelScope& scope);

  // For a stripe that is not in use: what the disk has now of these keys, or anything, is not to be
  // brought back. no_capacity unless recover() has read the journal in this process.
  rt::Task<base::Status> noteDropped(const std::vector<base::Hash128>& keys, bool everything,
                                     uint32_t now_s, rt::CancelScope& scope);
  // Whatever the journal says: the next recovery drops everything. Until that, nothing is appended.
  // One of the two files is enough for it to hold.
  rt::Task<base::Status> giveUp(rt::CancelScope& scope);

  bool known() const { return known_; }  // recover() has read it
  uint64_t generation() const { return generation_; }
  uint64_t nextNumber() const { return next_number_; }
  uint64_t bytes() const { return bytes_; }

 private:
  rt::Task<base::Result<std::vector<std::byte>>> readFile(int fd, rt::CancelScope& scope);
  rt::Task<base::Status> writeAll(int fd, std::vector<std::byte> bytes, uint64_t offset,
                                  rt::CancelScope& scope);
  rt::Task<base::Status> rewrite(uint64_t generation, uint64_t oldest_live_sequence, uint32_t now_s,
                                 rt::CancelScope& scope);

  rt::Task<base::Status> readBack(int fd, std::span<const std::byte> bytes, uint64_t offset,
                                  rt::CancelScope& scope);
  rt::Task<base::Status> sync(int fd, rt::CancelScope& scope);

  std::array<int, 2> fds_;
  int data_fd_;
  uint32_t salt_;
  rt::Credits turn_{1};
  uint32_t current_ = 0;
  uint64_t generation_ = 0;
  uint64_t next_number_ = 0;
  uint64_t bytes_ = 0;
  uint64_t compact_at_bytes_ = kCompactBytes;
  bool known_ = false;
  bool given_up_ = false;
  bool lost_ = false;                 // neither file could be read: nothing is known of past purges
  std::vector<PurgeRecord> records_;  // what the current file holds
};

}  // namespace store
