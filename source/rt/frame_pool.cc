#include "source/rt/frame_pool.h"

#include <array>
#include <cstdlib>
#include <new>

#include "source/base/check.h"

namespace rt {
namespace {

constexpr size_t kClass_bytes = 64;
constexpr size_t kClasses = 256;  // frames up to 16 KiB are pooled; larger ones go to the heap

struct Free {
  Free* next;
};

struct Pool {
  std::array<Free*, kClasses + 1> lists{};
  FramePoolStats stats;
  ~Pool() {
    for (Free*& list : lists) {
      while (list != nullptr) {
        Free* next = list->next;
        std::free(list);
        list = next;
      }
    }
  }
};

thread_local Pool pool;

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
constexpr bool kReuse = false;  // so that a use after free of a frame is seen
#else
constexpr bool kReuse = true;
#endif
#else
constexpr bool kReuse = true;
#endif

}  // namespace

void* allocateFrame(size_t bytes) {
  const size_t cls = (bytes + kClass_bytes - 1) / kClass_bytes;
  pool.stats.live++;
  if (kReuse && cls <= kClasses && pool.lists[cls] != nullptr) {
    Free* frame = pool.lists[cls];
    pool.lists[cls] = frame->next;
    return frame;
  }
  pool.stats.fresh++;
  void* frame = std::malloc(cls * kClass_bytes);
  CHECK(frame != nullptr);
  return frame;
}

void freeFrame(void* frame, size_t bytes) {
  const size_t cls = (bytes + kClass_bytes - 1) / kClass_bytes;
  pool.stats.live--;
  if (kReuse && cls <= kClasses) {
    Free* free = ::new (frame) Free{pool.lists[cls]};
    pool.lists[cls] = free;
    return;
  }
  std::free(frame);
}

FramePoolStats framePoolStats() {
  return pool.stats;
}

}  // namespace rt
