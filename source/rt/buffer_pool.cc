#include "source/rt/buffer_pool.h"

#include <sys/mman.h>

#include <bit>
#include <utility>

namespace rt {

Buffer::Buffer(Buffer&& other) noexcept
    : pool_(std::exchange(other.pool_, nullptr)),
      data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)) {}

Buffer& Buffer::operator=(Buffer&& other) noexcept {
  if (this != &other) {
    reset();
    pool_ = std::exchange(other.pool_, nullptr);
    data_ = std::exchange(other.data_, nullptr);
    size_ = std::exchange(other.size_, 0);
  }
  return *this;
}

void Buffer::reset() {
  if (data_ != nullptr) {
    pool_->give(std::exchange(data_, nullptr), std::exchange(size_, 0));
  }
}

namespace {
constexpr uint64_t kHugePage_bytes = 2 << 20;
}

BufferPool::BufferPool(uint64_t bytes) {
  const uint64_t rounded = (bytes + kHugePage_bytes - 1) / kHugePage_bytes * kHugePage_bytes;
  // One huge page more than needed, so that the region can begin on a huge page's boundary.
  void* map = mmap(nullptr, rounded + kHugePage_bytes, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (map == MAP_FAILED) {
    return;
  }
  const uint64_t at = reinterpret_cast<uint64_t>(map);
  const uint64_t begin = (at + kHugePage_bytes - 1) / kHugePage_bytes * kHugePage_bytes;
  if (begin > at) {
    munmap(map, begin - at);
  }
  munmap(reinterpret_cast<void*>(begin + rounded), at + kHugePage_bytes - begin);
  region_ = {reinterpret_cast<std::byte*>(begin), rounded};
  madvise(region_.data(), rounded, MADV_HUGEPAGE);
  state_.assign(rounded / kMin_bytes, 0);
  for (uint64_t at_bytes = rounded; at_bytes > 0; at_bytes -= kMax_bytes) {
    pushFree(kOrders - 1, static_cast<uint32_t>((at_bytes - kMax_bytes) / kMin_bytes));
  }
}

BufferPool::~BufferPool() {
  CHECK(in_use_ == 0);
  if (ok()) {
    munmap(region_.data(), region_.size());
  }
}

uint32_t BufferPool::orderOf(uint32_t bytes) {
  CHECK(bytes <= kMax_bytes);
  return bytes <= kMin_bytes ? 0 : static_cast<uint32_t>(std::bit_width((bytes - 1) / kMin_bytes));
}

void BufferPool::pushFree(uint32_t order, uint32_t block) {
  state_[block] = static_cast<uint8_t>(order + 1);
  Free* free = ::new (region_.data() + uint64_t{block} * kMin_bytes) Free{free_[order], nullptr};
  if (free->next != nullptr) {
    free->next->previous = free;
  }
  free_[order] = free;
}

void BufferPool::removeFree(uint32_t order, Free* free) {
  (free->previous == nullptr ? free_[order] : free->previous->next) = free->next;
  if (free->next != nullptr) {
    free->next->previous = free->previous;
  }
  state_[(reinterpret_cast<std::byte*>(free) - region_.data()) / kMin_bytes] = 0;
}

Buffer BufferPool::allocate(uint32_t order) {
  uint32_t from = order;
  while (from < kOrders && free_[from] == nullptr) {
    from++;
  }
  if (from == kOrders) {
    return {};
  }
  Free* free = free_[from];
  removeFree(from, free);
  const auto block =
      static_cast<uint32_t>((reinterpret_cast<std::byte*>(free) - region_.data()) / kMin_bytes);
  while (from > order) {
    from--;
    pushFree(from, block + (1U << from));
  }
  const uint32_t size = kMin_bytes << order;
  in_use_ += size;
  return Buffer(this, reinterpret_cast<std::byte*>(free), size);
}

void BufferPool::give(std::byte* data, uint32_t size) {
  in_use_ -= size;
  uint32_t order = orderOf(size);
  auto block = static_cast<uint32_t>((data - region_.data()) / kMin_bytes);
  while (order + 1 < kOrders) {
    const uint32_t buddy = block ^ (1U << order);
    if (state_[buddy] != order + 1) {
      break;
    }
    removeFree(order, reinterpret_cast<Free*>(region_.data() + uint64_t{buddy} * kMin_bytes));
    block &= ~(1U << order);
    order++;
  }
  pushFree(order, block);
  grant();
}

void BufferPool::watch(Reactor& reactor) {
  if (pressure_.linked()) {
    return;
  }
  reactor_ = &reactor;
  pressure_.pool = this;
  pressure_.fire = [](Timer& timer) { static_cast<Pressure&>(timer).pool->askToLetGo(); };
  pressure_.at = reactor.now() + kPressure_ns;
  reactor.startTimer(pressure_);
}

void BufferPool::askToLetGo() {
  if (waiting_.empty()) {
    return;
  }
  for (Holding* holding = holdings_.front(); holding != nullptr;) {
    Holding* const next = holdings_.next(holding);
    if (holding->patient_until_ <= reactor_->now()) {
      holding->unlink();
      asked_++;
      holding->scope_.request();  // its wait ends in a later turn
    }
    holding = next;
  }
  watch(*reactor_);
}

void BufferPool::grant() {
  while (!waiting_.empty()) {
    Wait& first = *static_cast<Wait*>(waiting_.front());
    first.buffer = allocate(first.order);
    if (!first.buffer) {
      return;
    }
    waiting_.wakeOne();
  }
}

Buffer BufferPool::tryTake(uint32_t bytes) {
  return waiting_.empty() ? allocate(orderOf(bytes)) : Buffer();
}

Task<base::Result<Buffer>> BufferPool::take(uint32_t bytes, CancelScope& scope,
                                            base::MonoTime deadline) {
  Buffer buffer = tryTake(bytes);
  if (buffer) {
    co_return std::move(buffer);
  }
  waits_++;
  Wait wait(*this, orderOf(bytes), scope, deadline);
  const WaitQueue::Woken how = co_await wait;
  if (how == WaitQueue::Woken::by_wake) {
    co_return std::move(wait.buffer);
  }
  grant();  // a smaller request may have stood behind this one
  co_return base::Error{how == WaitQueue::Woken::cancelled ? base::Code::cancelled
                                                           : base::Code::timeout};
}

}  // namespace rt
