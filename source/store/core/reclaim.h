// What to do with the records of a segment that is reclaimed: S3-FIFO's rule on a log, segment by
// segment (eviction.h chooses the segment and the budget). A record that was hit since it was
// written is written again, the hottest first, within the budget; all else is dropped. An object
// that has expired without being refreshed was not asked for since, so its hits are of the past and
// it is dropped too; so is one that was purged softly.
//
// A large object is more than one record. Its chunks come up for reclaim before its head; keeping
// one chunk and losing another helps nobody, so the decision is made at chunk 0, and the chunks
// behind it follow: a chunk whose object already has chunk 0 in a newer segment is kept. Where the
// chunks lie in both queues, some may come up before chunk 0; they are then judged like it, but
// only chunk 0 costs the object its hits.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "source/base/hash.h"
#include "source/store/core/allocator.h"
#include "source/store/core/extents.h"
#include "source/store/core/index.h"
#include "source/store/core/segment.h"

namespace store {

struct Reinsertion {
  TocEntry line;
  Entry entry;            // as the index has it: to be replaced only if it is still this
  uint8_t frequency = 0;  // the copy's
};

// The chunks that a segment holds of one large object which the index knows.
struct LargeObject {
  base::Hash128 hash;
  uint64_t object_id = 0;
  Entry head;  // to be read, then decideLarge()
  std::vector<TocEntry> chunks;
  uint64_t bytes = 0;
};

struct ReclaimPlan {
  struct Drop {
    base::Hash128 hash;
    Entry entry;  // eraseIf() it is still this
  };
  std::vector<Drop> drop;
  std::vector<Reinsertion> reinsert;
  std::vector<LargeObject> large;  // decided one by one, against what the budget has left
  uint64_t budget_bytes = 0;       // left after `reinsert`
  uint32_t dead = 0;               // lines that no entry points to
};

struct ReclaimInput {
  uint32_t segment = 0;
  uint64_t sequence = 0;
  SegmentQueue queue = SegmentQueue::main;  // from `small`, what is kept has its hits to earn anew
  uint64_t budget_bytes = 0;                // 0 turns reinsertion off
  uint32_t now_s = 0;
};

ReclaimPlan planReclaim(const ReclaimInput& input, std::span<const TocEntry> toc,
                        const IndexShard& index);

enum class LargeDecision : uint8_t {
  ignore,  // the index has another version of the object
  keep,    // write the chunks again, then the head with their new places
  drop,    // erase the entry
};
struct LargeOutcome {
  LargeDecision decision = LargeDecision::ignore;
  uint8_t frequency = 0;  // the new head's, for keep
};
// `head_object_id` and `extents` are of the head record that `object.head` points to;
// `input.budget_bytes` is what is left. Dropped in any case when chunk 0 is lost.
LargeOutcome decideLarge(const LargeObject& object, uint64_t head_object_id,
                         const ExtentTable& extents, const ReclaimInput& input,
                         const SegmentTable& segments);

}  // namespace store
