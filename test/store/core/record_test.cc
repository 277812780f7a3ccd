// Goal: a record is read back as it was written or not at all. Method: every byte flipped, every
// length cut, every place and salt that is not its own; pieces of any size against the one-shot
// encoding.
#include "source/store/core/record.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "source/base/random.h"
#include "source/store/core/record_writer.h"

namespace store {
namespace {

using Bytes = std::vector<std::byte>;

Bytes randomBytes(base::Random& random, size_t size) {
  Bytes bytes(size);
  for (std::byte& b : bytes) {
    b = static_cast<std::byte>(random.next());
  }
  return bytes;
}

std::string text(std::span<const std::byte> bytes) {
  return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

constexpr RecordPlace kPlace{(uint64_t{7} << 32) + 5, 100, 0xabcdef01};

RecordFields objectFields() {
  RecordFields f;
  f.place = kPlace;
  f.hash = base::Hash128{11, 22};
  f.written_s = 1'800'000'000;
  f.expires_s = 1'800'000'600;
  return f;
}

Bytes encode(const RecordFields& fields, std::string_view key, const Bytes& meta,
             const Bytes& body) {
  Bytes out(recordBytes(static_cast<uint32_t>(key.size()), static_cast<uint32_t>(meta.size()),
                        static_cast<uint32_t>(body.size())));
  const base::Result<uint32_t> length = encodeRecord(out, fields, key, meta, body);
  CHECK(length.ok() && length.value() == out.size());
  return out;
}

TEST(Record, RoundTripOfAnySize) {
  base::Random random(1);
  for (const uint32_t size : {0u, 1u, 7u, 511u, 512u, 513u, 4096u, kBodyBlockBytes - 1,
                              kBodyBlockBytes, kBodyBlockBytes + 1, kMaxObjectBody}) {
    const std::string key(random.below(300), 'k');
    const Bytes meta = randomBytes(random, random.below(1000));
    const Bytes body = randomBytes(random, size);
    const Bytes record = encode(objectFields(), key, meta, body);
    EXPECT_EQ(record.size() % kUnitBytes, 0u);
    const base::Result<RecordView> view = decodeRecord(record, kPlace);
    ASSERT_TRUE(view.ok()) << size;
    EXPECT_EQ(view.value().key, key);
    EXPECT_EQ(text(view.value().meta), text(meta));
    EXPECT_EQ(text(view.value().body), text(body));
    EXPECT_EQ(view.value().kind(), RecordKind::object);
    EXPECT_EQ(view.value().header.object_length, size);
    EXPECT_EQ(view.value().header.expires_s, 1'800'000'600u);
    EXPECT_TRUE(view.value().isFor(base::Hash128{11, 22}, key));
    EXPECT_FALSE(view.value().isFor(base::Hash128{11, 22}, key + "x"));
    EXPECT_FALSE(view.value().isFor(base::Hash128{11, 23}, key));
    EXPECT_EQ(view.value().bodyAt() % 8, 0u);
  }
}

TEST(Record, EveryFlippedByteIsNoticed) {
  base::Random random(2);
  Bytes record =
      encode(objectFields(), "http://a/b", randomBytes(random, 77), randomBytes(random, 1000));
  for (size_t i = 0; i < record.size(); i++) {
    const auto flip = static_cast<std::byte>(random.between(1, 255));
    record[i] ^= flip;
    ASSERT_FALSE(decodeRecord(record, kPlace).ok()) << i;
    record[i] ^= flip;
  }
  EXPECT_TRUE(decodeRecord(record, kPlace).ok());
}

TEST(Record, EveryFlippedBitOfALargeBodyIsNoticedInItsBlock) {
  base::Random random(3);
  const Bytes body = randomBytes(random, kMaxObjectBody - 100);
  Bytes record = encode(objectFields(), "k", {}, body);
  const base::Result<RecordView> head = decodeHead(record, kPlace);
  ASSERT_TRUE(head.ok());
  const uint32_t at = head.value().bodyAt();
  for (int i = 0; i < 300; i++) {
    const auto where = static_cast<uint32_t>(random.below(body.size()));
    record[at + where] ^= static_cast<std::byte>(1 << random.below(8));
    const uint32_t bad = where / kBodyBlockBytes;
    for (uint32_t b = 0; b < 2; b++) {
      const uint32_t begin = b * kBodyBlockBytes;
      const uint32_t length =
          std::min<uint32_t>(kBodyBlockBytes, static_cast<uint32_t>(body.size()) - begin);
      EXPECT_EQ(
          verifyBlock(head.value(), b, std::span(record).subspan(at + begin, length), kPlace.salt),
          b != bad);
    }
    record[at + where] = body[where];
  }
}

TEST(Record, EveryCutIsNoticed) {
  base::Random random(4);
  const Bytes record =
      encode(objectFields(), "key", randomBytes(random, 50), randomBytes(random, 900));
  for (size_t length = 0; length < record.size(); length++) {
    ASSERT_FALSE(decodeRecord(std::span(record).first(length), kPlace).ok()) << length;
  }
}

TEST(Record, AnotherPlaceIsStaleAndAnotherSaltIsForeign) {
  const Bytes record = encode(objectFields(), "key", {}, Bytes(10));
  RecordPlace place = kPlace;
  place.sequence++;
  EXPECT_EQ(decodeRecord(record, place).error().code, base::Code::stale_location);
  place = kPlace;
  place.offset_units++;  // a misdirected write within the segment
  EXPECT_EQ(decodeRecord(record, place).error().code, base::Code::stale_location);
  place = kPlace;
  place.salt++;  // another stripe, another cache, or this one before it was formatted
  EXPECT_EQ(decodeRecord(record, place).error().code, base::Code::corrupt);
}

TEST(Record, TheHeadAloneGivesKeyAndMeta) {
  base::Random random(5);
  const Bytes meta = randomBytes(random, 5000);
  const Bytes record = encode(objectFields(), "some key", meta, randomBytes(random, 200'000));
  const base::Result<uint32_t> needed = headBytes(std::span(record).first(kRecordHeaderBytes));
  ASSERT_TRUE(needed.ok());
  EXPECT_FALSE(decodeHead(std::span(record).first(needed.value() - 1), kPlace).ok());
  const base::Result<RecordView> head = decodeHead(std::span(record).first(needed.value()), kPlace);
  ASSERT_TRUE(head.ok());
  EXPECT_EQ(head.value().key, "some key");
  EXPECT_EQ(text(head.value().meta), text(meta));
  EXPECT_TRUE(head.value().body.empty());
  EXPECT_EQ(head.value().header.body_length, 200'000u);
}

TEST(RecordWriter, AnySplitGivesTheBytesOfTheOneShotEncoding) {
  base::Random random(6);
  for (int round = 0; round < 40; round++) {
    const Bytes meta = randomBytes(random, random.below(200));
    const Bytes body = randomBytes(random, random.below(kMaxObjectBody + 1));
    const Bytes expected = encode(objectFields(), "key", meta, body);
    Bytes out(expected.size(), std::byte{0xee});
    base::Result<RecordWriter> writer =
        RecordWriter::begin(out, objectFields(), "key", meta, static_cast<uint32_t>(body.size()));
    ASSERT_TRUE(writer.ok());
    size_t at = 0;
    while (at < body.size()) {
      const size_t piece =
          std::min<size_t>(body.size() - at, random.between(1, random.chance(1, 2) ? 90 : 150'000));
      if (random.chance(1, 2)) {
        ASSERT_EQ(writer.value().append(std::span(body).subspan(at, piece)), piece);
      } else {
        std::copy_n(body.data() + at, piece, writer.value().space().data());
        writer.value().appended(static_cast<uint32_t>(piece));
      }
      at += piece;
    }
    ASSERT_EQ(writer.value().append(Bytes(1)), 0u);  // no more than was announced
    ASSERT_EQ(writer.value().finish(), expected.size());
    ASSERT_TRUE(out == expected);
  }
}

TEST(RecordWriter, AShorterBodyThanAnnouncedIsARecordToo) {
  base::Random random(7);
  const Bytes body = randomBytes(random, 1000);
  Bytes out(recordBytes(3, 0, kMaxObjectBody));
  base::Result<RecordWriter> writer =
      RecordWriter::begin(out, objectFields(), "key", {}, kMaxObjectBody);
  ASSERT_TRUE(writer.ok());
  writer.value().append(body);
  const uint32_t length = writer.value().finish();
  EXPECT_LE(length, 1536u);
  const base::Result<RecordView> view = decodeRecord(std::span(out).first(length), kPlace);
  ASSERT_TRUE(view.ok());
  EXPECT_EQ(text(view.value().body), text(body));
}

TEST(RecordWriter, UnfinishedBytesAreNoRecord) {
  Bytes out(recordBytes(3, 0, 100));
  base::Result<RecordWriter> writer = RecordWriter::begin(out, objectFields(), "key", {}, 100);
  ASSERT_TRUE(writer.ok());
  writer.value().append(Bytes(100));
  EXPECT_FALSE(decodeRecord(out, kPlace).ok());
}

TEST(RecordWriter, LimitsAtNAndOneMore) {
  Bytes out(recordBytes(kMaxKeyBytes, kMaxMetaBytes, kMaxChunkBody) + kUnitBytes);
  const RecordFields object = objectFields();
  RecordFields chunk = object;
  chunk.kind = RecordKind::chunk;
  const std::string key(kMaxKeyBytes + 1, 'k');
  const std::string_view longest = std::string_view(key).substr(1);
  const Bytes meta(kMaxMetaBytes + 1);
  EXPECT_TRUE(RecordWriter::begin(out, object, longest, {}, 1).ok());
  EXPECT_FALSE(RecordWriter::begin(out, object, key, {}, 1).ok());
  EXPECT_TRUE(RecordWriter::begin(out, object, "", std::span(meta).first(kMaxMetaBytes), 1).ok());
  EXPECT_FALSE(RecordWriter::begin(out, object, "", meta, 1).ok());
  EXPECT_TRUE(RecordWriter::begin(out, object, "", {}, kMaxObjectBody).ok());
  EXPECT_FALSE(RecordWriter::begin(out, object, "", {}, kMaxObjectBody + 1).ok());
  EXPECT_TRUE(RecordWriter::begin(out, chunk, "", {}, kMaxChunkBody).ok());
  EXPECT_FALSE(RecordWriter::begin(out, chunk, "", {}, kMaxChunkBody + 1).ok());
  const std::span<std::byte> exact = std::span(out).first(recordBytes(3, 0, 500));
  EXPECT_TRUE(RecordWriter::begin(exact, object, "key", {}, 500).ok());
  EXPECT_EQ(RecordWriter::begin(exact.first(exact.size() - 1), object, "key", {}, 500).error().code,
            base::Code::no_capacity);
}

TEST(Record, TheLongestRecordOfEveryKindDecodes) {
  base::Random random(8);
  const std::string key(kMaxKeyBytes, 'k');
  const Bytes meta = randomBytes(random, kMaxMetaBytes);
  RecordFields f = objectFields();
  EXPECT_TRUE(decodeRecord(encode(f, key, meta, Bytes(kMaxObjectBody)), kPlace).ok());
  f.kind = RecordKind::chunk;
  f.chunk_number = kMaxExtents - 1;
  EXPECT_TRUE(decodeRecord(encode(f, "", {}, Bytes(kMaxChunkBody)), kPlace).ok());
  f.kind = RecordKind::head;
  f.chunk_number = 0;
  f.object_length = kMaxObjectBytes;
  EXPECT_TRUE(decodeRecord(encode(f, key, meta, Bytes(kMaxHeadBody)), kPlace).ok());
  f.kind = RecordKind::vary_rule;
  f.object_length = 0;
  EXPECT_TRUE(decodeRecord(encode(f, key, meta, {}), kPlace).ok());
}

TEST(Record, AChunkIsKnownByHashObjectAndNumber) {
  RecordFields f = objectFields();
  f.kind = RecordKind::chunk;
  f.object_id = 99;
  f.chunk_number = 3;
  const Bytes record = encode(f, "", {}, Bytes(1000));
  const base::Result<RecordView> view = decodeRecord(record, kPlace);
  ASSERT_TRUE(view.ok());
  EXPECT_TRUE(view.value().isChunk(f.hash, 99, 3));
  EXPECT_FALSE(view.value().isChunk(f.hash, 98, 3));
  EXPECT_FALSE(view.value().isChunk(f.hash, 99, 4));
  EXPECT_FALSE(view.value().isChunk(base::Hash128{1, 2}, 99, 3));
}

TEST(Record, RelocationChangesThePlaceAndNothingElse) {
  base::Random random(9);
  const Bytes meta = randomBytes(random, 300);
  const Bytes body = randomBytes(random, 140'000);
  Bytes record = encode(objectFields(), "key", meta, body);
  const base::Result<RecordView> old = decodeRecord(record, kPlace);
  ASSERT_TRUE(old.ok());
  const RecordPlace to{kPlace.sequence + 40, 8, kPlace.salt};
  Bytes copy = record;
  relocateRecord(copy, old.value(), to);
  EXPECT_FALSE(decodeRecord(copy, kPlace).ok());
  const base::Result<RecordView> view = decodeRecord(copy, to);
  ASSERT_TRUE(view.ok());
  EXPECT_EQ(view.value().key, "key");
  EXPECT_EQ(text(view.value().meta), text(meta));
  EXPECT_EQ(text(view.value().body), text(body));
  EXPECT_EQ(view.value().header.expires_s, old.value().header.expires_s);
}

TEST(Record, APadCoversItsUnits) {
  for (uint32_t units = 1; units <= 8; units++) {
    Bytes out(units * kUnitBytes, std::byte{0xff});
    ASSERT_EQ(encodePad(out, kPlace, units).value(), units * kUnitBytes);
    const base::Result<RecordView> view = decodeRecord(out, kPlace);
    ASSERT_TRUE(view.ok());
    EXPECT_EQ(view.value().kind(), RecordKind::pad);
    EXPECT_EQ(view.value().totalBytes(), units * kUnitBytes);
  }
  Bytes small(kUnitBytes);
  EXPECT_FALSE(encodePad(small, kPlace, 2).ok());
}

}  // namespace
}  // namespace store
