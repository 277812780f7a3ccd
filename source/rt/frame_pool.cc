#include "source/rt/frame_pool.h"

#include <cstdlib>

#include "source/base/check.h"

namespace rt {
namespace internal {

constinit thread_local FrameLists frame_lists [[gnu::tls_model("initial-exec")]];

namespace {

// Frees the lists when its thread ends.
struct Sweeper {
  bool on = false;
  ~Sweeper() {
    for (FreeFrame*& list : frame_lists.lists) {
      while (list != nullptr) {
        FreeFrame* next = list->next;
        std::free(list);
        list = next;
      }
    }
  }
};
thread_local Sweeper sweeper;

}  // namespace

void* takeFreshFrame(size_t bytes) {
  sweeper.on = true;  // made by its first use
  frame_lists.stats.fresh++;
  void* frame = std::malloc(frameClass(bytes) * kFrameClass_bytes);
  CHECK(frame != nullptr);
  return frame;
}

void dropFrame(void* frame) {
  std::free(frame);
}

}  // namespace internal

FramePoolStats framePoolStats() {
  return internal::frame_lists.stats;
}

}  // namespace rt
