// Any bytes as the two copies of a superblock: what is accepted is within the limits and, encoded
// again, accepted as the same.
#include "source/store/core/superblock.h"

#include "test/fuzz/store/input.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fuzz::Input input = fuzz::take(data, size);
  std::vector<std::byte>& bytes = input.bytes;
  const bool two = (input.mode & 2) != 0;
  const size_t half = two ? bytes.size() / 2 : bytes.size();
  std::vector<std::byte> first(bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(half));
  std::vector<std::byte> second(bytes.begin() + static_cast<ptrdiff_t>(half), bytes.end());
  if (input.repaired()) {
    for (std::vector<std::byte>* copy : {&first, &second}) {
      copy->resize(store::kSuperblockBytes);
      fuzz::seal(*copy, store::kSuperblockBytes - 4, 0);
    }
  }
  const store::SuperblockRead read = store::decodeSuperblock(first, second);
  CHECK(!store::name(read.fault).empty());
  if (!read.superblock) {
    return 0;
  }
  const store::Superblock& s = *read.superblock;
  CHECK(s.segment_bytes >= store::kMinSegmentBytes && s.segment_bytes <= store::kMaxSegmentBytes);
  CHECK(s.segment_count > 0 && s.stripe < s.stripe_count);
  std::vector<std::byte> block(store::kSuperblockBytes);
  store::encodeSuperblock(block, s);
  const store::Geometry geometry{s.stripe, s.stripe_count, s.segment_bytes};
  CHECK(store::decodeSuperblock(block, {}, geometry).superblock == s);
  return 0;
}
