#include "source/cache/slices.h"

#include <array>
#include <cstdio>
#include <cstring>

#include "source/http/head.h"
#include "source/http/serialize.h"

namespace cache {
namespace {

// As it lies on the disk.
struct TableOnDisk {
  uint64_t id = 0;
  uint64_t length = 0;
  uint64_t block_bytes = 0;
};
static_assert(sizeof(TableOnDisk) == 24);

}  // namespace

std::optional<SliceTable> decodeSliceTable(std::span<const std::byte> body) {
  TableOnDisk disk;
  if (body.size() != sizeof disk) {
    return std::nullopt;
  }
  std::memcpy(&disk, body.data(), sizeof disk);
  // What fits into one block is no sliced object.
  if (disk.block_bytes == 0 || disk.length <= disk.block_bytes) {
    return std::nullopt;
  }
  return SliceTable{disk.id, policy::SliceLayout{disk.length, disk.block_bytes}};
}

std::vector<std::byte> encodeSliceTable(const SliceTable& table) {
  const TableOnDisk disk{table.id, table.layout.length, table.layout.block_bytes};
  std::vector<std::byte> out(sizeof disk);
  std::memcpy(out.data(), &disk, sizeof disk);
  return out;
}

std::string blockKey(std::string_view key, uint64_t id, uint64_t block) {
  std::array<char, 17> hex;
  std::snprintf(hex.data(), hex.size(), "%016llx", static_cast<unsigned long long>(id));
  std::string out;
  out.reserve(key.size() + kSliceSuffix_bytes);
  out.append(key).append(kSliceMark).append(hex.data(), hex.size() - 1).append(".");
  return out.append(std::to_string(block));
}

bool isBlockKey(std::string_view key) {
  return key.rfind(kSliceMark) != std::string_view::npos;
}

std::string blockHead(const policy::SliceLayout& layout, uint64_t block, std::string_view etag) {
  std::array<char, http::kContentRangeSize> range;
  std::string text;
  http::appendStatusLine(text, 206);
  http::appendField(text, http::Name::content_range,
                    http::writeContentRange({layout.rangeOf(block), layout.length}, range));
  http::appendField(text, http::Name::etag, etag);
  http::appendHeadEnd(text);
  return text;
}

}  // namespace cache
