// Scalars of the proto3 JSON mapping, as YAML writes them, with a guess at what was meant by those
// that are wrong.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace config {

// What YAML takes an unquoted scalar for.
enum class PlainType : uint8_t { text, boolean, number };
PlainType plainType(std::string_view text);

// true/false, yes/no and on/off, in lower case, upper case or capitalised (YAML 1.1).
std::optional<bool> parseBool(std::string_view text);

// Decimal, 0x hexadecimal or 0o octal; a decimal with fraction or exponent if its value is whole.
std::optional<uint64_t> parseUnsigned(std::string_view text);
// The same with a minus sign before it.
std::optional<int64_t> parseSigned(std::string_view text);

// Decimal seconds with the unit "s" and at most nine digits of fraction. Negative ones are none.
struct ParsedDuration {
  int64_t seconds = 0;
  int32_t nanos = 0;
};
inline constexpr int64_t kMaxDuration_s = 315576000000;  // about 10,000 years, by Protobuf
std::optional<ParsedDuration> parseDuration(std::string_view text);
// How a duration is written: "30s", "0.25s".
std::string formatDuration(uint64_t ns);
std::string formatDurationMs(uint64_t ms);

// What was meant by a duration that is none: "30" is 30s, "250ms" 0.25s, "1h30m" 5400s. Else "".
std::string guessDuration(std::string_view text);
// What was meant by a number that is none: "10GiB" in bytes (unit 1) or KiB (unit 1024), "1_000".
std::string guessNumber(std::string_view text, uint64_t unit);

}  // namespace config
