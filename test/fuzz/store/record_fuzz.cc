// Any bytes as a record: never a crash, never a view outside the bytes; what decodes survives a
// move to another place, and a walk over a segment that begins with it agrees.
#include "source/store/core/record.h"
#include "source/store/core/record_writer.h"
#include "source/store/core/segment.h"
#include "test/fuzz/store/input.h"

namespace {

constexpr uint32_t kSalt = 7;
constexpr uint64_t kSequence = 42;

void repair(std::span<std::byte> bytes, bool body_too) {
  const base::Result<uint32_t> needed = store::headBytes(bytes);
  if (!needed.ok() || needed.value() > bytes.size()) {
    return;
  }
  const uint32_t body_at = needed.value();
  const auto header = store::loadStruct<store::RecordHeader>(bytes);
  if (body_too && body_at + header.body_length <= bytes.size()) {
    for (uint32_t i = 0; i < store::bodyBlocks(header.body_length); i++) {
      const uint32_t begin = i * store::kBodyBlockBytes;
      const uint32_t length = std::min(store::kBodyBlockBytes, header.body_length - begin);
      const uint32_t crc = base::crc32c(bytes.subspan(body_at + begin, length), kSalt);
      store::storeStruct(bytes, crc, store::kRecordHeaderBytes + 4 * size_t{i});
    }
  }
  fuzz::seal(bytes.first(body_at), offsetof(store::RecordHeader, head_crc), kSalt);
}

void walkOver(std::span<const std::byte> record, bool valid) {
  std::vector<std::byte> segment(store::kSegmentHeaderBytes);
  segment.insert(segment.end(), record.begin(), record.end());
  const store::TailWalk walk = store::walkTail(segment, kSequence, kSalt);
  CHECK(walk.used_units * uint64_t{store::kUnitBytes} <= segment.size());
  CHECK(!valid || walk.used_units > store::kSegmentHeaderBytes / store::kUnitBytes);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fuzz::Input input = fuzz::take(data, size);
  std::vector<std::byte>& bytes = input.bytes;
  if (input.repaired()) {
    repair(bytes, (input.mode & 2) != 0);
  }
  const store::RecordPlace place{kSequence, store::kSegmentHeaderBytes / store::kUnitBytes, kSalt};
  const base::Result<store::RecordView> head = store::decodeHead(bytes, place);
  const base::Result<store::RecordView> view = store::decodeRecord(bytes, place);
  CHECK(head.ok() || !view.ok());
  if (head.ok()) {
    CHECK(fuzz::inside(head.value().meta, bytes));
    CHECK(fuzz::inside(std::as_bytes(std::span(head.value().key)), bytes));
    CHECK(fuzz::inside(head.value().crc_table, bytes));
  }
  walkOver(bytes, view.ok());
  if (!view.ok()) {
    return 0;
  }
  CHECK(fuzz::inside(view.value().body, bytes));
  CHECK(view.value().body.size() == view.value().header.body_length);
  CHECK(view.value().isFor(view.value().hash(), view.value().key));
  store::RecordPlace to = place;
  to.sequence++;
  std::vector<std::byte> copy = bytes;
  store::relocateRecord(copy, view.value(), to);
  CHECK(!store::decodeRecord(copy, place).ok());
  const base::Result<store::RecordView> moved = store::decodeRecord(copy, to);
  CHECK(moved.ok() && moved.value().key == view.value().key);
  return 0;
}
