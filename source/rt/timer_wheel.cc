#include "source/rt/timer_wheel.h"

#include <algorithm>
#include <bit>

namespace rt {
namespace {

constexpr uint64_t kSpan = 1ULL << (6 * TimerWheel::kLevels);  // ticks the wheel reaches ahead

// The first tick at or after the time.
uint64_t tickOf(base::MonoTime at) {
  const uint64_t down = at.ns >> TimerWheel::kTickShift;
  return (at.ns & ((1ULL << TimerWheel::kTickShift) - 1)) == 0 ? down : down + 1;
}

uint32_t slotOf(uint64_t tick, uint32_t level) {
  return tick >> (6 * level) & 63;
}

}  // namespace

void TimerWheel::start(Timer& timer) {
  CHECK(!timer.linked());
  place(timer);
}

void TimerWheel::place(Timer& timer) {
  uint64_t tick = tickOf(timer.at);
  if (tick <= tick_) {
    due_.pushBack(&timer);
    return;
  }
  tick = std::min(tick, tick_ + kSpan - 1);  // far timers are placed again when they come near
  // The level is where the two times first differ, so that a slot is emptied before its time
  // begins.
  const uint32_t level =
      std::min(kLevels - 1, static_cast<uint32_t>(63 - std::countl_zero(tick ^ tick_)) / 6);
  const uint32_t slot = slotOf(tick, level);
  levels_[level].slots[slot].pushBack(&timer);
  levels_[level].occupied |= 1ULL << slot;
}

void TimerWheel::cascade(uint32_t level) {
  const uint32_t slot = slotOf(tick_, level);
  if (slot == 0 && level + 1 < kLevels) {
    cascade(level + 1);
  }
  Level& l = levels_[level];
  if ((l.occupied >> slot & 1) == 0) {
    return;
  }
  l.occupied &= ~(1ULL << slot);
  base::IntrusiveList<Timer> moved;
  while (Timer* timer = l.slots[slot].popFront()) {
    moved.pushBack(timer);
  }
  while (Timer* timer = moved.popFront()) {
    place(*timer);
  }
}

void TimerWheel::advance(base::MonoTime now) {
  const uint64_t target = now.ns >> kTickShift;
  while (tick_ < target) {
    const base::MonoTime upcoming = next();
    if (upcoming == base::kNever || tickOf(upcoming) > target) {
      tick_ = target;  // nothing lies between: every occupied slot begins later
      break;
    }
    tick_ = std::max(tick_ + 1, tickOf(upcoming));
    if (slotOf(tick_, 0) == 0) {
      cascade(1);
    }
    Level& l = levels_[0];
    const uint32_t slot = slotOf(tick_, 0);
    l.occupied &= ~(1ULL << slot);
    while (Timer* timer = l.slots[slot].popFront()) {
      due_.pushBack(timer);
    }
    while (Timer* timer = due_.popFront()) {
      timer->fire(*timer);
    }
  }
  while (Timer* timer = due_.popFront()) {
    timer->fire(*timer);
  }
}

base::MonoTime TimerWheel::next() const {
  auto* self = const_cast<TimerWheel*>(this);
  if (!self->due_.empty()) {
    return base::MonoTime{tick_ << kTickShift};
  }
  uint64_t best = UINT64_MAX;
  for (uint32_t level = 0; level < kLevels; level++) {
    const uint64_t unit = 1ULL << (6 * level);
    const uint64_t current = tick_ >> (6 * level);
    for (uint64_t bits = std::rotr(levels_[level].occupied, static_cast<int>((current + 1) & 63));
         bits != 0; bits &= bits - 1) {
      const uint64_t begins = (current + 1 + static_cast<uint64_t>(std::countr_zero(bits))) * unit;
      if (!self->levels_[level].slots[slotOf(begins, level)].empty()) {
        best = std::min(best, begins);
        break;
      }
    }
  }
  return best == UINT64_MAX ? base::kNever : base::MonoTime{best << kTickShift};
}

}  // namespace rt
