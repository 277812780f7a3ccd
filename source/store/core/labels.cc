#include "source/store/core/labels.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "source/base/check.h"
#include "source/store/core/layout.h"

namespace store {
namespace {

constexpr uint64_t kFirstSlots = 64;
constexpr uint32_t kBlockBits = 512;

}  // namespace

bool hasLabel(std::span<const std::byte> labels, Label label) {
  for (size_t at = 0; at + sizeof(Label) <= labels.size(); at += sizeof(Label)) {
    if (loadStruct<Label>(labels, at) == label) {
      return true;
    }
  }
  return false;
}

bool hasLabel(std::span<const Label> labels, Label label) {
  return std::find(labels.begin(), labels.end(), label) != labels.end();
}

std::vector<Label> unpackLabels(std::span<const std::byte> labels) {
  std::vector<Label> unpacked(labels.size() / sizeof(Label));
  std::ranges::copy(labels.first(unpacked.size() * sizeof(Label)),
                    std::as_writable_bytes(std::span(unpacked)).begin());
  return unpacked;
}

void LabelSet::add(Label label) {
  if (label == 0) {
    size_ += has_zero_ ? 0 : 1;
    has_zero_ = true;
    return;
  }
  if (2 * (size_ + 1) > slots_.size()) {
    grow();
  }
  const uint64_t mask = slots_.size() - 1;
  for (uint64_t at = mix64(label) & mask;; at = (at + 1) & mask) {
    if (slots_[at] == label) {
      return;
    }
    if (slots_[at] == 0) {
      slots_[at] = label;
      size_++;
      return;
    }
  }
}

void LabelSet::grow() {
  std::vector<Label> old(std::max(kFirstSlots, 2 * slots_.size()));
  old.swap(slots_);
  const uint64_t mask = slots_.size() - 1;
  for (const Label label : old) {
    if (label == 0) {
      continue;
    }
    uint64_t at = mix64(label) & mask;
    while (slots_[at] != 0) {
      at = (at + 1) & mask;
    }
    slots_[at] = label;
  }
}

void LabelSet::clear() {
  slots_.clear();
  size_ = 0;
  has_zero_ = false;
}

LabelFilters::LabelFilters(uint32_t segment_count, uint64_t budget_bytes)
    : filters_(segment_count), budget_bytes_(budget_bytes) {}

uint64_t LabelFilters::blockOf(Label label, uint32_t blocks) {
  // A multiplication instead of a remainder: any number of blocks is reached evenly.
  return static_cast<uint64_t>((static_cast<unsigned __int128>(mix64(label)) * blocks) >> 64);
}

bool LabelFilters::probe(const Block& block, Label label) {
  // The bits come from the label itself, the block from its mix, so that one does not tell the
  // other.
  uint64_t bits = label;
  for (uint32_t i = 0; i < kProbes; i++, bits >>= 9) {
    const uint64_t bit = bits % kBlockBits;
    if ((block.words[bit / 64] >> (bit % 64) & 1) == 0) {
      return false;
    }
  }
  return true;
}

void LabelFilters::mark(Block& block, Label label) {
  uint64_t bits = label;
  for (uint32_t i = 0; i < kProbes; i++, bits >>= 9) {
    const uint64_t bit = bits % kBlockBits;
    block.words[bit / 64] |= uint64_t{1} << (bit % 64);
  }
}

bool LabelFilters::set(uint32_t segment, uint64_t sequence, const LabelSet& labels) {
  CHECK(segment < filters_.size());
  CHECK(sequence != 0);
  drop(segment);
  const uint64_t bits = labels.size() * kFilterBitsPerLabel;
  const auto blocks = static_cast<uint32_t>((bits + kBlockBits - 1) / kBlockBits);
  const uint64_t bytes = uint64_t{blocks} * sizeof(Block);
  if (bytes > budget_bytes_ - bytes_) {
    refused_++;
    return false;
  }
  Filter& filter = filters_[segment];
  filter.sequence = sequence;
  filter.blocks = blocks;
  filter.bits = blocks > 0 ? std::make_unique<Block[]>(blocks) : nullptr;
  labels.each([&filter](Label label) { mark(filter.bits[blockOf(label, filter.blocks)], label); });
  bytes_ += bytes;
  return true;
}

void LabelFilters::drop(uint32_t segment) {
  CHECK(segment < filters_.size());
  Filter& filter = filters_[segment];
  bytes_ -= uint64_t{filter.blocks} * sizeof(Block);
  filter = Filter{};
}

bool LabelFilters::has(uint32_t segment, uint64_t sequence) const {
  return segment < filters_.size() && sequence != 0 && filters_[segment].sequence == sequence;
}

bool LabelFilters::mayHave(uint32_t segment, uint64_t sequence, Label label) const {
  if (!has(segment, sequence)) {
    return true;
  }
  const Filter& filter = filters_[segment];
  return filter.blocks > 0 && probe(filter.bits[blockOf(label, filter.blocks)], label);
}

}  // namespace store
