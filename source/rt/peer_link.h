// The one place where shards share memory: a single-producer single-consumer ring of pointers, the
// flag that says whether a shard is asleep, and the number of its connections. A pointer travels
// with release/acquire, and so does what it points to.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

namespace rt {

struct CallHeader;

class PeerLink {
 public:
  static constexpr uint32_t kSlots = 512;  // messages; what finds them taken waits at the sender

  // By the sending shard only. False when full.
  bool push(CallHeader* call) {
    const uint32_t tail = tail_.load(std::memory_order_relaxed);
    if (tail - head_seen_ == kSlots) {
      head_seen_ = head_.load(std::memory_order_acquire);
      if (tail - head_seen_ == kSlots) {
        return false;
      }
    }
    slots_[tail % kSlots] = call;
    tail_.store(tail + 1, std::memory_order_seq_cst);
    return true;
  }
  // By the receiving shard only. nullptr when empty.
  CallHeader* pop() {
    const uint32_t head = head_.load(std::memory_order_relaxed);
    if (head == tail_seen_) {
      tail_seen_ = tail_.load(std::memory_order_acquire);
      if (head == tail_seen_) {
        return nullptr;
      }
    }
    CallHeader* call = slots_[head % kSlots];
    head_.store(head + 1, std::memory_order_release);
    return call;
  }
  bool empty() const {
    return head_.load(std::memory_order_relaxed) == tail_.load(std::memory_order_seq_cst);
  }

 private:
  alignas(64) std::atomic<uint32_t> tail_{0};
  uint32_t head_seen_ = 0;  // the sender's last look at head_
  alignas(64) std::atomic<uint32_t> head_{0};
  uint32_t tail_seen_ = 0;  // the receiver's last look at tail_
  alignas(64) std::array<CallHeader*, kSlots> slots_{};
};

// Set by a shard before it sleeps. The store and the peers' loads are sequentially consistent with
// the link's tail, so either the sleeper sees the message or the sender sees the flag.
struct alignas(64) ParkedFlag {
  std::atomic<bool> parked{false};
};

// How many connections a shard has, for those who may hand it another: written by the shard when
// that changes, read by others when they accept. A hint, so it orders nothing.
struct alignas(64) ShardLoad {
  std::atomic<uint32_t> connections{0};

  void set(uint32_t count) { connections.store(count, std::memory_order_relaxed); }
  uint32_t get() const { return connections.load(std::memory_order_relaxed); }
};

}  // namespace rt
