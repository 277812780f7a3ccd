// How a sliced object lies in the store (policy/slice.h, docs/disk-format.md). Under the object's
// key is a record with the whole response's head, and this table as its body; it is what is looked
// up, judged, validated and purged. The bytes are in blocks, objects of their own under keys that
// no request has. A block's key has the table's id: when another version, or the same after a
// purge, gets another table, no block of the old one can be found.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "source/policy/slice.h"

namespace cache {

struct SliceTable {
  uint64_t id = 0;
  policy::SliceLayout layout;
};

// nullopt: it is none, or makes no sense.
std::optional<SliceTable> decodeSliceTable(std::span<const std::byte> body);
std::vector<std::byte> encodeSliceTable(const SliceTable& table);

// Between an object's key and what makes it the key of one of its blocks. No key of a request has a
// line feed, and what makes a variant begins with no slash.
inline constexpr std::string_view kSliceMark = "\n/";
inline constexpr size_t kSliceSuffix_bytes = 2 + 16 + 1 + 20;  // at most
std::string blockKey(std::string_view key, uint64_t id, uint64_t block);
bool isBlockKey(std::string_view key);

// The head that a block is kept with. It says which bytes of which version they are: whoever finds
// a block compares it.
std::string blockHead(const policy::SliceLayout& layout, uint64_t block, std::string_view etag);

enum class SliceEvent : uint8_t { object, block, changed, unusable };

// A block to be fetched. etag: of its version, strong.
struct BlockSpec {
  SliceTable table;
  uint64_t block = 0;
  std::string etag;
};

}  // namespace cache
