#include "source/store/core/allocator.h"

#include <algorithm>

#include "source/base/check.h"

namespace store {

SegmentAllocator::SegmentAllocator(const AllocatorOptions& options, SegmentTable& table)
    : options_(options),
      table_(table),
      states_(table.capacity(), SegmentState::cut),
      queues_(table.capacity(), SegmentQueue::small),
      on_disk_(table.capacity(), 0),
      next_sequence_(options.next_sequence),
      end_(table.count()),
      free_(table.count()),
      cut_(table.capacity() - table.count()) {
  CHECK(table.count() >= kMinSegments);
  CHECK(options.segment_bytes >= kMinSegmentBytes && options.segment_bytes <= kMaxSegmentBytes);
  CHECK(options.segment_bytes % kPageBytes == 0);
  CHECK(options.next_sequence > 0);
  std::fill_n(states_.begin(), table.count(), SegmentState::free);
  for (uint32_t segment = 0; segment < table.count(); segment++) {
    table.setSequence(segment, 0);
  }
}

void SegmentAllocator::setState(uint32_t segment, SegmentState state) {
  CHECK(segment < states_.size());
  free_ -= states_[segment] == SegmentState::free ? 1 : 0;
  reclaiming_ -= states_[segment] == SegmentState::reclaiming ? 1 : 0;
  bad_ -= states_[segment] == SegmentState::bad ? 1 : 0;
  cut_ -= states_[segment] == SegmentState::cut ? 1 : 0;
  uint32_t& sealed = sealed_[static_cast<size_t>(queues_[segment])];
  sealed -= states_[segment] == SegmentState::sealed ? 1 : 0;
  sealed += state == SegmentState::sealed ? 1 : 0;
  states_[segment] = state;
  free_ += state == SegmentState::free ? 1 : 0;
  reclaiming_ += state == SegmentState::reclaiming ? 1 : 0;
  bad_ += state == SegmentState::bad ? 1 : 0;
  cut_ += state == SegmentState::cut ? 1 : 0;
}

void SegmentAllocator::adopt(uint32_t segment, uint64_t sequence) {
  CHECK(!open_ && states_[segment] == SegmentState::free && sequence > 0);
  queues_[segment] = SegmentQueue::main;
  setState(segment, SegmentState::sealed);
  table_.setSequence(segment, sequence);
  on_disk_[segment] = sequence;
  // The log continues behind the newest segment.
  if (sequence > newest_adopted_) {
    newest_adopted_ = sequence;
    next_segment_ = (segment + 1) % table_.count();
  }
  next_sequence_ = std::max(next_sequence_, sequence + 1);
}

std::optional<OpenedSegment> SegmentAllocator::open(SegmentQueue queue) {
  CHECK(!open_);
  std::optional<uint32_t> oldest;
  for (uint32_t i = 0; i < table_.count(); i++) {
    const uint32_t segment = (next_segment_ + i) % table_.count();
    if (states_[segment] == SegmentState::free &&
        (!oldest.has_value() || on_disk_[segment] < on_disk_[*oldest])) {
      oldest = segment;
    }
  }
  if (!oldest.has_value()) {
    return std::nullopt;
  }
  const uint32_t segment = *oldest;
  queues_[segment] = queue;
  setState(segment, SegmentState::open);
  next_segment_ = (segment + 1) % table_.count();
  open_ = OpenedSegment{segment, next_sequence_++};
  table_.setSequence(segment, open_->sequence);
  on_disk_[segment] = open_->sequence;
  used_units_ = kSegmentHeaderBytes / kUnitBytes;
  entries_ = 0;
  labels_ = 0;
  return open_;
}

std::optional<Location> SegmentAllocator::reserve(uint32_t bytes, uint32_t labels, bool listed) {
  CHECK(bytes > 0);
  if (!open_ || bytes > options_.segment_bytes) {
    return std::nullopt;
  }
  const uint32_t units = roundUp(bytes, kUnitBytes) / kUnitBytes;
  const uint32_t entries = entries_ + (listed ? 1 : 0);
  const uint64_t end = uint64_t{used_units_ + units} * kUnitBytes;
  if (end + footerBytes(entries, labels_ + labels) > options_.segment_bytes) {
    return std::nullopt;
  }
  const Location location{open_->sequence, open_->segment, used_units_, units};
  used_units_ += units;
  entries_ = entries;
  labels_ += labels;
  return location;
}

void SegmentAllocator::shrink(const Location& location, uint32_t bytes) {
  CHECK(open_ && open_->sequence == location.sequence);
  CHECK(location.offset_units + location.length_units == used_units_);
  const uint32_t units = roundUp(bytes, kUnitBytes) / kUnitBytes;
  CHECK(units > 0 && units <= location.length_units);
  used_units_ = location.offset_units + units;
}

uint32_t SegmentAllocator::padUnits() const {
  constexpr uint32_t kPageUnits = kPageBytes / kUnitBytes;
  return (kPageUnits - used_units_ % kPageUnits) % kPageUnits;
}

LogPosition SegmentAllocator::position() const {
  return open_ ? LogPosition{open_->sequence, used_units_} : LogPosition{next_sequence_, 0};
}

uint32_t SegmentAllocator::maxRecordBytes() const {
  return options_.segment_bytes - kSegmentHeaderBytes - footerBytes(1, kMaxLabels);
}

OpenedSegment SegmentAllocator::seal() {
  CHECK(open_.has_value());
  const OpenedSegment segment = *open_;
  setState(segment.segment, SegmentState::sealing);
  open_.reset();
  return segment;
}

void SegmentAllocator::sealed(uint32_t segment) {
  // A footer that could not be written may have made the segment bad meanwhile.
  if (states_[segment] != SegmentState::bad) {
    CHECK(states_[segment] == SegmentState::sealing);
    setState(segment, SegmentState::sealed);
  }
}

std::optional<OpenedSegment> SegmentAllocator::nextVictim(SegmentQueue queue) const {
  std::optional<OpenedSegment> oldest;
  for (uint32_t segment = 0; segment < table_.count(); segment++) {
    if (states_[segment] != SegmentState::sealed || queues_[segment] != queue) {
      continue;
    }
    const uint64_t sequence = table_.sequence(segment);
    if (!oldest.has_value() || sequence < oldest->sequence) {
      oldest = OpenedSegment{segment, sequence};
    }
  }
  return oldest;
}

void SegmentAllocator::beginReclaim(uint32_t segment) {
  CHECK(states_[segment] == SegmentState::sealed);
  setState(segment, SegmentState::reclaiming);
}

void SegmentAllocator::finishReclaim(uint32_t segment) {
  if (states_[segment] == SegmentState::bad) {
    return;
  }
  CHECK(states_[segment] == SegmentState::reclaiming);
  table_.setSequence(segment, 0);
  setState(segment, segment < end_ ? SegmentState::free : SegmentState::cut);
}

void SegmentAllocator::markBad(uint32_t segment) {
  if (open_ && open_->segment == segment) {
    open_.reset();
  }
  table_.setSequence(segment, 0);
  setState(segment, SegmentState::bad);
}

void SegmentAllocator::setEnd(uint32_t segment_count) {
  CHECK(segment_count >= kMinSegments && segment_count <= table_.capacity());
  end_ = segment_count;
  table_.setCount(std::max(table_.count(), end_));
  for (uint32_t segment = 0; segment < table_.count(); segment++) {
    if (states_[segment] == SegmentState::cut && segment < end_) {
      setState(segment, SegmentState::free);
    } else if (states_[segment] == SegmentState::free && segment >= end_) {
      setState(segment, SegmentState::cut);
    }
  }
}

std::optional<OpenedSegment> SegmentAllocator::nextBehindEnd() const {
  std::optional<OpenedSegment> oldest;
  for (uint32_t segment = end_; segment < table_.count(); segment++) {
    const uint64_t sequence = table_.sequence(segment);
    if (states_[segment] == SegmentState::sealed &&
        (!oldest.has_value() || sequence < oldest->sequence)) {
      oldest = OpenedSegment{segment, sequence};
    }
  }
  return oldest;
}

bool SegmentAllocator::endIsReached() const {
  for (uint32_t segment = end_; segment < table_.count(); segment++) {
    if (states_[segment] != SegmentState::cut && states_[segment] != SegmentState::bad) {
      return false;
    }
  }
  return true;
}

void SegmentAllocator::forgetBehindEnd() {
  CHECK(endIsReached());
  for (uint32_t segment = end_; segment < table_.count(); segment++) {
    setState(segment, SegmentState::cut);
    on_disk_[segment] = 0;
  }
  table_.setCount(end_);
}

std::vector<OpenedSegment> SegmentAllocator::leftOnDisk() const {
  std::vector<OpenedSegment> left;
  for (uint32_t segment = 0; segment < table_.count(); segment++) {
    const bool in_use =
        states_[segment] != SegmentState::free && states_[segment] != SegmentState::cut;
    if (!in_use && on_disk_[segment] != 0) {
      left.push_back(OpenedSegment{segment, on_disk_[segment]});
    }
  }
  std::ranges::sort(left, {}, &OpenedSegment::sequence);
  return left;
}

void SegmentAllocator::blanked(uint32_t segment) {
  CHECK(states_[segment] == SegmentState::free || states_[segment] == SegmentState::cut);
  on_disk_[segment] = 0;
}

void SegmentAllocator::moveToMain(uint32_t segment) {
  CHECK(states_[segment] == SegmentState::sealed && queues_[segment] == SegmentQueue::small);
  sealed_[static_cast<size_t>(SegmentQueue::small)]--;
  queues_[segment] = SegmentQueue::main;
  sealed_[static_cast<size_t>(SegmentQueue::main)]++;
}

bool SegmentAllocator::hasOlder(uint64_t sequence) const {
  for (uint32_t segment = 0; segment < table_.count(); segment++) {
    if (states_[segment] != SegmentState::free && on_disk_[segment] != 0 &&
        on_disk_[segment] < sequence) {
      return true;
    }
  }
  return false;
}

uint64_t SegmentAllocator::sealedSequence() const {
  uint64_t below = next_sequence_;
  for (uint32_t segment = 0; segment < table_.count(); segment++) {
    if (states_[segment] == SegmentState::open || states_[segment] == SegmentState::sealing) {
      below = std::min(below, table_.sequence(segment));
    }
  }
  return below - 1;
}

uint64_t SegmentAllocator::oldestSequence() const {
  uint64_t oldest = next_sequence_;
  for (const uint64_t sequence : on_disk_) {
    oldest = sequence != 0 ? std::min(oldest, sequence) : oldest;
  }
  return oldest;
}

}  // namespace store
