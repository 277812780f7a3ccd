// One simulated machine's thread: an engine and whatever reactor runs on it.
#pragma once

#include <memory>
#include <utility>

#include "source/rt/peers.h"
#include "source/rt/reactor.h"
#include "source/rt/task_group.h"
#include "test/sim/engine.h"

namespace sim {

// Doorbells reach the host of the same process with that shard number.
struct HostSpec {
  uint32_t process = 0;
  base::ShardId shard{0};
};

class SimHost {
 public:
  SimHost(Core& core, Kernel& kernel, uint32_t index, HostSpec spec, bool can_register);
  ~SimHost();

  SimEngine& engine() { return engine_; }
  uint32_t index() const { return index_; }
  const HostSpec& spec() const { return spec_; }
  bool killed() const { return killed_; }

  // A reactor made elsewhere (by a shard) runs here until detach().
  void attach(rt::Reactor& reactor, rt::Peers* peers);
  void detach();

  // The host's own reactor and group, made at first use, for scripted clients and servers.
  rt::Reactor& reactor();
  rt::TaskGroup& group();
  rt::CancelScope& scope() { return group().scope(); }
  void spawn(rt::Task<void> task);

  // For the world.
  bool attached() const { return reactor_ != nullptr; }
  bool runnable(uint64_t now_ns) const;
  // When its timers want it; UINT64_MAX when it has none.
  uint64_t deadline() const;
  void takeTurn();
  void setKilled() { killed_ = true; }

 private:
  struct Own {
    explicit Own(rt::IoEngine& engine) : reactor(engine), group(reactor, 1'000'000) {}
    rt::Reactor reactor;
    rt::TaskGroup group;
  };
  // awake: takes turns. drowsy: found nothing to do, and looks once more when it parks. parked:
  // asleep.
  enum class State : uint8_t { awake, drowsy, parked };

  Core& core_;
  uint32_t index_;
  HostSpec spec_;
  SimEngine engine_;
  std::unique_ptr<Own> own_;
  rt::Reactor* reactor_ = nullptr;
  rt::Peers* peers_ = nullptr;
  State state_ = State::awake;
  bool killed_ = false;
};

}  // namespace sim
