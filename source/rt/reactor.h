// One shard's event loop. A turn: sample the clocks, drain the mailboxes, expire timers, run what
// is ready, then one enter() that submits, reaps and, if nothing is left to do, sleeps; before that
// it may poll for a while (busy_poll.h). Coroutines run only from the ready queue; nothing acts
// inside a completion.
#pragma once

#include <cstdint>

#include "source/base/types.h"
#include "source/rt/busy_poll.h"
#include "source/rt/io_engine.h"
#include "source/rt/runnable.h"
#include "source/rt/timer_wheel.h"

namespace rt {

class Peers;

// Time is sampled once a turn.
struct Turn {
  base::MonoTime mono;
  base::UnixSeconds wall;
  uint64_t number = 0;
};

// Plain counters of the loop. Times are nanoseconds.
struct ReactorStats {
  uint64_t turns = 0;
  uint64_t resumed = 0;           // coroutines resumed
  uint64_t ready_quota_hits = 0;  // turns that left ready coroutines for the next
  uint64_t polls = 0;             // times that work was looked for before a sleep
  uint64_t polls_found = 0;       // and found
  uint64_t poll_ns = 0;           // spent looking
};

class Reactor {
 public:
  explicit Reactor(IoEngine& engine, const BusyPollOptions& polling = BusyPollOptions());
  ~Reactor();
  Reactor(const Reactor&) = delete;
  Reactor& operator=(const Reactor&) = delete;

  IoEngine& engine() { return engine_; }
  const Turn& turn() const { return turn_; }
  base::MonoTime now() const { return turn_.mono; }
  // What had completed before this time has been made ready. A shard with too much to do is behind:
  // what has not been seen to complete since then may have completed all the same.
  base::MonoTime caughtUp() const { return caught_up_; }
  const ReactorStats& stats() const { return stats_; }
  uint64_t pendingOps() const { return pending_ops_; }

  // Mailboxes to drain each turn; set once before the first turn.
  void attachPeers(Peers* peers) { peers_ = peers; }

  // For awaiters.
  void ready(Runnable& runnable) { ready_.push(&runnable); }
  void readyNextTurn(Runnable& runnable) { later_.push(&runnable); }
  void submit(Op& op);
  void startTimer(Timer& timer) { timers_.start(timer); }

  // One turn. With may_sleep it waits in enter() when there is nothing to do. Returns false when
  // the turn found nothing to do at all.
  bool runTurn(bool may_sleep);
  // Turns until stop(); the caller has joined every task group before it stops the loop.
  void run();
  void stop() { stopping_ = true; }

  // When the loop must turn again without being told (kNever: only an operation or a doorbell wakes
  // it).
  base::MonoTime nextDeadline() const;
  bool hasReady() const { return !ready_.empty() || !later_.empty(); }

 private:
  static constexpr uint32_t kReadyQuota =
      4096;  // a turn ends even if coroutines keep waking each other

  // The end of a turn that may sleep: enters until something has completed or `until` has come.
  bool enterAndWait(OpList& completed);
  bool pollFor(uint64_t ns, OpList& completed);

  IoEngine& engine_;
  BusyPoll polling_;
  Peers* peers_ = nullptr;
  Turn turn_;
  base::MonoTime caught_up_{0};
  TimerWheel timers_;
  ReadyQueue ready_;
  ReadyQueue later_;  // ready when this turn has looked at I/O
  ReactorStats stats_;
  uint64_t pending_ops_ = 0;
  bool stopping_ = false;
};

}  // namespace rt
