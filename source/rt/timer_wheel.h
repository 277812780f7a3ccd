// A hierarchical timing wheel (Varghese and Lauck, 1987): four levels of 64 slots, one tick about a
// millisecond. Setting and stopping a timer are O(1) and allocate nothing; a timer never fires
// early, and fires at most one tick late.
#pragma once

#include <array>
#include <cstdint>

#include "source/base/intrusive_list.h"
#include "source/base/types.h"

namespace rt {

// fire is called once, on the shard's thread, with the timer already stopped.
struct Timer : base::ListHook {
  base::MonoTime at{};
  void (*fire)(Timer&) = nullptr;
};

class TimerWheel {
 public:
  static constexpr uint32_t kTickShift = 20;  // 2^20 ns
  static constexpr uint32_t kLevels = 4;
  static constexpr uint32_t kSlots = 64;

  explicit TimerWheel(base::MonoTime now) : tick_(now.ns >> kTickShift) {}
  ~TimerWheel() = default;

  // Starts `timer` (which is not running) to fire at timer.at.
  void start(Timer& timer);
  // Moves the wheel to `now` and fires what is due, in order of ticks.
  void advance(base::MonoTime now);
  // No timer is due before this time; kNever when none runs.
  base::MonoTime next() const;

 private:
  struct Level {
    std::array<base::IntrusiveList<Timer>, kSlots> slots;
    uint64_t occupied = 0;  // may name a slot whose timers have all been stopped since
  };
  void place(Timer& timer);
  void cascade(uint32_t level);

  std::array<Level, kLevels> levels_;
  base::IntrusiveList<Timer> due_;
  uint64_t tick_;
};

}  // namespace rt
