// The expiry in an index entry: 24 bits of seconds after the index's epoch (194 days). It is a hint
// that spares the read of an expired record; the exact times are in the record.
//
// The hint may err in one direction only: a record that has expired is never called fresh.
//   0              expired at the epoch already
//   1..2^24-2      fresh until epoch + value, exactly
//   2^24-1         beyond the range: only the record knows ("ask")
// A value decoded with an older epoch than it was encoded with gives an earlier time, which is
// safe; index.h keeps the opposite from happening when the epoch advances.
#pragma once

#include <cstdint>

namespace store {

inline constexpr uint32_t kExpiryAsk = 0xffffff;

enum class ExpiryHint : uint8_t { fresh, expired, ask };

// Seconds since 1970 in 32 bits: good until 2106.
constexpr uint32_t encodeExpiry(uint32_t expires_s, uint32_t epoch_s) {
  if (expires_s <= epoch_s) {
    return 0;
  }
  const uint32_t after = expires_s - epoch_s;
  return after < kExpiryAsk ? after : kExpiryAsk;
}

constexpr ExpiryHint decodeExpiry(uint32_t expiry, uint32_t epoch_s, uint32_t now_s) {
  if (expiry == kExpiryAsk) {
    return ExpiryHint::ask;
  }
  return uint64_t{now_s} < uint64_t{epoch_s} + expiry ? ExpiryHint::fresh : ExpiryHint::expired;
}

// The same expiry under another epoch; what cannot be said becomes "ask". "Expired at the epoch"
// stays that, since when it expired is not known any more.
constexpr uint32_t reencodeExpiry(uint32_t expiry, uint32_t from_epoch_s, uint32_t to_epoch_s) {
  if (expiry == kExpiryAsk || expiry == 0) {
    return expiry;
  }
  const uint64_t expires_s = uint64_t{from_epoch_s} + expiry;
  return encodeExpiry(expires_s > UINT32_MAX ? UINT32_MAX : static_cast<uint32_t>(expires_s),
                      to_epoch_s);
}

}  // namespace store
