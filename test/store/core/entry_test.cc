// Goal: an index entry keeps what is put into it, and its expiry never makes an expired object look
// fresh. Method: random fields through pack and unpack; the expiry against arithmetic in 64 bits.
#include "source/store/core/entry.h"

#include <gtest/gtest.h>

#include "source/base/random.h"
#include "source/store/core/expiry.h"

namespace store {
namespace {

base::Hash128 randomHash(base::Random& random) {
  return base::Hash128{random.next(), random.next()};
}

EntryFields randomFields(base::Random& random) {
  EntryFields f;
  f.kind = static_cast<EntryKind>(random.between(1, 5));
  f.segment = static_cast<uint32_t>(random.below(kMaxSegments));
  f.offset_units = static_cast<uint32_t>(random.below(1 << 15));
  f.length_units = static_cast<uint32_t>(random.below(1 << 16));
  f.expiry = static_cast<uint32_t>(random.below(1 << 24));
  f.generation = static_cast<uint8_t>(random.next());
  f.frequency = static_cast<uint8_t>(random.below(4));
  f.in_buffer = random.chance(1, 2);
  f.stale_now = random.chance(1, 2);
  return f;
}

TEST(Entry, EveryFieldSurvivesThePacking) {
  base::Random random(1);
  for (int i = 0; i < 10000; i++) {
    const base::Hash128 hash = randomHash(random);
    const EntryFields f = randomFields(random);
    const Entry e = Entry::make(hash, f);
    EXPECT_TRUE(e.matches(tagOf(hash)));
    EXPECT_EQ(e.tag(), tagOf(hash));
    EXPECT_EQ(e.kind(), f.kind);
    EXPECT_EQ(e.segment(), f.segment);
    EXPECT_EQ(e.offsetUnits(), f.offset_units);
    EXPECT_EQ(e.lengthUnits(), f.length_units);
    EXPECT_EQ(e.expiry(), f.expiry);
    EXPECT_EQ(e.generation(), f.generation);
    EXPECT_EQ(e.frequency(), f.frequency);
    EXPECT_EQ(e.inBuffer(), f.in_buffer);
    EXPECT_EQ(e.staleNow(), f.stale_now);
  }
}

TEST(Entry, ChangingOneFieldLeavesTheOthers) {
  base::Random random(2);
  for (int i = 0; i < 10000; i++) {
    const base::Hash128 hash = randomHash(random);
    EntryFields f = randomFields(random);
    const Entry e = Entry::make(hash, f);
    EntryFields g = f;
    g.frequency = 2;
    EXPECT_EQ(e.withFrequency(2), Entry::make(hash, g));
    g = f;
    g.in_buffer = !f.in_buffer;
    EXPECT_EQ(e.withInBuffer(!f.in_buffer), Entry::make(hash, g));
    g = f;
    g.stale_now = true;
    EXPECT_EQ(e.withStaleNow(), Entry::make(hash, g));
    g = f;
    g.expiry = 77;
    EXPECT_EQ(e.withExpiry(77), Entry::make(hash, g));
  }
}

TEST(Entry, AnUnplacedEntryKeepsItsSerial) {
  const base::Hash128 hash{0x123456789abcdef0, 7};
  const uint64_t serial = (uint64_t{1} << 35) - 1;
  const Entry e = Entry::makeUnplaced(hash, EntryKind::ram_only, serial, 9);
  EXPECT_EQ(e.serial(), serial);
  EXPECT_EQ(e.expiry(), 9u);
  EXPECT_FALSE(e.placed());
}

TEST(Entry, AZeroEntryIsFreeAndMatchesNothing) {
  EXPECT_EQ(Entry{}.kind(), EntryKind::free);
  EXPECT_FALSE(Entry{}.matches(0));
}

TEST(Entry, OnlyFrequencyBufferAndExpiryMayDifferWithinAVersion) {
  base::Random random(3);
  const base::Hash128 hash = randomHash(random);
  EntryFields f = randomFields(random);
  f.stale_now = false;
  const Entry e = Entry::make(hash, f);
  EXPECT_TRUE(sameVersion(e, e.withFrequency(3).withInBuffer(!f.in_buffer)));
  for (int bit = 0; bit < 128; bit++) {
    Entry other = e;
    (bit < 64 ? other.w0 : other.w1) ^= uint64_t{1} << (bit % 64);
    // in_buffer, frequency, expiry
    const bool passing = bit == 0 || bit == 4 || bit == 5 || (bit >= 64 + 8 && bit < 64 + 32);
    EXPECT_EQ(sameVersion(e, other), passing) << bit;
  }
}

TEST(Expiry, BoundariesOfTheRange) {
  const uint32_t epoch = 1'800'000'000;
  EXPECT_EQ(encodeExpiry(epoch - 1, epoch), 0u);
  EXPECT_EQ(encodeExpiry(epoch, epoch), 0u);
  EXPECT_EQ(encodeExpiry(epoch + 1, epoch), 1u);
  EXPECT_EQ(encodeExpiry(epoch + kExpiryAsk - 1, epoch), kExpiryAsk - 1);
  EXPECT_EQ(encodeExpiry(epoch + kExpiryAsk, epoch), kExpiryAsk);
  EXPECT_EQ(encodeExpiry(UINT32_MAX, epoch), kExpiryAsk);
  EXPECT_EQ(decodeExpiry(1, epoch, epoch), ExpiryHint::fresh);
  EXPECT_EQ(decodeExpiry(1, epoch, epoch + 1), ExpiryHint::expired);
  EXPECT_EQ(decodeExpiry(0, epoch, epoch), ExpiryHint::expired);
  EXPECT_EQ(decodeExpiry(kExpiryAsk, epoch, UINT32_MAX), ExpiryHint::ask);
}

TEST(Expiry, AnExpiredObjectIsNeverCalledFresh) {
  base::Random random(4);
  for (int i = 0; i < 100000; i++) {
    const auto epoch = static_cast<uint32_t>(random.next());
    const auto expires = static_cast<uint32_t>(random.next());
    const auto now = static_cast<uint32_t>(random.next());
    const ExpiryHint hint = decodeExpiry(encodeExpiry(expires, epoch), epoch, now);
    if (now >= epoch) {
      const bool expired = now >= expires;
      EXPECT_NE(hint, expired ? ExpiryHint::fresh : ExpiryHint::expired);
    }
    // Read with an older epoch than it was written with: only earlier.
    const auto older = static_cast<uint32_t>(random.below(uint64_t{epoch} + 1));
    if (decodeExpiry(encodeExpiry(expires, epoch), older, now) == ExpiryHint::fresh) {
      EXPECT_LT(now, std::max(expires, epoch));
    }
  }
}

TEST(Expiry, AnotherEpochGivesTheSameTimeOrAsks) {
  base::Random random(5);
  for (int i = 0; i < 100000; i++) {
    const uint32_t from = 1'700'000'000 + static_cast<uint32_t>(random.below(1 << 26));
    const uint32_t to = 1'700'000'000 + static_cast<uint32_t>(random.below(1 << 26));
    const uint32_t expires = from + static_cast<uint32_t>(random.below(1 << 25));
    const uint32_t e = reencodeExpiry(encodeExpiry(expires, from), from, to);
    const uint32_t now = std::max(from, to) + static_cast<uint32_t>(random.below(1 << 25));
    const ExpiryHint hint = decodeExpiry(e, to, now);
    EXPECT_NE(hint, now >= expires ? ExpiryHint::fresh : ExpiryHint::expired);
  }
}

}  // namespace
}  // namespace store
