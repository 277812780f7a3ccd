// The only way to run something concurrently. Every spawned task belongs to a group, and a group
// ends only when its tasks have: there is no detached coroutine.
#pragma once

#include <cstdint>

#include "source/rt/cancel.h"
#include "source/rt/reactor.h"
#include "source/rt/task.h"
#include "source/rt/wait.h"

namespace rt {

class TaskGroup {
 public:
  // At most `limit` tasks at once. Tasks of the group should wait in scope(), or in scopes below
  // it.
  TaskGroup(Reactor& reactor, uint32_t limit) : reactor_(reactor), limit_(limit) {}
  TaskGroup(Reactor& reactor, uint32_t limit, CancelScope& parent)
      : reactor_(reactor), limit_(limit), scope_(parent) {}
  ~TaskGroup() { CHECK(size_ == 0); }
  TaskGroup(const TaskGroup&) = delete;
  TaskGroup& operator=(const TaskGroup&) = delete;

  // Starts the task at once, up to its first suspension. False at the limit: the task is destroyed
  // unstarted, and the caller sheds the load.
  bool spawn(Task<void> task);
  // Waits until every task has ended. Cannot be cancelled: cancelAll() is how one makes it quick.
  Task<void> join();
  void cancelAll() { scope_.request(); }

  CancelScope& scope() { return scope_; }
  uint32_t size() const { return size_; }
  uint32_t limit() const { return limit_; }

 private:
  friend void taskEnded(TaskGroup& group);

  Reactor& reactor_;
  uint32_t limit_;
  uint32_t size_ = 0;
  CancelScope scope_;
  WaitQueue empty_;
};

}  // namespace rt
