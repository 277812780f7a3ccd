#include "source/rt/task_group.h"

namespace rt {

bool TaskGroup::spawn(Task<void> task) {
  if (size_ >= limit_) {
    return false;
  }
  size_++;
  auto handle = task.release();
  handle.promise().reactor = &reactor_;
  handle.promise().group = this;
  handle.resume();
  return true;
}

Task<void> TaskGroup::join() {
  CancelScope never;
  while (size_ > 0) {
    co_await empty_.wait(never);
  }
}

void taskEnded(TaskGroup& group) {
  if (--group.size_ == 0) {
    group.empty_.wakeAll();
  }
}

}  // namespace rt
