// A doubly linked list of object numbers over arrays: each object is in at most one place of it.
#pragma once

#include <cstdint>
#include <vector>

#include "source/base/check.h"

namespace cachesim {

inline constexpr uint32_t kNone = UINT32_MAX;

class Queue {
 public:
  explicit Queue(uint32_t objects) : links_(objects) {}

  bool empty() const { return front_ == kNone; }
  uint32_t front() const { return front_; }  // the oldest
  uint32_t back() const { return back_; }
  uint32_t after(uint32_t object) const { return links_[object].next; }  // towards the back
  uint64_t bytes() const { return bytes_; }

  void pushBack(uint32_t object, uint64_t bytes) {
    links_[object] = Link{back_, kNone, bytes};
    (back_ == kNone ? front_ : links_[back_].next) = object;
    back_ = object;
    bytes_ += bytes;
  }
  // The bytes that it was pushed with.
  uint64_t remove(uint32_t object) {
    const Link link = links_[object];
    (link.previous == kNone ? front_ : links_[link.previous].next) = link.next;
    (link.next == kNone ? back_ : links_[link.next].previous) = link.previous;
    CHECK(link.bytes <= bytes_);
    bytes_ -= link.bytes;
    return link.bytes;
  }
  void moveToBack(uint32_t object) { pushBack(object, remove(object)); }

 private:
  struct Link {
    uint32_t previous = kNone;
    uint32_t next = kNone;
    uint64_t bytes = 0;
  };
  std::vector<Link> links_;
  uint32_t front_ = kNone;
  uint32_t back_ = kNone;
  uint64_t bytes_ = 0;
};

}  // namespace cachesim
