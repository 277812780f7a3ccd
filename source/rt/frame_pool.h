// Coroutine frames come from free lists by size class, one set a thread: the only allocation that a
// suspended operation needs, and after warm-up not one either. This is the one thread-local of the
// project.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>

namespace rt {

// Frames this thread holds and has handed out since it began; for tests and statistics.
struct FramePoolStats {
  uint64_t live = 0;
  uint64_t fresh = 0;  // taken from the heap
};

namespace internal {

inline constexpr size_t kFrameClass_bytes = 64;
// Frames up to 16 KiB are pooled; larger ones go to the heap.
inline constexpr size_t kFrameClasses = 256;

struct FreeFrame {
  FreeFrame* next;
};

// Trivial to construct and to destroy, so that reaching it costs no call; what it holds at the end
// of the thread is freed by another object (frame_pool.cc).
struct FrameLists {
  FreeFrame* lists[kFrameClasses + 1] = {};
  FramePoolStats stats;
};
extern constinit thread_local FrameLists frame_lists [[gnu::tls_model("initial-exec")]];

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
inline constexpr bool kReuseFrames = false;  // so that a use after free of a frame is seen
#else
inline constexpr bool kReuseFrames = true;
#endif
#else
inline constexpr bool kReuseFrames = true;
#endif

inline size_t frameClass(size_t bytes) {
  return (bytes + kFrameClass_bytes - 1) / kFrameClass_bytes;
}
void* takeFreshFrame(size_t bytes);
void dropFrame(void* frame);

}  // namespace internal

inline void* allocateFrame(size_t bytes) {
  internal::FrameLists& pool = internal::frame_lists;
  const size_t cls = internal::frameClass(bytes);
  pool.stats.live++;
  if (internal::kReuseFrames && cls <= internal::kFrameClasses) {
    internal::FreeFrame* frame = pool.lists[cls];
    if (frame != nullptr) {
      pool.lists[cls] = frame->next;
      return frame;
    }
  }
  return internal::takeFreshFrame(bytes);
}

inline void freeFrame(void* frame, size_t bytes) {
  internal::FrameLists& pool = internal::frame_lists;
  const size_t cls = internal::frameClass(bytes);
  pool.stats.live--;
  if (internal::kReuseFrames && cls <= internal::kFrameClasses) {
    pool.lists[cls] = ::new (frame) internal::FreeFrame{pool.lists[cls]};
    return;
  }
  internal::dropFrame(frame);
}

FramePoolStats framePoolStats();

// Base of objects that come and go with requests: they are made of frames' memory. Each is deleted
// by the thread that made it, and is aligned no more than malloc's memory.
struct FramePooled {
  static void* operator new(size_t bytes) { return allocateFrame(bytes); }
  static void operator delete(void* object, size_t bytes) { freeFrame(object, bytes); }
};

}  // namespace rt
