#include "source/net/balance.h"

#include <algorithm>

namespace net {

uint16_t chooseShard(uint16_t self, std::span<const uint32_t> open) {
  const auto least = std::min_element(open.begin(), open.end());
  const uint32_t own = open[self];
  if (own <= *least || own - *least <= std::max(kLeastImbalance, own / 10)) {
    return self;
  }
  return static_cast<uint16_t>(least - open.begin());
}

}  // namespace net
