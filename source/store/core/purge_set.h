// PurgeSet: all purges of the journal, to be asked for each entry that recovery finds. An entry of
// a snapshot has no hash any more, only bucket and tag; the set is keyed by tag so that it answers
// for both. It has no labels either, so a snapshot is of no use when a label was purged after it.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>

#include "source/base/hash.h"
#include "source/store/core/journal.h"
#include "source/store/core/labels.h"
#include "source/store/core/layout.h"

namespace store {

enum class PurgeVerdict : uint8_t { keep, stale, drop };

class PurgeSet {
 public:
  static constexpr LogPosition kAfterEverything{UINT64_MAX, 0};

  static PurgeVerdict worse(PurgeVerdict a, PurgeVerdict b) { return a < b ? b : a; }
  void add(const PurgeRecord& record);
  void addAll(std::span<const PurgeRecord> records);
  // Drops whatever the disk has of a key, for this recovery only.
  void drop(base::Hash128 hash);
  // Drops everything before a position, for this recovery only: what is left to do when no journal
  // can be read. The next recovery must find a purge of everything in the new journal.
  void raiseFloor(LogPosition before);

  PurgeVerdict verdict(base::Hash128 hash, LogPosition at) const;
  // By tag alone; `sameKey(hash)` says whether a purge's hash may belong to the entry.
  template <class SameKey>
  PurgeVerdict verdictByTag(uint64_t tag, LogPosition at, SameKey sameKey) const {
    PurgeVerdict verdict = floorVerdict(at);
    const auto [first, last] = by_tag_.equal_range(tag);
    for (auto it = first; it != last; ++it) {
      if (sameKey(it->second.hash)) {
        verdict = worse(verdict, keyVerdict(it->second, at));
      }
    }
    return verdict;
  }

  // By the labels of what lies there.
  PurgeVerdict labelVerdict(std::span<const Label> labels, LogPosition at) const;
  // Whether every purge of a label has a number below this one.
  bool labelsPurgedBefore(uint64_t number) const {
    return by_label_.empty() || newest_label_number_ < number;
  }

  uint64_t keys() const { return by_tag_.size(); }
  LogPosition newest() const { return newest_; }  // position of a purge; a floor is none

 private:
  struct KeyPurge {
    base::Hash128 hash;  // of a label: in lo
    LogPosition hard;    // zero: none
    LogPosition soft;
  };
  KeyPurge& purgeOf(base::Hash128 hash);
  static PurgeVerdict keyVerdict(const KeyPurge& purge, LogPosition at);
  PurgeVerdict floorVerdict(LogPosition at) const;

  std::unordered_multimap<uint64_t, KeyPurge> by_tag_;  // looked up, never iterated
  std::unordered_map<Label, KeyPurge> by_label_;        // the same
  uint64_t newest_label_number_ = 0;
  LogPosition hard_floor_;
  LogPosition soft_floor_;
  LogPosition newest_;
};

}  // namespace store
