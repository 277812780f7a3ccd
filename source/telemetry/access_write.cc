// Writes access log lines.

#include <charconv>

#include "source/telemetry/access_log.h"
#include "source/telemetry/escape.h"

namespace telemetry {

namespace {

constexpr int64_t kDay_ms = 24 * 60 * 60 * 1000;

// The longest value written from a buffer: an IPv6 address with brackets, scope and port.
constexpr size_t kScratch_bytes = 128;

// A value, before it is escaped. Its text may lie in the scratch buffer.
struct Value {
  enum class Kind : uint8_t { absent, text, number } kind = Kind::absent;
  std::string_view text;
  uint64_t number = 0;
};

Value ofText(std::string_view text) {
  return text.empty() ? Value{} : Value{Value::Kind::text, text, 0};
}
Value ofNumber(uint64_t number) {
  return Value{Value::Kind::number, {}, number};
}
Value ofNumber(std::optional<uint64_t> number) {
  return number ? ofNumber(*number) : Value{};
}

void appendNumber(uint64_t number, std::string& out) {
  char digits[24];
  const auto [end, error] = std::to_chars(digits, digits + sizeof(digits), number);
  out.append(digits, end);
}

char* writeDigits(char* at, uint32_t number, int width) {
  for (int i = width - 1; i >= 0; i--) {
    at[i] = static_cast<char>('0' + number % 10);
    number /= 10;
  }
  return at + width;
}

// 2026-01-31T08:15:30.123Z, for years 0 to 9999; the calendar of days is counted in eras of 400
// years that begin on 1 March, so that the leap day is the last of its year.
std::string_view writeTime(int64_t unix_ms, char* scratch) {
  constexpr int64_t kFirst_ms = -62167219200000;  // 0000-01-01
  constexpr int64_t kLast_ms = 253402300799999;   // 9999-12-31
  unix_ms = unix_ms < kFirst_ms ? kFirst_ms : unix_ms > kLast_ms ? kLast_ms : unix_ms;
  int64_t days = unix_ms / kDay_ms;
  int64_t in_day = unix_ms % kDay_ms;
  if (in_day < 0) {
    in_day += kDay_ms;
    days--;
  }
  const int64_t since = days + 719468;  // since 0000-03-01
  const int64_t era = (since >= 0 ? since : since - 146096) / 146097;
  const uint32_t day_of_era = static_cast<uint32_t>(since - era * 146097);
  const uint32_t year_of_era =
      (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
  const uint32_t day_of_year =
      day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
  const uint32_t month_from_march = (5 * day_of_year + 2) / 153;
  const uint32_t day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
  const uint32_t month = month_from_march < 10 ? month_from_march + 3 : month_from_march - 9;
  const int64_t year = era * 400 + year_of_era + (month <= 2 ? 1 : 0);

  const uint32_t ms = static_cast<uint32_t>(in_day);
  char* at = writeDigits(scratch, static_cast<uint32_t>(year), 4);
  *at++ = '-';
  at = writeDigits(at, month, 2);
  *at++ = '-';
  at = writeDigits(at, day, 2);
  *at++ = 'T';
  at = writeDigits(at, ms / 3600000, 2);
  *at++ = ':';
  at = writeDigits(at, ms / 60000 % 60, 2);
  *at++ = ':';
  at = writeDigits(at, ms / 1000 % 60, 2);
  *at++ = '.';
  at = writeDigits(at, ms % 1000, 3);
  *at++ = 'Z';
  return {scratch, static_cast<size_t>(at - scratch)};
}

Value writeAddress(std::string_view ip, bool ipv6, uint16_t port, char* scratch) {
  if (ip.empty() || ip.size() > kScratch_bytes - 8) {
    return Value{};
  }
  char* at = scratch;
  if (ipv6) {
    *at++ = '[';
  }
  at += ip.copy(at, ip.size());
  if (ipv6) {
    *at++ = ']';
  }
  *at++ = ':';
  const auto [end, error] = std::to_chars(at, scratch + kScratch_bytes, port);
  return ofText({scratch, static_cast<size_t>(end - scratch)});
}

std::optional<std::string_view> findField(const FieldSource& source, std::string_view name) {
  return source.find == nullptr ? std::nullopt : source.find(source.head, name);
}

Value requestField(const AccessEntry& entry, std::string_view name) {
  if (name == ":method") {
    return ofText(entry.method);
  }
  if (name == ":path") {
    return ofText(entry.path);
  }
  if (name == ":authority") {
    return ofText(entry.authority);
  }
  if (name == ":scheme") {
    return ofText(entry.scheme);
  }
  const std::optional<std::string_view> found = findField(entry.request, name);
  return found ? Value{Value::Kind::text, *found, 0} : Value{};
}

Value responseField(const AccessEntry& entry, std::string_view name) {
  const std::optional<std::string_view> found = findField(entry.response, name);
  return found ? Value{Value::Kind::text, *found, 0} : Value{};
}

Value valueOf(AccessOperator op, const AccessEntry& entry, char* scratch) {
  switch (op) {
    case AccessOperator::literal:
    case AccessOperator::request_field:
    case AccessOperator::response_field:
      return Value{};
    case AccessOperator::start_time:
      return ofText(writeTime(entry.start_unix_ms, scratch));
    case AccessOperator::protocol:
      return ofText(entry.protocol);
    case AccessOperator::response_code:
      return ofNumber(uint64_t{entry.response_code});
    case AccessOperator::response_flags:
      return ofText(entry.response_flags);
    case AccessOperator::response_code_details:
      return ofText(entry.response_code_details);
    case AccessOperator::bytes_received:
      return ofNumber(entry.bytes_received);
    case AccessOperator::bytes_sent:
      return ofNumber(entry.bytes_sent);
    case AccessOperator::duration:
      return ofNumber(entry.duration_ms);
    case AccessOperator::response_duration:
      return ofNumber(entry.response_duration_ms);
    case AccessOperator::downstream_remote_address:
      return writeAddress(entry.remote_ip, entry.remote_is_ipv6, entry.remote_port, scratch);
    case AccessOperator::downstream_remote_address_without_port:
      return ofText(entry.remote_ip);
    case AccessOperator::downstream_local_address:
      return writeAddress(entry.local_ip, entry.local_is_ipv6, entry.local_port, scratch);
    case AccessOperator::upstream_host:
      return ofText(entry.upstream_host);
    case AccessOperator::upstream_cluster:
      return ofText(entry.upstream_cluster);
    case AccessOperator::route_name:
      return ofText(entry.route_name);
    case AccessOperator::virtual_host_name:
      return ofText(entry.virtual_host_name);
    case AccessOperator::connection_id:
      return ofNumber(entry.connection_id);
    case AccessOperator::cache_status:
      return ofText(entry.cache_status);
    case AccessOperator::cache_name:
      return ofText(entry.cache_name);
    case AccessOperator::cache_age:
      return ofNumber(entry.cache_age_s);
    case AccessOperator::shard:
      return ofNumber(uint64_t{entry.shard});
  }
  return Value{};
}

template <class Step>
Value valueOfStep(const Step& step, const AccessEntry& entry, char* scratch) {
  const bool request = step.op == AccessOperator::request_field;
  if (!request && step.op != AccessOperator::response_field) {
    return valueOf(step.op, entry, scratch);
  }
  Value value = request ? requestField(entry, step.text) : responseField(entry, step.text);
  if (value.kind == Value::Kind::absent && !step.fallback.empty()) {
    value = request ? requestField(entry, step.fallback) : responseField(entry, step.fallback);
  }
  value.text = cutUtf8(value.text, step.limit);
  return value;
}

}  // namespace

void AccessFormat::append(const AccessEntry& entry, std::string& out) const {
  if (json_) {
    appendJson(entry, out);
  } else {
    appendText(entry, out);
  }
}

void AccessFormat::appendText(const AccessEntry& entry, std::string& out) const {
  char scratch[kScratch_bytes];
  for (const Member& member : members_) {
    for (const Step& step : member.steps) {
      if (step.op == AccessOperator::literal) {
        out += step.text;
        continue;
      }
      const Value value = valueOfStep(step, entry, scratch);
      if (value.kind == Value::Kind::number) {
        appendNumber(value.number, out);
      } else if (value.text.empty()) {
        out += '-';  // an empty field too: a line keeps its columns
      } else {
        appendTextEscaped(value.text, out);
      }
    }
  }
}

// An operator by itself keeps its type.
void AccessFormat::appendJsonValue(const Step& step, const AccessEntry& entry, std::string& out) {
  char scratch[kScratch_bytes];
  const Value value = valueOfStep(step, entry, scratch);
  if (value.kind == Value::Kind::absent) {
    out += "null";
  } else if (value.kind == Value::Kind::number) {
    appendNumber(value.number, out);
  } else {
    out += '"';
    appendJsonEscaped(value.text, out);
    out += '"';
  }
}

// Operators among other text become part of a string.
void AccessFormat::appendJsonPart(const Step& step, const AccessEntry& entry, std::string& out) {
  char scratch[kScratch_bytes];
  if (step.op == AccessOperator::literal) {
    out += step.text;
    return;
  }
  const Value value = valueOfStep(step, entry, scratch);
  if (value.kind == Value::Kind::number) {
    appendNumber(value.number, out);
  } else {
    appendJsonEscaped(value.kind == Value::Kind::absent ? "-" : value.text, out);
  }
}

void AccessFormat::appendJson(const AccessEntry& entry, std::string& out) const {
  for (const Member& member : members_) {
    out += member.prefix;
    if (member.steps.size() == 1 && member.steps[0].op != AccessOperator::literal) {
      appendJsonValue(member.steps[0], entry, out);
      continue;
    }
    out += '"';
    for (const Step& step : member.steps) {
      appendJsonPart(step, entry, out);
    }
    out += '"';
  }
  out += "}\n";
}

}  // namespace telemetry
