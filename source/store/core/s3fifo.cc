#include "source/store/core/s3fifo.h"

#include <algorithm>
#include <bit>

#include "source/base/check.h"
#include "source/store/core/layout.h"

namespace store {
namespace {

constexpr uint64_t kSmallShare = 10;      // the small queue's part is one in this many
constexpr uint8_t kPromoteFrequency = 2;  // hits in the small queue that lead to the main queue
constexpr uint32_t kGhostLifetimeBits = 24;

uint32_t ghostShift(uint64_t budget_bytes) {
  const auto bits = static_cast<uint32_t>(std::bit_width(budget_bytes));
  return bits > kGhostLifetimeBits ? bits - kGhostLifetimeBits : 0;
}

}  // namespace

S3Fifo::Ghost::Ghost(uint32_t entries)
    : sets_(std::max(1u, (entries + kWays - 1) / kWays)),
      slots_(new Slot[uint64_t{sets_} * kWays]) {}

S3Fifo::Ghost::Slot* S3Fifo::Ghost::setOf(uint64_t mixed) {
  const uint64_t set = ((mixed >> 32) * sets_) >> 32;
  return &slots_[set * kWays];
}

void S3Fifo::Ghost::insert(uint64_t fingerprint, uint32_t now) {
  const uint64_t mixed = mix64(fingerprint);
  Slot* set = setOf(mixed);
  Slot* victim = set;
  for (uint32_t i = 0; i < kWays; i++) {
    if (set[i].fingerprint == 0) {
      victim = &set[i];
      break;
    }
    if (now - set[i].time > now - victim->time) {
      victim = &set[i];
    }
  }
  *victim = Slot{static_cast<uint32_t>(mixed) | 1, now};
}

bool S3Fifo::Ghost::take(uint64_t fingerprint, uint32_t now, uint32_t lifetime) {
  const uint64_t mixed = mix64(fingerprint);
  Slot* set = setOf(mixed);
  bool found = false;
  for (uint32_t i = 0; i < kWays; i++) {
    if (set[i].fingerprint == (static_cast<uint32_t>(mixed) | 1)) {
      found = found || now - set[i].time <= lifetime;
      set[i] = Slot{};
    }
  }
  return found;
}

S3Fifo::S3Fifo(const S3FifoOptions& options)
    : budget_bytes_(options.budget_bytes),
      ghost_shift_(ghostShift(options.budget_bytes)),
      ghost_(options.ghost_entries) {}

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
  const uint64_t lifetime = (budget_bytes_ - budget_bytes_ / kSmallShare) >> ghost_shift_;
  const bool known = ghost_.take(node->fingerprint, ghostNow(), static_cast<uint32_t>(lifetime));
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
        ghost_bytes_ += node->bytes;
        ghost_.insert(node->fingerprint, ghostNow());
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
