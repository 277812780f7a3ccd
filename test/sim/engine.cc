#include "test/sim/engine.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace sim {

SimEngine::SimEngine(Core& core, Kernel& kernel, uint32_t host, bool can_register)
    : core_(core), kernel_(kernel), host_(host), can_register_(can_register) {}

SimEngine::~SimEngine() {
  CHECK(stats_.in_flight == 0);
}

base::UnixSeconds SimEngine::wall() {
  return base::UnixSeconds{static_cast<int64_t>(wall_start_s_ + core_.now() / base::kSecond_ns)};
}

void SimEngine::prepare(rt::Op& op) {
  CHECK(op.state == rt::Op::State::idle || op.state == rt::Op::State::done);
  op.state = rt::Op::State::queued;
  op.result = 0;
  queued_.push(&op);
  stats_.in_flight++;
  stats_.in_flight_max = std::max(stats_.in_flight_max, stats_.in_flight);
}

void SimEngine::cancel(rt::Op& op) {
  if (op.state == rt::Op::State::queued || op.state == rt::Op::State::in_kernel) {
    cancels_.push_back(&op);
  }
}

void SimEngine::submit() {
  uint64_t batch = 0;
  while (rt::Op* op = queued_.pop()) {
    if (free_.empty()) {
      free_.push_back(&pool_.emplace_back());
    }
    Pending& pending = *free_.back();
    free_.pop_back();
    pending = Pending{};
    pending.op = op;
    pending.engine = this;
    pending.id = next_id_++;
    op->state = rt::Op::State::in_kernel;
    in_kernel_[op] = &pending;
    batch++;
    core_.trace(Trace::submit, host_, pending.id, static_cast<uint64_t>(op->kind));
    kernel_.start(pending);
  }
  stats_.submissions += batch;
  stats_.submission_batch_max = std::max(stats_.submission_batch_max, batch);
  for (const rt::Op* op : std::exchange(cancels_, {})) {
    const auto found = in_kernel_.find(op);
    if (found != in_kernel_.end() && !found->second->settled) {
      core_.trace(Trace::cancel, host_, found->second->id);
      kernel_.cancel(*found->second);
    }
  }
  for (const base::ShardId peer : std::exchange(rings_, {})) {
    stats_.doorbells_rung++;
    kernel_.ringDoorbell(*this, peer);
  }
}

size_t SimEngine::enter(base::MonoTime sleep_until, rt::OpList& completed) {
  stats_.enters++;
  submit();
  if (sleep_until.ns > core_.now() && !hasNews()) {
    stats_.sleeps++;
    const uint64_t begun_ns = core_.now();
    kernel_.sleep(*this, sleep_until);
    stats_.wait_ns += core_.now() - begun_ns;
  }
  if (doorbell_) {
    doorbell_ = false;
    stats_.doorbells_heard++;
  }
  size_t count = 0;
  while (rt::Op* op = finished_.pop()) {
    op->state = rt::Op::State::done;
    completed.push(op);
    count++;
  }
  stats_.completions += count;
  stats_.in_flight -= count;
  stats_.completion_batch_max = std::max(stats_.completion_batch_max, uint64_t{count});
  return count;
}

void SimEngine::finish(Pending& pending, int32_t result, uint64_t delay_ns) {
  CHECK(pending.id != 0);
  CHECK(!pending.settled);
  pending.settled = true;
  pending.op->result = result;
  if (rt::isSend(pending.op->kind)) {
    pending.op->offset = pending.progress;
  }
  if (delay_ns == 0) {
    handOver(pending);
    return;
  }
  core_.schedule(core_.now() + delay_ns, [this, &pending] { handOver(pending); });
}

void SimEngine::handOver(Pending& pending) {
  core_.trace(Trace::finish, host_, pending.id, static_cast<uint32_t>(pending.op->result));
  in_kernel_.erase(pending.op);
  finished_.push(pending.op);
  pending.id = 0;
  pending.op = nullptr;
  free_.push_back(&pending);
}

std::vector<Pending*> SimEngine::inKernel() {
  std::vector<Pending*> all;
  for (Pending& pending : pool_) {
    if (pending.id != 0) {
      all.push_back(&pending);
    }
  }
  std::sort(all.begin(), all.end(), [](Pending* a, Pending* b) { return a->id < b->id; });
  return all;
}

void SimEngine::provideReceiveBuffers(std::byte* memory, uint32_t size, uint32_t count) {
  CHECK(buffers_ == nullptr);
  buffers_ = memory;
  buffer_bytes_ = size;
  buffer_free_.assign(count, true);
  for (uint32_t i = 0; i < count; i++) {
    free_buffers_.push_back(static_cast<uint16_t>(i));
  }
}

bool SimEngine::takeReceiveBuffer(uint16_t& id, std::span<std::byte>& bytes) {
  if (free_buffers_.empty()) {
    return false;
  }
  const size_t chosen = core_.random().below(free_buffers_.size());
  std::swap(free_buffers_[chosen], free_buffers_.back());
  id = free_buffers_.back();
  free_buffers_.pop_back();
  buffer_free_[id] = false;
  bytes = {buffers_ + size_t{id} * buffer_bytes_, buffer_bytes_};
  return true;
}

void SimEngine::recycle(uint16_t buffer_id) {
  CHECK(buffer_id < buffer_free_.size());
  CHECK(!buffer_free_[buffer_id]);
  buffer_free_[buffer_id] = true;
  free_buffers_.push_back(buffer_id);
  // Whoever still reads the buffer reads nonsense.
  std::memset(buffers_ + size_t{buffer_id} * buffer_bytes_, 0xdd, buffer_bytes_);
}

bool SimEngine::registerRegion(std::span<std::byte> region) {
  if (can_register_) {
    region_ = region;
  }
  return can_register_;
}

bool SimEngine::inRegion(const void* address, uint32_t length) const {
  const auto* begin = static_cast<const std::byte*>(address);
  return !region_.empty() && begin >= region_.data() &&
         begin + length <= region_.data() + region_.size();
}

}  // namespace sim
