// Which shard an accepted connection goes to, where listeners balance them.
#pragma once

#include <cstdint>
#include <span>

namespace net {

// A shard hands a connection over only to one that has fewer by more than this, and by more than a
// tenth of its own: counts of others are a little old, and a move costs a message.
inline constexpr uint32_t kLeastImbalance = 2;

// `open` has every shard's connections, this one's with the new one among them. The shard with the
// fewest, the first of equals, or `self`.
uint16_t chooseShard(uint16_t self, std::span<const uint32_t> open);

}  // namespace net
