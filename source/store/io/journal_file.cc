#include "source/store/io/journal_file.h"

#include <algorithm>
#include <optional>
#include <span>
#include <utility>

namespace store {
namespace {

constexpr size_t kReadPiece_bytes = 256 << 10;

}  // namespace

rt::Task<base::Result<std::vector<std::byte>>> JournalFile::readFile(int fd,
                                                                     rt::CancelScope& scope) {
  std::vector<std::byte> bytes;
  while (true) {
    const size_t at = bytes.size();
    bytes.resize(at + kReadPiece_bytes);
    const rt::IoResult result = co_await rt::FileOp(
        rt::OpKind::read, fd, std::span(bytes).subspan(at), at, false, scope, base::kNever);
    if (!result.ok()) {
      co_return result.error(base::Blame::disk);
    }
    bytes.resize(at + static_cast<size_t>(result.result));
    if (result.result == 0) {
      co_return std::move(bytes);
    }
  }
}

rt::Task<base::Status> JournalFile::writeAll(int fd, std::vector<std::byte> bytes, uint64_t offset,
                                             rt::CancelScope& scope) {
  size_t done = 0;
  while (done < bytes.size()) {
    const rt::IoResult result =
        co_await rt::FileOp(rt::OpKind::write, fd, std::span(bytes).subspan(done), offset + done,
                            false, scope, base::kNever);
    if (result.result <= 0) {
      co_return result.ok() ? base::Error{base::Code::io_error, base::Blame::disk}
                            : result.error(base::Blame::disk);
    }
    done += static_cast<size_t>(result.result);
  }
  base::Status synced = co_await sync(fd, scope);
  if (!synced.ok()) {
    co_return synced;
  }
  co_return co_await readBack(fd, bytes, offset, scope);
}

// A write that was acknowledged and is not there must not be promised to anybody.
rt::Task<base::Status> JournalFile::readBack(int fd, std::span<const std::byte> bytes,
                                             uint64_t offset, rt::CancelScope& scope) {
  std::vector<std::byte> found(bytes.size());
  size_t done = 0;
  while (done < found.size()) {
    const rt::IoResult result =
        co_await rt::FileOp(rt::OpKind::read, fd, std::span(found).subspan(done), offset + done,
                            false, scope, base::kNever);
    if (result.result <= 0) {
      co_return result.ok() ? base::Error{base::Code::io_error, base::Blame::disk}
                            : result.error(base::Blame::disk);
    }
    done += static_cast<size_t>(result.result);
  }
  if (!std::equal(bytes.begin(), bytes.end(), found.begin())) {
    co_return base::Error{base::Code::corrupt, base::Blame::disk};
  }
  co_return base::Unit{};
}

rt::Task<base::Status> JournalFile::sync(int fd, rt::CancelScope& scope) {
  const rt::IoResult synced =
      co_await rt::FileOp(rt::OpKind::fsync, fd, {}, 0, false, scope, base::kNever);
  if (!synced.ok()) {
    co_return synced.error(base::Blame::disk);
  }
  co_return base::Unit{};
}

rt::Task<base::Status> JournalFile::recover(PurgeSet& purges, Unreadable unreadable,
                                            rt::CancelScope& scope) {
  JournalRead best;
  bool found = false;
  bool damaged = false;
  std::optional<uint32_t> given_up;
  known_ = false;
  for (uint32_t i = 0; i < fds_.size(); i++) {
    base::Result<std::vector<std::byte>> bytes = co_await readFile(fds_[i], scope);
    if (!bytes.ok()) {
      if (unreadable == Unreadable::fails || scope.requested()) {
        co_return bytes.error();
      }
      damaged = true;
      continue;
    }
    if (bytes.value().empty()) {
      continue;
    }
    base::Result<JournalRead> read = decodeJournal(bytes.value(), salt_);
    if (isGivenUp(bytes.value(), salt_)) {
      given_up = i;
    } else if (!read.ok()) {
      damaged = true;
    } else if (!found || read.value().header.generation > best.header.generation) {
      best = std::move(read.value());
      current_ = i;
      found = true;
    }
  }
  given_up_ = false;
  lost_ = given_up.has_value() || (damaged && !found);
  known_ = !lost_;
  generation_ = best.header.generation;
  next_number_ = best.next_number;
  records_.clear();
  if (lost_) {
    // Nothing is known of past purges, or more than they were dropped: nothing stored may be
    // served. The file that says so is the last to be written over.
    purges.raiseFloor(PurgeSet::kAfterEverything);
    current_ = given_up.value_or(current_);
    co_return base::Unit{};
  }
  purges.addAll(best.records);
  if (best.damaged_slots > 0) {
    purges.raiseFloor(best.lost_before);
  }
  records_ = std::move(best.records);
  co_return base::Unit{};
}

// Every segment on the disk is of a life that was the journal's generation once, or older.
rt::Task<base::Status> JournalFile::noteDropped(const std::vector<base::Hash128>& keys,
                                                bool everything, uint32_t now_s,
                                                rt::CancelScope& scope) {
  if (!known_) {
    co_return base::Error{base::Code::no_capacity, base::Blame::disk};
  }
  PurgeRecord record;
  record.kind = everything ? PurgeKind::everything : PurgeKind::key;
  record.before = LogPosition{firstSequence(generation_ + 1), 0};
  record.time_s = now_s;
  const size_t before = records_.size();
  records_.insert(records_.end(), everything ? 1 : keys.size(), record);
  for (size_t i = 0; !everything && i < keys.size(); i++) {
    records_[before + i].hash = keys[i];
  }
  base::Status status = co_await rewrite(generation_ + 1, 0, now_s, scope);
  if (!status.ok()) {
    records_.resize(before);
  }
  co_return status;
}

rt::Task<base::Status> JournalFile::giveUp(rt::CancelScope& scope) {
  base::Status turn = co_await turn_.acquire(1, scope);
  if (!turn.ok()) {
    co_return turn;
  }
  given_up_ = true;
  base::Status status = base::Error{base::Code::io_error, base::Blame::disk};
  for (const int fd : fds_) {
    std::vector<std::byte> mark(kJournalHeaderBytes);
    encodeGivenUp(mark, salt_);
    base::Status written = co_await writeAll(fd, std::move(mark), 0, scope);
    status = status.ok() ? status : written;
  }
  turn_.release(1);
  co_return status;
}

rt::Task<base::Status> JournalFile::begin(uint64_t generation, uint32_t now_s,
                                          rt::CancelScope& scope) {
  if (lost_) {
    PurgeRecord everything;
    everything.kind = PurgeKind::everything;
    everything.before = LogPosition{firstSequence(generation), 0};
    everything.time_s = now_s;
    records_.push_back(everything);
  }
  co_return co_await rewrite(generation, 0, now_s, scope);
}

rt::Task<base::Status> JournalFile::rewrite(uint64_t generation, uint64_t oldest_live_sequence,
                                            uint32_t now_s, rt::CancelScope& scope) {
  if (given_up_) {
    co_return base::Error{base::Code::no_capacity, base::Blame::disk};
  }
  std::vector<PurgeRecord> kept = compactJournal(records_, oldest_live_sequence, next_number_);
  JournalHeader header;
  header.generation = generation;
  header.first_number = next_number_;
  header.created_s = now_s;
  header.initial_records = static_cast<uint32_t>(kept.size());
  std::vector<std::byte> bytes(kJournalHeaderBytes + kept.size() * kJournalRecordBytes);
  encodeJournalHeader(std::span(bytes).first(kJournalHeaderBytes), header, salt_);
  for (size_t i = 0; i < kept.size(); i++) {
    encodePurge(std::span(bytes).subspan(kJournalHeaderBytes + i * kJournalRecordBytes,
                                         kJournalRecordBytes),
                kept[i], salt_);
  }
  const uint64_t length = bytes.size();
  const uint32_t other = 1 - current_;
  // What an older, longer journal left behind the end has other numbers, and is no record of this
  // file.
  base::Status written = co_await writeAll(fds_[other], std::move(bytes), 0, scope);
  if (!written.ok()) {
    co_return written;
  }
  // The old file must never count again, not even if the new one's header should rot.
  std::vector<std::byte> blank(kJournalHeaderBytes);
  base::Status blanked = co_await writeAll(fds_[current_], std::move(blank), 0, scope);
  if (!blanked.ok()) {
    co_return blanked;
  }
  current_ = other;
  generation_ = generation;
  next_number_ += kept.size();
  bytes_ = length;
  compact_at_bytes_ = std::max(kCompactBytes, 2 * length);  // many may be needed still
  records_ = std::move(kept);
  co_return base::Unit{};
}

rt::Task<base::Status> JournalFile::append(PurgeRecord record, uint64_t oldest_live_sequence,
                                           rt::CancelScope& scope) {
  std::vector<PurgeRecord> one(1, record);
  co_return co_await appendAll(std::move(one), oldest_live_sequence, scope);
}

rt::Task<base::Status> JournalFile::appendAll(std::vector<PurgeRecord> records,
                                              uint64_t oldest_live_sequence,
                                              rt::CancelScope& scope) {
  if (records.empty()) {
    co_return base::Unit{};
  }
  base::Status turn = co_await turn_.acquire(1, scope);
  if (!turn.ok()) {
    co_return turn;
  }
  base::Status status = base::Unit{};
  if (given_up_) {
    status = base::Error{base::Code::no_capacity, base::Blame::disk};
  } else if (bytes_ > compact_at_bytes_) {
    status = co_await sync(data_fd_, scope);
    if (status.ok()) {
      status = co_await rewrite(generation_ + 1, oldest_live_sequence, records[0].time_s, scope);
    }
  }
  if (status.ok()) {
    std::vector<std::byte> slots(records.size() * kJournalRecordBytes);
    for (size_t i = 0; i < records.size(); i++) {
      records[i].number = next_number_ + i;
      records[i].batch_index = static_cast<uint32_t>(i);
      encodePurge(std::span(slots).subspan(i * kJournalRecordBytes, kJournalRecordBytes),
                  records[i], salt_);
    }
    status = co_await writeAll(fds_[current_], std::move(slots), bytes_, scope);
  }
  if (status.ok()) {
    next_number_ += records.size();
    bytes_ += records.size() * kJournalRecordBytes;
    records_.insert(records_.end(), records.begin(), records.end());
  }
  turn_.release(1);
  co_return status;
}

}  // namespace store
