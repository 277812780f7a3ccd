#include "source/rt/reactor.h"

#include <algorithm>

#include "source/base/check.h"
#include "source/rt/peers.h"
#include "source/rt/task.h"

namespace rt {

void makeReady(Reactor& reactor, Runnable& runnable) {
  reactor.ready(runnable);
}

Reactor::Reactor(IoEngine& engine, const BusyPollOptions& polling)
    : engine_(engine), polling_(polling), timers_(engine.monotonic()) {
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

bool Reactor::pollFor(uint64_t ns, OpList& completed) {
  const base::MonoTime begun = engine_.monotonic();
  const base::MonoTime end = std::min(begun + ns, timers_.next());
  base::MonoTime now = begun;
  bool found = false;
  while (!found && now < end) {
    // In this order: a message whose doorbell was just heard is seen.
    found = engine_.enter(base::MonoTime{0}, completed) > 0;
    found = found || (peers_ != nullptr && peers_->hasMessages());
    now = engine_.monotonic();
  }
  stats_.polls++;
  stats_.polls_found += found ? 1 : 0;
  stats_.poll_ns += now.ns - begun.ns;
  return found;
}

bool Reactor::enterAndWait(OpList& completed) {
  const base::MonoTime begun = polling_.enabled() ? engine_.monotonic() : base::MonoTime{0};
  const uint64_t poll_ns = polling_.enabled() ? polling_.decide(begun) : 0;
  const uint64_t polled_before_ns = stats_.poll_ns;
  bool worked = poll_ns > 0 && pollFor(poll_ns, completed);
  if (!worked) {
    const bool parked = peers_ == nullptr || peers_->park();
    worked = engine_.enter(parked ? timers_.next() : base::MonoTime{0}, completed) > 0;
    if (peers_ != nullptr) {
      peers_->unpark();
    }
  }
  if (polling_.enabled()) {
    polling_.note(engine_.monotonic().ns - begun.ns, stats_.poll_ns - polled_before_ns);
  }
  return worked;
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

  OpList completed;
  if (may_sleep && !hasReady() && !stopping_) {
    worked |= enterAndWait(completed);
  } else {
    worked |= engine_.enter(base::MonoTime{0}, completed) > 0;
  }
  if (!engine_.mayHaveMore()) {
    caught_up_ = turn_.mono;
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
  engine_.finishDoorbells();
}

}  // namespace rt
