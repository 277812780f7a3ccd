#include "source/store/core/s3fifo.h"

#include "source/base/check.h"

namespace store {
namespace {

constexpr uint64_t kSmallShare = 10;      // the small queue's part is one in this many
constexpr uint8_t kPromoteFrequency = 2;  // hits in the small queue that lead to the main queue

}  // namespace

S3Fifo::S3Fifo(const S3FifoOptions& options)
    : budget_bytes_(options.budget_bytes), ghost_(options.ghost_entries, options.budget_bytes) {}

S3Fifo::~S3Fifo() {
  CHECK(count_ == 0);
}

void S3Fifo::push(RamNode* node, RamNode::Queue queue) {
  node->queue = queue;
  if (queue == RamNode::Queue::small) {
    small_.pushBack(node);
    small_bytes_ += node->bytes;
  } else {
    main_.pushBack(node);
  }
}

void S3Fifo::unlist(RamNode* node) {
  node->unlink();
  small_bytes_ -= node->queue == RamNode::Queue::small ? node->bytes : 0;
  node->queue = RamNode::Queue::none;
}

void S3Fifo::leave(RamNode* node) {
  unlist(node);
  used_bytes_ -= node->bytes;
  leaving_bytes_ += node->bytes;
  count_--;
}

void S3Fifo::insert(RamNode* node) {
  CHECK(hasRoom(node->bytes));
  CHECK(node->queue == RamNode::Queue::none);
  const bool known = ghost_.take(node->fingerprint, budget_bytes_ - budget_bytes_ / kSmallShare);
  node->frequency = 0;
  push(node, known ? RamNode::Queue::main : RamNode::Queue::small);
  used_bytes_ += node->bytes;
  count_++;
}

RamNode* S3Fifo::evict() {
  for (;;) {
    RamNode* node = small_.front();
    if (node != nullptr && (small_bytes_ > budget_bytes_ / kSmallShare || main_.empty())) {
      if (node->frequency < kPromoteFrequency) {
        leave(node);
        ghost_.insert(node->fingerprint, node->bytes);
        return node;
      }
      unlist(node);
      node->frequency = 0;
      push(node, RamNode::Queue::main);
      continue;
    }
    node = main_.front();
    if (node == nullptr) {
      return nullptr;
    }
    if (node->frequency == 0) {
      leave(node);
      return node;
    }
    unlist(node);
    node->frequency--;
    push(node, RamNode::Queue::main);
  }
}

void S3Fifo::remove(RamNode* node) {
  CHECK(node->queue != RamNode::Queue::none);
  leave(node);
}

void S3Fifo::freed(uint64_t bytes) {
  CHECK(bytes <= leaving_bytes_);
  leaving_bytes_ -= bytes;
}

}  // namespace store
