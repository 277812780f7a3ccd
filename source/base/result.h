// Result<T>: a value, or an Error that says who is to blame and whether a retry is safe.
// No exceptions cross a module; config/load turns its libraries' exceptions into Results.
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>
#include <variant>

#include "source/base/check.h"
#include "source/base/types.h"

namespace base {

enum class Code : uint16_t {
  ok,
  cancelled,
  timeout,
  peer_closed,
  refused,
  unreachable,
  bad_head,
  head_too_large,
  bad_framing,
  unsupported,
  no_capacity,
  io_error,
  corrupt,
  stale_location,
  config_invalid,
};

enum class Blame : uint8_t { downstream, upstream, disk, peer_shard, self };
enum class Retry : uint8_t { never, if_reused_connection, if_idempotent };

// sys is the positive errno where a system call failed, else 0.
struct Error {
  Code code = Code::ok;
  Blame blame = Blame::self;
  Retry retry = Retry::never;
  int32_t sys = 0;
  friend bool operator==(const Error&, const Error&) = default;
};
static_assert(sizeof(Error) == 8);

// The word for a code in logs and statistics, such as "peer_closed".
constexpr std::string_view name(Code code) {
  switch (code) {
    case Code::ok:
      return "ok";
    case Code::cancelled:
      return "cancelled";
    case Code::timeout:
      return "timeout";
    case Code::peer_closed:
      return "peer_closed";
    case Code::refused:
      return "refused";
    case Code::unreachable:
      return "unreachable";
    case Code::bad_head:
      return "bad_head";
    case Code::head_too_large:
      return "head_too_large";
    case Code::bad_framing:
      return "bad_framing";
    case Code::unsupported:
      return "unsupported";
    case Code::no_capacity:
      return "no_capacity";
    case Code::io_error:
      return "io_error";
    case Code::corrupt:
      return "corrupt";
    case Code::stale_location:
      return "stale_location";
    case Code::config_invalid:
      return "config_invalid";
  }
  return "unknown";
}

template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : v_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : v_(std::in_place_index<1>, error) { DCHECK(error.code != Code::ok); }

  bool ok() const { return v_.index() == 0; }
  explicit operator bool() const { return ok(); }
  T& value() {
    CHECK(ok());
    return *std::get_if<0>(&v_);
  }
  const T& value() const {
    CHECK(ok());
    return *std::get_if<0>(&v_);
  }
  const Error& error() const {
    CHECK(!ok());
    return *std::get_if<1>(&v_);
  }

 private:
  std::variant<T, Error> v_;
};

using Status = Result<Unit>;

}  // namespace base
