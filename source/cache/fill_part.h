// A piece of a fill's body, as its readers share it.
#pragma once

#include <cstdint>
#include <optional>

#include "source/rt/buffer_pool.h"
#include "source/store/core/record_writer.h"

namespace cache {

// A piece of the body in memory. Subscribers that were lent bytes of it hold a reference; all
// counting happens on the owner's shard.
struct FillPart {
  rt::Buffer buffer;
  std::optional<store::RecordWriter> writer;  // while it is to be stored
  uint64_t offset = 0;                        // of its first byte in the body
  uint32_t body_at = 0;                       // of its first byte in the buffer
  uint32_t length = 0;                        // bytes received
  uint32_t readers = 0;
  bool retired = false;  // no longer in the row: goes with its last reader
};

}  // namespace cache
