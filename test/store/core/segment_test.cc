// Goal: a segment tells what it holds, sealed or not, and never more than it holds. Method: every
// byte of header and footer flipped; tails torn at every unit, with the remains of former lives
// behind them and bodies that pretend to be records.
#include "source/store/core/segment.h"

#include <gtest/gtest.h>

#include "source/base/random.h"
#include "source/store/core/record_writer.h"

namespace store {
namespace {

using Bytes = std::vector<std::byte>;

constexpr SegmentIdentity kIdentity{12, 3, kMinSegmentBytes, 0x5a17};
constexpr uint64_t kSequence = (uint64_t{2} << 32) + 9;

std::vector<TocEntry> makeEntries(base::Random& random, uint32_t count, uint32_t* used) {
  std::vector<TocEntry> entries;
  uint32_t at = 8;
  for (uint32_t i = 0; i < count; i++) {
    TocEntry e;
    e.hash_hi = random.next();
    e.hash_lo = random.next();
    e.object_id = random.next();
    e.chunk_number = static_cast<uint32_t>(random.below(10));
    e.expires_s = static_cast<uint32_t>(random.next());
    at += static_cast<uint32_t>(random.below(2));
    e.offset_units = static_cast<uint16_t>(at);
    e.length_units = static_cast<uint16_t>(random.between(1, 3));
    e.kind = static_cast<uint8_t>(random.between(1, 4));
    e.label_count = static_cast<uint16_t>(random.below(4));
    at += e.length_units;
    entries.push_back(e);
  }
  *used = at;
  return entries;
}

std::vector<Label> labelsFor(base::Random& random, std::span<const TocEntry> entries) {
  std::vector<Label> labels;
  for (const TocEntry& entry : entries) {
    for (uint16_t i = 0; i < entry.label_count; i++) {
      labels.push_back(random.next());
    }
  }
  return labels;
}

TEST(SegmentHeader, RoundTripAndEveryFlippedByte) {
  Bytes bytes(kSegmentHeaderBytes, std::byte{1});
  encodeSegmentHeader(bytes, kIdentity, kSequence, 1'800'000'000);
  const base::Result<SegmentHeader> header = decodeSegmentHeader(bytes, kIdentity);
  ASSERT_TRUE(header.ok());
  EXPECT_EQ(header.value().sequence, kSequence);
  EXPECT_EQ(header.value().opened_s, 1'800'000'000u);
  for (size_t i = 0; i < bytes.size(); i++) {
    bytes[i] ^= std::byte{0x10};
    ASSERT_FALSE(decodeSegmentHeader(bytes, kIdentity).ok()) << i;
    bytes[i] ^= std::byte{0x10};
  }
  EXPECT_FALSE(decodeSegmentHeader(std::span(bytes).first(4095), kIdentity).ok());
}

TEST(SegmentHeader, AMisdirectedHeaderIsRefused) {
  Bytes bytes(kSegmentHeaderBytes);
  encodeSegmentHeader(bytes, kIdentity, kSequence, 0);
  SegmentIdentity other = kIdentity;
  other.segment++;
  EXPECT_FALSE(decodeSegmentHeader(bytes, other).ok());
  other = kIdentity;
  other.stripe++;
  EXPECT_FALSE(decodeSegmentHeader(bytes, other).ok());
  other = kIdentity;
  other.salt++;
  EXPECT_FALSE(decodeSegmentHeader(bytes, other).ok());
}

TEST(Footer, RoundTripOfAnyNumberOfEntries) {
  base::Random random(1);
  for (const uint32_t count : {0u, 1u, 89u, 90u, 200u, 700u}) {
    uint32_t used = 0;
    const std::vector<TocEntry> entries = makeEntries(random, count, &used);
    const std::vector<Label> labels = labelsFor(random, entries);
    const Bytes bytes = encodeFooter(entries, labels, kIdentity, kSequence, used);
    EXPECT_EQ(bytes.size() % kPageBytes, 0u);
    const base::Result<SegmentTrailer> trailer =
        decodeTrailer(std::span(bytes).last(kUnitBytes), kIdentity);
    ASSERT_TRUE(trailer.ok());
    EXPECT_EQ(trailer.value().footer_bytes, bytes.size());
    Bytes tail(5000);  // more of the segment than the footer
    tail.insert(tail.end(), bytes.begin(), bytes.end());
    const base::Result<Footer> footer = decodeFooter(tail, kIdentity);
    ASSERT_TRUE(footer.ok());
    EXPECT_EQ(footer.value().sequence, kSequence);
    EXPECT_EQ(footer.value().used_units, used);
    EXPECT_EQ(footer.value().entries, entries);
    EXPECT_EQ(footer.value().labels, labels);
    // Each line has its own.
    std::vector<Label> seen;
    footer.value().each([&](const TocEntry& line, std::span<const Label> its) {
      EXPECT_EQ(its.size(), line.label_count);
      seen.insert(seen.end(), its.begin(), its.end());
    });
    EXPECT_EQ(seen, labels);
    EXPECT_FALSE(decodeFooter(std::span(bytes).subspan(1), kIdentity).ok());
  }
}

TEST(Footer, EveryFlippedByteIsNoticed) {
  base::Random random(2);
  uint32_t used = 0;
  const std::vector<TocEntry> entries = makeEntries(random, 120, &used);
  Bytes bytes = encodeFooter(entries, labelsFor(random, entries), kIdentity, kSequence, used);
  for (size_t i = 0; i < bytes.size(); i++) {
    const auto flip = static_cast<std::byte>(random.between(1, 255));
    bytes[i] ^= flip;
    ASSERT_FALSE(decodeFooter(bytes, kIdentity).ok()) << i;
    bytes[i] ^= flip;
  }
  SegmentIdentity other = kIdentity;
  other.segment++;
  EXPECT_FALSE(decodeFooter(bytes, other).ok());
}

TEST(Footer, OverlappingOrMisplacedEntriesAreRefused) {
  base::Random random(3);
  uint32_t used = 0;
  const std::vector<TocEntry> good = makeEntries(random, 5, &used);
  const std::vector<Label> labels = labelsFor(random, good);
  const auto with = [&](auto change) {
    std::vector<TocEntry> entries = good;
    change(entries);
    return decodeFooter(encodeFooter(entries, labels, kIdentity, kSequence, used), kIdentity).ok();
  };
  EXPECT_TRUE(with([](auto&) {}));
  EXPECT_FALSE(with([](auto& e) { e[0].offset_units = 7; }));
  EXPECT_FALSE(with([](auto& e) { e[1].offset_units = e[0].offset_units; }));
  EXPECT_FALSE(with([](auto& e) { e[4].length_units = 1000; }));
  EXPECT_FALSE(with([](auto& e) { e[2].length_units = 0; }));
  EXPECT_FALSE(with([](auto& e) { e[2].kind = 0; }));
  EXPECT_FALSE(with([](auto& e) { e[2].label_count++; }));
  EXPECT_FALSE(with([](auto& e) { e[2].label_count = kMaxLabels + 1; }));
  EXPECT_FALSE(with([](auto& e) { e[2].kind = static_cast<uint8_t>(RecordKind::pad); }));
}

// Builds a segment record by record.
class SegmentImage {
 public:
  SegmentImage() : bytes_(kMinSegmentBytes) {
    encodeSegmentHeader(bytes_, kIdentity, kSequence, 0);
  }
  RecordPlace place() const { return RecordPlace{kSequence, at_ / kUnitBytes, kIdentity.salt}; }
  void record(uint64_t key, const Bytes& body) {
    RecordFields f;
    f.place = place();
    f.hash = base::Hash128{key, key};
    f.expires_s = static_cast<uint32_t>(key);
    const auto length =
        encodeRecord(std::span(bytes_).subspan(at_), f, std::to_string(key), {}, body);
    ends_.push_back(at_ + length.value());
    at_ += length.value();
  }
  void pad(uint32_t units) {
    at_ += encodePad(std::span(bytes_).subspan(at_), place(), units).value();
  }
  Bytes& bytes() { return bytes_; }
  uint32_t at() const { return at_; }
  const std::vector<uint32_t>& ends() const { return ends_; }

 private:
  Bytes bytes_;
  uint32_t at_ = kSegmentHeaderBytes;
  std::vector<uint32_t> ends_;
};

TEST(Tail, FindsEveryRecordAndStepsOverPads) {
  SegmentImage image;
  base::Random random(4);
  for (uint64_t key = 1; key <= 30; key++) {
    image.record(key, Bytes(random.below(9000)));
    if (random.chance(1, 3)) {
      image.pad(static_cast<uint32_t>(random.between(1, 7)));
    }
  }
  const TailWalk walk = walkTail(image.bytes(), kSequence, kIdentity.salt);
  ASSERT_EQ(walk.entries.size(), 30u);
  EXPECT_EQ(walk.used_units, image.at() / kUnitBytes);
  EXPECT_EQ(walk.broken_bodies, 0u);
  for (uint64_t key = 1; key <= 30; key++) {
    EXPECT_EQ(walk.entries[key - 1].hash(), (base::Hash128{key, key}));
    EXPECT_EQ(walk.entries[key - 1].expires_s, key);
  }
  EXPECT_TRUE(walkTail(image.bytes(), kSequence + 1, kIdentity.salt).entries.empty());
  EXPECT_TRUE(walkTail(image.bytes(), kSequence, kIdentity.salt + 1).entries.empty());
}

TEST(Tail, TornAnywhereGivesTheRecordsBeforeTheTear) {
  SegmentImage image;
  base::Random random(5);
  for (uint64_t key = 1; key <= 12; key++) {
    image.record(key, Bytes(random.below(5000), std::byte{7}));
  }
  for (uint32_t cut = 0; cut <= image.at() + 2 * kUnitBytes; cut += 64) {
    Bytes torn = image.bytes();
    std::fill(torn.begin() + cut, torn.end(), std::byte{0});
    const TailWalk walk = walkTail(torn, kSequence, kIdentity.salt);
    // A record whose last bytes are zero anyway may survive a cut within them.
    size_t whole = 0;
    while (whole < image.ends().size() && image.ends()[whole] <= cut) {
      whole++;
    }
    ASSERT_GE(walk.entries.size(), whole) << cut;
    ASSERT_LE(walk.entries.size(), whole + 1) << cut;
    // The same cut as the end of the file.
    const TailWalk shorter =
        walkTail(std::span(image.bytes()).first(cut), kSequence, kIdentity.salt);
    ASSERT_EQ(shorter.entries.size(), whole) << cut;
  }
}

TEST(Tail, ABrokenBodyCostsOneRecordAndABrokenHeadEndsTheWalk) {
  SegmentImage image;
  for (uint64_t key = 1; key <= 5; key++) {
    image.record(key, Bytes(3000, std::byte{9}));
  }
  image.bytes()[image.ends()[1] - 1000] ^= std::byte{1};
  TailWalk walk = walkTail(image.bytes(), kSequence, kIdentity.salt);
  EXPECT_EQ(walk.entries.size(), 4u);
  EXPECT_EQ(walk.broken_bodies, 1u);
  image.bytes()[image.ends()[2] + 10] ^= std::byte{1};  // the fourth record's header
  walk = walkTail(image.bytes(), kSequence, kIdentity.salt);
  EXPECT_EQ(walk.entries.size(), 2u);
}

TEST(Tail, ABodyThatHoldsARecordIsNotLookedInto) {
  // A body with a record that would be valid exactly where it lies.
  SegmentImage image;
  image.record(1, {});
  const uint32_t lies_at = image.at() + 2 * kUnitBytes;
  Bytes forged(kUnitBytes);
  RecordFields f;
  f.place = RecordPlace{kSequence, lies_at / kUnitBytes, kIdentity.salt};
  f.hash = base::Hash128{666, 666};
  ASSERT_TRUE(encodeRecord(forged, f, "victim", {}, {}).ok());
  const uint32_t record_at = image.at();
  const uint32_t body_at = bodyOffset(1, 1, 0);
  Bytes body(2 * kUnitBytes - body_at);
  body.insert(body.end(), forged.begin(), forged.end());
  image.record(2, body);
  const auto planted = std::span(image.bytes()).subspan(lies_at);
  ASSERT_TRUE(decodeRecord(planted, f.place).ok());
  EXPECT_EQ(walkTail(image.bytes(), kSequence, kIdentity.salt).entries.size(), 2u);
  // Even when the outer record's header is lost.
  image.bytes()[record_at] ^= std::byte{1};
  EXPECT_EQ(walkTail(image.bytes(), kSequence, kIdentity.salt).entries.size(), 1u);
}

}  // namespace
}  // namespace store
