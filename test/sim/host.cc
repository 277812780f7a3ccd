#include "test/sim/host.h"

namespace sim {

SimHost::SimHost(Core& core, Kernel& kernel, uint32_t index, HostSpec spec, bool can_register)
    : core_(core), index_(index), spec_(spec), engine_(core, kernel, index, can_register) {}

SimHost::~SimHost() = default;

void SimHost::attach(rt::Reactor& reactor, rt::Peers* peers) {
  CHECK(reactor_ == nullptr);
  reactor_ = &reactor;
  peers_ = peers;
  state_ = State::awake;
}

void SimHost::detach() {
  reactor_ = nullptr;
  peers_ = nullptr;
}

rt::Reactor& SimHost::reactor() {
  if (own_ == nullptr && reactor_ == nullptr) {
    own_ = std::make_unique<Own>(engine_);
    reactor_ = &own_->reactor;
  }
  return *reactor_;
}

rt::TaskGroup& SimHost::group() {
  reactor();
  CHECK(own_ != nullptr);
  return own_->group;
}

void SimHost::spawn(rt::Task<void> task) {
  const bool started = group().spawn(std::move(task));
  CHECK(started);
}

bool SimHost::runnable(uint64_t now_ns) const {
  return reactor_ != nullptr &&
         (state_ != State::parked || engine_.hasWork() || reactor_->nextDeadline().ns <= now_ns);
}

uint64_t SimHost::deadline() const {
  return reactor_ == nullptr ? UINT64_MAX : reactor_->nextDeadline().ns;
}

void SimHost::takeTurn() {
  core_.trace(Trace::turn, index_, static_cast<uint64_t>(state_));
  if (state_ == State::drowsy && !engine_.hasWork() && reactor_->nextDeadline().ns > core_.now()) {
    state_ = peers_ == nullptr || peers_->park() ? State::parked : State::awake;
    return;
  }
  state_ = reactor_->runTurn(false) ? State::awake : State::drowsy;
}

}  // namespace sim
