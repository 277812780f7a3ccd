// Labels: what a purge can name besides a key, as 64-bit hashes that the layer above makes of tags
// and of the directories of a URL. Records and tables of contents carry them; for each sealed
// segment the owner keeps a Bloom filter of them, so that a purge reads only segments that may have
// its label. A filter never denies a label that was given to it.
//
// Limits: kMaxLabels a record; a budget of bytes for all filters of a stripe. A segment that got no
// filter, for lack of budget or because nobody has read its labels yet, "may have" every label.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace store {

using Label = uint64_t;

inline constexpr uint32_t kMaxLabels = 528;
inline constexpr uint64_t kFilterBitsPerLabel = 10;
inline constexpr uint64_t kFilterBytesPerObject = 4;  // that the index is made for

// Whether `labels`, bytes of packed labels, has the label.
bool hasLabel(std::span<const std::byte> labels, Label label);
bool hasLabel(std::span<const Label> labels, Label label);
std::vector<Label> unpackLabels(std::span<const std::byte> labels);

// The distinct labels of a segment.
class LabelSet {
 public:
  void add(Label label);
  void clear();
  uint64_t size() const { return size_; }
  // Calls visit(label) for each, in no particular order.
  template <class Visit>
  void each(Visit visit) const {
    if (has_zero_) {
      visit(Label{0});
    }
    for (const Label label : slots_) {
      if (label != 0) {
        visit(label);
      }
    }
  }

 private:
  void grow();
  std::vector<Label> slots_;  // open addressing; 0: free
  uint64_t size_ = 0;
  bool has_zero_ = false;
};

// The filters of one stripe's segments. A filter belongs to one sequence of its segment: asked
// about another it knows nothing.
class LabelFilters {
 public:
  LabelFilters(uint32_t segment_count, uint64_t budget_bytes);

  // False when the budget has no room: the segment stays without a filter.
  bool set(uint32_t segment, uint64_t sequence, const LabelSet& labels);
  void drop(uint32_t segment);
  bool mayHave(uint32_t segment, uint64_t sequence, Label label) const;
  bool has(uint32_t segment, uint64_t sequence) const;

  uint64_t bytes() const { return bytes_; }
  uint64_t budgetBytes() const { return budget_bytes_; }
  uint64_t refused() const { return refused_; }  // times that the budget had no room

 private:
  // One cache line of bits; a label has kProbes bits in one block.
  static constexpr uint32_t kBlockWords = 8;
  static constexpr uint32_t kProbes = 6;
  struct alignas(64) Block {
    uint64_t words[kBlockWords] = {};
  };
  struct Filter {
    uint64_t sequence = 0;  // 0: none
    uint32_t blocks = 0;
    std::unique_ptr<Block[]> bits;
  };
  static uint64_t blockOf(Label label, uint32_t blocks);
  static bool probe(const Block& block, Label label);
  static void mark(Block& block, Label label);

  std::vector<Filter> filters_;
  uint64_t budget_bytes_;
  uint64_t bytes_ = 0;
  uint64_t refused_ = 0;
};

}  // namespace store
