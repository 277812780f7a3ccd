// S3-FIFO (Yang et al., SOSP 2023) over intrusive nodes with an exact budget in bytes: the RAM
// tier's policy. New nodes enter a small queue (a tenth of the budget); those hit more than once
// there, and those whose fingerprint is still in the ghost table, go to the main queue, where a hit
// buys another round.
//
// Every operation is O(1) (amortised over at most three rounds a hit) and allocates nothing. The
// policy owns no node: it hands victims to the caller. A victim that is still being read is freed
// later; until freed() its bytes count, so the budget bounds memory, not only what is listed.
#pragma once

#include <cstdint>

#include "source/base/intrusive_list.h"
#include "source/store/core/ghost.h"

namespace store {

struct RamNode : base::ListHook {
  enum class Queue : uint8_t { none, small, main };
  uint64_t fingerprint = 0;  // of the key
  uint64_t bytes = 0;        // all memory that goes when the node goes
  uint8_t frequency = 0;
  Queue queue = Queue::none;
};

struct S3FifoOptions {
  uint64_t budget_bytes = 0;
  uint32_t ghost_entries = 1 << 14;  // 8 bytes each; about the number of nodes that fit
};

class S3Fifo {
 public:
  explicit S3Fifo(const S3FifoOptions& options);
  ~S3Fifo();
  S3Fifo(const S3Fifo&) = delete;
  S3Fifo& operator=(const S3Fifo&) = delete;

  // No node may take more than a quarter of the budget: one object must not empty the tier.
  bool accepts(uint64_t bytes) const { return bytes <= budget_bytes_ / 4; }
  bool hasRoom(uint64_t bytes) const {
    return used_bytes_ + leaving_bytes_ + bytes <= budget_bytes_;
  }
  // The next node to go, already out of its queue; nullptr when nothing is listed. The caller frees
  // it now or when its last reader leaves, and calls freed() then.
  RamNode* evict();
  void freed(uint64_t bytes);

  // hasRoom(node->bytes) must hold.
  void insert(RamNode* node);
  void hit(RamNode* node) {
    if (node->frequency < 3) {
      node->frequency++;
    }
  }
  // Takes a listed node out, for the caller to free as with evict().
  void remove(RamNode* node);
  // More or less memory for the tier; after less the caller evicts until hasRoom(0).
  void setBudget(uint64_t bytes) { budget_bytes_ = bytes; }

  uint64_t budgetBytes() const { return budget_bytes_; }
  uint64_t usedBytes() const { return used_bytes_; }        // listed
  uint64_t leavingBytes() const { return leaving_bytes_; }  // evicted, not yet freed
  uint64_t smallBytes() const { return small_bytes_; }
  uint64_t count() const { return count_; }

 private:
  void push(RamNode* node, RamNode::Queue queue);
  void unlist(RamNode* node);
  void leave(RamNode* node);

  uint64_t budget_bytes_;
  uint64_t used_bytes_ = 0;
  uint64_t small_bytes_ = 0;
  uint64_t leaving_bytes_ = 0;
  uint64_t count_ = 0;
  base::IntrusiveList<RamNode> small_;
  base::IntrusiveList<RamNode> main_;
  GhostTable ghost_;  // what left the small queue until as many bytes as main holds have left it
};

}  // namespace store
