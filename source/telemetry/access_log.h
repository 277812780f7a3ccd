// The access log's formats: compiled once from text with command operators (`%START_TIME%`,
// `%REQ(NAME)%` …; api/ringfence/config/v1/access_log.proto lists them), then written for each
// request into a buffer that the caller reuses. Nothing here does I/O.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace telemetry {

// Looks a header field up. `name` is lower-case; several fields of one name may be answered with
// any.
struct FieldSource {
  const void* head = nullptr;
  std::optional<std::string_view> (*find)(const void* head, std::string_view name) = nullptr;
};

// What is known of one request when its response has ended. An empty view and an absent number are
// "-" in text and null in JSON.
struct AccessEntry {
  int64_t start_unix_ms = 0;
  uint64_t duration_ms = 0;
  std::optional<uint64_t>
      response_duration_ms;  // to the origin's first byte; absent if none was asked
  uint64_t bytes_received = 0;
  uint64_t bytes_sent = 0;
  uint64_t connection_id = 0;
  std::optional<uint64_t> cache_age_s;
  uint16_t response_code = 0;  // 0: none was sent
  uint16_t shard = 0;
  uint16_t remote_port = 0;
  uint16_t local_port = 0;
  bool remote_is_ipv6 = false;
  bool local_is_ipv6 = false;
  std::string_view protocol;
  std::string_view method;
  std::string_view path;
  std::string_view authority;
  std::string_view scheme;
  std::string_view response_flags;
  std::string_view response_code_details;
  std::string_view remote_ip;  // without brackets
  std::string_view local_ip;
  std::string_view upstream_host;
  std::string_view upstream_cluster;
  std::string_view route_name;
  std::string_view virtual_host_name;
  std::string_view cache_status;
  std::string_view cache_name;
  FieldSource request;
  FieldSource response;
};

// Where a format is wrong and why: `position` counts bytes from 0 in the format of `member` (JSON
// only).
struct FormatError {
  uint32_t position = 0;
  std::string message;
  std::string member;
};

enum class AccessOperator : uint8_t {
  literal,
  start_time,
  protocol,
  request_field,
  response_field,
  response_code,
  response_flags,
  response_code_details,
  bytes_received,
  bytes_sent,
  duration,
  response_duration,
  downstream_remote_address,
  downstream_remote_address_without_port,
  downstream_local_address,
  upstream_host,
  upstream_cluster,
  route_name,
  virtual_host_name,
  connection_id,
  cache_status,
  cache_name,
  cache_age,
  shard,
};

class AccessFormat {
 public:
  static constexpr uint32_t kMax_format_bytes = 4096;
  static constexpr uint32_t kMax_members = 64;
  static constexpr std::string_view kDefault =
      "[%START_TIME%] \"%REQ(:METHOD)% %REQ(:PATH)% %PROTOCOL%\" %RESPONSE_CODE% "
      "%RESPONSE_FLAGS% %BYTES_RECEIVED% %BYTES_SENT% %DURATION% %RESPONSE_DURATION% "
      "\"%REQ(X-FORWARDED-FOR)%\" \"%REQ(USER-AGENT)%\" \"%REQ(:AUTHORITY)%\" "
      "\"%UPSTREAM_HOST%\" %CACHE_STATUS% %SHARD%";

  // A line of text; the line's end is added if the format has none. In values, `"`, `\` and bytes
  // that are not printable ASCII are written as \xHH, so that no client can forge a line or a
  // field.
  static std::optional<FormatError> compileText(std::string_view format, AccessFormat& out);
  // One JSON object a line, members in the order of their names. A format that is exactly one
  // operator with a numeric value gives a number, an absent value gives null.
  static std::optional<FormatError> compileJson(
      std::span<const std::pair<std::string, std::string>> members, AccessFormat& out);

  // Appends the line; the format has been compiled. Allocates nothing once `out` has grown to its
  // usual size.
  void append(const AccessEntry& entry, std::string& out) const;

 private:
  friend class FormatCompiler;
  struct Step {
    AccessOperator op = AccessOperator::literal;
    std::string text;      // a literal's bytes, ready to be written; or a field's name
    std::string fallback;  // the field to use when that is absent
    uint32_t limit = UINT32_MAX;
  };
  struct Member {
    std::string prefix;  // `{"name":` or `,"name":`
    std::vector<Step> steps;
  };

  void appendText(const AccessEntry& entry, std::string& out) const;
  void appendJson(const AccessEntry& entry, std::string& out) const;
  static void appendJsonValue(const Step& step, const AccessEntry& entry, std::string& out);
  static void appendJsonPart(const Step& step, const AccessEntry& entry, std::string& out);

  bool json_ = false;
  std::vector<Member> members_;  // text: exactly one, without prefix
};

}  // namespace telemetry
