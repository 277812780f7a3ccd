// Any bytes as a table of extents: what parses covers the object without a gap, finds every byte,
// and is, encoded again, the same bytes.
#include "source/store/core/extents.h"

#include <algorithm>

#include "test/fuzz/store/input.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fuzz::Input input = fuzz::take(data, size);
  std::vector<std::byte>& bytes = input.bytes;
  uint64_t length = 0;
  if (bytes.size() >= sizeof length) {
    length = store::loadStruct<uint64_t>(bytes);
    bytes.erase(bytes.begin(), bytes.begin() + sizeof length);
  }
  if (input.repaired() && bytes.size() >= sizeof(store::ExtentsHeader)) {
    const uint32_t crc = base::crc32c(std::span(bytes).subspan(sizeof(store::ExtentsHeader)));
    store::storeStruct(std::span(bytes), crc, offsetof(store::ExtentsHeader, crc));
  }
  const base::Result<store::ExtentTable> parsed = store::ExtentTable::parse(bytes, length);
  if (!parsed.ok()) {
    return 0;
  }
  const store::ExtentTable& table = parsed.value();
  std::vector<store::Extent> extents;
  uint64_t covered = 0;
  for (uint32_t i = 0; i < table.count(); i++) {
    extents.push_back(table.at(i));
    CHECK(extents.back().object_offset == covered);
    CHECK(table.indexOf(covered) == i);
    covered += table.bodyBytes(i);
    CHECK(table.indexOf(covered - 1) == i);
  }
  CHECK(covered == length);
  std::vector<std::byte> again;
  CHECK(store::encodeExtents(extents, length, again).ok());
  CHECK(again == bytes);
  return 0;
}
