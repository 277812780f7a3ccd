// Reads what a segment says of itself: its table of contents, or the records themselves when there
// is none. Used by recovery, reclaim and purges; the owner's shard only.
//
// Limits: pieces of kPiece_bytes from the shard's pool, one at a time.
#pragma once

#include <cstdint>

#include "source/base/result.h"
#include "source/rt/io.h"
#include "source/store/core/allocator.h"
#include "source/store/core/segment.h"
#include "source/store/io/record_reader.h"

namespace store {

class SegmentReader {
 public:
  static constexpr uint32_t kPiece_bytes = 128 << 10;

  SegmentReader(RecordReader& reader, const RecordFile& file, uint16_t stripe)
      : reader_(reader), file_(file), stripe_(stripe) {}

  // Errors: io_error; corrupt when there is no intact footer; stale_location when it is of another
  // sequence.
  rt::Task<base::Result<Footer>> footer(OpenedSegment segment, rt::CancelScope& scope);
  // By the records, as far as they verify. Errors: io_error.
  rt::Task<base::Result<TailWalk>> walk(OpenedSegment segment, rt::CancelScope& scope);

 private:
  rt::Task<base::Status> read(uint64_t offset, std::span<std::byte> into, rt::CancelScope& scope);
  SegmentIdentity identity(uint32_t segment) const {
    return SegmentIdentity{segment, stripe_, file_.segment_bytes, file_.salt};
  }

  RecordReader& reader_;
  RecordFile file_;
  uint16_t stripe_;
};

}  // namespace store
