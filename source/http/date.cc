#include "source/http/date.h"

#include "source/http/grammar.h"
#include "source/http/head.h"

namespace http {
namespace {

constexpr int64_t kDaySeconds = 86400;
constexpr int64_t kFirstSecond = -62167219200;  // 0000-01-01T00:00:00Z
constexpr int64_t kLastSecond = 253402300799;   // 9999-12-31T23:59:59Z
constexpr int kFutureYears = 50;                // RFC 9110 5.6.7

constexpr std::string_view kDayNames = "SunMonTueWedThuFriSat";
constexpr std::string_view kMonthNames = "JanFebMarAprMayJunJulAugSepOctNovDec";
constexpr std::array<std::string_view, 7> kLongDayNames = {
    "Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"};

struct Civil {
  int64_t year = 0;
  int month = 0;  // 1 to 12
  int day = 0;    // 1 to 31
};

// Days since 1970-01-01. Years are counted from March, so that the leap day is the last of a year;
// the days before a month of such a year are (153 * month + 2) / 5.
constexpr int64_t daysFromCivil(const Civil& date) {
  const int64_t year = date.month <= 2 ? date.year - 1 : date.year;
  const int64_t era = (year >= 0 ? year : year - 399) / 400;
  const int64_t year_of_era = year - era * 400;
  const int64_t month = (date.month + 9) % 12;
  const int64_t day_of_year = (153 * month + 2) / 5 + date.day - 1;
  return era * 146097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year -
         719468;
}

constexpr Civil civilFromDays(int64_t days) {
  const int64_t shifted = days + 719468;
  const int64_t era = (shifted >= 0 ? shifted : shifted - 146096) / 146097;
  const int64_t day_of_era = shifted - era * 146097;
  const int64_t year_of_era =
      (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
  const int64_t day_of_year =
      day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
  const int64_t month = (5 * day_of_year + 2) / 153;
  Civil out;
  out.day = static_cast<int>(day_of_year - (153 * month + 2) / 5 + 1);
  out.month = static_cast<int>(month < 10 ? month + 3 : month - 9);
  out.year = year_of_era + era * 400 + (out.month <= 2 ? 1 : 0);
  return out;
}
static_assert(daysFromCivil({1970, 1, 1}) == 0);
static_assert(daysFromCivil({0, 1, 1}) * kDaySeconds == kFirstSecond);
static_assert((daysFromCivil({9999, 12, 31}) + 1) * kDaySeconds - 1 == kLastSecond);

bool isLeap(int64_t year) {
  return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
}

bool exists(const Civil& date) {
  constexpr std::array<int8_t, 12> kDays = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  const int days =
      kDays[static_cast<size_t>(date.month - 1)] + (date.month == 2 && isLeap(date.year) ? 1 : 0);
  return date.day >= 1 && date.day <= days;
}

// A cursor that remembers whether everything so far was there.
class Reader {
 public:
  explicit Reader(std::string_view text) : rest_(text) {}

  bool done() const { return good_ && rest_.empty(); }

  void literal(std::string_view expected) {
    good_ = good_ && rest_.size() >= expected.size() &&
            equalsIgnoreCase(rest_.substr(0, expected.size()), expected);
    skip(expected.size());
  }

  int number(size_t digits) {
    const std::optional<uint64_t> value = parseDecimal(rest_.substr(0, digits));
    good_ = good_ && rest_.size() >= digits && value.has_value();
    skip(digits);
    return good_ ? static_cast<int>(*value) : 0;
  }

  // The index of a three-letter name in a row of such.
  int shortName(std::string_view names) {
    for (size_t at = 0; rest_.size() >= 3 && at < names.size(); at += 3) {
      if (equalsIgnoreCase(rest_.substr(0, 3), names.substr(at, 3))) {
        skip(3);
        return static_cast<int>(at / 3);
      }
    }
    good_ = false;
    return 0;
  }

  void longDayName() {
    for (const std::string_view name : kLongDayNames) {
      if (equalsIgnoreCase(rest_.substr(0, name.size()), name)) {
        skip(name.size());
        return;
      }
    }
    good_ = false;
  }

  // "08:49:37", in seconds of the day. A leap second is that before it.
  int64_t timeOfDay() {
    const int hour = number(2);
    literal(":");
    const int minute = number(2);
    literal(":");
    const int second = number(2);
    good_ = good_ && hour <= 23 && minute <= 59 && second <= 60;
    return hour * 3600 + minute * 60 + (second == 60 ? 59 : second);
  }

  // The day of an asctime date: two digits, or a space and one.
  int paddedDay() {
    if (rest_.starts_with(' ')) {
      skip(1);
      return number(1);
    }
    return number(2);
  }

 private:
  void skip(size_t bytes) { rest_.remove_prefix(bytes < rest_.size() ? bytes : rest_.size()); }

  std::string_view rest_;
  bool good_ = true;
};

std::optional<base::UnixSeconds> assemble(const Reader& reader, const Civil& date, int64_t time) {
  if (!reader.done() || !exists(date)) {
    return std::nullopt;
  }
  return base::UnixSeconds{daysFromCivil(date) * kDaySeconds + time};
}

// "Sun, 06 Nov 1994 08:49:37 GMT"
std::optional<base::UnixSeconds> parseImfFixdate(std::string_view text) {
  Reader in(text);
  Civil date;
  in.shortName(kDayNames);
  in.literal(", ");
  date.day = in.number(2);
  in.literal(" ");
  date.month = in.shortName(kMonthNames) + 1;
  in.literal(" ");
  date.year = in.number(4);
  in.literal(" ");
  const int64_t time = in.timeOfDay();
  in.literal(" GMT");
  return assemble(in, date, time);
}

// "Sun Nov  6 08:49:37 1994"
std::optional<base::UnixSeconds> parseAsctime(std::string_view text) {
  Reader in(text);
  Civil date;
  in.shortName(kDayNames);
  in.literal(" ");
  date.month = in.shortName(kMonthNames) + 1;
  in.literal(" ");
  date.day = in.paddedDay();
  in.literal(" ");
  const int64_t time = in.timeOfDay();
  in.literal(" ");
  date.year = in.number(4);
  return assemble(in, date, time);
}

int64_t floorDays(int64_t seconds) {
  return (seconds >= 0 ? seconds : seconds - (kDaySeconds - 1)) / kDaySeconds;
}

int64_t clampSeconds(int64_t seconds) {
  return seconds < kFirstSecond ? kFirstSecond : seconds > kLastSecond ? kLastSecond : seconds;
}

// "Sunday, 06-Nov-94 08:49:37 GMT"
std::optional<base::UnixSeconds> parseRfc850(std::string_view text, base::UnixSeconds now) {
  Reader in(text);
  Civil date;
  in.longDayName();
  in.literal(", ");
  date.day = in.number(2);
  in.literal("-");
  date.month = in.shortName(kMonthNames) + 1;
  in.literal("-");
  const int last_digits = in.number(2);
  in.literal(" ");
  const int64_t time = in.timeOfDay();
  in.literal(" GMT");
  // The last year with these digits that is not more than 50 years ahead.
  const int64_t now_s = clampSeconds(now.s);
  const int64_t today = floorDays(now_s);
  Civil latest = civilFromDays(today);
  latest.year += kFutureYears;
  const int64_t latest_s = daysFromCivil(latest) * kDaySeconds + (now_s - today * kDaySeconds);
  date.year = latest.year / 100 * 100 + last_digits;
  if (daysFromCivil(date) * kDaySeconds + time > latest_s) {
    date.year -= 100;
  }
  return assemble(in, date, time);
}

void put2(char* at, int value) {
  at[0] = static_cast<char>('0' + value / 10);
  at[1] = static_cast<char>('0' + value % 10);
}

}  // namespace

std::optional<base::UnixSeconds> parseDate(std::string_view text, base::UnixSeconds now) {
  if (text.size() < 4) {
    return std::nullopt;
  }
  if (text[3] == ',') {
    return parseImfFixdate(text);
  }
  return text[3] == ' ' ? parseAsctime(text) : parseRfc850(text, now);
}

void formatDate(base::UnixSeconds time, std::span<char, kDateSize> out) {
  const int64_t seconds = clampSeconds(time.s);
  const int64_t days = floorDays(seconds);
  const int of_day = static_cast<int>(seconds - days * kDaySeconds);
  const Civil date = civilFromDays(days);
  // 1970-01-01 was a Thursday; the shift by whole weeks keeps the remainder positive.
  const size_t weekday = static_cast<size_t>((days + 4 + 7 * 1000000) % 7);
  constexpr std::string_view kShape = "Sun, 06 Nov 1994 08:49:37 GMT";
  static_assert(kShape.size() == kDateSize);
  char* const at = out.data();
  kShape.copy(at, kDateSize);
  kDayNames.copy(at, 3, weekday * 3);
  put2(at + 5, date.day);
  kMonthNames.copy(at + 8, 3, static_cast<size_t>(date.month - 1) * 3);
  put2(at + 12, static_cast<int>(date.year / 100));
  put2(at + 14, static_cast<int>(date.year % 100));
  put2(at + 17, of_day / 3600);
  put2(at + 20, of_day / 60 % 60);
  put2(at + 23, of_day % 60);
}

}  // namespace http
