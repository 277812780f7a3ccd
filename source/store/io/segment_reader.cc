#include "source/store/io/segment_reader.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace store {

rt::Task<base::Status> SegmentReader::read(uint64_t offset, std::span<std::byte> into,
                                           rt::CancelScope& scope) {
  base::Result<rt::Buffer> buffer = co_await reader_.pool().take(kPiece_bytes, scope);
  if (!buffer.ok()) {
    co_return buffer.error();
  }
  for (size_t done = 0; done < into.size();) {
    const size_t piece = std::min<size_t>(into.size() - done, kPiece_bytes);
    const std::span<std::byte> bytes = buffer.value().span().first(piece);
    base::Status status = co_await reader_.readBytes(file_, bytes, offset + done, scope);
    if (!status.ok()) {
      co_return status;
    }
    std::copy_n(bytes.data(), piece, into.data() + done);
    done += piece;
  }
  co_return base::Unit{};
}

rt::Task<base::Result<Footer>> SegmentReader::footer(OpenedSegment segment,
                                                     rt::CancelScope& scope) {
  const uint64_t end = segmentOffset(segment.segment, file_.segment_bytes) + file_.segment_bytes;
  std::vector<std::byte> bytes(kPiece_bytes);
  base::Status status = co_await read(end - bytes.size(), bytes, scope);
  if (!status.ok()) {
    co_return status.error();
  }
  const base::Result<SegmentTrailer> trailer =
      decodeTrailer(std::span(bytes).last(kUnitBytes), identity(segment.segment));
  if (!trailer.ok()) {
    co_return trailer.error();
  }
  if (trailer.value().sequence != segment.sequence) {
    co_return base::Error{base::Code::stale_location, base::Blame::disk};
  }
  const uint32_t whole = trailer.value().footer_bytes;
  if (whole > bytes.size()) {
    const size_t more = whole - bytes.size();
    bytes.insert(bytes.begin(), more, std::byte{0});
    status = co_await read(end - whole, std::span(bytes).first(more), scope);
    if (!status.ok()) {
      co_return status.error();
    }
  }
  base::Result<Footer> footer = decodeFooter(bytes, identity(segment.segment));
  if (footer.ok() && footer.value().sequence != segment.sequence) {
    co_return base::Error{base::Code::stale_location, base::Blame::disk};
  }
  co_return std::move(footer);
}

rt::Task<base::Result<TailWalk>> SegmentReader::walk(OpenedSegment segment,
                                                     rt::CancelScope& scope) {
  std::vector<std::byte> bytes(file_.segment_bytes);
  base::Status status =
      co_await read(segmentOffset(segment.segment, file_.segment_bytes), bytes, scope);
  if (!status.ok()) {
    co_return status.error();
  }
  co_return walkTail(bytes, segment.sequence, file_.salt);
}

}  // namespace store
