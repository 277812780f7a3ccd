// The first bytes of a response that did not come whole, as a fill finds them (fill_partial.cc).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "source/base/hash.h"
#include "source/http/head.h"
#include "source/store/core/entry.h"
#include "source/store/core/extents.h"

namespace cache {

enum class PartialEvent : uint8_t { kept, refused, resumed };

struct Partial {
  store::Entry entry;  // of its head record, under `hash`
  base::Hash128 hash;
  std::string text;         // the whole response's head
  http::ResponseHead head;  // views of text
  std::string_view etag;    // strong
  std::string range;        // the value of Range that asks for the rest
  uint64_t bytes = 0;       // that are there
  uint64_t length = 0;      // of the whole
  uint64_t object_id = 0;
  std::vector<store::Extent> extents;
};

}  // namespace cache
