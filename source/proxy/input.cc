#include "source/proxy/input.h"

#include <utility>

namespace proxy {

void Input::release() {
  if (unread_.empty()) {
    buffer_.reset();
    spill_ = std::vector<char>();
    unread_ = {};
  }
}

void Input::append(rt::ReceiveBuffer buffer) {
  const std::span<const char> fresh(reinterpret_cast<const char*>(buffer.bytes().data()),
                                    buffer.bytes().size());
  if (unread_.empty()) {
    buffer_ = std::move(buffer);
    spill_.clear();
    unread_ = fresh;
    return;
  }
  const bool in_spill = !spill_.empty() && unread_.data() >= spill_.data() &&
                        unread_.data() < spill_.data() + spill_.size();
  if (in_spill) {
    spill_.erase(spill_.begin(), spill_.begin() + (unread_.data() - spill_.data()));
  } else {
    spill_.assign(unread_.begin(), unread_.end());
  }
  spill_.insert(spill_.end(), fresh.begin(), fresh.end());
  buffer_.reset();
  unread_ = spill_;
}

}  // namespace proxy
