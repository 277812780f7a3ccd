#include "source/store/core/purge_set.h"

#include <algorithm>

namespace store {

void PurgeSet::add(const PurgeRecord& record) {
  newest_ = std::max(newest_, record.before);
  if (record.kind == PurgeKind::everything) {
    LogPosition& floor = record.soft ? soft_floor_ : hard_floor_;
    floor = std::max(floor, record.before);
    return;
  }
  if (record.kind == PurgeKind::label) {
    KeyPurge& purge = by_label_[record.hash.lo];
    LogPosition& position = record.soft ? purge.soft : purge.hard;
    position = std::max(position, record.before);
    newest_label_number_ = std::max(newest_label_number_, record.number);
    return;
  }
  KeyPurge& purge = purgeOf(record.hash);
  LogPosition& position = record.soft ? purge.soft : purge.hard;
  position = std::max(position, record.before);
}

PurgeSet::KeyPurge& PurgeSet::purgeOf(base::Hash128 hash) {
  const uint64_t tag = tagOf(hash);
  const auto [first, last] = by_tag_.equal_range(tag);
  for (auto it = first; it != last; ++it) {
    if (it->second.hash == hash) {
      return it->second;
    }
  }
  return by_tag_.emplace(tag, KeyPurge{hash, {}, {}})->second;
}

void PurgeSet::drop(base::Hash128 hash) {
  purgeOf(hash).hard = kAfterEverything;
}

void PurgeSet::addAll(std::span<const PurgeRecord> records) {
  for (const PurgeRecord& record : records) {
    add(record);
  }
}

void PurgeSet::raiseFloor(LogPosition before) {
  hard_floor_ = std::max(hard_floor_, before);
}

PurgeVerdict PurgeSet::keyVerdict(const KeyPurge& purge, LogPosition at) {
  if (at < purge.hard) {
    return PurgeVerdict::drop;
  }
  return at < purge.soft ? PurgeVerdict::stale : PurgeVerdict::keep;
}

PurgeVerdict PurgeSet::floorVerdict(LogPosition at) const {
  if (at < hard_floor_) {
    return PurgeVerdict::drop;
  }
  return at < soft_floor_ ? PurgeVerdict::stale : PurgeVerdict::keep;
}

PurgeVerdict PurgeSet::labelVerdict(std::span<const Label> labels, LogPosition at) const {
  PurgeVerdict verdict = PurgeVerdict::keep;
  if (by_label_.empty()) {
    return verdict;
  }
  for (const Label label : labels) {
    const auto found = by_label_.find(label);
    if (found != by_label_.end()) {
      verdict = worse(verdict, keyVerdict(found->second, at));
    }
  }
  return verdict;
}

PurgeVerdict PurgeSet::verdict(base::Hash128 hash, LogPosition at) const {
  return verdictByTag(tagOf(hash), at, [hash](base::Hash128 purged) { return purged == hash; });
}

}  // namespace store
