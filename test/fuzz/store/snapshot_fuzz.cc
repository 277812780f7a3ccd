// A snapshot out of any pieces, fed to the decoder and what it gives to the merge: never a crash,
// never an entry that could not be one. Each piece of the input is kind, length and payload of a
// block.
#include "source/store/core/snapshot.h"

#include <algorithm>

#include "source/store/core/recovery.h"
#include "test/fuzz/store/input.h"

namespace {

constexpr uint32_t kSalt = 1;
constexpr uint32_t kSegments = 8;
constexpr uint64_t kNumber = 3;

// The next block; its framing is right unless the mode says otherwise.
std::vector<std::byte> nextBlock(std::span<const std::byte>& rest, uint32_t index, uint8_t mode) {
  std::vector<std::byte> block(store::kSnapshotBlockBytes);
  store::SnapshotBlockHeader header{};
  header.magic = store::kSnapshotMagic;
  header.version = store::kSnapshotVersion;
  header.number = kNumber;
  header.kind = static_cast<uint8_t>(rest[0]);
  header.used_bytes = static_cast<uint32_t>(rest[1]) | static_cast<uint32_t>(rest[2]) << 8;
  header.index = index + ((mode & 2) != 0 ? static_cast<uint32_t>(rest[0]) >> 6 : 0);
  rest = rest.subspan(3);
  const size_t take =
      std::min({rest.size(), size_t{header.used_bytes}, size_t{store::kSnapshotPayload}});
  store::storeStruct(std::span(block), header);
  std::copy_n(rest.begin(), take, block.begin() + sizeof header);
  rest = rest.subspan(take);
  if ((mode & 1) != 0) {
    fuzz::seal(block, offsetof(store::SnapshotBlockHeader, crc), kSalt);
  }
  return block;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const fuzz::Input input = fuzz::take(data, size);
  store::SegmentTable table(kSegments);
  for (uint32_t s = 0; s < kSegments; s++) {
    table.setSequence(s, 100 + s);
  }
  const auto index = store::IndexShard::create(store::IndexOptions{36, 1000}, table);
  CHECK(index.ok());
  store::PurgeSet purges;
  purges.raiseFloor(store::LogPosition{102, 0});
  store::RecoveryMerge merge(*index.value(), table, purges);
  store::SnapshotDecoder decoder(kSalt);
  std::span<const std::byte> rest = input.bytes;
  std::vector<store::PlacedEntry> entries;
  for (uint32_t block = 0; rest.size() >= 3 && block < 64; block++) {
    entries.clear();
    if (!decoder.feed(nextBlock(rest, block, input.mode), entries).ok()) {
      CHECK(entries.empty());
      continue;
    }
    for (const store::PlacedEntry& placed : entries) {
      CHECK(placed.entry.placed());
      merge.addSnapshotEntry(decoder.header(), decoder.sequences(), placed);
    }
  }
  CHECK(index.value()->size() <= index.value()->bucketCount() * 4);
  CHECK(index.value()->size() <= merge.count(store::Recovered::taken));
  return 0;
}
