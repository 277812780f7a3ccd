// Which records took the place of another record of their key when they were appended. Segments are
// not freed in the order of the log (eviction.h), so such a record may leave the disk before the
// one that it replaced; a recovery would then take that one for the newest. What must be told to
// the purge journal before a segment is free is decided here.
//
// Known of what this process has appended: what recovery finds is reclaimed in the order of the
// log. Two bytes a record.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "source/store/core/allocator.h"
#include "source/store/core/index.h"
#include "source/store/core/journal.h"
#include "source/store/core/segment.h"
#include "source/store/core/segment_table.h"

namespace store {

class Successors {
 public:
  explicit Successors(uint32_t segment_count) : offsets_(segment_count) {}

  // Records of a segment come in the order of their places.
  void add(const Location& at);
  bool has(uint32_t segment, uint32_t offset_units) const;
  bool any(uint32_t segment) const { return !offsets_[segment].empty(); }
  void drop(uint32_t segment) { offsets_[segment] = {}; }

 private:
  std::vector<std::vector<uint16_t>> offsets_;
};

// Purges of what lies before the successors in a segment that is to be free (`lines`: its table of
// contents). Not of a key whose record in the index is a later successor: that one will be told of
// when its own segment is freed.
std::vector<PurgeRecord> purgesToFree(OpenedSegment segment, std::span<const TocEntry> lines,
                                      const Successors& successors, const IndexShard& index,
                                      const SegmentTable& table, uint32_t now_s);

}  // namespace store
