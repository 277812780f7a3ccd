#include "source/store/core/successors.h"

#include <algorithm>
#include <optional>

#include "source/base/check.h"

namespace store {

void Successors::add(const Location& at) {
  std::vector<uint16_t>& offsets = offsets_[at.segment];
  CHECK(offsets.empty() || offsets.back() < at.offset_units);
  offsets.push_back(static_cast<uint16_t>(at.offset_units));
}

bool Successors::has(uint32_t segment, uint32_t offset_units) const {
  return std::ranges::binary_search(offsets_[segment], offset_units);
}

std::vector<PurgeRecord> purgesToFree(OpenedSegment segment, std::span<const TocEntry> lines,
                                      const Successors& successors, const IndexShard& index,
                                      const SegmentTable& table, uint32_t now_s) {
  std::vector<PurgeRecord> purges;
  for (const TocEntry& line : lines) {
    if (!successors.has(segment.segment, line.offset_units)) {
      continue;
    }
    PurgeRecord purge;
    purge.hash = line.hash();
    purge.before = LogPosition{segment.sequence, line.offset_units};
    purge.time_s = now_s;
    const std::optional<Entry> entry = index.find(line.hash());
    // A record in the write buffer may still be lost.
    if (entry.has_value() && entry->placed() && !entry->inBuffer()) {
      const Location at = table.locate(*entry);
      if (at.position() > purge.before && successors.has(at.segment, at.offset_units)) {
        continue;
      }
    }
    purges.push_back(purge);
  }
  return purges;
}

}  // namespace store
