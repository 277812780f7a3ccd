// Remembers the keys of what was evicted, without the objects: S3-FIFO's ghost queue as a table of
// fixed size, sets of four. Time is counted in bytes that were evicted, so a lifetime is "until as
// many bytes have followed". Eight bytes an entry; keys are 31 bits of their fingerprint, so a
// stranger is taken for an old friend once in about 500 million.
#pragma once

#include <cstdint>
#include <memory>

namespace store {

class GhostTable {
 public:
  // `lifetime_bytes`: about the longest that take() will be asked for; it decides the resolution.
  GhostTable(uint32_t entries, uint64_t lifetime_bytes);
  // An object of `bytes` has gone. The oldest of its set makes room.
  void insert(uint64_t fingerprint, uint64_t bytes);
  // Whether the key went within the last `lifetime_bytes`; forgets it either way.
  bool take(uint64_t fingerprint, uint64_t lifetime_bytes);

 private:
  struct Slot {
    uint32_t fingerprint = 0;  // 0: free
    uint32_t time = 0;
  };
  static constexpr uint32_t kWays = 4;
  Slot* setOf(uint64_t mixed);
  uint32_t now() const { return static_cast<uint32_t>(bytes_ >> shift_); }

  uint64_t bytes_ = 0;  // evicted, ever
  uint32_t shift_;      // makes them units, of which a lifetime has at most 2^24
  uint32_t sets_;
  std::unique_ptr<Slot[]> slots_;
};

}  // namespace store
