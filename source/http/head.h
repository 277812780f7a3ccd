// Message heads as views into the bytes they were parsed from (RFC 9110 section 5, RFC 9112
// sections 3-5). A head borrows: the buffer must outlive it. Objects are reused from message to
// message, so that parsing allocates nothing once the field table has grown.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "source/base/check.h"

namespace http {

// Field names that some rule of ours reads. Others are Name::other and compared by their text.
enum class Name : uint8_t {
  other,
  accept,
  accept_encoding,
  accept_language,
  accept_ranges,
  age,
  allow,
  authorization,
  cache_control,
  cache_status,
  cdn_cache_control,
  cdn_loop,
  connection,
  content_encoding,
  content_language,
  content_length,
  content_location,
  content_range,
  content_type,
  cookie,
  date,
  etag,
  expect,
  expires,
  forwarded,
  host,
  http2_settings,
  if_match,
  if_modified_since,
  if_none_match,
  if_range,
  if_unmodified_since,
  keep_alive,
  last_modified,
  link,
  location,
  max_forwards,
  origin,
  pragma,
  proxy_authenticate,
  proxy_authentication_info,
  proxy_authorization,
  proxy_connection,
  range,
  referer,
  retry_after,
  server,
  set_cookie,
  surrogate_control,
  surrogate_key,
  cache_tag,
  te,
  trailer,
  transfer_encoding,
  upgrade,
  user_agent,
  vary,
  via,
  warning,
  www_authenticate,
  x_forwarded_for,
  x_forwarded_host,
  x_forwarded_proto,
};
inline constexpr size_t kNameCount = static_cast<size_t>(Name::x_forwarded_proto) + 1;

// The id of a field name in any letter case; Name::other when it is not in the table.
Name nameOf(std::string_view text);
// The registered spelling, such as "Cache-Control"; empty for Name::other.
std::string_view spelling(Name name);

// ASCII case-insensitive equality (field names, tokens).
bool equalsIgnoreCase(std::string_view a, std::string_view b);

struct Field {
  Name id = Name::other;
  std::string_view name;  // as received
  std::string_view
      value;  // without surrounding white space; bytes above 0x7f are kept (RFC 9110 5.5)
};

// A field section in the order received.
class Fields {
 public:
  void clear();
  void add(Name id, std::string_view name, std::string_view value) {
    CHECK(all_.size() < UINT16_MAX);
    if (all_.capacity() == 0) {
      all_.reserve(kUsual);  // at once instead of by doubling
    }
    all_.emplace_back(id, name, value);  // in place: no copy through the stack
    uint16_t& first = first_[static_cast<size_t>(id)];
    first = first == 0 ? static_cast<uint16_t>(all_.size()) : first;
  }
  void add(std::string_view name, std::string_view value) { add(nameOf(name), name, value); }

  std::span<const Field> all() const { return all_; }
  size_t size() const { return all_.size(); }
  bool has(Name id) const { return first_[static_cast<size_t>(id)] != 0; }
  // The first field of that name, or nullptr. id is not Name::other.
  const Field* find(Name id) const {
    const uint16_t at = first_[static_cast<size_t>(id)];
    return at == 0 ? nullptr : &all_[at - 1];
  }
  // The same by text, for names without an id.
  const Field* find(std::string_view name) const;
  // The first field's value, or an empty view.
  std::string_view value(Name id) const {
    const Field* field = find(id);
    return field == nullptr ? std::string_view() : field->value;
  }
  // How many fields have that name.
  size_t count(Name id) const;

 private:
  static constexpr size_t kUsual = 16;

  std::vector<Field> all_;
  std::array<uint16_t, kNameCount> first_{};  // position + 1 of the first field of each known name
};

// target is the request-target as received (RFC 9112 section 3.2); see uri.h for its forms.
struct RequestHead {
  std::string_view method;
  std::string_view target;
  uint8_t minor = 1;  // HTTP/1.minor
  Fields fields;
};

struct ResponseHead {
  uint16_t status = 0;
  uint8_t minor = 1;
  std::string_view reason;
  Fields fields;
};

}  // namespace http
