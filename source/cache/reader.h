// What a session sends from, whatever is behind it: a copy in memory, a record just read from the
// disk, a large object's chunks, the blocks of a sliced one, or a fill in progress. It lives in the
// session's frame; close() is awaited before it goes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "source/cache/calls.h"
#include "source/cache/ram_tier.h"
#include "source/cache/shared.h"
#include "source/store/io/record_reader.h"

namespace cache {

class ShardCache;
class SlicedBody;

// A piece of a body as bytes of its stripe's data file.
struct FilePiece {
  int file = -1;
  uint64_t offset = 0;
  std::span<std::byte> mapped;  // empty: none
  uint32_t segment = 0;
  uint64_t sequence = 0;
};

class Reader {
 public:
  // Who takes a chunk in this time has the next one read meanwhile.
  static constexpr uint64_t kPace_ns = 100 * base::kMillisecond_ns;

  enum class Source : uint8_t { none, memory, record, extents, fill, sliced };

  Reader();
  ~Reader();
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  Source source() const { return source_; }
  const StoredHead& head() const { return head_; }
  // Of the whole body; unknown only while a fill streams a body that did not say.
  std::optional<uint64_t> length() const { return length_; }
  // The whole body, when it is in memory here; nullopt otherwise.
  std::optional<std::span<const std::byte>> whole() const;

  // Only these bytes of the body, both included, from the next next() on. Of a fill, ranges that
  // ascend: what was taken from it does not come again.
  void setRange(uint64_t first, uint64_t last) {
    position_ = first;
    end_ = last + 1;
  }
  // Of the body's next byte, and behind its last one that is wanted; UINT64_MAX when its length is
  // not known.
  uint64_t position() const { return position_; }
  uint64_t end() const { return length_.has_value() ? std::min(end_, *length_) : end_; }
  // A fill's response that the origin itself has made.
  bool firsthand() const { return firsthand_; }
  // As the index had it; nullopt for a fill.
  const std::optional<store::Entry>& entry() const { return entry_; }
  // Of a sliced object, before the first next(): what its missing blocks are fetched with. What the
  // request views must stay. openBlock() then awaits the block of the next byte (sliced_body.h).
  void useBlocks(const FillRequest& request);
  rt::Task<base::Status> openBlock(rt::CancelScope& scope);
  const SlicedBody& blocks() const { return *blocks_; }
  const std::optional<SliceTable>& slices() const { return slices_; }  // of a sliced object
  // The next piece, valid until the next call; empty at the end. An error means that the message
  // must be cut off.
  rt::Task<base::Result<std::span<const std::byte>>> next(rt::CancelScope& scope);
  // disk_io: SENDFILE: whether the body's next byte lies in a chunk, and the rest of that chunk if
  // this shard has verified it a short time ago; otherwise next() reads and verifies it. What was
  // sent of a piece is passed over with skip().
  bool sendsFile() const;
  FilePiece filePiece() const;
  void skip(uint32_t bytes);
  // Around the one operation that sends a piece: its owner waits meanwhile. False: its segment is
  // to be overwritten; next() knows whether the chunk can still be read.
  bool pin(const FilePiece& piece);
  void unpin(const FilePiece& piece);
  // Whether the last piece lies in memory that others may need, and may be let go of: the next
  // next() reads it again, from the first of the last `unsent` bytes on.
  bool canLetGo() const { return source_ == Source::extents || source_ == Source::record; }
  bool isPooled() const { return source_ != Source::memory; }
  void letGo(uint64_t unsent);
  // Lets go of everything; the reader is then as new.
  rt::Task<void> close();

 private:
  friend class ShardCache;
  using Piece = base::Result<std::span<const std::byte>>;

  // False when its meta or extents are not ours.
  bool useRecord(store::RecordRef read);
  bool useMemory(RamTier& tier, RamObject& object);
  bool useSlices(std::span<const std::byte> body, std::string_view key);
  bool useExtents(std::span<const std::byte> table, uint64_t object_length);
  void useFill(const FillInfo& info);
  rt::Task<base::Status> readAgain(rt::CancelScope& scope);
  rt::Task<Piece> nextChunk(rt::CancelScope& scope);
  void readAhead(uint32_t number);
  rt::Task<Piece> nextPull(rt::CancelScope& scope);
  rt::Task<Piece> readExtent(store::Extent extent, base::Hash128 hash, uint64_t object_id,
                             uint32_t number, rt::CancelScope& scope);
  std::span<const std::byte> clip(std::span<const std::byte> bytes, uint64_t offset);
  Piece take(std::span<const std::byte> bytes, uint64_t offset);

  Source source_ = Source::none;
  ShardCache* cache_ = nullptr;
  base::StripeId stripe_{};
  std::optional<store::Entry> entry_;
  StoredHead head_;
  bool firsthand_ = false;
  std::optional<uint64_t> length_;
  uint64_t position_ = 0;
  uint64_t end_ = UINT64_MAX;
  RamRef ram_;
  store::RecordRef record_;  // the object's record, or a large object's head
  store::RecordFile file_;   // of the object's record, which was let go of at
  store::Location at_;       // this place, and
  std::string head_text_;    // its head
  store::RecordRef chunk_;
  store::RecordRef ahead_;        // the chunk after it
  base::MonoTime handed_out_{0};  // when chunk_ was
  std::span<const std::byte> body_;
  // The bytes that the last piece was cut from, while they are still there: a second range may lie
  // in them.
  std::span<const std::byte> held_;
  uint64_t held_at_ = 0;
  base::Hash128 hash_;  // of a large object's chunks
  uint64_t object_id_ = 0;
  std::optional<store::ExtentTable> extents_;
  std::optional<SliceTable> slices_;
  std::string_view key_;  // of the record, when it is sliced
  std::unique_ptr<SlicedBody> blocks_;
  Subscription subscription_;
};

}  // namespace cache
