#include "source/rt/reactor.h"

#include "source/base/check.h"
#include "source/rt/peers.h"
#include "source/rt/task.h"

namespace rt {

void makeReady(Reactor& reactor, Runnable& runnable) {
  reactor.ready(runnable);
}

Reactor::Reactor(IoEngine& engine) : engine_(engine), timers_(engine.monotonic()) {
  turn_.mono = engine.monotonic();
  turn_.wall = engine.wall();
}

Reactor::~Reactor() {
  CHECK(pending_ops_ == 0);
  CHECK(!hasReady());
}

void Reactor::submit(Op& op) {
  pending_ops_++;
  engine_.prepare(op);
}

base::MonoTime Reactor::nextDeadline() const {
  return hasReady() ? base::MonoTime{0} : timers_.next();
}

bool Reactor::runTurn(bool may_sleep) {
  turn_.mono = engine_.monotonic();
  turn_.wall = engine_.wall();
  turn_.number++;
  stats_.turns++;

  bool worked = peers_ != nullptr && peers_->drain();
  timers_.advance(turn_.mono);
  uint32_t quota = kReadyQuota;
  for (; quota > 0; quota--) {
    Runnable* runnable = ready_.pop();
    if (runnable == nullptr) {
      break;
    }
    stats_.resumed++;
    worked = true;
    runnable->handle.resume();
  }
  stats_.ready_quota_hits += quota == 0 ? 1 : 0;

  base::MonoTime until{0};
  if (may_sleep && !hasReady() && !stopping_ && (peers_ == nullptr || peers_->park())) {
    until = timers_.next();
  }
  OpList completed;
  worked |= engine_.enter(until, completed) > 0;
  if (peers_ != nullptr) {
    peers_->unpark();
  }
  while (Op* op = completed.pop()) {
    pending_ops_--;
    if (op->waiter != nullptr) {
      ready_.push(op->waiter);
    }
  }
  while (Runnable* runnable = later_.pop()) {
    ready_.push(runnable);
  }
  return worked;
}

void Reactor::run() {
  while (!stopping_) {
    runTurn(true);
  }
}

}  // namespace rt
