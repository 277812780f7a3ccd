#include "source/store/core/reclaim.h"

#include <algorithm>
#include <map>
#include <utility>

namespace store {
namespace {

bool pointsHere(const Entry& entry, const ReclaimInput& input, const TocEntry& line) {
  return entry.placed() && entry.segment() == input.segment &&
         entry.offsetUnits() == line.offset_units &&
         entry.generation() == generationOf(input.sequence);
}

// What a kept record's hits are worth from then on.
uint8_t frequencyAfter(const ReclaimInput& input, const Entry& entry) {
  return input.queue == SegmentQueue::small ? 0 : static_cast<uint8_t>(entry.frequency() - 1);
}

uint64_t bytesOf(const TocEntry& line) {
  return uint64_t{line.length_units} * kUnitBytes;
}

// The lines of large objects, by version.
class LargeObjects {
 public:
  explicit LargeObjects(std::vector<LargeObject>& out) : out_(out) {}

  LargeObject& of(const TocEntry& line, const Entry& head) {
    const auto [it, fresh] =
        index_.try_emplace(std::pair(line.hash(), line.object_id), out_.size());
    if (fresh) {
      LargeObject object;
      object.hash = line.hash();
      object.object_id = line.object_id;
      object.head = head;
      out_.push_back(std::move(object));
    }
    return out_[it->second];
  }

 private:
  std::vector<LargeObject>& out_;
  std::map<std::pair<base::Hash128, uint64_t>, size_t> index_;
};

// Spends the budget on the records hit most; what is left over is dropped.
void spendBudget(std::vector<Reinsertion>& candidates, ReclaimPlan& plan) {
  std::sort(candidates.begin(), candidates.end(), [](const Reinsertion& a, const Reinsertion& b) {
    return a.entry.frequency() != b.entry.frequency() ? a.entry.frequency() > b.entry.frequency()
                                                      : a.line.offset_units < b.line.offset_units;
  });
  for (const Reinsertion& candidate : candidates) {
    const uint64_t bytes = bytesOf(candidate.line);
    if (bytes <= plan.budget_bytes) {
      plan.budget_bytes -= bytes;
      plan.reinsert.push_back(candidate);
    } else {
      plan.drop.push_back({candidate.line.hash(), candidate.entry});
    }
  }
  // In the order of the segment, which is the order in which they are read.
  std::sort(plan.reinsert.begin(), plan.reinsert.end(),
            [](const Reinsertion& a, const Reinsertion& b) {
              return a.line.offset_units < b.line.offset_units;
            });
}

}  // namespace

ReclaimPlan planReclaim(const ReclaimInput& input, std::span<const TocEntry> toc,
                        const IndexShard& index) {
  ReclaimPlan plan;
  plan.budget_bytes = input.budget_bytes;
  LargeObjects large(plan.large);
  std::vector<Reinsertion> candidates;
  for (const TocEntry& line : toc) {
    const std::optional<Entry> found = index.find(line.hash());
    if (!found) {
      plan.dead++;
      continue;
    }
    const Entry& entry = *found;
    if (line.recordKind() == RecordKind::chunk) {
      if (entry.kind() == EntryKind::extents) {
        LargeObject& object = large.of(line, entry);
        object.chunks.push_back(line);
        object.bytes += bytesOf(line);
      } else {
        plan.dead++;
      }
      continue;
    }
    if (!pointsHere(entry, input, line)) {
      plan.dead++;
      continue;
    }
    if (entry.kind() == EntryKind::extents) {
      large.of(line, entry).bytes += bytesOf(line);
      continue;
    }
    // A record written again is later in the log than the soft purge, which would forget it.
    const bool expired = entry.staleNow() || index.hint(entry, input.now_s) == ExpiryHint::expired;
    if (entry.frequency() == 0 || expired || entry.inBuffer()) {
      plan.drop.push_back({line.hash(), entry});
      continue;
    }
    candidates.push_back({line, entry, frequencyAfter(input, entry)});
  }
  spendBudget(candidates, plan);
  return plan;
}

LargeOutcome decideLarge(const LargeObject& object, uint64_t head_object_id,
                         const ExtentTable& extents, const ReclaimInput& input,
                         const SegmentTable& segments) {
  if (head_object_id != object.object_id) {
    return LargeOutcome{LargeDecision::ignore, 0};
  }
  const Extent first = extents.at(0);
  const uint8_t frequency = object.head.frequency();
  const bool fits = object.bytes <= input.budget_bytes && !object.head.staleNow();
  const bool lost = segments.sequence(first.segment) != first.sequence;
  // Chunk 0 has been written again in this round of the log: the decision was made there.
  const bool decided = first.sequence > input.sequence;
  if (!fits || lost || (!decided && frequency == 0)) {
    return LargeOutcome{LargeDecision::drop, 0};
  }
  return LargeOutcome{LargeDecision::keep, first.sequence == input.sequence
                                               ? frequencyAfter(input, object.head)
                                               : frequency};
}

}  // namespace store
