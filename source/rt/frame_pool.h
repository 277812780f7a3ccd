// Coroutine frames come from free lists by size class, one set a thread: the only allocation that a
// suspended operation needs, and after warm-up not one either. This is the one thread-local of the
// project.
#pragma once

#include <cstddef>
#include <cstdint>

namespace rt {

void* allocateFrame(size_t bytes);
void freeFrame(void* frame, size_t bytes);

// Frames this thread holds and has handed out since it began; for tests and statistics.
struct FramePoolStats {
  uint64_t live = 0;
  uint64_t fresh = 0;  // taken from the heap
};
FramePoolStats framePoolStats();

}  // namespace rt
