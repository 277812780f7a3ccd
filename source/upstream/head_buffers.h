// Response heads and the buffers that they are views of, kept for the next exchange when one ends,
// so that parsing allocates nothing after warm-up. An exchange holds its head for as long as
// somebody may look at it, which is longer than it holds its connection.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "source/http/head.h"

namespace upstream {

struct HeadBuffer {
  std::unique_ptr<std::byte[]> bytes;
  http::ResponseHead head;
};

class HeadBuffers {
 public:
  static constexpr size_t kSpares = 64;

  explicit HeadBuffers(uint32_t buffer_bytes) : buffer_bytes_(buffer_bytes) {
    spares_.reserve(kSpares);
  }

  uint32_t bufferBytes() const { return buffer_bytes_; }
  std::unique_ptr<HeadBuffer> take() {
    if (spares_.empty()) {
      auto fresh = std::make_unique<HeadBuffer>();
      fresh->bytes = std::make_unique_for_overwrite<std::byte[]>(buffer_bytes_);
      return fresh;
    }
    std::unique_ptr<HeadBuffer> spare = std::move(spares_.back());
    spares_.pop_back();
    return spare;
  }
  void give(std::unique_ptr<HeadBuffer> buffer) {
    if (spares_.size() < kSpares) {
      buffer->head.fields.clear();
      spares_.push_back(std::move(buffer));
    }
  }

 private:
  uint32_t buffer_bytes_;
  std::vector<std::unique_ptr<HeadBuffer>> spares_;
};

}  // namespace upstream
