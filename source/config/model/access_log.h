// The access log's format, compiled: a list of pieces that append themselves to a line. A line of
// text and a line of JSON differ in their pieces only.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "source/http/head.h"

namespace config {

enum class LogField : uint8_t {
  literal,
  start_time,
  protocol,
  request_header,
  response_header,
  method,
  path,
  authority,
  scheme,
  response_code,
  response_flags,
  response_code_details,
  bytes_received,
  bytes_sent,
  duration,
  response_duration,
  downstream_remote_address,
  downstream_remote_ip,
  downstream_local_address,
  upstream_host,
  upstream_cluster,
  route_name,
  virtual_host_name,
  connection_id,
  cache_status,
  cache_name,
  cache_age,
  cache_detail,
  shard,
};

struct LogPiece {
  // text: unquoted; quotes, backslashes and what is not printable ASCII as \xHH.
  // json_string: inside a JSON string. json_value: a whole JSON value, null when there is none.
  enum class Form : uint8_t { text, json_string, json_value };
  LogField field = LogField::literal;
  Form form = Form::text;
  std::string text;  // the literal, or the header's name
  http::Name id = http::Name::other;
  LogField otherwise = LogField::literal;  // NAME?OTHER: what is taken instead; literal: nothing
  std::string otherwise_text;
  http::Name otherwise_id = http::Name::other;
  uint32_t limit = 0;  // bytes of the value; 0: all
  friend bool operator==(const LogPiece&, const LogPiece&) = default;
};

struct AccessLogFormat {
  std::vector<LogPiece> pieces;
  friend bool operator==(const AccessLogFormat&, const AccessLogFormat&) = default;
};

inline constexpr size_t kMaxLogFormatBytes = 4096;
inline constexpr size_t kMaxLogMembers = 64;
inline constexpr std::string_view kDefaultLogFormat =
    "[%START_TIME%] \"%REQ(:METHOD)% %REQ(:PATH)% %PROTOCOL%\" %RESPONSE_CODE% %RESPONSE_FLAGS% "
    "%BYTES_RECEIVED% %BYTES_SENT% %DURATION% %RESPONSE_DURATION% "
    "%DOWNSTREAM_REMOTE_ADDRESS% \"%REQ(USER-AGENT)%\" \"%REQ(:AUTHORITY)%\" \"%UPSTREAM_HOST%\" "
    "%CACHE_STATUS% %SHARD%\n";

// What is wrong with a format: `name` is the operator, or what stands for it.
struct LogFormatProblem {
  std::string message;
  std::string nearest;  // an operator spelled alike, or empty
};
// Compiles a line of text; its end is added if it has none.
std::optional<LogFormatProblem> compileText(std::string_view format, AccessLogFormat& out);
// Compiles a JSON object of (member, format), in the order given.
std::optional<LogFormatProblem> compileJson(
    const std::vector<std::pair<std::string, std::string>>& members, AccessLogFormat& out);

// What is known about one request when its response has ended. Empty views and nullopt are unknown.
struct AccessLogEntry {
  int64_t start_unix_ms = 0;
  uint8_t minor = 1;                           // HTTP/1.minor
  const http::RequestHead* request = nullptr;  // nullptr: no head could be read
  std::string_view path;                       // with the query; overrides the head's target
  std::string_view authority;
  std::string_view scheme;
  const http::Fields* response = nullptr;  // as sent to the client
  uint16_t status = 0;
  std::string_view response_flags;
  std::string_view response_code_details;
  uint64_t bytes_received = 0;
  uint64_t bytes_sent = 0;
  uint64_t duration_us = 0;
  std::optional<uint64_t> response_duration_us;
  std::string_view remote_address;  // with its port
  std::string_view local_address;
  std::string_view upstream_host;
  std::string_view upstream_cluster;
  std::string_view route_name;
  std::string_view virtual_host_name;
  uint64_t connection_id = 0;
  std::string_view cache_status;
  std::string_view cache_name;
  std::optional<uint64_t> cache_age_s;
  std::string_view cache_detail;  // as in Cache-Status; empty: nothing to say
  uint16_t shard = 0;
};

// Appends a JSON string in its quotes. Bytes that are no UTF-8 become the characters of their
// values.
void appendJsonString(std::string_view value, std::string& out);

// Appends one line.
void appendLine(const AccessLogFormat& format, const AccessLogEntry& entry, std::string& out);

}  // namespace config
