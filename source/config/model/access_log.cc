// Writing lines of the access log.
#include "source/config/model/access_log.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "source/config/model/utf8.h"

namespace config {
namespace {

constexpr std::string_view kHexDigits = "0123456789abcdef";

// A value is a text (perhaps unknown) or a number.
struct Value {
  std::string_view text;
  bool known = false;
  bool number = false;
};

// Where numbers and times are written before they are copied.
using Scratch = std::array<char, 64>;

Value number(uint64_t n, Scratch& scratch) {
  const auto end = std::to_chars(scratch.data(), scratch.data() + scratch.size(), n).ptr;
  return {std::string_view(scratch.data(), end - scratch.data()), true, true};
}

Value text(std::string_view value) {
  return {value, !value.empty(), false};
}

char* digits(char* at, uint64_t value, int width) {
  for (int i = width - 1; i >= 0; i--) {
    at[i] = static_cast<char>('0' + value % 10);
    value /= 10;
  }
  return at + width;
}

// 2026-01-31T08:15:30.123Z. Times outside the years 1970 to 9999 are brought to their edge. The
// arithmetic counts days from 1 March of the year 0, so that a leap day is the last of its year.
Value time(int64_t unix_ms, Scratch& scratch) {
  constexpr int64_t kLast_ms = 253402300799999;
  const uint64_t ms = static_cast<uint64_t>(std::clamp<int64_t>(unix_ms, 0, kLast_ms));
  const uint64_t second_of_day = ms / 1000 % 86400;
  const uint64_t days = ms / 1000 / 86400 + 719468;
  const uint64_t era = days / 146097;
  const uint64_t day_of_era = days % 146097;
  const uint64_t year_of_era =
      (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
  const uint64_t day_of_year =
      day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
  const uint64_t shifted_month = (5 * day_of_year + 2) / 153;
  const uint64_t month = shifted_month < 10 ? shifted_month + 3 : shifted_month - 9;
  const uint64_t year = era * 400 + year_of_era + (month <= 2 ? 1 : 0);
  char* at = digits(scratch.data(), year, 4);
  *at++ = '-';
  at = digits(at, month, 2);
  *at++ = '-';
  at = digits(at, day_of_year - (153 * shifted_month + 2) / 5 + 1, 2);
  *at++ = 'T';
  at = digits(at, second_of_day / 3600, 2);
  *at++ = ':';
  at = digits(at, second_of_day / 60 % 60, 2);
  *at++ = ':';
  at = digits(at, second_of_day % 60, 2);
  *at++ = '.';
  at = digits(at, ms % 1000, 3);
  *at++ = 'Z';
  return text(std::string_view(scratch.data(), at - scratch.data()));
}

std::string_view withoutPort(std::string_view address) {
  std::string_view host = address.substr(0, address.rfind(':'));
  if (host.starts_with('[') && host.ends_with(']')) {
    host = host.substr(1, host.size() - 2);
  }
  return host;
}

Value header(const http::Fields* fields, http::Name id, std::string_view name) {
  if (fields == nullptr) {
    return {};
  }
  const http::Field* field = id != http::Name::other ? fields->find(id) : fields->find(name);
  return field == nullptr ? Value{} : Value{field->value, true, false};
}

Value requestValue(const AccessLogEntry& entry, LogField field, http::Name id,
                   std::string_view name) {
  const http::RequestHead* head = entry.request;
  switch (field) {
    case LogField::method:
      return head == nullptr ? Value{} : text(head->method);
    case LogField::path:
      return !entry.path.empty() || head == nullptr ? text(entry.path) : text(head->target);
    case LogField::authority:
      return !entry.authority.empty() || head == nullptr
                 ? text(entry.authority)
                 : header(&head->fields, http::Name::host, "host");
    case LogField::scheme:
      return text(entry.scheme);
    case LogField::request_header:
      return header(head == nullptr ? nullptr : &head->fields, id, name);
    case LogField::response_header:
      return header(entry.response, id, name);
    default:
      return {};
  }
}

Value plainValue(const AccessLogEntry& entry, LogField field, Scratch& scratch) {
  switch (field) {
    case LogField::start_time:
      return time(entry.start_unix_ms, scratch);
    case LogField::protocol:
      return entry.request == nullptr ? Value{} : text(entry.minor == 0 ? "HTTP/1.0" : "HTTP/1.1");
    case LogField::response_code:
      return number(entry.status, scratch);
    case LogField::response_flags:
      return text(entry.response_flags);
    case LogField::response_code_details:
      return text(entry.response_code_details);
    case LogField::bytes_received:
      return number(entry.bytes_received, scratch);
    case LogField::bytes_sent:
      return number(entry.bytes_sent, scratch);
    case LogField::duration:
      return number(entry.duration_us / 1000, scratch);
    case LogField::response_duration:
      return entry.response_duration_us.has_value()
                 ? number(*entry.response_duration_us / 1000, scratch)
                 : Value{};
    case LogField::downstream_remote_address:
      return text(entry.remote_address);
    case LogField::downstream_remote_ip:
      return text(withoutPort(entry.remote_address));
    case LogField::downstream_local_address:
      return text(entry.local_address);
    case LogField::upstream_host:
      return text(entry.upstream_host);
    case LogField::upstream_cluster:
      return text(entry.upstream_cluster);
    case LogField::route_name:
      return text(entry.route_name);
    case LogField::virtual_host_name:
      return text(entry.virtual_host_name);
    case LogField::connection_id:
      return number(entry.connection_id, scratch);
    case LogField::cache_status:
      return text(entry.cache_status);
    case LogField::cache_name:
      return text(entry.cache_name);
    case LogField::cache_age:
      return entry.cache_age_s.has_value() ? number(*entry.cache_age_s, scratch) : Value{};
    case LogField::cache_detail:
      return text(entry.cache_detail);
    case LogField::shard:
      return number(entry.shard, scratch);
    default:
      return {};
  }
}

bool isRequestValue(LogField field) {
  return field == LogField::method || field == LogField::path || field == LogField::authority ||
         field == LogField::scheme || field == LogField::request_header ||
         field == LogField::response_header;
}

Value valueOf(const LogPiece& piece, const AccessLogEntry& entry, Scratch& scratch) {
  if (!isRequestValue(piece.field)) {
    return plainValue(entry, piece.field, scratch);
  }
  const Value value = requestValue(entry, piece.field, piece.id, piece.text);
  if (value.known || piece.otherwise == LogField::literal) {
    return value;
  }
  return requestValue(entry, piece.otherwise, piece.otherwise_id, piece.otherwise_text);
}

void appendEscapedText(std::string_view value, std::string& out) {
  for (const char c : value) {
    const auto byte = static_cast<uint8_t>(c);
    if (byte < 0x20 || byte >= 0x7f || c == '"' || c == '\\') {
      out.append("\\x").append(1, kHexDigits[byte >> 4]).append(1, kHexDigits[byte & 15]);
    } else {
      out.push_back(c);
    }
  }
}

// The inside of a JSON string. A byte that is no UTF-8 is written as the character of its value.
void appendJsonInside(std::string_view value, std::string& out) {
  while (!value.empty()) {
    const auto byte = static_cast<uint8_t>(value.front());
    const size_t length = utf8SequenceBytes(value);
    if (value.front() == '"' || value.front() == '\\') {
      out.append("\\").append(1, value.front());
    } else if (byte < 0x20 || byte == 0x7f || length == 0) {
      out.append("\\u00").append(1, kHexDigits[byte >> 4]).append(1, kHexDigits[byte & 15]);
    } else {
      out.append(value.substr(0, length));
    }
    value.remove_prefix(std::max<size_t>(length, 1));
  }
}

}  // namespace

void appendJsonString(std::string_view value, std::string& out) {
  out.push_back('"');
  appendJsonInside(value, out);
  out.push_back('"');
}

void appendLine(const AccessLogFormat& format, const AccessLogEntry& entry, std::string& out) {
  for (const LogPiece& piece : format.pieces) {
    if (piece.field == LogField::literal) {
      out.append(piece.text);
      continue;
    }
    Scratch scratch;
    Value value = valueOf(piece, entry, scratch);
    if (piece.limit != 0 && !value.number) {
      value.text = value.text.substr(0, piece.limit);
    }
    switch (piece.form) {
      case LogPiece::Form::text:
        appendEscapedText(value.known ? value.text : "-", out);
        break;
      case LogPiece::Form::json_string:
        appendJsonInside(value.known ? value.text : "-", out);
        break;
      case LogPiece::Form::json_value:
        if (!value.known) {
          out.append("null");
        } else if (value.number) {
          out.append(value.text);
        } else {
          appendJsonString(value.text, out);
        }
        break;
    }
  }
}

}  // namespace config
