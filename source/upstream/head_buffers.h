// Buffers for response heads, kept for the next exchange when one ends. An exchange holds its
// buffer for as long as somebody may look at the head, which is longer than it holds its
// connection.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace upstream {

class HeadBuffers {
 public:
  static constexpr size_t kSpares = 64;

  using Bytes = std::unique_ptr<std::byte[]>;

  explicit HeadBuffers(uint32_t buffer_bytes) : buffer_bytes_(buffer_bytes) {
    spares_.reserve(kSpares);
  }

  uint32_t bufferBytes() const { return buffer_bytes_; }
  Bytes take() {
    if (spares_.empty()) {
      return std::make_unique_for_overwrite<std::byte[]>(buffer_bytes_);
    }
    Bytes bytes = std::move(spares_.back());
    spares_.pop_back();
    return bytes;
  }
  void give(Bytes bytes) {
    if (bytes != nullptr && spares_.size() < kSpares) {
      spares_.push_back(std::move(bytes));
    }
  }

 private:
  uint32_t buffer_bytes_;
  std::vector<Bytes> spares_;
};

}  // namespace upstream
