// Any bytes as the end of a segment: a footer that decodes is, encoded again, the same bytes. And
// any bytes as a segment's header.
#include "source/store/core/segment.h"

#include <algorithm>

#include "test/fuzz/store/input.h"

namespace {

constexpr store::SegmentIdentity kIdentity{5, 2, store::kMinSegmentBytes, 99};

void repairFooter(std::span<std::byte> bytes) {
  if (bytes.size() < store::kPageBytes) {
    return;
  }
  const std::span<std::byte> last = bytes.last(store::kUnitBytes);
  const auto trailer = store::loadStruct<store::SegmentTrailer>(last);
  if (trailer.footer_bytes >= store::kUnitBytes && trailer.footer_bytes <= bytes.size()) {
    const auto table =
        bytes.last(trailer.footer_bytes).first(trailer.footer_bytes - store::kUnitBytes);
    store::storeStruct(last, base::crc32c(table, kIdentity.salt),
                       offsetof(store::SegmentTrailer, toc_crc));
  }
  fuzz::seal(last, offsetof(store::SegmentTrailer, trailer_crc), kIdentity.salt);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fuzz::Input input = fuzz::take(data, size);
  std::vector<std::byte>& bytes = input.bytes;
  if (input.repaired()) {
    repairFooter(bytes);
  }
  const base::Result<store::Footer> footer = store::decodeFooter(bytes, kIdentity);
  if (footer.ok()) {
    const store::Footer& f = footer.value();
    CHECK(f.sequence != 0);
    CHECK(std::is_sorted(f.entries.begin(), f.entries.end(), [](const auto& a, const auto& b) {
      return a.offset_units < b.offset_units;
    }));
    const std::vector<std::byte> again =
        store::encodeFooter(f.entries, f.labels, kIdentity, f.sequence, f.used_units);
    const base::Result<store::Footer> second = store::decodeFooter(again, kIdentity);
    CHECK(second.ok() && second.value().entries == f.entries);
    CHECK(second.value().labels == f.labels);
    CHECK(second.value().used_units == f.used_units);
  }
  if (input.repaired() && bytes.size() >= store::kSegmentHeaderBytes) {
    fuzz::seal(std::span(bytes).first(store::kSegmentHeaderBytes),
               offsetof(store::SegmentHeader, crc), kIdentity.salt);
  }
  const base::Result<store::SegmentHeader> header = store::decodeSegmentHeader(bytes, kIdentity);
  CHECK(!header.ok() || header.value().segment == kIdentity.segment);
  return 0;
}
